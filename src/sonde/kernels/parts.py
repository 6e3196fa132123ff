"""The path that products with each summand of a kernel take: structured, separable, or plain automatic differentiation.

A sum is split, so that one summand without known structure does not slow down the others. All structured summands are
then merged into one.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
from jax import Array

from sonde.kernels.kernel import Kernel, Scaled, Sum
from sonde.kernels.separable import DirectKernel


@dataclass(frozen=True)
class Part:
    """A summand and its path: ``"structured"``, ``"separable"`` or ``"autodiff"``."""

    kernel: Kernel
    path: str
    factor: Array | float = 1.0


def split(kernel: Kernel) -> list[Part]:
    """Return the summands of a kernel, each with its path."""
    parts = summands(kernel)
    structured = [_scaled(part) for part in parts if part.path == "structured"]
    others = [part for part in parts if part.path != "structured"]
    if not structured:
        return others
    whole = structured[0] if len(structured) == 1 else Sum(tuple(structured))
    return [Part(whole, "structured"), *others]


def paths(kernel: Kernel) -> tuple[str, ...]:
    """Return the paths that products with the kernel's matrices take."""
    return tuple(part.path for part in split(kernel))


def summands(kernel: Kernel, factor: Array | float = 1.0) -> list[Part]:
    """Return the summands of a kernel times ``factor``, structured ones not merged."""
    if isinstance(kernel, Sum):
        return [part for one in kernel.parts for part in summands(one, factor)]
    if isinstance(kernel, Scaled):
        return summands(kernel.kernel, factor * jnp.asarray(kernel.factor))
    if isinstance(kernel, DirectKernel) and kernel.separable:
        return [Part(kernel, "separable", factor)]
    return [Part(kernel, "autodiff" if kernel.structure() is None else "structured", factor)]


def _scaled(part: Part) -> Kernel:
    return part.kernel if isinstance(part.factor, float) else Scaled(part.kernel, part.factor)
