"""Selection of a large batch from one candidate set, next to many pending points."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.trials.histories import add_pending, changed

from sonde.acquisition.closed import FORMULAS
from sonde.acquisition.sampling import base_samples
from sonde.sampling import Key
from sonde.space import Bool, Float, Int, Space
from sonde.strategies.bayesian import large_batch
from sonde.strategies.bayesian.domain import Domain
from sonde.strategies.bayesian.large_batch import select_large_batch
from sonde.strategies.bayesian.surrogate import Surrogate, best_points, best_value, features_of
from sonde.strategies.bayesian.target import Box, Target
from sonde.surrogates.basis.networks import Network
from sonde.surrogates.basis.posterior import mixture
from sonde.surrogates.basis.regression import Hyperparameters, regress
from sonde.surrogates.gaussian_process.covariance import Covariance
from sonde.surrogates.gaussian_process.posterior import ExactPosterior
from sonde.surrogates.outputs import Scale
from sonde.surrogates.port import Posterior
from sonde.trials import Changes, History, to_outcome

Array = NDArray[np.float64]

PLANE = Space(x=Float(0, 1), y=Float(0, 1))
MIXED = Space(x=Float(0, 1), n=Int(0, 20), y=Float(0, 1))
SMALL = Space(n=Int(0, 3), on=Bool())  # 8 configurations
KINDS = ["linear", "exact"]
PLANE_PENDING = np.random.default_rng(4).random((40, 2))


def loss(units: Array) -> Array:
    return np.asarray(np.sum((units - 0.3) ** 2, axis=1) + 0.2 * np.sin(12 * units[:, 0]))


def history_of(space: Space, count: int) -> History:
    """Observations at random points."""
    points = space.codec.project(np.random.default_rng(0).random((count, len(space))))[0]
    points = points[np.unique(points, axis=0, return_index=True)[1]]
    rows = space.codec.decode(points)
    history = History(space)
    results = zip(rows, loss(points).tolist(), strict=True)
    changes = [changed(i, row, to_outcome(value, space)) for i, (row, value) in enumerate(results)]
    history.update(Changes(len(rows), changes))
    return history


def linear(x: Array, y: Array) -> Posterior:
    network = Network.untrained(x.shape[1], 3, np.random.default_rng(0), width=20)
    parts = np.split(network.basis(x).values, 3, axis=1)
    given = Hyperparameters(1.0, 1e3, np.empty(0))
    weights = [regress(own, np.empty((len(y), 0)), y, np.ones(len(y))).weights(given) for own in parts]
    return mixture(network, weights, eta=np.empty((3, 0)), noise=1e-3)


def exact(x: Array, y: Array) -> Posterior:
    theta = np.log([*[0.4] * x.shape[1], 1.0, 1e-3])
    return ExactPosterior.of(Covariance(np.arange(x.shape[1]), theta), x, y)


def surrogate_of(space: Space, history: History, kind: str = "linear") -> Surrogate:
    units, values = history.units[history.completed.numbers], history.values[history.completed.numbers]
    features, scale = features_of(space), Scale.of(values)
    y = scale(values)
    posterior = {"linear": linear, "exact": exact}[kind](features(units), y)
    usable = np.ones(len(y), dtype=bool)
    best = best_value(posterior, features(units), y, usable)
    return Surrogate(features, scale, (posterior,), y, best, best_points(units, y, usable), None)


def whole(space: Space, centres: Array) -> Box:
    return Box(np.zeros(len(space)), np.ones(len(space)), centres)


def selected(space: Space, history: History, kind: str, count: int, pending: Array | None = None) -> Array:
    """A batch of ``count`` points anywhere in the space."""
    surrogate = surrogate_of(space, history, kind)
    box = whole(space, surrogate.incumbents)
    pending = history.pending.units if pending is None else pending
    return select_large_batch([Target(surrogate, box)] * count, Domain(space, history), pending, Key(0, len(history)))


def assert_distinct(points: Array, known: Array) -> None:
    everything = np.concatenate([known, points])
    distances = np.abs(everything[:, None] - everything).max(axis=-1)
    assert distances[np.triu_indices(len(everything), 1)].min() > 1e-9


# the selected points


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("space", [PLANE, MIXED], ids=["plane", "mixed"])
def test_points_are_new_and_distinct_and_in_the_space(space: Space, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_batch, "CANDIDATES", 256)
    history = history_of(space, 25)
    add_pending(history, space.codec.decode(np.random.default_rng(1).random((15, len(space)))))
    points = selected(space, history, kind, 20)
    assert points.shape == (20, len(space))
    np.testing.assert_array_equal(space.codec.project(points)[0], points)
    assert_distinct(points, history.units)


@pytest.mark.parametrize("kind", KINDS)
def test_each_point_is_in_the_box_of_its_target(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_batch, "CANDIDATES", 256)
    history = history_of(PLANE, 25)
    surrogate = surrogate_of(PLANE, history, kind)
    left = Box(np.array([0.0, 0.2]), np.array([0.3, 0.5]), np.array([[0.1, 0.3]]))
    excluded = np.array([0.8, 0.3])
    right = Box(np.array([0.6, 0.0]), np.array([1.0, 1.0]), excluded[None], excluded=excluded)
    boxes = [left, right, right, left] * 5
    points = select_large_batch(
        [Target(surrogate, box) for box in boxes], Domain(PLANE, history), np.empty((0, 2)), Key(0, 25)
    )
    for point, box in zip(points, boxes, strict=True):
        assert np.all((point >= box.low - 1e-12) & (point <= box.high + 1e-12))
    assert np.all(np.abs(points[[box is right for box in boxes]] - excluded).max(axis=1) > 0.05)
    assert_distinct(points, history.units)


def test_known_constraints_are_met(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_batch, "CANDIDATES", 256)
    space = Space(x=Float(0, 1), y=Float(0, 1)).where("x + y <= 0.8")
    points = selected(space, history_of(space, 25), "linear", 20)
    assert len(points) == 20
    assert np.all(points.sum(axis=1) <= 0.8 + 1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", [0.0, None], ids=["no residual", "residual"])
def test_without_pending_points_the_first_maximises_expected_improvement(
    kind: str, share: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if share is not None:
        monkeypatch.setattr(large_batch, "RESIDUAL", share)
    history = history_of(PLANE, 25)
    surrogate = surrogate_of(PLANE, history, kind)
    point = selected(PLANE, history, kind, 1)

    def log_ei(units: Array) -> Array:
        at = surrogate.posteriors[0].marginals(surrogate.features(units))
        return FORMULAS["log_ei"](at.mean[:, 0], np.sqrt(at.variance), np.array(surrogate.best))[0]

    values = log_ei(np.random.default_rng(3).random((4000, 2)))
    assert log_ei(point)[0] > values.max() - (0.01 if share == 0 else 0.5)
    assert np.ptp(values) > 2


def test_the_first_point_does_not_depend_on_the_batch_size_and_points_keep_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(large_batch, "CANDIDATES", 256)
    history = history_of(PLANE, 25)
    points, beside = selected(PLANE, history, "linear", 12), selected(PLANE, history, "linear", 12, PLANE_PENDING)
    np.testing.assert_array_equal(points[0], selected(PLANE, history, "linear", 1)[0])
    distances = np.linalg.norm(points[:, None] - points, axis=-1)[np.triu_indices(12, 1)]
    assert np.median(distances) > 0.1
    assert not np.array_equal(points, beside)
    np.testing.assert_array_equal(points, selected(PLANE, history, "linear", 12))  # seeded


def test_a_pending_point_at_the_maximum_moves_the_next_point_away() -> None:
    history = history_of(PLANE, 25)
    best = selected(PLANE, history, "exact", 1)
    beside = selected(PLANE, history, "exact", 1, best + 1e-3)
    assert np.linalg.norm(beside - best) > 0.02


def test_hundreds_of_points_next_to_hundreds_pending_take_seconds() -> None:
    history = history_of(PLANE, 100)
    add_pending(history, PLANE.codec.decode(np.random.default_rng(5).random((150, 2))))
    started = time.process_time()
    points = selected(PLANE, history, "linear", 150)
    assert time.process_time() - started < 30
    assert len(points) == 150
    assert_distinct(points, history.units)


# small spaces


@pytest.mark.parametrize("kind", KINDS)
def test_a_small_space_is_exhausted_without_repetition(kind: str) -> None:
    history = history_of(SMALL, 3)
    tried = len(history)
    add_pending(history, SMALL.codec.decode(missing(history)[:1]))
    points = selected(SMALL, history, kind, 10)
    assert len(points) == 8 - tried - 1
    assert_distinct(points, history.units)
    add_pending(history, SMALL.codec.decode(points))
    assert selected(SMALL, history, kind, 3).shape == (0, 2)


def missing(history: History) -> Array:
    domain = Domain(SMALL, history)
    assert domain.listed is not None
    return np.array([point for point in domain.listed if domain.novel(point)])


def test_without_feasible_points_the_batch_is_empty() -> None:
    space = Space(n=Int(0, 3), m=Int(0, 3)).where("n + m >= 100")
    history = history_of(Space(n=Int(0, 3), m=Int(0, 3)), 5)
    surrogate = surrogate_of(Space(n=Int(0, 3), m=Int(0, 3)), history)
    points = select_large_batch(
        [Target(surrogate, whole(space, surrogate.incumbents))] * 2, Domain(space, history), np.empty((0, 2)), Key(0, 5)
    )
    assert points.shape == (0, 2)


# failures


def above(units: Array) -> tuple[Array, Array]:
    """Log probability of success: the probability is nearly 1 for large y and nearly 0 for small y."""
    probability = 1 / (1 + np.exp(-40 * (units[:, 1] - 0.4)))
    return np.log(probability), np.stack([np.zeros(len(units)), 40 * (1 - probability)], axis=1)


def seldom(units: Array) -> tuple[Array, Array]:
    """Log probability of success: the same everywhere."""
    return np.full(len(units), np.log(0.05)), np.zeros(units.shape)


def selected_with(feasibility: Any, *, known: bool = True) -> Array:
    history = history_of(PLANE, 25)
    surrogate = replace(surrogate_of(PLANE, history, "exact"), feasibility=feasibility)
    surrogate = surrogate if known else replace(surrogate, best=None)
    box = whole(PLANE, surrogate.incumbents)
    return select_large_batch([Target(surrogate, box)] * 10, Domain(PLANE, history), PLANE_PENDING[:5], Key(0, 25))


@pytest.mark.parametrize("known", [True, False], ids=["some succeeded", "none succeeded"])
def test_points_are_where_trials_succeed(known: bool) -> None:
    points = selected_with(above, known=known)
    assert len(points) == 10
    assert np.mean(points[:, 1] > 0.3) > 0.85
    assert np.mean(selected_with(None)[:, 1] > 0.3) < 0.85


def test_points_that_may_fail_keep_apart_too() -> None:
    """Neighbours of a pending point succeed or fail with it, so they add nothing either way."""
    for feasibility in (None, seldom):
        points = selected_with(feasibility)
        distances = np.linalg.norm(points[:, None] - points, axis=-1)[np.triu_indices(10, 1)]
        assert distances.min() > 1e-3


def test_posteriors_are_averaged() -> None:
    history = history_of(PLANE, 25)
    one = surrogate_of(PLANE, history, "linear")
    other = replace(surrogate_of(PLANE, history, "exact"), best=one.best)
    both = replace(one, posteriors=(*one.posteriors, *other.posteriors))

    def log_ei(surrogate: Surrogate) -> Array:
        return large_batch._ExpectedImprovement(surrogate, PLANE_PENDING, np.empty((0, 2)), 1, 0).values()

    expected = np.log((np.exp(log_ei(one)) + np.exp(log_ei(other))) / 2)
    np.testing.assert_allclose(log_ei(both), expected, rtol=1e-8)


# conditioned candidates


def part_of(
    kind: str, pending: int, *, size: int = 30, succeeds: bool = True
) -> tuple[large_batch._ConditionedCandidates, Posterior, Array, Array]:  # fmt: skip
    """The posterior at the first ``size`` of 30 candidates, given some pending points."""
    surrogate = surrogate_of(PLANE, history_of(PLANE, 25), kind)
    x = surrogate.features(np.random.default_rng(6).random((30 + pending, 2)))
    base = base_samples(16, pending + 3, 0)
    uniforms = np.random.default_rng(7).random(base.shape)
    part = large_batch._ConditionedCandidates(
        surrogate.posteriors[0], x[:size], x[30:], np.full(pending, float(succeeds)), 0.5, base, uniforms
    )
    return part, surrogate.posteriors[0], x, base


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pending", [0, 1, 12])
def test_adding_points_is_conditioning_on_their_fantasies(
    kind: str, pending: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_batch, "RESIDUAL", 0.0)
    part, posterior, x, base = part_of(kind, pending)
    noise, best = large_batch.FANTASY_NOISE - posterior.noise, np.full(16, 0.5)
    if pending:
        joint = posterior.joint(x[None, 30:])
        factor = np.linalg.cholesky(joint.covariance[0] + large_batch.FANTASY_NOISE * np.eye(pending))
        outcomes = joint.mean[0][:, None] + factor @ base[:, :pending].T
        posterior, best = posterior.condition(x[30:], outcomes, noise), np.maximum(best, outcomes.max(axis=0))
    for step, chosen in enumerate((4, 17, 5)):
        at = posterior.marginals(x[:30])
        np.testing.assert_allclose(part.mean, np.broadcast_to(at.mean, (30, 16)), atol=1e-4)
        np.testing.assert_allclose(part.variance, at.variance, rtol=1e-3, atol=2e-6)
        np.testing.assert_allclose(part.best, best, atol=1e-4)
        outcome = at.mean[chosen] + np.sqrt(at.variance[chosen] + large_batch.FANTASY_NOISE) * base[:, pending + step]
        posterior, best = posterior.condition(x[chosen : chosen + 1], outcome[None], noise), np.maximum(best, outcome)
        part.add(chosen, 1.0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pending", [0, 12])
def test_candidates_that_are_added_later_have_the_same_posterior(
    kind: str, pending: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_batch, "RESIDUAL", 0.0)
    (early, *_), (late, _, x, _) = part_of(kind, pending), part_of(kind, pending, size=20)
    for part in (early, late):
        part.add(4, 1.0)
        part.add(17, 1.0)
    late.extend(x[20:30])
    for part in (early, late):
        part.add(25, 1.0)
    np.testing.assert_allclose(late.mean, early.mean, atol=1e-6)
    np.testing.assert_allclose(late.variance, early.variance, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(late.best, early.best, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_a_pending_point_that_fails_is_no_incumbent(kind: str) -> None:
    for succeeds in (False, True):
        part, *_ = part_of(kind, 12, succeeds=succeeds)
        before = part.best.copy()
        assert np.any(before > 0.5) if succeeds else np.all(before == 0.5)
        part.add(int(np.argmax(part.mean[:, 0])), float(succeeds))
        assert np.all(part.best >= before) if succeeds else np.all(part.best == 0.5)


@pytest.mark.parametrize("kind", KINDS)
def test_the_residual_keeps_variance_away_from_pending_points(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The residual is correlated over short distances only."""
    variances = {}
    for share in (0.0, 0.1):
        monkeypatch.setattr(large_batch, "RESIDUAL", share)
        part, *_ = part_of(kind, 12)
        start = part.variance.copy()
        part.add(3, 1.0)
        assert np.all(part.variance <= start + 1e-12)
        assert part.variance[3] < 1e-5
        variances[share] = part.variance
    assert np.all(np.delete(variances[0.1] > variances[0.0], 3))


# functions drawn from the posterior


@pytest.mark.parametrize("kind", KINDS)
def test_drawn_functions_have_the_moments_of_the_posterior(kind: str) -> None:
    surrogate = surrogate_of(PLANE, history_of(PLANE, 25), kind)
    x = surrogate.features(PLANE_PENDING[:6])
    pool, joint = surrogate.posteriors[0].pool(x), surrogate.posteriors[0].joint(x[None])
    drawn = pool.draw(np.random.default_rng(0), 20_000)
    scale = np.sqrt(np.diagonal(joint.covariance[0]).max())
    np.testing.assert_allclose(drawn.mean(axis=1), joint.mean[0], atol=0.03 * scale)
    np.testing.assert_allclose(np.cov(drawn), joint.covariance[0], atol=0.05 * scale**2)


@pytest.mark.parametrize("kind", KINDS)
def test_thompson_sampling_gives_distinct_points_too(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_batch, "CANDIDATES", 256)
    history = history_of(PLANE, 25)
    surrogate = surrogate_of(PLANE, history, kind)
    box = Box(np.array([0.1, 0.0]), np.array([0.9, 1.0]), surrogate.incumbents)
    points = select_large_batch(
        [Target(surrogate, box)] * 20, Domain(PLANE, history), np.empty((0, 2)), Key(0, 25), thompson=True
    )
    assert points.shape == (20, 2)
    assert np.all((points >= box.low) & (points <= box.high))
    assert_distinct(points, history.units)
    at = surrogate.posteriors[0].marginals(surrogate.features(points)).mean[:, 0]
    assert np.mean(at) > np.mean(surrogate.posteriors[0].marginals(surrogate.features(PLANE_PENDING)).mean)
