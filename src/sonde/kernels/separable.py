"""Direct sums and products: k = sum_i or prod_i of k_i(x_i, y_i), where each part k_i has its own entries of the input.

If each part has one entry, the derivative blocks are diagonal (sum) or diagonal plus rank one (product).
``each_part`` then gives the one-dimensional derivatives of the parts, and ``products.separable_product`` multiplies.
If a part has several entries, the parts are composed like any other kernels, each with a map that selects its entries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from sonde.errors import KernelError
from sonde.kernels.inputs import MappedKernel
from sonde.kernels.kernel import Assembled, Kernel, Product, Sum
from sonde.kernels.maps import Map, Select
from sonde.kernels.structure import Structure


def _as_columns(given: Sequence[Sequence[int] | int] | None) -> tuple[tuple[int, ...], ...] | None:
    if given is None:
        return None
    return tuple((int(one),) if isinstance(one, int) else tuple(int(i) for i in one) for one in given)


class Entries(MappedKernel):
    """A kernel of some entries of the inputs."""

    kernel: Kernel
    columns: tuple[int, ...] = eqx.field(static=True)

    def _map(self) -> Map:
        return Select(self.columns)


class DirectKernel(Assembled):
    """Base class of ``DirectSum`` and ``DirectProduct``."""

    parts: tuple[Kernel, ...] = eqx.field(converter=tuple)
    columns: tuple[tuple[int, ...], ...] | None = eqx.field(static=True, default=None, converter=_as_columns)

    operation: ClassVar[type[Sum | Product]]
    combine: ClassVar[Any]  # the same of a vector of the parts' values

    def __check_init__(self) -> None:
        if not self.parts:
            raise KernelError("a direct sum or product needs at least one kernel")
        columns = self.part_columns
        flat = [column for own in columns for column in own]
        if len(columns) != len(self.parts) or not all(columns) or len(set(flat)) < len(flat) or min(flat) < 0:
            raise KernelError(
                f"columns must give each of the {len(self.parts)} kernels entries of its own, got {columns}"
            )

    @property
    def separable(self) -> bool:
        """Whether every part acts on one entry."""
        return all(len(columns) == 1 for columns in self.part_columns)

    @property
    def part_columns(self) -> tuple[tuple[int, ...], ...]:
        """The entries of each part."""
        return tuple((i,) for i in range(len(self.parts))) if self.columns is None else self.columns

    def assembled(self) -> Kernel:
        """Return the sum or product of the parts, each on its entries."""
        own = zip(self.parts, self.part_columns, strict=True)
        return self.operation(tuple(Entries(part, columns) for part, columns in own))

    def __call__(self, x: Array, y: Array) -> Array:
        if not self.separable:
            return super().__call__(x, y)
        # Written out part by part, the derivatives of a product of 64 parts take a minute to compile.
        values: Array = self.each_part(x, y, lambda part, x, y: part(x[None], y[None]))
        return self.combine(values)

    def structure(self) -> Structure | None:
        """The scalars of the parts; None if each part has one entry, which ``separable_product`` does faster."""
        return None if self.separable else super().structure()

    def each_part(self, x: Array, y: Array, function: Callable[[Kernel, Array, Array], Any]) -> Any:
        """Return ``function(k_i, x_i, y_i)`` for all parts, stacked; parts of the same type are vmapped."""
        order = jnp.array([columns[0] for columns in self.part_columns])
        x, y = x[order], y[order]
        if len({jax.tree.structure(part) for part in self.parts}) == 1 and _shapes_agree(self.parts):
            stacked = jax.tree.map(lambda *leaves: jnp.stack([jnp.asarray(leaf) for leaf in leaves]), *self.parts)
            return jax.vmap(function)(stacked, x, y)
        each = [function(part, x[i], y[i]) for i, part in enumerate(self.parts)]
        return jax.tree.map(lambda *leaves: jnp.stack(leaves), *each)


class DirectSum(DirectKernel):
    """sum_i k_i(x_i, y_i). ``columns`` gives each part its entries; by default part i has entry i."""

    operation = Sum
    combine = staticmethod(jnp.sum)


class DirectProduct(DirectKernel):
    """prod_i k_i(x_i, y_i). ``columns`` gives each part its entries; by default part i has entry i."""

    operation = Product
    combine = staticmethod(jnp.prod)


def _shapes_agree(parts: tuple[Kernel, ...]) -> bool:
    shapes = [[jnp.shape(leaf) for leaf in jax.tree.leaves(part)] for part in parts]
    return all(own == shapes[0] for own in shapes)
