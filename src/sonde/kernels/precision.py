"""float64 where the data are float64, without touching the user's configuration of JAX."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import jax
import numpy as np


def in_precision_of(data: Any) -> AbstractContextManager[Any]:
    """Return a context in which JAX computes in the precision of the data."""
    if isinstance(data, jax.core.Tracer):
        return nullcontext()  # inside somebody's jit the precision is settled
    dtype = getattr(data, "dtype", np.dtype(float))
    return jax.enable_x64(True) if np.dtype(dtype).itemsize >= 8 else nullcontext()


def handed_out(result: Any) -> Any:
    """Return a result as the caller can use it: float64 that JAX, so configured, would truncate comes as NumPy."""
    truncated = not jax.config.jax_enable_x64 and not isinstance(result, jax.core.Tracer)  # type: ignore[attr-defined]
    return np.asarray(result) if truncated and result.dtype == np.float64 else result
