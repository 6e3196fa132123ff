"""Computes in float64 for float64 data without changing the user's configuration of JAX."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import jax
import numpy as np


def in_precision_of(data: Any) -> AbstractContextManager[Any]:
    """Return a context in which JAX computes in the precision of the data."""
    if isinstance(data, jax.core.Tracer):
        return nullcontext()  # inside a caller's jit the precision is fixed
    dtype = getattr(data, "dtype", np.dtype(float))
    return jax.enable_x64(True) if np.dtype(dtype).itemsize >= 8 else nullcontext()


def keep_precision(result: Any) -> Any:
    """Return a result in its own precision: as NumPy if it is float64 and JAX is configured to truncate that."""
    truncated = not jax.config.jax_enable_x64 and not isinstance(result, jax.core.Tracer)  # type: ignore[attr-defined]
    return np.asarray(result) if truncated and result.dtype == np.float64 else result
