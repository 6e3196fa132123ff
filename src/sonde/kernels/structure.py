"""The structure of a kernel: k(x, y) = phi(scalars), and how the scalars come from x and y.

::

    Pair      x.x, x.y, y.y, r.r     of one pair, after an input map u: x -> u(x)
    feature   f(x), f(y)             of a function f: R^d -> R

A sum, product, power or composition of kernels that are functions of such scalars is again a function of such scalars:
``join`` merges their structures. Only the scalars that phi uses are computed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array

from sonde.kernels.maps import Composed, Identity, Map

INNER = frozenset({"xx", "xy", "yy"})
DOT = frozenset({"xy"})
DISTANCE = frozenset({"rr"})


class Pair(NamedTuple):
    """The scalars of one pair of inputs under one map."""

    xx: Any
    xy: Any
    yy: Any
    rr: Any


class FeatureValues(NamedTuple):
    """The values of one feature at both inputs."""

    x: Any
    y: Any


Phi = Callable[[Sequence[Pair], Sequence[FeatureValues]], Array]


@dataclass(frozen=True)
class Structure:
    """k(x, y) = phi(pairs, values): one ``Pair`` for each map, one ``FeatureValues`` for each feature."""

    maps: tuple[Map, ...]
    needs: tuple[frozenset[str], ...]
    features: tuple[Map, ...]  # to one number
    phi: Phi

    @property
    def scalars(self) -> list[Scalar]:
        """The scalars that phi uses, in a fixed order."""
        pairs = [
            Scalar(name, index) for index, needs in enumerate(self.needs) for name in Pair._fields if name in needs
        ]
        values = [Scalar(side, index) for index in range(len(self.features)) for side in ("fx", "fy")]
        return [*pairs, *values]

    def flat_phi(self, *scalars: Array) -> Array:
        """Return phi as a function of the scalars that it uses."""
        given = dict(zip(self.scalars, scalars, strict=True))
        zero = jnp.zeros_like(scalars[0]) if scalars else jnp.zeros(())
        pairs = [
            Pair(*(given.get(Scalar(name, index), zero) for name in Pair._fields)) for index in range(len(self.maps))
        ]
        indexes = range(len(self.features))
        values = [FeatureValues(given[Scalar("fx", index)], given[Scalar("fy", index)]) for index in indexes]
        return jnp.asarray(self.phi(pairs, values))

    def after(self, inner: Map) -> Structure:
        """Return the structure of the kernel applied to mapped inputs."""
        maps = tuple(inner if isinstance(own, Identity) else Composed(own, inner) for own in self.maps)
        features = tuple(Composed(own, inner) for own in self.features)
        return Structure(maps, self.needs, features, self.phi)


class Scalar(NamedTuple):
    """One scalar: xx, xy, yy or rr of a map, or a feature at x (fx) or y (fy)."""

    name: str
    owner: int  # which map or feature

    @property
    def of_x(self) -> bool:
        """Whether it changes with x."""
        return self.name in ("xx", "xy", "rr", "fx")

    @property
    def of_y(self) -> bool:
        """Whether it changes with y."""
        return self.name in ("xy", "yy", "rr", "fy")


def join(operation: Callable[..., Array], *of_parts: Structure | None) -> Structure | None:
    """Return the structure of ``operation(k1, k2, ...)``; None if that of a part is not known.

    Parts without an input map share their scalars.
    """
    parts = [part for part in of_parts if part is not None]
    if len(parts) < len(of_parts):
        return None
    maps: list[Map] = []
    needs: list[frozenset[str]] = []
    features: list[Map] = []
    positions: list[tuple[list[int], int]] = []
    for part in parts:
        own = []
        for mapping, need in zip(part.maps, part.needs, strict=True):
            shared = [
                at for at, other in enumerate(maps) if isinstance(mapping, Identity) and isinstance(other, Identity)
            ]
            if shared:
                own.append(shared[0])
                needs[shared[0]] |= need
            else:
                own.append(len(maps))
                maps.append(mapping)
                needs.append(need)
        positions.append((own, len(features)))
        features.extend(part.features)

    def phi(pairs: Sequence[Pair], values: Sequence[FeatureValues]) -> Array:
        results = [
            part.phi([pairs[at] for at in own], values[first : first + len(part.features)])
            for part, (own, first) in zip(parts, positions, strict=True)
        ]
        return operation(*results)

    return Structure(tuple(maps), tuple(needs), tuple(features), phi)
