"""DIRECT, dividing rectangles (Jones et al. 1993), by SciPy."""

from __future__ import annotations

from collections.abc import Callable

from scipy import optimize

from sonde.arrays import Array


def direct(values: Callable[[Array], Array], low: Array, high: Array, *, evaluations: int = 2000) -> Array:
    """Return the best point (1, D) found in the box; needs no gradients and no starts."""
    moving = high > low  # SciPy does not accept coordinates without an interior
    if not moving.any():
        return low[None].copy()

    def loss(part: Array) -> float:
        point = low.copy()
        point[moving] = part
        return -float(values(point[None])[0])

    bounds = list(zip(low[moving], high[moving], strict=True))
    found = optimize.direct(loss, bounds, maxfun=evaluations, maxiter=evaluations, vol_tol=0.0, len_tol=0.0)
    best = low[None].copy()
    best[0, moving] = found.x
    return best
