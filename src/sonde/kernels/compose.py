"""Kernels from kernels: sums, products, powers, multiples, vertical scaling. Each keeps the structure of its parts."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jax import Array

from sonde.errors import KernelError
from sonde.kernels.kernel import Kernel, positive
from sonde.kernels.maps import Feature, FunctionMap
from sonde.kernels.structure import Structure, join


class Sum(Kernel):
    """k_1 + k_2 + ..."""

    parts: tuple[Kernel, ...] = eqx.field(converter=tuple)

    @property
    def smoothness(self) -> float:
        """That of the roughest part."""
        return min(part.smoothness for part in self.parts)

    def __call__(self, x: Array, y: Array) -> Array:
        """Return the sum."""
        return functools.reduce(operator.add, (part(x, y) for part in self.parts))

    def structure(self) -> Structure | None:
        """All parts' scalars."""
        return _joined(operator.add, self.parts)


class Product(Kernel):
    """k_1 k_2 ..."""

    parts: tuple[Kernel, ...] = eqx.field(converter=tuple)

    @property
    def smoothness(self) -> float:
        """That of the roughest part."""
        return min(part.smoothness for part in self.parts)

    def __call__(self, x: Array, y: Array) -> Array:
        """Return the product."""
        return functools.reduce(operator.mul, (part(x, y) for part in self.parts))

    def structure(self) -> Structure | None:
        """All parts' scalars."""
        return _joined(operator.mul, self.parts)


class Scaled(Kernel):
    """c k."""

    kernel: Kernel
    factor: Any = eqx.field(converter=positive)

    @property
    def smoothness(self) -> float:
        """That of the kernel."""
        return self.kernel.smoothness

    def __call__(self, x: Array, y: Array) -> Array:
        """Return the multiple."""
        return self.factor * self.kernel(x, y)

    def structure(self) -> Structure | None:
        """The kernel's scalars."""
        own = self.kernel.structure()
        return None if own is None else join(lambda k: self.factor * k, own)


class Power(Kernel):
    """k^p, p a whole number."""

    kernel: Kernel
    exponent: int = eqx.field(static=True)

    def __check_init__(self) -> None:
        if not isinstance(self.exponent, int) or isinstance(self.exponent, bool) or self.exponent < 1:
            raise KernelError(f"a kernel's exponent must be a whole number, 1 or more, got {self.exponent!r}")

    @property
    def smoothness(self) -> float:
        """That of the kernel."""
        return self.kernel.smoothness

    def __call__(self, x: Array, y: Array) -> Array:
        """Return the power."""
        return self.kernel(x, y) ** self.exponent

    def structure(self) -> Structure | None:
        """The kernel's scalars."""
        own = self.kernel.structure()
        return None if own is None else join(lambda k: k**self.exponent, own)


class VerticalScaling(Kernel):
    """f(x) k(x, y) f(y), f a smooth scalar function of a point."""

    kernel: Kernel
    function: Callable[[Array], Array]

    @property
    def smoothness(self) -> float:
        """That of the kernel."""
        return self.kernel.smoothness

    def __call__(self, x: Array, y: Array) -> Array:
        """Return the scaled covariance."""
        return jnp.asarray(self.function(x) * self.kernel(x, y) * self.function(y))

    def structure(self) -> Structure | None:
        """The kernel's scalars, f(x) and f(y)."""
        own = self.kernel.structure()
        if own is None:
            return None
        scale = Feature(FunctionMap(self.function), 1)
        factor = Structure((), (), (scale,), lambda pairs, values: values[0].x[0] * values[0].y[0])
        return join(operator.mul, own, factor)


def _joined(operation: Callable[[Array, Array], Array], parts: tuple[Kernel, ...]) -> Structure | None:
    structures = [part.structure() for part in parts]
    known = [structure for structure in structures if structure is not None]
    if len(known) < len(structures):
        return None
    return join(lambda *values: functools.reduce(operation, values), *known)
