"""The port: a kernel is its formula for one pair of points, and what is known about it."""

from __future__ import annotations

import math
import numbers
from abc import abstractmethod
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sonde.errors import KernelError
from sonde.kernels.structure import Pair, Structure, single


class Kernel(eqx.Module):
    """A covariance function. Parameters are the leaves of the pytree.

    ``k(x, y)`` is its value for one pair of vectors; ``+``, ``*``, ``**`` and multiplication by a number compose.
    """

    @abstractmethod
    def __call__(self, x: Array, y: Array) -> Array:
        """Return the covariance of one pair of points."""

    @property
    @abstractmethod
    def smoothness(self) -> float:
        """How many times sample paths can be differentiated (``math.inf`` for smooth kernels)."""

    def structure(self) -> Structure | None:
        """Return what the kernel depends on; None if that is not known."""
        return None

    def __add__(self, other: Any) -> Kernel:
        from sonde.kernels.compose import Sum

        return Sum((self, _kernel(other)))

    def __radd__(self, other: Any) -> Kernel:
        from sonde.kernels.compose import Sum

        return Sum((_kernel(other), self))

    def __mul__(self, other: Any) -> Kernel:
        from sonde.kernels.compose import Product, Scaled

        return Product((self, other)) if isinstance(other, Kernel) else Scaled(self, _factor(other))

    def __rmul__(self, other: Any) -> Kernel:
        return self * other

    def __pow__(self, exponent: int) -> Kernel:
        from sonde.kernels.compose import Power

        return Power(self, exponent)


class PairKernel(Kernel):
    """A kernel of one pair's scalars: subclasses say which they ``need`` and write ``profile``."""

    need: ClassVar[frozenset[str]]

    @abstractmethod
    def profile(self, pair: Pair) -> Array:
        """Return the covariance from the scalars of one pair."""

    @property
    def smoothness(self) -> float:
        """Smooth, unless a subclass says otherwise."""
        return math.inf

    def __call__(self, x: Array, y: Array) -> Array:
        """Return the covariance of one pair of points."""
        return self.profile(pair_of(x, y))

    def structure(self) -> Structure:
        """One pair's scalars, no map."""
        return single(self.need, self.profile)


def pair_of(x: Array, y: Array) -> Pair:
    """Return the scalars of one pair of vectors."""
    x, y = jnp.asarray(x), jnp.asarray(y)
    if x.ndim != 1 or x.shape != y.shape:
        raise KernelError(
            f"a kernel takes one pair of vectors of the same length, got shapes {x.shape} and {y.shape}; "
            "for many points use sonde.kernels.Gram(kernel, X, Y)"
        )
    return Pair(x @ x, x @ y, y @ y, (x - y) @ (x - y))


def parameter(value: Any) -> Any:
    """Return a parameter as a leaf: numbers as float64 of NumPy, which fit data of any precision; arrays as they
    are."""
    if isinstance(value, jax.Array | jax.core.Tracer):
        return value
    return np.asarray(value, dtype=float)


def positive(value: Any) -> Any:
    """Return a parameter, checked to be positive where its value is known."""
    leaf = parameter(value)
    if isinstance(leaf, np.ndarray) and not (np.all(leaf > 0) and np.all(np.isfinite(leaf))):
        raise KernelError(f"the parameter must be positive and finite, got {value!r}")
    return leaf


def cast(tree: Any, dtype: Any) -> Any:
    """Return the module with its floating leaves in the precision of the data."""
    return jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype) if eqx.is_inexact_array(leaf) else leaf, tree)


def _kernel(other: Any) -> Kernel:
    from sonde.kernels.discrete import Constant

    return other if isinstance(other, Kernel) else Constant(_factor(other))


def _factor(value: Any) -> Any:
    if isinstance(value, numbers.Real):
        return positive(value)
    if isinstance(value, jax.Array | jax.core.Tracer | np.ndarray) and value.ndim == 0:
        return value
    raise KernelError(f"a kernel is added to and multiplied by kernels and positive numbers, got {value!r}")
