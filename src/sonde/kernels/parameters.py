"""Parameters of kernels as leaves of a pytree: converted to floating-point arrays, checked, in the data's precision."""

from __future__ import annotations

import numbers
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from sonde.errors import KernelError


def parameter(value: Any) -> Any:
    """Return a parameter as a leaf: JAX arrays unchanged, anything else as NumPy float64, which casts to any data."""
    if isinstance(value, jax.Array | jax.core.Tracer):
        return value
    return np.asarray(value, dtype=float)


def positive(value: Any) -> Any:
    """Return a parameter; raise if its value is known and not positive."""
    leaf = parameter(value)
    if isinstance(leaf, np.ndarray) and not (np.all(leaf > 0) and np.all(np.isfinite(leaf))):
        raise KernelError(f"the parameter must be positive and finite, got {value!r}")
    return leaf


def scale_factor(value: Any) -> Any:
    """Return the number that a kernel is multiplied by, or that is added to it as a constant kernel."""
    if isinstance(value, numbers.Real):
        return positive(value)
    if isinstance(value, jax.Array | jax.core.Tracer | np.ndarray) and value.ndim == 0:
        return value
    raise KernelError(f"a kernel is added to and multiplied by kernels and positive numbers, got {value!r}")


def cast(tree: Any, dtype: Any) -> Any:
    """Return the module with its floating-point leaves in the precision of the data."""
    return jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype) if eqx.is_inexact_array(leaf) else leaf, tree)


def in_precision_of(data: Any) -> AbstractContextManager[Any]:
    """Return a context in which JAX computes in the precision of the data; the user's configuration stays as it is."""
    if isinstance(data, jax.core.Tracer):
        return nullcontext()  # inside a caller's jit the precision is fixed
    dtype = getattr(data, "dtype", np.dtype(float))
    return jax.enable_x64(True) if np.dtype(dtype).itemsize >= 8 else nullcontext()


def keep_precision(result: Any) -> Any:
    """Return a result in its own precision: as NumPy if it is float64 and JAX is configured to truncate that."""
    truncated = not jax.config.jax_enable_x64 and not isinstance(result, jax.core.Tracer)  # type: ignore[attr-defined]
    return np.asarray(result) if truncated and result.dtype == np.float64 else jnp.asarray(result)
