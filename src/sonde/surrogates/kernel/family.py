"""The kernels that differ from a given one in their parameters, and the prior of the parameters.

The parameters are the floating-point numbers among the leaves of a kernel (an Equinox module). Parameters that are
given as positive stay positive: theta has their logarithms, and any others as they are. The prior is normal in theta
around the given values, and as wide as that of the length scales of the closed forms.

The model is s k(x, y) + c: theta continues with the logarithms of s, of the noise variance and, where gradients are
observed, of their noise variance as a share of their mean square.

Symbols: theta (D,), the first k entries the parameters of the kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from sonde.arrays import Array, Index, Mask
from sonde.kernels import Isotropic, Kernel, Product, Scaled
from sonde.kernels.inputs import MappedKernel
from sonde.kernels.isotropic import bessel
from sonde.kernels.maps import LinearMap, Map
from sonde.kernels.parameters import positive
from sonde.kernels.separable import Entries
from sonde.surrogates.priors import GRADIENT_NOISE, LENGTHSCALE, NOISE, SCALE, Prior

SPREAD = LENGTHSCALE[1]  # standard deviation of the prior of a parameter
REACH = 7.0  # a parameter is at most so far from its given value; in the logarithm, a factor of 1000
START = np.array([0.0, np.log(1e-4), np.log(1e-4)])  # log s, log noise variance, log noise variance of gradients


class Grouped(MappedKernel):
    """k(x / l, y / l) with a length scale for each parameter, ``groups`` the parameter of each input."""

    kernel: Kernel
    lengthscales: Any = eqx.field(converter=positive)
    groups: tuple[int, ...] = eqx.field(static=True)

    def _map(self) -> Map:
        return LinearMap(1.0 / self.lengthscales[np.array(self.groups)])


def _matern52(rr: Any) -> Any:
    return bessel(2, 5.0 * rr) / 3.0


def _rbf(rr: Any) -> Any:
    return jnp.exp(-0.5 * rr)


def _rational_quadratic(rr: Any) -> Any:
    return 1.0 / (1.0 + 0.5 * rr)


DEFAULT = Isotropic(_matern52, 1)  # without a length scale of its own, as the others
NAMED = {"rbf": Isotropic(_rbf), "rational_quadratic": Isotropic(_rational_quadratic)}


@dataclass(frozen=True)
class Family:
    """The kernels s k(x, y) of all theta. ``kernel`` has the parameters as they were given, and s = 1."""

    kernel: Kernel
    with_gradients: bool = False
    long: int = 0  # length scales at the end of k whose prior is that of the closed forms, of longer ones
    dimension: int = 1

    @classmethod
    def of(
        cls, parts: Sequence[tuple[Kernel, tuple[int, ...]]], groups: Index, default: Kernel, *,
        with_gradients: bool,
    ) -> Family:  # fmt: skip
        """Return the products of kernels, each of some columns, and of the ``default`` one of all other columns.

        ``groups`` (p,) is the parameter of each column.
        """
        used = {column for _, columns in parts for column in columns}
        rest = [column for column in range(len(groups)) if column not in used]
        kernels = [Entries(kernel, columns) for kernel, columns in parts]
        dimension = int(groups[-1]) + 1
        owners = np.unique(groups[rest], return_inverse=True)
        if rest:
            lengthscales = np.full(len(owners[0]), 0.5 * np.sqrt(dimension))
            kernels.append(Entries(Grouped(default, lengthscales, tuple(owners[1].tolist())), tuple(rest)))
        whole = kernels[0] if len(kernels) == 1 else Product(tuple(kernels))
        return cls(Scaled(whole, 1.0), with_gradients, len(owners[0]), dimension)

    @cached_property
    def _parameters(self) -> tuple[list[Array], Any, Any]:
        """The given parameters, the tree that they are leaves of, and the rest of the kernel."""
        free, fixed = eqx.partition(self.kernel, _is_parameter)
        leaves, tree = jax.tree.flatten(free)
        return [np.asarray(leaf, dtype=float) for leaf in leaves], tree, fixed

    @cached_property
    def key(self) -> bytes:
        """A key of a cache: two families of one given kernel differ in the columns that its parts are of."""
        return repr((self.kernel, self.with_gradients)).encode()

    @cached_property
    def size(self) -> int:
        """The number of parameters of s k."""
        return sum(leaf.size for leaf in self._parameters[0])

    @cached_property
    def positive(self) -> Mask:
        """Which parameters are positive, (k,)."""
        return np.concatenate([np.full(leaf.size, bool(np.all(leaf > 0))) for leaf in self._parameters[0]])

    @cached_property
    def start(self) -> Array:
        """theta of the given parameters, (D,)."""
        given = np.concatenate([leaf.ravel() for leaf in self._parameters[0]])
        own = np.where(self.positive, np.log(np.where(self.positive, given, 1.0)), given)
        return np.concatenate([own, START[1 : 2 + self.with_gradients]])

    @cached_property
    def prior(self) -> Prior:
        """The prior of theta."""
        kinds = [(value, SPREAD, value - REACH, value + REACH) for value in self.start[: self.size - 1]]
        if self.long:
            mean, *others = LENGTHSCALE
            kinds[-self.long :] = [(mean + 0.5 * np.log(self.dimension), *others)] * self.long
        return Prior(*np.array([*kinds, SCALE, NOISE, *[GRADIENT_NOISE] * self.with_gradients]).T)

    def at(self, theta: Array) -> Kernel:
        """Return s k of one theta."""
        leaves, tree, fixed = self._parameters
        values = np.where(self.positive, np.exp(np.where(self.positive, theta[: self.size], 0.0)), theta[: self.size])
        ends = np.cumsum([leaf.size for leaf in leaves])
        parts = [part.reshape(leaf.shape) for part, leaf in zip(np.split(values, ends[:-1]), leaves, strict=True)]
        kernel: Kernel = eqx.combine(jax.tree.unflatten(tree, parts), fixed)
        return kernel

    def chain(self, gradients: Sequence[Array], theta: Array) -> Array:
        """Return gradients in theta (k,) from those in the parameters."""
        flat = np.concatenate([np.ravel(each) for each in gradients])
        return np.where(self.positive, flat * np.exp(np.where(self.positive, theta[: self.size], 0.0)), flat)


def _is_parameter(leaf: Any) -> bool:
    return isinstance(leaf, float) or (eqx.is_inexact_array(leaf) and not np.iscomplexobj(leaf))
