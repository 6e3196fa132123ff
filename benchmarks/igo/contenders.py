"""The searches over bits, each as its authors recommend it, behind one signature.

A recipe is a generator that yields bits and is sent their value, to be maximised; ``played`` turns it into a function
of (problem, n, calls, seed) that returns all values in order. Any function of that signature is a contender: a new
one is a line of ``CONTENDERS``. Libraries are imported when their contender starts.
"""

from collections.abc import Callable, Generator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.igo.problems import Bits, Problem

Points = Generator[Bits, float, None]
Recipe = Callable[[int, int, int], Points]  # of n, calls and seed
Contender = Callable[[Problem, int, int, int], list[float]]  # of problem, n, calls and seed

ENLARGED = 1e6  # no more: Nevergrad clips values at 1e10


def random(n: int, calls: int, seed: int) -> Points:
    """Uniform draws."""
    rng = np.random.default_rng(seed)
    while True:
        yield rng.random(n) < 0.5


def one_plus_one(n: int, calls: int, seed: int) -> Points:
    """The (1+1)-EA: flip every bit with probability 1/n, at least one of them, and accept what is not worse."""
    rng = np.random.default_rng(seed)
    parent = rng.random(n) < 0.5
    best = yield parent
    while True:
        flips = rng.random(n) < 1 / n
        if not flips.any():
            continue
        child = parent ^ flips
        value = yield child
        if value >= best:
            parent, best = child, value


def genetic(n: int, calls: int, seed: int, *, size: int = 50) -> Points:
    """A usual genetic algorithm: tournaments of two, uniform crossover, mutation 1/n, the best of parents and children.

    Of populations of 20, 50 and 100 this one ends highest in 5000 calls.
    """
    rng = np.random.default_rng(seed)
    population = rng.random((size, n)) < 0.5
    values = yield from _valued(population)
    while True:
        pairs = rng.integers(size, size=(2, size, 2))  # tournaments for both parents of each child
        first, second = pairs[..., 0], pairs[..., 1]
        mothers, fathers = population[np.where(values[first] >= values[second], first, second)]
        children = np.where(rng.random((size, n)) < 0.5, mothers, fathers) ^ (rng.random((size, n)) < 1 / n)
        everyone = np.concatenate([children, population])  # children win ties
        all_values = np.concatenate([(yield from _valued(children)), values])
        kept = np.argsort(-all_values, kind="stable")[:size]
        population, values = everyone[kept], all_values[kept]


def compact(n: int, calls: int, seed: int) -> Points:
    """The compact genetic algorithm with a step of 1/n."""
    from sonde.igo import cga

    yield from _generations(cga(n, seed=seed))


def pbil(n: int, calls: int, seed: int) -> Points:
    """PBIL-lambda with its defaults."""
    from sonde.igo import PBIL

    yield from _generations(PBIL(n, seed=seed))


def sonde(problem: Problem, n: int, calls: int, seed: int) -> list[float]:
    """Sonde's strategy as shipped, through the public interface."""
    from sonde import Bool, Space, maximize

    space, values = Space({f"bit{i}": Bool() for i in range(n)}), []

    def value(trial: Any) -> float:
        values.append(problem(np.array(list(trial.values()))))
        return values[-1]

    maximize(value, space, calls, strategy="igo", seed=seed, progress=False)
    return values


def catcma(n: int, calls: int, seed: int) -> Points:
    """CatCMA with its defaults, every bit a choice of two. It requires two numbers as well, which have no effect."""
    from cmaes import CatCMA

    optimizer = CatCMA(np.zeros(2), 1.0, np.full(n, 2), seed=seed)
    while True:
        generation = []
        for _ in range(optimizer.population_size):
            numbers, one_hot = optimizer.ask()
            value = yield one_hot[:, 1].astype(bool)
            generation.append(((numbers, one_hot), -value))
        optimizer.tell(generation)


def nevergrad(n: int, calls: int, seed: int, *, name: str, bits: str) -> Points:
    """One of Nevergrad's optimizers, with bits as its ``TransitionChoice`` or its ``Choice``, and values enlarged.

    Nevergrad takes values for noisy, with a variance of a million until a point is evaluated again. A point that was
    drawn twice is then replaced only by one that is at least 70 better, and the search stops. LeadingOnes of 64 bits
    ends at 13 instead of 64 (DiscreteOnePlusOne of 1.0.12). Values times a million avoid that.
    """
    import nevergrad

    choices = getattr(nevergrad.p, bits)([0, 1], repetitions=n)
    choices.random_state.seed(seed)
    optimizer = nevergrad.optimizers.registry[name](choices, budget=calls)
    while True:
        point = optimizer.ask()
        optimizer.tell(point, -ENLARGED * (yield np.array(point.value, dtype=bool)))


def _valued(population: Bits) -> Generator[Bits, float, Any]:
    values = []
    for bits in population:
        values.append((yield bits))  # noqa: PERF401 - a comprehension cannot yield
    return np.array(values)


def _generations(search: Any) -> Points:
    while True:
        bits = search.ask()
        search.tell(bits, -(yield from _valued(bits)))


def played(recipe: Recipe) -> Contender:
    """Return the contender that evaluates the points of a recipe until the calls are used up."""

    def play(problem: Problem, n: int, calls: int, seed: int) -> list[float]:
        source = recipe(n, calls, seed)
        values = [problem(next(source))]
        while len(values) < calls:
            values.append(problem(source.send(values[-1])))
        return values

    return play


# Nevergrad's optimizers with TransitionChoice: with Choice, NGOpt ends at 19 of 64 leading ones instead of at 64.
CONTENDERS: dict[str, Contender] = {
    "igo": sonde,
    "random": played(random),
    "one-plus-one": played(one_plus_one),
    "ga": played(genetic),
    "cga": played(compact),
    "pbil": played(pbil),
    "catcma": played(catcma),
    "ng-discrete": played(partial(nevergrad, name="DiscreteOnePlusOne", bits="TransitionChoice")),
    "ng-opt": played(partial(nevergrad, name="NGOpt", bits="TransitionChoice")),
}
