"""Families to test, functions over bits, and helpers that run a search."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sonde.igo import IGO, Bernoulli, Categorical, Family, Gaussian, Product

Array = NDArray[np.float64]

FAMILIES: dict[str, Family] = {
    "bits": Bernoulli(6),
    "categories": Categorical(3, 4),
    "numbers": Gaussian([np.inf, 10, 3]),
    "mixed": Product([Bernoulli(2), Categorical(2, 3), Gaussian([np.inf, 5])]),
}


def onemax(bits: NDArray[Any]) -> Array:
    return bits.shape[1] - bits.sum(axis=1, dtype=float)


def leadingones(bits: NDArray[Any]) -> Array:
    front = bits.argmin(axis=1)  # 0 for a row of ones
    return np.where(bits[np.arange(len(bits)), front], 0.0, bits.shape[1] - front)


def play(search: IGO, objective: Callable[[NDArray[Any]], Array], generations: int) -> list[Array]:
    """Run a search for some generations; return theta after each."""
    path = []
    for _ in range(generations):
        samples = search.ask()
        search.tell(samples, objective(samples))
        path.append(search.theta)
    return path


def calls_until(search: IGO, objective: Callable[[NDArray[Any]], Array], limit: float = np.inf) -> float:
    """Return the first hitting time: calls until a sample has loss zero; at most the limit."""
    calls = 0
    while calls < limit:
        samples = search.ask()
        losses = objective(samples)
        if not losses.all():
            return min(calls + int(np.argmin(losses)) + 1, limit)
        search.tell(samples, losses)
        calls += len(samples)
    return limit


def some_theta(family: Family, seed: int) -> Array:
    """Return parameters away from the start; Gaussians are so narrow that no sample is clipped."""
    rng = np.random.default_rng(seed)
    if isinstance(family, Product):
        return np.concatenate([some_theta(each, seed) for each in family.families])
    if isinstance(family, Bernoulli):
        return rng.uniform(0.1, 0.9, family.width)
    if isinstance(family, Categorical):
        return rng.dirichlet(np.full(family.categories, 3.0), family.width).ravel()
    return np.concatenate([rng.uniform(0.4, 0.6, family.width), np.log(rng.uniform(0.01, 0.04, family.width))])


def state_of(search: IGO) -> dict[str, Any]:
    """Return the state without the random generator."""
    return {key: value for key, value in search.save().items() if key != "rng"}


def assert_same_state(one: IGO, other: IGO) -> None:
    np.testing.assert_equal(state_of(one), state_of(other))
