"""The test functions of appendix F with exact gradients, scaled as section 4.3 says.

    u = half (x - 1/4),    f(x) = raw(u) / top,    x in [-1, 1]^d

The paper does not say how it shifts. Here u ranges over [-5/4, 3/4] times ``half``, half the width of the domain, so
that the optimum, u = 0, is at 1/4. ``top`` is the highest raw value in that box, so that values fill [0, 1]:

Ackley      at the corner x = -1: there the mean square of u is at its highest and, as u = -12.5, every cosine is -1
Rastrigin   at the same corner: one coordinate's term is 59.05 at u = -6.4, and at most 50.3 elsewhere
Griewank    near that corner, by ascent in one coordinate after another (see ``_griewank_top``)
Rosenbrock  at the same corner, where every term is at its highest
Drop-Wave   1, where cos 12 |u| is -1

Figure 5 shows the first three; the other two stand in appendix F alone.

Symbols: u and x (..., d), values (...), gradients (..., d).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Evaluated = tuple[Array, Array]  # values and gradients

OPTIMUM = 0.25


@dataclass(frozen=True)
class Function:
    """A test function."""

    name: str
    half: float  # the domain is [-half, half] before it is shifted
    raw: Callable[[Array], Evaluated]
    top: Callable[[int], float]

    def __call__(self, x: Array) -> Evaluated:
        """Return values and gradients at x."""
        top = self.top(x.shape[-1])
        value, gradient = self.raw(self.half * (x - OPTIMUM))
        return value / top, gradient * (self.half / top)


def griewank(u: Array) -> Evaluated:
    """Return |u|^2 / 4000 - prod_i cos(u_i / sqrt i) + 1."""
    roots = np.sqrt(np.arange(1, u.shape[-1] + 1))
    cosines = np.cos(u / roots)
    value = np.sum(u * u, axis=-1) / 4000 - np.prod(cosines, axis=-1) + 1
    return value, u / 2000 + _others(cosines) * np.sin(u / roots) / roots


def _others(factors: Array) -> Array:
    """Return for each factor the product of all others, without dividing by it: it may be 0."""
    ones = np.ones((*factors.shape[:-1], 1))
    before = np.cumprod(np.concatenate([ones, factors[..., :-1]], axis=-1), axis=-1)
    after = np.cumprod(np.concatenate([ones, factors[..., :0:-1]], axis=-1), axis=-1)[..., ::-1]
    return before * after


def ackley(u: Array) -> Evaluated:
    """Return e + a - a exp(-b |u| / sqrt d) - exp(mean of cos c u); at its kink, u = 0, the gradient is given as 0."""
    a, b, c, d = 20.0, 0.2, 2 * np.pi, u.shape[-1]
    radius = np.sqrt(np.mean(u * u, axis=-1, keepdims=True))
    near, wave = a * np.exp(-b * radius), np.exp(np.mean(np.cos(c * u), axis=-1, keepdims=True))
    outward = np.divide(u, radius, out=np.zeros_like(u), where=radius > 0)
    value = (a - near) + (np.e - wave)
    return value[..., 0], (b * near * outward + c * wave * np.sin(c * u)) / d


def rastrigin(u: Array) -> Evaluated:
    """Return the sum of 10 + u^2 - 10 cos(2 pi u)."""
    value = np.sum(u * u + 20 * np.sin(np.pi * u) ** 2, axis=-1)  # 1 - cos 2t = 2 sin^2 t: exact near 0
    return value, 2 * u + 20 * np.pi * np.sin(2 * np.pi * u)


def rosenbrock(u: Array) -> Evaluated:
    """Return the sum of u_i^2 + b (u_{i+1} - u_i^2)^2 over i < d: a = 0, as in appendix F."""
    b, before, after = 10.0, u[..., :-1], u[..., 1:]
    rest = after - before**2
    gradient = np.zeros_like(u)
    gradient[..., :-1] = 2 * before - 4 * b * before * rest
    gradient[..., 1:] += 2 * b * rest
    return np.sum(before**2 + b * rest**2, axis=-1), gradient


def drop_wave(u: Array) -> Evaluated:
    """Return 1 - (1 + cos 12 |u|) / (|u|^2 + 2): the function of appendix F plus 1, so that its minimum is 0."""
    radius = np.sqrt(np.sum(u * u, axis=-1, keepdims=True))
    above, below = 2 * np.cos(6 * radius) ** 2, radius**2 + 2  # 1 + cos 2t = 2 cos^2 t
    over_radius = 144 * np.sinc(12 * radius / np.pi)  # 12 sin(12 r) / r, also at r = 0
    value = (radius**2 + 2 * np.sin(6 * radius) ** 2) / below  # 1 - above / below: exact near 0
    return value[..., 0], u * (over_radius / below + 2 * above / below**2)


@lru_cache
def _griewank_top(d: int) -> float:
    """Return the highest value in the box [-250, 150]^d.

    A coordinate away from the corner loses up to 1/8 per unit and gains from the product at most 2 in all. So each lies
    within a period of the corner. Coordinates are set to their best one by one, given the others, until
    nothing changes; from the corner, and from the five points next to it where all cosines are 1 or -1 (as they come,
    and with one of the first four of another sign). The best of the six.
    """
    roots = np.sqrt(np.arange(1, d + 1))
    corner = np.full(d, -250.0)
    aligned = -np.floor(250 / (np.pi * roots)) * np.pi * roots
    starts = [corner, aligned, *(aligned + np.pi * roots * (np.arange(d) == k) for k in range(min(d, 4)))]
    return max(float(griewank(_ascended(start, roots))[0]) for start in starts)


def _ascended(u: Array, roots: Array) -> Array:
    while True:
        before = u
        for i, root in enumerate(roots):
            rest = float(np.prod(np.cos(np.delete(u, i) / np.delete(roots, i))))
            places = -250 + 2 * np.pi * root * np.linspace(0, 1, 20_001)
            best = places[np.argmax(places**2 / 4000 - rest * np.cos(places / root))]
            u = np.where(np.arange(len(u)) == i, best, u)
        if np.array_equal(u, before):
            return u


def _at_the_corner(raw: Callable[[Array], Evaluated], half: float) -> Callable[[int], float]:
    return lambda d: float(raw(np.full(d, -1.25 * half))[0])


FUNCTIONS = {  # of figure 5
    function.name: function
    for function in (
        Function("griewank", 200.0, griewank, _griewank_top),
        Function("ackley", 10.0, ackley, _at_the_corner(ackley, 10.0)),
        Function("rastrigin", 5.12, rastrigin, _at_the_corner(rastrigin, 5.12)),
    )
}
OTHERS = {  # of appendix F alone
    function.name: function
    for function in (
        Function("rosenbrock", 3.0, rosenbrock, _at_the_corner(rosenbrock, 3.0)),
        Function("drop-wave", 5.12, drop_wave, lambda d: 1.0),
    )
}
