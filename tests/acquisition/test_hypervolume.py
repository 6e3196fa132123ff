from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.acquisition.posteriors import BEST, MIXED, NONE, PLANE, check_gradients, small_posterior
from tests.surrogates.models import units_of

from sonde.acquisition.hypervolume import ExpectedHypervolumeImprovement, MonteCarloHypervolumeImprovement
from sonde.acquisition.montecarlo import MonteCarlo
from sonde.acquisition.pointwise import Pointwise
from sonde.acquisition.sampling import base_samples, cholesky
from sonde.acquisition.utilities import UTILITIES
from sonde.pareto.boxes import Boxes, undominated_boxes
from sonde.pareto.hypervolume import hypervolume
from sonde.surrogates.features import Features
from sonde.surrogates.gaussian_process.posterior import ExactPosterior
from sonde.surrogates.port import Marginals

FRONTS = {
    1: np.array([[BEST]]),
    2: np.array([[0.9, -0.6], [0.3, 0.1], [-0.5, 0.8]]),
    3: np.array([[0.9, -0.6, 0.2], [0.3, 0.1, -0.5], [-0.5, 0.8, 0.4], [0.4, 0.0, 0.3]]),
}


def posteriors(objectives: int, features: Features = PLANE) -> tuple[ExactPosterior, ...]:
    """Posteriors after other values in every objective."""
    return tuple(small_posterior(features, count=4 + 2 * k) for k in range(objectives))


def boxes_of(objectives: int, reference: float = -1.5) -> Boxes:
    return undominated_boxes(FRONTS[objectives], np.full(objectives, reference))


def closed(objectives: int, features: Features = PLANE) -> ExpectedHypervolumeImprovement:
    return ExpectedHypervolumeImprovement(
        posteriors(objectives, features), (features,) * objectives, (boxes_of(objectives),)
    )


def sampled(
    objectives: int, size: int = 1, features: Features = PLANE, **options: Any
) -> MonteCarloHypervolumeImprovement:
    options = {"pending": NONE, "samples": 64, **options}
    models = posteriors(objectives, features)
    return MonteCarloHypervolumeImprovement(
        models, (features,) * objectives, boxes_of(objectives), size=size, **options
    )


class Given:
    """A posterior with these moments at points on a line, of one feature: mean + x, variance (1 + x)^2."""

    noise = 0.0

    def __init__(self, mean: list[float] | np.ndarray, deviation: float = 1.0) -> None:
        self.mean, self.deviation = np.atleast_1d(np.asarray(mean, dtype=float)), deviation

    def marginals(self, x: np.ndarray) -> Marginals:
        scale = 1 + x[:, 0]

        def vjp(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
            return (mean.sum(axis=1) + variance * 2 * scale * self.deviation**2)[:, None]

        return Marginals(self.mean + x, (scale * self.deviation) ** 2, vjp)


LINE = Features((0,))
CENTRE = np.full((1, 1, 1), 0.5)  # where the feature is zero


def at(means: list[list[float]], deviation: float, boxes: tuple[Boxes, ...]) -> ExpectedHypervolumeImprovement:
    models = tuple(Given(mean, deviation) for mean in means)
    return ExpectedHypervolumeImprovement(models, (LINE,) * len(means), boxes)  # type: ignore[arg-type]


def test_one_objective_is_log_expected_improvement() -> None:
    batches = units_of(PLANE, (6, 1), seed=1)
    expected = Pointwise("log_ei", small_posterior(count=4), PLANE, np.array([BEST]))
    for got, wanted in zip(closed(1).gradients(batches), expected.gradients(batches), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-10)


@pytest.mark.parametrize("objectives", [2, 3])
def test_closed_form_is_the_mean_over_samples(objectives: int) -> None:
    batches = units_of(PLANE, (6, 1), seed=1)
    acquisition = closed(objectives)
    assert acquisition.log
    moments = [model.marginals(PLANE(batches[:, 0])) for model in acquisition.posteriors]
    z = base_samples(2**8, objectives, 0)
    outcomes = np.stack([m.mean + np.sqrt(m.variance)[:, None] * z[:, k] for k, m in enumerate(moments)], axis=-1)
    front, reference = FRONTS[objectives], np.full(objectives, -1.5)
    before = hypervolume(front, reference)
    gains = [[hypervolume(np.vstack([front, y]), reference) - before for y in row] for row in outcomes]
    expected = np.mean(gains, axis=1)
    np.testing.assert_allclose(np.exp(acquisition.values(batches)), expected, rtol=0.05, atol=0.01)
    many = sampled(objectives, samples=2**12)
    np.testing.assert_allclose(many.values(batches), np.exp(acquisition.values(batches)), rtol=0.01, atol=1e-3)


@pytest.mark.parametrize(
    ("front", "expected"),  # from BoTorch 0.18.1, with the reference point -0.5
    [
        ([[1, 5], [2, 4], [3.5, 2], [5, 0.5]], 0.2906061278036609),
        ([[1, 2, 3], [2, 3, 1], [3, 1, 2], [2, 2, 2]], 6.397036296501122),
        ([[1, 2, 3, 4], [4, 3, 2, 1], [2, 4, 1, 3], [2.5, 2.5, 2.5, 2.5]], 12.847391289759166),
    ],
)
def test_values_of_botorch(front: list[list[float]], expected: float) -> None:
    y = np.array(front, dtype=float)
    objectives = y.shape[1]
    boxes = undominated_boxes(y, np.full(objectives, -0.5))
    means, variances = np.linspace(1.5, 3.0, objectives), np.linspace(0.5, 2.0, objectives)
    models = tuple(Given([m], np.sqrt(v)) for m, v in zip(means, variances, strict=True))
    acquisition = ExpectedHypervolumeImprovement(models, (LINE,) * objectives, (boxes,))  # type: ignore[arg-type]
    assert acquisition.values(CENTRE)[0] == pytest.approx(np.log(expected), abs=1e-10)


@pytest.mark.parametrize("features", [PLANE, MIXED], ids=["numbers", "mixed"])
@pytest.mark.parametrize("objectives", [1, 2, 3])
def test_gradients(objectives: int, features: Features) -> None:
    check_gradients(closed(objectives, features), units_of(features, (5, 1), seed=1))


def with_fantasies(count: int) -> ExpectedHypervolumeImprovement:
    """Two posteriors after samples of the outcomes of two pending points, and the boxes above each front."""
    pending, models, outcomes = units_of(PLANE, 2, seed=2), [], []
    z = base_samples(count, 4, 9)  # columns of one sequence are independent; those of two seeds need not be
    for k, model in enumerate(posteriors(2)):
        joint = model.joint(PLANE(pending)[None])
        drawn = joint.mean[0] + z[:, 2 * k : 2 * k + 2] @ cholesky(joint.covariance)[0].T  # (s, f)
        models.append(model.condition(PLANE(pending), drawn.T, -model.covariance.noise))
        outcomes.append(drawn)
    fronts = [np.vstack([FRONTS[2], new]) for new in np.stack(outcomes, axis=-1)]
    boxes = tuple(undominated_boxes(front, np.full(2, -1.5)) for front in fronts)
    return ExpectedHypervolumeImprovement(tuple(models), (PLANE, PLANE), boxes)


def test_fantasies_are_averaged() -> None:
    batches = units_of(PLANE, (4, 1), seed=1)
    acquisition = with_fantasies(8)
    assert len({len(boxes.low) for boxes in acquisition.boxes}) > 1
    moments = [model.marginals(PLANE(batches[:, 0])) for model in acquisition.posteriors]
    expected = np.zeros(4)
    for i in range(4):
        for s, boxes in enumerate(acquisition.boxes):
            models = tuple(Given([each.mean[i, s]], np.sqrt(each.variance[i])) for each in moments)
            alone = ExpectedHypervolumeImprovement(models, (LINE, LINE), (boxes,))  # type: ignore[arg-type]
            expected[i] += np.exp(alone.values(CENTRE)[0]) / 8
    np.testing.assert_allclose(np.exp(acquisition.values(batches)), expected, rtol=1e-10)
    check_gradients(acquisition, batches)


def test_fantasies_are_the_increase_by_a_new_point() -> None:
    batches, pending = units_of(PLANE, (4, 1), seed=1), units_of(PLANE, 2, seed=2)
    both = sampled(2, pending=pending, samples=2**12).values(batches)
    alone = sampled(2, size=2, samples=2**12).values(pending[None])
    np.testing.assert_allclose(np.exp(with_fantasies(512).values(batches)), both - alone, atol=0.01)


def test_blocks_do_not_change_values(monkeypatch: pytest.MonkeyPatch) -> None:
    batches, acquisition = units_of(PLANE, (7, 1), seed=1), with_fantasies(4)
    whole = acquisition.gradients(batches)
    several = sampled(2, size=2)
    pairs = several.gradients(units_of(PLANE, (7, 2), seed=1))
    monkeypatch.setattr("sonde.acquisition.hypervolume.BLOCK", 3)
    for got, expected in zip(acquisition.gradients(batches), whole, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-9)
    np.testing.assert_allclose(acquisition.values(batches), whole[0], rtol=1e-12)
    for got, expected in zip(several.gradients(units_of(PLANE, (7, 2), seed=1)), pairs, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-9)


def test_weights_multiply_the_sides() -> None:
    batches, plain = units_of(PLANE, (4, 1), seed=1), closed(2)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, plain.boxes[0].low.shape)
    parts = [replace(plain, boxes=(Boxes(low[None], high[None]),)) for low, high in zip(*plain.boxes[0], strict=True)]
    expected = sum(np.prod(w) * np.exp(part.values(batches)) for w, part in zip(weights, parts, strict=True))
    weighted = replace(plain, weights=(weights,))
    np.testing.assert_allclose(np.exp(weighted.values(batches)), expected, rtol=1e-10)
    check_gradients(weighted, batches)


@pytest.mark.parametrize("far", [0.0, 5.0, 40.0, 1e3, 1e5])
@pytest.mark.parametrize("objectives", [1, 2, 3])
def test_far_below_the_front_gradients_are_finite_and_do_not_vanish(objectives: int, far: float) -> None:
    acquisition = at([[-far]] * objectives, 1.0, (boxes_of(objectives),))
    value, gradient = acquisition.gradients(CENTRE)
    assert np.isfinite(value).all()
    assert np.isfinite(gradient).all()
    assert gradient[0, 0, 0] > 0.1
    step = 1e-6
    ends = [acquisition.values(CENTRE + sign * step)[0] for sign in (1, -1)]
    assert gradient[0, 0, 0] == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-4 if far < 1e4 else 0.1)


@pytest.mark.parametrize("z", [-40.0, -5.0, 0.0, 3.0])
@pytest.mark.parametrize("width", [1e-12, 1e-7, 2e-6, 1e-4, 1e-2])
def test_narrow_sides_keep_their_digits(width: float, z: float) -> None:
    """A side is as good as its halves together, and a narrow one is its width times P(y > low)."""
    halves = Boxes(np.array([[0.0], [width / 2]]), np.array([[width / 2], [width]]))
    whole = at([[z]], 1.0, (Boxes(np.array([[0.0]]), np.array([[width]])),))
    value, gradient = whole.gradients(CENTRE)
    other, other_gradient = at([[z]], 1.0, (halves,)).gradients(CENTRE)
    assert other[0] == pytest.approx(value[0], abs=1e-8)
    assert other_gradient[0, 0, 0] == pytest.approx(gradient[0, 0, 0], rel=1e-7)
    probability = Pointwise("log_pi", whole.posteriors[0], LINE, np.array([width / 2])).values(CENTRE)[0]
    assert value[0] == pytest.approx(np.log(width) + probability, abs=(width * z) ** 2 + width**2 + 1e-9)


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_any_scale(scale: float) -> None:
    boxes = boxes_of(2)
    plain = at([[0.2], [-0.3]], 0.7, (boxes,)).values(CENTRE)
    scaled = at([[0.2 * scale], [-0.3 * scale]], 0.7 * scale, (Boxes(boxes.low * scale, boxes.high * scale),))
    np.testing.assert_allclose(scaled.values(CENTRE), plain + 2 * np.log(scale), rtol=1e-12)


def test_a_certain_point_on_the_front_adds_nothing() -> None:
    acquisition = at([[0.3], [0.1]], 1e-8, (boxes_of(2),))
    value, gradient = acquisition.gradients(CENTRE)
    assert value[0] < -10
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize("features", [PLANE, MIXED], ids=["numbers", "mixed"])
@pytest.mark.parametrize(("objectives", "size", "pending"), [(1, 2, 0), (2, 1, 0), (2, 2, 1), (3, 3, 0)])
def test_gradients_by_monte_carlo(objectives: int, size: int, pending: int, features: Features) -> None:
    acquisition = sampled(objectives, size, features, pending=units_of(features, pending, seed=2))
    check_gradients(acquisition, units_of(features, (3, size), seed=1), tolerance=1e-4)


def test_one_objective_by_monte_carlo_is_expected_improvement() -> None:
    batches = units_of(PLANE, (4, 3), seed=1)
    expected = MonteCarlo(UTILITIES["ei"], small_posterior(count=4), PLANE, BEST, NONE, 3, samples=64)
    for got, wanted in zip(sampled(1, 3).gradients(batches), expected.gradients(batches), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("objectives", "size"), [(2, 2), (2, 4), (3, 2)])
def test_monte_carlo_is_the_mean_hypervolume_of_samples(objectives: int, size: int) -> None:
    batches = units_of(PLANE, (2, size), seed=1)
    acquisition = sampled(objectives, size)
    z = np.split(base_samples(64, objectives * size, 0), objectives, axis=1)
    joints = [model.joint(PLANE(batches)) for model in acquisition.posteriors]
    outcomes = np.stack(
        [j.mean[:, None] + z[k] @ cholesky(j.covariance).swapaxes(1, 2) for k, j in enumerate(joints)], axis=-1
    )
    front, reference = FRONTS[objectives], np.full(objectives, -1.5)
    before = hypervolume(front, reference)
    gains = [[hypervolume(np.vstack([front, y]), reference) - before for y in row] for row in outcomes]
    np.testing.assert_allclose(acquisition.values(batches), np.mean(gains, axis=1), rtol=1e-9)


def test_pending_points_are_rows_of_the_batch() -> None:
    batches = units_of(PLANE, (3, 3), seed=1)
    batches[:, :1] = batches[0, :1]
    apart, together = sampled(2, 2, pending=batches[0, :1]), sampled(2, 3)
    np.testing.assert_allclose(apart.values(batches[:, 1:]), together.values(batches), rtol=1e-10)
    np.testing.assert_allclose(apart.gradients(batches[:, 1:])[1], together.gradients(batches)[1][:, 1:], rtol=1e-8)


def test_fresh_base_samples() -> None:
    batches, acquisition = units_of(PLANE, (3, 2), seed=1), sampled(2, 2)
    assert np.all(acquisition.fresh(0).values(batches) != acquisition.values(batches))
    np.testing.assert_array_equal(acquisition.fresh(3).values(batches), acquisition.fresh(3).values(batches))
    assert closed(2).fresh(3).log


def test_a_batch_with_duplicates_is_finite() -> None:
    batches = np.repeat(np.array([[[0.31, 0.77]]]), 3, axis=1)
    for part in sampled(2, 3).gradients(batches):
        assert np.isfinite(part).all()
    single = sampled(2, samples=2**12).values(batches[:, :1])
    np.testing.assert_allclose(sampled(2, 3, samples=2**12).values(batches), single, rtol=0.01)


def test_a_large_batch_is_refused() -> None:
    with pytest.raises(ValueError, match="4 new and 2 pending points; at most 5"):
        sampled(2, 4, pending=units_of(PLANE, 2))
