"""The mean by conjugate gradients against the dense solution."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.surrogates.slope_models import TRENDS, points_of, slope_covariance, some_sites, whole_sites

import sonde.surrogates.gradient.iterative as module
from sonde.surrogates.gradient.gp import GradientPosterior
from sonde.surrogates.gradient.iterative import IterativePosterior, Mean
from sonde.surrogates.gradient.observations import ObservationLayout

Array = NDArray[np.float64]
FEW = 5


@pytest.fixture
def exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Conjugate gradients to the end."""
    monkeypatch.setattr(module, "TOLERANCE", 1e-12)
    monkeypatch.setattr(module, "STEPS", 1000)


def beliefs(
    trend: str | None,
    sites_of: Callable[[Array], ObservationLayout] = whole_sites,
    profile: str = "matern52",
    count: int = 16,
) -> tuple[IterativePosterior, GradientPosterior, GradientPosterior]:
    """The belief by conjugate gradients, that after everything, and that after the values and gradients of a few."""
    covariance, sites = slope_covariance(profile, trend), sites_of(points_of(count))
    rng = np.random.default_rng(3)
    y, noise = rng.normal(size=len(sites)), rng.uniform(0.01, 0.02, len(sites))
    rows = np.array([1, 4, 6, 9, 15])[:FEW]
    points, columns = sites.gradients
    kept = np.isin(points, rows[:3])  # gradients of the first three only
    small = ObservationLayout(sites.x[rows], np.stack([np.searchsorted(rows, points[kept]), columns[kept]]))
    chosen = np.concatenate([rows, count + np.flatnonzero(kept)])
    few = GradientPosterior.after(covariance, small, y[chosen], noise[chosen])
    return (
        IterativePosterior.after(few, rows, sites, y, noise),
        GradientPosterior.after(covariance, sites, y, noise),
        few,
    )


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("profile", ["matern52", "rbf", "rational_quadratic"])
@pytest.mark.parametrize("trend", TRENDS)
@pytest.mark.parametrize("sites_of", [whole_sites, some_sites])
def test_its_mean_is_that_after_everything(
    trend: str | None, profile: str, sites_of: Callable[[Array], ObservationLayout]
) -> None:
    many, everything, few = beliefs(trend, sites_of, profile)
    new = points_of(7, seed=1)
    ours, theirs, before = many.marginals(new), everything.marginals(new), few.marginals(new)
    np.testing.assert_allclose(ours.mean, theirs.mean, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(ours.variance, before.variance, rtol=1e-12)
    assert (ours.variance >= theirs.variance - 1e-9).all()
    np.testing.assert_allclose(many.gradients(new)[0], everything.gradients(new)[0], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(many.pool(new).mean, theirs.mean[:, 0], rtol=1e-6, atol=1e-8)
    pools = new[:6].reshape(2, 3, -1)
    np.testing.assert_allclose(many.joint(pools).mean.ravel(), theirs.mean[:6, 0], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(many.joint(pools).covariance, few.joint(pools).covariance, rtol=1e-12)
    assert many.noise == everything.noise


def distance(mean: Mean, everything: GradientPosterior) -> float:
    """How far weights are from those of everything, in the norm of the matrix."""
    (points, columns) = everything.sites.gradients
    apart = np.concatenate([mean.a, mean.b[points, columns]]) - everything.weights[:, 0]
    lower = np.linalg.inv(everything.inverse)
    return float(np.linalg.norm(lower.T @ apart))


@pytest.mark.parametrize("trend", TRENDS)
def test_a_solution_cut_short_is_nearer_than_that_of_the_few_and_the_nearer_the_later(
    trend: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TOLERANCE", 1e-12)
    found = []
    for steps in (1, 4, 12):
        monkeypatch.setattr(module, "STEPS", steps)
        many, everything, few = beliefs(trend)
        found.append(distance(many.mean, everything))
    rows, weights = np.array([1, 4, 6, 9, 15]), few.weights[:, 0]
    start = Mean(few.covariance, everything.sites.x, np.zeros(16), np.zeros((16, 3)))
    start.a[rows] = weights[:FEW]
    start.b[rows[few.sites.gradients[0]], few.sites.gradients[1]] = weights[FEW:]
    assert distance(start, everything) > found[0] > found[1] > found[2]


def test_slopes_of_the_belief_are_its_derivatives() -> None:
    many, _, _ = beliefs("bowl")
    rng, new, step = np.random.default_rng(0), points_of(3, seed=2), 1e-6
    steep, wide = rng.normal(size=(3, 1)), rng.normal(size=3)

    def total(x: Array) -> float:
        belief = many.marginals(x)
        return float(np.sum(steep * belief.mean) + wide @ belief.variance)

    pulled, pools = many.marginals(new).vjp(steep, wide), new[None]
    means, spreads = rng.normal(size=(1, 3)), rng.normal(size=(1, 3, 3))

    def joint_total(x: Array) -> float:
        belief = many.joint(x[None])
        return float(np.sum(means * belief.mean) + np.sum(spreads * belief.covariance))

    together = many.joint(pools).vjp(means, spreads)[0]
    for index in np.ndindex(new.shape):
        nudge = np.zeros_like(new)
        nudge[index] = step
        assert pulled[index] == pytest.approx((total(new + nudge) - total(new - nudge)) / (2 * step), abs=1e-5)
        slope = (joint_total(new + nudge) - joint_total(new - nudge)) / (2 * step)
        assert together[index] == pytest.approx(slope, abs=1e-5)


def test_further_values_are_learned_from() -> None:
    many, _, _ = beliefs("quadratic")
    new = points_of(2, seed=4)
    told = many.marginals(new).mean + np.array([[1.0, -2.0], [0.5, 0.0]])
    after = many.condition(new, told, 1e-8 - many.noise).marginals(new)
    np.testing.assert_allclose(after.mean, told, atol=1e-4)
    assert (after.variance < 1e-4).all()


def test_draws_are_around_the_mean() -> None:
    many, _, _ = beliefs(None)
    pool = many.pool(points_of(4, seed=5))
    drawn = pool.draw(np.random.default_rng(0), 4000)
    np.testing.assert_allclose(drawn.mean(axis=1), pool.mean, atol=5 * np.sqrt(pool.variance.max() / 4000))
    np.testing.assert_allclose(drawn.var(axis=1), pool.variance, rtol=0.15)
