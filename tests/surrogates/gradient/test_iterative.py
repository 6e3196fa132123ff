"""The mean by conjugate gradients against the dense solution."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.surrogates.gradient_models import (
    TRENDS,
    full_layout,
    gradient_covariance,
    gradients_of,
    partial_layout,
    points_of,
)

import sonde.surrogates.gradient.iterative as module
from sonde.surrogates.gaussian_process.observations import ObservationLayout
from sonde.surrogates.gaussian_process.posterior import ExactPosterior
from sonde.surrogates.gradient.iterative import IterativePosterior, Mean

Array = NDArray[np.float64]
FEW = 5


@pytest.fixture
def exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Conjugate gradients to the end."""
    monkeypatch.setattr(module, "TOLERANCE", 1e-12)
    monkeypatch.setattr(module, "STEPS", 1000)


def posteriors(
    trend: str | None,
    layout_of: Callable[[Array], ObservationLayout] = full_layout,
    profile: str = "matern52",
    count: int = 16,
) -> tuple[IterativePosterior, ExactPosterior, ExactPosterior]:
    """The iterative posterior, the one given all observations, and the one given the values and gradients of a few."""
    covariance, layout = gradient_covariance(profile, trend), layout_of(points_of(count))
    rng = np.random.default_rng(3)
    y, noise = rng.normal(size=len(layout)), rng.uniform(0.01, 0.02, len(layout))
    rows = np.array([1, 4, 6, 9, 15])[:FEW]
    points, columns = layout.gradients
    kept = np.isin(points, rows[:3])  # gradients of the first three only
    small = ObservationLayout(layout.x[rows], np.stack([np.searchsorted(rows, points[kept]), columns[kept]]))
    chosen = np.concatenate([rows, count + np.flatnonzero(kept)])
    few = ExactPosterior.after(covariance, small, y[chosen], noise[chosen])
    return (
        IterativePosterior.after(few, rows, layout, y, noise),
        ExactPosterior.after(covariance, layout, y, noise),
        few,
    )


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("profile", ["matern52", "rbf", "rational_quadratic"])
@pytest.mark.parametrize("trend", TRENDS)
@pytest.mark.parametrize("layout_of", [full_layout, partial_layout])
def test_its_mean_is_that_given_all_observations(
    trend: str | None, profile: str, layout_of: Callable[[Array], ObservationLayout]
) -> None:
    many, everything, few = posteriors(trend, layout_of, profile)
    new = points_of(7, seed=1)
    ours, theirs, before = many.marginals(new), everything.marginals(new), few.marginals(new)
    np.testing.assert_allclose(ours.mean, theirs.mean, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(ours.variance, before.variance, rtol=1e-12)
    assert (ours.variance >= theirs.variance - 1e-9).all()
    np.testing.assert_allclose(many.mean(new)[1], gradients_of(everything, new)[0], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(many.pool(new).mean, theirs.mean[:, 0], rtol=1e-6, atol=1e-8)
    pools = new[:6].reshape(2, 3, -1)
    np.testing.assert_allclose(many.joint(pools).mean.ravel(), theirs.mean[:6, 0], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(many.joint(pools).covariance, few.joint(pools).covariance, rtol=1e-12)
    assert many.noise == everything.noise


def distance(mean: Mean, everything: ExactPosterior) -> float:
    """The distance of the weights from the exact ones, in the norm of the matrix."""
    (points, columns) = everything.layout.gradients
    apart = np.concatenate([mean.a, mean.b[points, columns]]) - everything.weights[:, 0]
    lower = np.linalg.inv(everything.inverse)
    return float(np.linalg.norm(lower.T @ apart))


@pytest.mark.parametrize("trend", TRENDS)
def test_a_truncated_solution_is_nearer_than_that_of_the_subset_and_improves_with_every_step(
    trend: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TOLERANCE", 1e-12)
    found = []
    for steps in (1, 4, 12):
        monkeypatch.setattr(module, "STEPS", steps)
        many, everything, few = posteriors(trend)
        found.append(distance(many.mean, everything))
    rows, weights = np.array([1, 4, 6, 9, 15]), few.weights[:, 0]
    start = Mean(few.covariance, everything.layout.x, np.zeros(16), np.zeros((16, 3)))
    start.a[rows] = weights[:FEW]
    start.b[rows[few.layout.gradients[0]], few.layout.gradients[1]] = weights[FEW:]
    assert distance(start, everything) > found[0] > found[1] > found[2]


def test_the_vjp_is_the_derivative_of_the_posterior() -> None:
    many, _, _ = posteriors("bowl")
    rng, new, step = np.random.default_rng(0), points_of(3, seed=2), 1e-6
    steep, wide = rng.normal(size=(3, 1)), rng.normal(size=3)

    def total(x: Array) -> float:
        prediction = many.marginals(x)
        return float(np.sum(steep * prediction.mean) + wide @ prediction.variance)

    gradient, pools = many.marginals(new).vjp(steep, wide), new[None]
    means, spreads = rng.normal(size=(1, 3)), rng.normal(size=(1, 3, 3))

    def joint_total(x: Array) -> float:
        prediction = many.joint(x[None])
        return float(np.sum(means * prediction.mean) + np.sum(spreads * prediction.covariance))

    together = many.joint(pools).vjp(means, spreads)[0]
    for index in np.ndindex(new.shape):
        nudge = np.zeros_like(new)
        nudge[index] = step
        assert gradient[index] == pytest.approx((total(new + nudge) - total(new - nudge)) / (2 * step), abs=1e-5)
        numeric = (joint_total(new + nudge) - joint_total(new - nudge)) / (2 * step)
        assert together[index] == pytest.approx(numeric, abs=1e-5)


def test_it_can_be_conditioned_on_further_values() -> None:
    many, _, _ = posteriors("quadratic")
    new = points_of(2, seed=4)
    told = many.marginals(new).mean + np.array([[1.0, -2.0], [0.5, 0.0]])
    after = many.condition(new, told, 1e-8 - many.noise).marginals(new)
    np.testing.assert_allclose(after.mean, told, atol=1e-4)
    assert (after.variance < 1e-4).all()


def test_samples_are_around_the_mean() -> None:
    many, _, _ = posteriors(None)
    pool = many.pool(points_of(4, seed=5))
    drawn = pool.draw(np.random.default_rng(0), 4000)
    np.testing.assert_allclose(drawn.mean(axis=1), pool.mean, atol=5 * np.sqrt(pool.variance.max() / 4000))
    np.testing.assert_allclose(drawn.var(axis=1), pool.variance, rtol=0.15)
