"""Families: draws, natural gradients, margins."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.igo.searches import FAMILIES, Array, some_theta
from tests.space.spaces import examples

from sonde.errors import OptionError
from sonde.igo import IGO, Bernoulli, Categorical, Family, Gaussian, Product
from sonde.igo.families import BLOCK

EACH = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
SMALL = {
    "bits": Bernoulli(3),
    "categories": Categorical(2, 3),
    "numbers": Gaussian([np.inf, np.inf]),
    "mixed": Product([Bernoulli(1), Categorical(1, 3), Gaussian([np.inf])]),
}
EACH_SMALL = pytest.mark.parametrize("family", SMALL.values(), ids=SMALL)


# log-densities in the free parameters: all but the last of K probabilities


def parts_of(family: Family) -> tuple[Family, ...]:
    return family.families if isinstance(family, Product) else (family,)


def freed(family: Family, theta: Array) -> Array:
    """Return the entries of theta, or of a gradient, that are free parameters."""
    kept, at = [], 0
    for part in parts_of(family):
        own = theta[at : at + len(part.start())]
        at += len(own)
        kept.append(own.reshape(part.width, -1)[:, :-1].ravel() if isinstance(part, Categorical) else own)
    return np.concatenate(kept)


def log_density(family: Family, free: Array, x: Array) -> float:
    """Return the log-density of one sample by its definition."""
    total, at, column = 0.0, 0, 0
    for part in parts_of(family):
        own, given = free[at : at + part.free], x[column : column + part.width]
        at, column = at + part.free, column + part.width
        if isinstance(part, Bernoulli):
            total += np.log(np.where(given == 1, own, 1 - own)).sum()
        elif isinstance(part, Categorical):
            some = own.reshape(part.width, -1)
            every = np.column_stack([some, 1 - some.sum(axis=1)])
            total += np.log(every[np.arange(part.width), given.astype(int)]).sum()
        else:
            mean, log_width = np.split(own, 2)
            total += (-log_width - 0.5 * ((given - mean) / np.exp(log_width)) ** 2).sum()
    return float(total)


def score(family: Family, free: Array, x: Array) -> Array:
    """Return the gradient of the log-density, by central differences."""
    steps = 1e-6 * np.eye(len(free))
    return np.array([(log_density(family, free + e, x) - log_density(family, free - e, x)) / 2e-6 for e in steps])


def all_samples(family: Family, theta: Array) -> tuple[Array, Array]:
    """Return all samples and their probabilities; Gaussians by Gauss-Hermite nodes, exact for these averages."""
    columns, probabilities, at = [], [], 0
    nodes, masses = np.polynomial.hermite_e.hermegauss(4)
    for part in parts_of(family):
        own = theta[at : at + len(part.start())]
        at += len(own)
        for j in range(part.width):
            if isinstance(part, Bernoulli):
                columns.append([0.0, 1.0])
                probabilities.append([1 - own[j], own[j]])
            elif isinstance(part, Categorical):
                columns.append([float(k) for k in range(part.categories)])
                probabilities.append(list(own.reshape(part.width, -1)[j]))
            else:
                columns.append(list(own[j] + np.exp(own[part.width + j]) * nodes))
                probabilities.append(list(masses / masses.sum()))
    points = np.array(list(itertools.product(*columns)))
    return points, np.array([np.prod(each) for each in itertools.product(*probabilities)])


def fisher(family: Family, theta: Array) -> Array:
    """Return the Fisher matrix of the free parameters: the mean outer product of the score."""
    points, probabilities = all_samples(family, theta)
    scores = np.array([score(family, freed(family, theta), x) for x in points])
    return scores.T @ (probabilities[:, None] * scores)


@EACH_SMALL
@pytest.mark.parametrize("seed", range(3))
def test_the_natural_gradient_is_the_score_over_the_fisher_matrix(family: Family, seed: int) -> None:
    theta = some_theta(family, seed)
    inverse = np.linalg.inv(fisher(family, theta))
    for x in family.draw(theta, np.random.default_rng(seed), 5).astype(float):
        found = family.gradient(theta, x[None], np.array([1.0]))
        expected = inverse @ score(family, freed(family, theta), x)
        np.testing.assert_allclose(freed(family, found), expected, rtol=1e-5, atol=1e-7)


@EACH_SMALL
@pytest.mark.parametrize("seed", range(3))
def test_the_whitened_norm_is_the_fisher_norm(family: Family, seed: int) -> None:
    theta, rng = some_theta(family, seed), np.random.default_rng(seed)
    gradient = family.gradient(theta, family.draw(theta, rng, 6), rng.normal(size=6))
    whitened, free = family.whitened(theta, gradient), freed(family, gradient)
    assert whitened @ whitened == pytest.approx(free @ fisher(family, theta) @ free, rel=1e-5)


@EACH
def test_noise_has_the_squared_norm_of_equation_11(family: Family) -> None:
    """n sigma_W^2 / lambda, with weights independent of the samples."""
    family = Gaussian([np.inf] * 3) if isinstance(family, Gaussian) else family
    if isinstance(family, Product):
        family = Product([Bernoulli(2), Categorical(2, 3), Gaussian([np.inf] * 2)])
    rng, size, theta = np.random.default_rng(0), 6, some_theta(family, 0)
    weights, norms = np.array([3.0, 3.0, 0.0, 0.0, -3.0, -3.0]), []
    for _ in range(2000):
        whitened = family.whitened(theta, family.gradient(theta, family.draw(theta, rng, size), weights))
        norms.append(whitened @ whitened)
    error = np.std(norms) / np.sqrt(len(norms))
    assert np.mean(norms) == pytest.approx(family.free * np.var(weights) / size, abs=4 * error)


@EACH
def test_the_gradient_of_many_samples_is_the_mean_of_single_ones(family: Family) -> None:
    theta, rng = some_theta(family, 1), np.random.default_rng(1)
    samples, weights = family.draw(theta, rng, 7), rng.normal(size=7)
    single = [family.gradient(theta, x[None], np.array([w])) for x, w in zip(samples, weights, strict=True)]
    np.testing.assert_allclose(family.gradient(theta, samples, weights), np.mean(single, axis=0), atol=1e-12)


@EACH
def test_unused_entries_add_nothing_to_the_gradient(family: Family) -> None:
    theta, rng = some_theta(family, 1), np.random.default_rng(1)
    samples, weights = family.draw(theta, rng, 8).astype(float), rng.normal(size=8)
    gaps = rng.random(samples.shape) < 0.4
    gaps[:, 0] = True
    holed = np.where(gaps, np.nan, samples)
    found = family.gradient(theta, holed, weights)
    assert np.isfinite(found).all()
    assert not family.gradient(theta, np.full_like(holed, np.nan), weights).any()
    each = [family.gradient(theta, np.where(np.arange(family.width) == j, samples, np.nan), weights * ~gaps[:, j])
            for j in range(family.width)]  # fmt: skip
    np.testing.assert_allclose(found, np.sum(each, axis=0), atol=1e-12)


@EACH
def test_draws_have_the_probabilities_theta(family: Family) -> None:
    family.check(family.draw(family.start(), np.random.default_rng(0), 50))
    theta = some_theta(family, 2)
    samples = family.draw(theta, np.random.default_rng(0), 20_000)
    assert samples.shape == (20_000, family.width)
    column, at = 0, 0
    for part in parts_of(family):
        own, x = theta[at : at + len(part.start())], samples[:, column : column + part.width]
        at, column = at + len(own), column + part.width
        if isinstance(part, Bernoulli):
            np.testing.assert_allclose(x.mean(axis=0), own, atol=0.02)
        elif isinstance(part, Categorical):
            shares = [(x == k).mean(axis=0) for k in range(part.categories)]
            np.testing.assert_allclose(np.transpose(shares).ravel(), own, atol=0.02)
        else:
            cell = np.where(np.isfinite(part.cells), 1 / part.cells, 0)
            assert (np.abs(x.mean(axis=0) - own[: part.width]) < 0.002 + cell).all()


def test_bits_drawn_row_by_row_are_the_same() -> None:
    """Large generations are drawn and weighted in blocks."""
    n = BLOCK // 4
    family, theta = Bernoulli(n), np.random.default_rng(0).uniform(0.1, 0.9, n)
    whole = [family.draw(theta, np.random.default_rng(1), count) for count in (4, 5)]
    np.testing.assert_array_equal(whole[0], whole[1][:4])
    weights = np.array([1.0, 2.0, -1.0, -2.0, 0.5])
    expected = np.mean(weights[:, None] * (whole[1] - theta), axis=0)
    np.testing.assert_allclose(family.gradient(theta, whole[1], weights), expected, atol=1e-12)


def test_the_lattice_of_a_column_with_cells() -> None:
    family = Gaussian([4, np.inf])
    samples = family.draw(np.array([0.5, 0.5, 0.0, 0.0]), np.random.default_rng(0), 500)
    assert set(samples[:, 0]) == {0.125, 0.375, 0.625, 0.875}
    assert len(set(samples[:, 1])) > 200
    assert ((samples >= 0) & (samples <= 1)).all()


# margins


def within(family: Family, theta: Array, n: int) -> bool:
    """Whether theta is valid for the family and within its margins."""
    ends = np.cumsum([len(part.start()) for part in parts_of(family)])[:-1]
    sound = [np.isfinite(theta).all()]
    for part, own in zip(parts_of(family), np.split(theta, ends), strict=True):
        if isinstance(part, Bernoulli):
            sound.append(((own >= min(1 / n, 0.25)) & (own <= 1 - min(1 / n, 0.25))).all())
        elif isinstance(part, Categorical):
            k = part.categories
            sound += [(own >= min(1 / (n * (k - 1)), 1 / (2 * k)) * (1 - 1e-12)).all()]
            sound += [np.allclose(own.reshape(-1, k).sum(axis=1), 1, atol=1e-12)]
        else:
            mean, log_width = np.split(own, 2)
            sound += [((mean >= 0) & (mean <= 1)).all(), ((log_width >= np.log(1e-9)) & (log_width <= 0)).all()]
    return all(sound)


@st.composite
def families(draw: st.DrawFn) -> Family:
    """Any family, or a product of some."""
    cells = st.lists(st.sampled_from([2.0, 3.0, 100.0, np.inf]), min_size=1, max_size=3)
    single = st.one_of(
        st.builds(Bernoulli, st.integers(1, 5)),
        st.builds(Categorical, st.integers(1, 3), st.integers(2, 5)),
        st.builds(Gaussian, cells),
    )
    return draw(st.one_of(single, st.lists(single, min_size=1, max_size=3).map(Product)))


@examples(60)
@given(
    family=families(), seed=st.integers(0, 99), adapt=st.sampled_from(["lambda", "epsilon", None]), gaps=st.booleans()
)
def test_theta_stays_within_the_margins(family: Family, seed: int, adapt: str | None, gaps: bool) -> None:
    """With ties, failures, infinite losses, unused entries and any number of samples."""
    rng = np.random.default_rng(seed)
    search = IGO(family, adapt=adapt, seed=seed, step_size=rng.choice([None, 1.0]))
    for _ in range(25):
        samples = search.ask(int(rng.integers(2, 8)))
        losses = rng.choice([0.0, 1.0, 2.0, np.nan, np.inf, rng.normal()], len(samples))
        search.tell(np.where(gaps & (rng.random(samples.shape) < 0.3), np.nan, samples), losses)
        assert within(family, search.theta, family.free)
        family.check(search.ask(3))
        assert 2 <= search.sample_size <= max(family.free, 2)
        assert 0 < search.step_size <= 1


@EACH
@pytest.mark.parametrize("size", [1e-3, 1.0, 1e6])
def test_a_step_of_any_length_ends_within_the_margins(family: Family, size: float) -> None:
    rng = np.random.default_rng(0)
    theta = some_theta(family, 0)
    for _ in range(20):
        gradient = family.gradient(theta, family.draw(theta, rng, 4), rng.normal(size=4))
        theta = family.moved(theta, size * gradient, family.free)
        assert within(family, theta, family.free)


@pytest.mark.parametrize(("n", "margin"), [(1, 0.25), (2, 0.25), (3, 0.25), (4, 0.25), (5, 0.2), (100, 0.01)])
def test_the_margin_of_bits(n: int, margin: float) -> None:
    moved = Bernoulli(2).moved(np.array([0.5, 0.5]), np.array([9.0, -9.0]), n)
    np.testing.assert_allclose(moved, [1 - margin, margin])


def test_a_width_at_most_doubles_or_halves_in_a_step() -> None:
    moved = Gaussian([np.inf] * 2).moved(np.array([0.5, 0.5, -3.0, -3.0]), np.array([0.0, 0.0, 50.0, -50.0]), 4)
    np.testing.assert_allclose(moved[2:], [-3 + np.log(2), -3 - np.log(2)])


# integers


def probability_of_leaving(family: Gaussian, theta: Array) -> Array:
    """Return the probability that a sample is not in the cell of the mean."""
    mean, log_width = np.split(theta, 2)
    cell = np.minimum(np.floor(mean * family.cells), family.cells - 1)
    probabilities = []
    for at, width, index, count in zip(mean, np.exp(log_width), cell, family.cells, strict=True):
        spread = NormalDist(at, width)
        below = spread.cdf(index / count) if index > 0 else 0.0
        above = 1 - spread.cdf((index + 1) / count) if index < count - 1 else 0.0
        probabilities.append(below + above)
    return np.array(probabilities)


@pytest.mark.parametrize("n", [2, 3, 10, 100, 10_000])
@pytest.mark.parametrize("cells", [2, 3, 10, 1000])
def test_the_least_width_leaves_a_cell_with_probability_1_in_n(n: int, cells: int) -> None:
    family = Gaussian([cells])
    middle = (cells // 2 + 0.5) / cells
    theta = family.moved(np.array([middle, -30.0]), np.zeros(2), n)
    sides = 2 if cells > 2 else 1  # of two cells, each has one neighbour
    assert probability_of_leaving(family, theta)[0] == pytest.approx(sides / (2 * n), rel=1e-6)


@pytest.mark.parametrize("best", [0, 3, 9])
def test_integers_do_not_freeze(best: int) -> None:
    """After convergence to a cell, at the bounds too, its neighbours are still drawn."""
    family = Gaussian([10] * 4)
    search = IGO(family, seed=0)
    for _ in range(1500):
        samples = search.ask()
        search.tell(samples, np.abs(samples - (best + 0.5) / 10).sum(axis=1))
    assert (np.abs(search.theta[:4] * 10 - best - 0.5) < 1).all()
    assert (probability_of_leaving(family, search.theta) >= 0.499 / family.free).all()


@pytest.mark.parametrize("seed", range(3))
def test_integers_floats_and_categories_together(seed: int) -> None:
    family = Product([Gaussian([np.inf, np.inf, 20, 6]), Categorical(2, 4)])
    search, best = IGO(family, seed=seed), np.inf
    target = np.array([0.3, 0.8, 7.5 / 20, 5.5 / 6])
    for _ in range(700):
        samples = search.ask()
        numbers, choices = samples[:, :4], samples[:, 4:]
        losses = ((numbers - target) ** 2).sum(axis=1) + (choices != [2, 0]).sum(axis=1)
        search.tell(samples, losses)
        best = min(best, losses.min())
    assert best < 1e-4


# bad input


@pytest.mark.parametrize(("make", "message"), [
    (lambda: Bernoulli(0), "the number of bits must be a whole number of at least 1, got 0"),
    (lambda: Bernoulli(2.0), "the number of bits must be a whole number of at least 1, got 2.0"),
    (lambda: Bernoulli(True), "the number of bits must be a whole number of at least 1, got True"),
    (lambda: Categorical(0, 3), "the number of choices must be a whole number of at least 1, got 0"),
    (lambda: Categorical(3, 1), "the number of categories must be a whole number of at least 2, got 1"),
    (lambda: Gaussian([1, 3]), "cells must be whole numbers from 2 on, or infinite, one a column, got [1, 3]"),
    (lambda: Gaussian([np.nan]), "cells must be whole numbers from 2 on, or infinite, one a column, got [nan]"),
    (lambda: Gaussian([[2, 2]]), "cells must be whole numbers from 2 on, or infinite, one a column, got [[2, 2]]"),
    (lambda: Product([]), "a product needs a list of at least one family, such as [Bernoulli(10)]"),
    (lambda: Product([Bernoulli(1), 3]), "a product needs a list of at least one family, such as [Bernoulli(10)]"),
])  # fmt: skip
def test_wrong_families_are_refused(make: Callable[[], Family], message: str) -> None:
    with pytest.raises(OptionError) as raised:
        make()
    assert str(raised.value) == message


@pytest.mark.parametrize("cells", [[], [2.5]])
def test_cells_are_whole_numbers_of_at_least_one_column(cells: list[float]) -> None:
    with pytest.raises(OptionError, match="cells must be"):
        Gaussian(cells)


@pytest.mark.parametrize(("family", "wrong", "message"), [
    (Bernoulli(2), [[0, 2], [0, 1]], "bits must be 0 or 1"),
    (Bernoulli(2), [[0, np.inf], [0, 1]], "bits must be 0 or 1"),
    (Categorical(2, 3), [[0, 3], [0, 1]], "categories must be whole numbers from 0 to 2"),
    (Categorical(2, 3), [[0, -1], [0, 1]], "categories must be whole numbers from 0 to 2"),
    (Categorical(2, 3), [[0, 0.5], [0, 1]], "categories must be whole numbers from 0 to 2"),
    (Gaussian([np.inf, 3]), [[0, 1.1], [0, 1]], "numbers must lie in [0, 1]"),
    (Product([Bernoulli(1), Categorical(1, 2)]), [[0, 3], [0, 1]], "categories must be whole numbers from 0 to 1"),
])  # fmt: skip
def test_samples_of_another_family_are_refused(family: Family, wrong: list[list[float]], message: str) -> None:
    search = IGO(family)
    with pytest.raises(OptionError) as raised:
        search.tell(wrong, [1.0, 2.0])
    assert str(raised.value) == message
    np.testing.assert_array_equal(search.theta, family.start())
