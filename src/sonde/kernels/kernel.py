"""Base classes of kernels, and the kernels that their operators build: sums, products, multiples, powers, constants.

They share a file because each needs the other: ``a + b`` makes a ``Sum``, and a ``Sum`` is a ``Kernel``. A composition
of kernels with known structure has known structure (``structure.join``).
"""

from __future__ import annotations

import functools
import math
import operator
from abc import abstractmethod
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
from jax import Array

from sonde.errors import KernelError
from sonde.kernels.maps import Identity
from sonde.kernels.parameters import positive, scale_factor
from sonde.kernels.structure import Pair, Structure, join


class Kernel(eqx.Module):
    """A covariance function k(x, y). Its hyperparameters are the leaves of the pytree.

    ``k(x, y)`` takes one pair of vectors. ``+``, ``*``, ``**`` and multiplication by a number compose kernels.
    """

    @abstractmethod
    def __call__(self, x: Array, y: Array) -> Array:
        """Return the covariance of one pair of points."""

    @property
    @abstractmethod
    def smoothness(self) -> float:
        """How many times sample paths are differentiable (``math.inf`` for smooth kernels)."""

    def structure(self) -> Structure | None:
        """Return the scalars that the kernel is a function of; None if they are not known."""
        return None

    def __add__(self, other: Any) -> Kernel:
        return Sum((self, _as_kernel(other)))

    def __radd__(self, other: Any) -> Kernel:
        return Sum((_as_kernel(other), self))

    def __mul__(self, other: Any) -> Kernel:
        return Product((self, other)) if isinstance(other, Kernel) else Scaled(self, scale_factor(other))

    def __rmul__(self, other: Any) -> Kernel:
        return self * other

    def __pow__(self, exponent: int) -> Kernel:
        return Power(self, exponent)


class Constant(Kernel):
    """c: the same covariance for every pair of points."""

    value: Any = eqx.field(default=1.0, converter=positive)
    smoothness = math.inf

    def __call__(self, x: Array, y: Array) -> Array:
        return jnp.asarray(self.value)

    def structure(self) -> Structure:
        return Structure((), (), (), lambda pairs, values: jnp.asarray(self.value))


class PairKernel(Kernel):
    """k = profile(x.x, x.y, y.y, r.r): a subclass lists the scalars it uses in ``need`` and writes ``profile``."""

    need: ClassVar[frozenset[str]]

    @abstractmethod
    def profile(self, pair: Pair) -> Array:
        """Return the covariance from the scalars of one pair."""

    @property
    def smoothness(self) -> float:
        """Infinite, unless a subclass overrides it."""
        return math.inf

    def __call__(self, x: Array, y: Array) -> Array:
        return self.profile(_pair(x, y))

    def structure(self) -> Structure:
        """The scalars in ``need``, of inputs that are not mapped."""
        return Structure((Identity(),), (self.need,), (), lambda pairs, values: self.profile(pairs[0]))


class Joined(Kernel):
    """Base class of ``Sum`` and ``Product``."""

    parts: tuple[Kernel, ...] = eqx.field(converter=tuple)

    operation: ClassVar[Any]

    @property
    def smoothness(self) -> float:
        """Smoothness of the roughest part."""
        return min(part.smoothness for part in self.parts)

    def __call__(self, x: Array, y: Array) -> Array:
        return functools.reduce(self.operation, (part(x, y) for part in self.parts))

    def structure(self) -> Structure | None:
        parts = [part.structure() for part in self.parts]
        return join(lambda *values: functools.reduce(self.operation, values), *parts)


class Sum(Joined):
    """k_1 + k_2 + ..."""

    operation = staticmethod(operator.add)


class Product(Joined):
    """k_1 k_2 ..."""

    operation = staticmethod(operator.mul)


class Derived(Kernel):
    """Base class of kernels derived from one kernel k, and as smooth as it."""

    kernel: eqx.AbstractVar[Kernel]

    @property
    def smoothness(self) -> float:
        return self.kernel.smoothness


class Scaled(Derived):
    """c k."""

    kernel: Kernel
    factor: Any = eqx.field(converter=positive)

    def __call__(self, x: Array, y: Array) -> Array:
        return self.factor * self.kernel(x, y)

    def structure(self) -> Structure | None:
        return join(lambda k: self.factor * k, self.kernel.structure())


class Power(Derived):
    """k^p, p a positive integer."""

    kernel: Kernel
    exponent: int = eqx.field(static=True)

    def __check_init__(self) -> None:
        if not isinstance(self.exponent, int) or isinstance(self.exponent, bool) or self.exponent < 1:
            raise KernelError(f"a kernel's exponent must be an integer, 1 or more, got {self.exponent!r}")

    def __call__(self, x: Array, y: Array) -> Array:
        return self.kernel(x, y) ** self.exponent

    def structure(self) -> Structure | None:
        return join(lambda k: k**self.exponent, self.kernel.structure())


class Assembled(Kernel):
    """Base class of kernels that are another name for a composition of kernels, which ``assembled`` returns."""

    @abstractmethod
    def assembled(self) -> Kernel:
        """Return the composition."""

    @property
    def smoothness(self) -> float:
        return self.assembled().smoothness

    def __call__(self, x: Array, y: Array) -> Array:
        return self.assembled()(x, y)

    def structure(self) -> Structure | None:
        return self.assembled().structure()


def _as_kernel(other: Any) -> Kernel:
    return other if isinstance(other, Kernel) else Constant(scale_factor(other))


def _pair(x: Array, y: Array) -> Pair:
    """Return the scalars of one pair of vectors."""
    x, y = jnp.asarray(x), jnp.asarray(y)
    if x.ndim != 1 or x.shape != y.shape:
        raise KernelError(
            f"a kernel takes one pair of vectors of the same length, got shapes {x.shape} and {y.shape}; "
            "for many points use sonde.kernels.Gram(kernel, X, Y)"
        )
    return Pair(x @ x, x @ y, y @ y, (x - y) @ (x - y))
