from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from sonde.surrogates.basis import adaptive
from sonde.surrogates.basis.adaptive import CACHED, NOISE_FLOOR, AdaptiveBasis, Recipe
from sonde.surrogates.basis.data import BLOCK, Table, held_out
from sonde.surrogates.basis.posterior import LinearPosterior, mixture
from sonde.surrogates.basis.regression import Regression, regress
from sonde.surrogates.basis.training import train

Array = NDArray[np.float64]

RECIPE = Recipe(members=2, width=12)
BRIEF = replace(RECIPE, effort=0.15)  # for tests that do not depend on the quality of the networks
QUADRATIC = Recipe(members=4, width=12, loss="squares", optimizer="sgd", draws=3, quadratic=True)
FEW = 16
NEW = np.random.default_rng(100).random((400, 2)) - 0.5
SMOOTH: dict[str, Callable[[Array], Array]] = {
    "waves": lambda x: np.sin(5 * x[:, 0]) + np.cos(4 * x[:, 1]) * x[:, 0],
    "quadratic": lambda x: 3 * (x[:, 0] - 0.1) ** 2 + (x[:, 1] + x[:, 0]) ** 2,
    "bump": lambda x: np.exp(-8 * np.sum((x - 0.15) ** 2, axis=1)) - x[:, 1],
}


def data_of(count: int, function: str = "waves", *, noise: float = 0.0, reported: bool = False, seed: int = 0) -> Table:
    """Standardised observations of a smooth function, with or without reported noise."""
    rng = np.random.default_rng([seed, 9])
    x = rng.random((count, 2)) - 0.5
    y = SMOOTH[function](x) / SMOOTH[function](NEW).std()
    variances = rng.uniform(0.0, 0.3, count) * reported
    return Table(x, y + noise * rng.normal(size=count) + np.sqrt(variances) * rng.normal(size=count), variances)


def learn(
    basis: AdaptiveBasis, data: Table, count: int | None = None, seed: int = 0
) -> tuple[LinearPosterior, ...]:  # fmt: skip
    return basis.learn(data, len(data.y) if count is None else count, np.random.default_rng(seed))


def assert_same(one: tuple[LinearPosterior, ...], other: tuple[LinearPosterior, ...]) -> None:
    assert len(one) == len(other)
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a.mean, b.mean)
        np.testing.assert_array_equal(a.root, b.root)
        assert a.noise == b.noise
        np.testing.assert_array_equal(a.network.basis(NEW).values, b.network.basis(NEW).values)


# a pure function of the data


@pytest.mark.parametrize(
    ("recipe", "first"), [(BRIEF, 32), (replace(QUADRATIC, effort=0.15), FEW)], ids=["evidence", "quadratic"]
)
def test_the_posterior_does_not_depend_on_earlier_fits(recipe: Recipe, first: int) -> None:
    data, used = data_of(2 * BLOCK + 50), AdaptiveBasis(recipe)
    for count in (32, 35, BLOCK + 7, 2 * BLOCK):
        learn(used, data.rows(slice(count)), first)
    assert_same(learn(used, data, first), learn(AdaptiveBasis(recipe), data, first))


def test_a_warm_start_trains_the_earlier_checkpoint_if_needed() -> None:
    """Training on 40 rows starts from the networks of 32 rows, cached or not."""
    data, used = data_of(44), AdaptiveBasis(BRIEF)
    before = learn(used, data, 32)
    after, fresh = learn(used, data, 40), learn(AdaptiveBasis(BRIEF), data, 40)
    assert_same(after, fresh)
    assert not np.array_equal(before[0].network.layers[0].weights, after[0].network.layers[0].weights)


def regressions(trained: adaptive.Trained, data: Table) -> list[Regression]:
    """The regression of each network on all rows at once."""
    basis, weights = trained.network.basis(data.x).values, NOISE_FLOOR / (NOISE_FLOOR + data.noise)
    return [regress(own, np.empty((len(data.y), 0)), data.y, weights) for own in np.split(basis, 2, axis=1)]


def test_rows_after_the_checkpoint_are_fitted_exactly() -> None:
    """The networks do not change; their regressions are those on all rows."""
    data, basis = data_of(44), AdaptiveBasis(BRIEF)
    trained, rng = basis.network(data, 32), np.random.default_rng(0)
    parts = [each.weights(each.draws(1, rng)[0]) for each in regressions(trained, data)]
    after, before = learn(basis, data, 32)[0], learn(basis, data.rows(slice(32)), 32)[0]
    np.testing.assert_allclose(after.marginals(NEW).mean[:, 0], mixed_means(trained, parts), rtol=1e-6, atol=1e-8)
    assert after.network is before.network
    last = data.x[32:]
    assert np.mean((after.marginals(last).mean[:, 0] - data.y[32:]) ** 2) < np.mean(
        (before.marginals(last).mean[:, 0] - data.y[32:]) ** 2
    )


def mixed_means(trained: adaptive.Trained, parts: list[tuple[Array, Array]]) -> Array:
    basis = np.split(trained.network.basis(NEW).values, 2, axis=1)
    return np.mean([own @ mean for own, (mean, _) in zip(basis, parts, strict=True)], axis=0)


def test_rows_in_other_blocks_have_the_same_sums() -> None:
    data, basis = data_of(2 * BLOCK + 50, reported=True), AdaptiveBasis(BRIEF)
    order = np.concatenate([np.arange(32), np.arange(len(data.y) - 1, 31, -1)])
    expected, got = basis.leave_one_out(data, 32), basis.leave_one_out(data.rows(order), 32)
    for one, other in zip(expected, got, strict=True):
        np.testing.assert_allclose(other, one[order], rtol=1e-6, atol=1e-8)


def test_only_the_draws_of_hyperparameters_depend_on_the_generator() -> None:
    data, basis = data_of(32), AdaptiveBasis(BRIEF)
    one, same, other = (learn(basis, data, seed=seed) for seed in (1, 1, 2))
    assert_same(one, same)
    assert one[0].network is other[0].network
    assert not np.array_equal(one[0].mean, other[0].mean)


def test_the_number_of_cached_networks_is_limited() -> None:
    basis, tables = AdaptiveBasis(RECIPE), [data_of(count) for count in range(CACHED + 1)]  # too few to train on
    first, *others = [basis.network(data, len(data.y)) for data in tables]
    assert all(basis.network(data, len(data.y)) is kept for data, kept in zip(tables[1:], others, strict=True))
    assert basis.network(tables[0], 0) is not first


# the persistent cache


@pytest.mark.parametrize("loss", ["evidence", "logistic"])
def test_cached_networks_are_not_trained_again(loss: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data, recipe, cache = data_of(44), replace(BRIEF, loss=loss), MemoryCache()
    if loss == "logistic":
        data = data._replace(y=np.sign(data.y))
    trained = AdaptiveBasis(recipe, cache=cache).network(data, 40)
    assert_same_networks(trained, AdaptiveBasis(recipe).network(data, 40))  # a cache changes nothing
    monkeypatch.setattr(adaptive, "train", None)
    found = AdaptiveBasis(recipe, cache=cache).network(data, 40)
    assert_same_networks(found, trained)


@pytest.mark.parametrize("state", [b"", b"PK", b"x" * 1000, None])
def test_unreadable_entries_are_trained_again(state: bytes | None) -> None:
    data, cache = data_of(32), MemoryCache()
    trained = AdaptiveBasis(BRIEF, cache=cache).network(data, 32)
    whole = next(iter(cache.values()))
    cache.update(dict.fromkeys(cache, whole[: len(whole) // 2] if state is None else state))
    assert_same_networks(AdaptiveBasis(BRIEF, cache=cache).network(data, 32), trained)
    assert list(cache.values()) == [whole]


def test_other_data_and_other_recipes_have_other_cache_entries() -> None:
    data, cache = data_of(32), MemoryCache()
    for recipe in (BRIEF, replace(BRIEF, width=13), replace(BRIEF, loss="squares")):
        AdaptiveBasis(recipe, cache=cache).network(data, 32)
    AdaptiveBasis(BRIEF, cache=cache).network(data._replace(y=data.y + 1), 32)
    assert len(cache) == 4


class MemoryCache(dict[str, bytes]):
    """A cache in memory."""

    def put(self, name: str, state: bytes) -> None:
        self[name] = state


def assert_same_networks(one: adaptive.Trained, other: adaptive.Trained) -> None:
    assert (one.inflation, one.score) == (other.inflation, other.score)
    for mine, theirs in ((one.network, other.network), (one.validation, other.validation)):
        assert mine is not None
        assert theirs is not None
        for a, b in zip(mine.layers, theirs.layers, strict=True):
            np.testing.assert_array_equal(a.weights, b.weights)
            np.testing.assert_array_equal(a.biases, b.biases)


# few rows, and degenerate ones


SINGLE = Recipe(members=1, loss="squares", optimizer="sgd", draws=10, quadratic=True)


@pytest.mark.parametrize("recipe", [Recipe(), SINGLE], ids=["default", "single"])
@pytest.mark.parametrize("count", [0, 1, 5])
def test_few_rows_are_fitted_without_training(recipe: Recipe, count: int) -> None:
    posteriors = learn(AdaptiveBasis(recipe), data_of(count))
    assert len(posteriors) == recipe.draws
    for posterior in posteriors:
        at = posterior.marginals(NEW)
        assert np.all(np.isfinite(at.mean))
        assert np.all(at.variance > 0)
        assert np.ptp(at.variance) > 0


@pytest.mark.parametrize("kind", ["constant", "one point", "one outlier"])
def test_degenerate_data_leave_posteriors_finite(kind: str) -> None:
    data = data_of(32)
    if kind == "constant":
        data = data._replace(y=np.zeros(32))
    elif kind == "one point":
        data = data._replace(x=np.repeat(data.x[:1], 32, axis=0))
    else:
        data.y[3] = -30.0
    basis = AdaptiveBasis(BRIEF)
    at = learn(basis, data)[0].marginals(NEW)
    assert np.all(np.isfinite(at.mean))
    assert np.all((at.variance > 0) & np.isfinite(at.variance))
    assert all(np.all(np.isfinite(each)) for each in basis.leave_one_out(data, 32))


# calibration


def test_credible_intervals_are_calibrated() -> None:
    """The 90% interval covers at least 75% of unseen values on each function, and not all of them on average."""
    covered = []
    for name, function in SMOOTH.items():
        posterior = learn(AdaptiveBasis(RECIPE), data_of(128, name))[0]
        at, truth = posterior.marginals(NEW), function(NEW) / function(NEW).std()
        covered.append(np.mean(np.abs(truth - at.mean[:, 0]) < 1.645 * np.sqrt(at.variance + posterior.noise)))
        assert np.sqrt(np.mean((truth - at.mean[:, 0]) ** 2)) < 0.05
    assert min(covered) > 0.75
    assert np.mean(covered) < 0.99


def test_credible_intervals_of_noisy_values_are_calibrated() -> None:
    posterior = learn(AdaptiveBasis(RECIPE), data_of(128, noise=0.3))[0]
    new = data_of(400, noise=0.3, seed=1)
    at = posterior.marginals(new.x)
    covered = np.mean(np.abs(new.y - at.mean[:, 0]) < 1.645 * np.sqrt(at.variance + posterior.noise))
    assert 0.75 < covered < 0.98
    assert 0.15 < np.sqrt(posterior.noise) < 0.45


def test_the_inflation_comes_from_held_out_rows() -> None:
    data = data_of(32)
    trained = AdaptiveBasis(RECIPE).network(data, 32)
    assert trained.validation is not None
    assert (trained.network.count, trained.validation.count) == (2, 2)
    assert np.isfinite(trained.score)
    assert trained.inflation > 0
    changed = data._replace(y=np.where(held_out(32), data.y + 1, data.y))
    other = AdaptiveBasis(RECIPE).network(changed, 32)
    assert other.validation is not None
    for one, two in zip(trained.validation.layers, other.validation.layers, strict=True):
        np.testing.assert_array_equal(one.weights, two.weights)
    assert other.inflation > trained.inflation
    assert other.score < trained.score


def test_the_score_is_better_for_predictable_values() -> None:
    data = data_of(64)
    shuffled = data._replace(y=np.random.default_rng(0).permutation(data.y))
    scores = [AdaptiveBasis(RECIPE).network(each, 64).score for each in (data, shuffled)]
    assert scores[0] > scores[1] + 1


# leave-one-out


def test_leave_one_out_is_finite_and_better_than_the_mean() -> None:
    data = data_of(64)
    means, variances = AdaptiveBasis(RECIPE).leave_one_out(data, 64)
    assert np.all(np.isfinite(means))
    assert np.all((variances > 0) & np.isfinite(variances))
    assert np.mean((data.y - means) ** 2) < 0.05 * np.var(data.y)
    assert np.all(means != data.y)


@pytest.mark.parametrize("reported", [False, True], ids=["no reported noise", "reported noise"])
@pytest.mark.parametrize("inflation", [1.0, 4.0])
def test_leave_one_out_matches_refitting(inflation: float, reported: bool) -> None:
    """With a fixed basis and fixed hyperparameters."""
    data, basis = data_of(32, noise=0.2, reported=reported), AdaptiveBasis(BRIEF)
    basis.network(data, 32).inflation = inflation
    means, variances = basis.leave_one_out(data, 32)
    trained = basis.network(data, 32)
    given = [each.most_probable() for each in regressions(trained, data)]
    eta, noise = np.array([each.eta for each in given]), float(np.mean([1 / each.beta for each in given]))
    for i in range(0, 32, 5):
        row, others = data.rows(slice(i, i + 1)), data.rows(np.flatnonzero(np.arange(32) != i))
        parts = [each.weights(own) for each, own in zip(regressions(trained, others), given, strict=True)]
        posterior = mixture(trained.network, parts, eta=eta, inflation=inflation, noise=noise)
        at = posterior.marginals(row.x)
        assert means[i] == pytest.approx(at.mean[0, 0], rel=1e-5, abs=1e-6)
        if reported:
            assert variances[i] >= row.noise[0]
        else:
            assert variances[i] == pytest.approx(at.variance[0] + posterior.noise, rel=1e-5)


# the quadratic mean function


def quadratic_data(count: int) -> Table:
    data = data_of(count)
    return data._replace(y=-20 * np.sum((data.x - 0.1) ** 2, axis=1))


def test_the_quadratic_mean_is_used_and_concave() -> None:
    data = quadratic_data(40)
    posteriors = learn(AdaptiveBasis(QUADRATIC), data, 32)
    assert len(posteriors) == 3
    for posterior in posteriors:
        assert np.all(posterior.mean[-2:, 0] < 0)  # of x^2
        assert np.corrcoef(posterior.marginals(data.x).mean[:, 0], data.y)[0, 1] > 0.95


def test_networks_with_a_quadratic_mean_are_calibrated_too() -> None:
    data, recipe = quadratic_data(32), replace(QUADRATIC, members=2)
    assert np.isfinite(AdaptiveBasis(recipe).network(data, 32).score)
    at = learn(AdaptiveBasis(recipe), data)[0].marginals(data.x)
    assert np.corrcoef(at.mean[:, 0], data.y)[0, 1] > 0.95


# several objectives on the same networks


def both(count: int = 64) -> tuple[Table, Table]:
    """Observations of two functions of the same points, with both as targets."""
    data = data_of(count)
    other = data_of(count, "bump").y
    targets = np.stack([data.y, other], axis=1)
    return data._replace(targets=targets), data._replace(y=other, targets=targets)


def test_networks_are_trained_once_for_several_objectives(monkeypatch: pytest.MonkeyPatch) -> None:
    trained = []
    monkeypatch.setattr(
        adaptive, "train", lambda *args, **options: trained.append(args[2].shape) or train(*args, **options)
    )
    basis, (one, other) = AdaptiveBasis(RECIPE, cache=MemoryCache()), both()
    first, second = basis.network(one, 64), basis.network(other, 64)
    assert trained == [(64, 2)] * 2  # without the held-out rows, then with all
    assert first.network is second.network
    assert (first.inflation, first.score) != (second.inflation, second.score)
    again = AdaptiveBasis(RECIPE, cache=basis.cache)
    assert_same_networks(again.network(other, 64), second)
    assert len(trained) == 2


def test_shared_networks_predict_about_as_well_as_separate_ones() -> None:
    for together in both(128):
        alone = together._replace(targets=None)
        scores = [AdaptiveBasis(RECIPE).network(data, 128).score for data in (together, alone)]
        assert scores[0] > scores[1] - 0.7
        mean = learn(AdaptiveBasis(RECIPE), together)[0].marginals(NEW).mean[:, 0]
        known = "waves" if np.array_equal(together.y, data_of(128).y) else "bump"
        assert np.sqrt(np.mean((mean - SMOOTH[known](NEW) / SMOOTH[known](NEW).std()) ** 2)) < 0.3
