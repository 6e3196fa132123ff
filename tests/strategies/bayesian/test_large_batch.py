"""A batch chosen from one pool, beside many points under way."""

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
from sonde.strategies.bayesian import large_batch as crowd
from sonde.strategies.bayesian.domain import Domain
from sonde.strategies.bayesian.large_batch import fill
from sonde.strategies.bayesian.model import Surrogate, best_points, best_value, features_of
from sonde.strategies.bayesian.search import Box
from sonde.surrogates.basis.networks import Network
from sonde.surrogates.basis.posterior import mixture
from sonde.surrogates.basis.regression import Hyperparameters, regress
from sonde.surrogates.exact.covariance import Covariance
from sonde.surrogates.exact.gp import ExactPosterior
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
    """Results at random points."""
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


def belief_of(space: Space, history: History, kind: str = "linear") -> Surrogate:
    units, values = history.units[history.completed.numbers], history.values[history.completed.numbers]
    features, scale = features_of(space), Scale.of(values)
    y = scale(values)
    posterior = {"linear": linear, "exact": exact}[kind](features(units), y)
    usable = np.ones(len(y), dtype=bool)
    best = best_value(posterior, features(units), y, usable)
    return Surrogate(features, scale, (posterior,), y, best, best_points(units, y, usable), None)


def whole(space: Space, centres: Array) -> Box:
    return Box(np.zeros(len(space)), np.ones(len(space)), centres)


def filled(space: Space, history: History, kind: str, count: int, pending: Array | None = None) -> Array:
    """Points for ``count`` trials anywhere."""
    belief = belief_of(space, history, kind)
    box = whole(space, belief.incumbents)
    under_way = history.pending.units if pending is None else pending
    return fill([(belief, box)] * count, Domain(space, history), under_way, Key(0, len(history)))


def assert_distinct(points: Array, known: Array) -> None:
    everything = np.concatenate([known, points])
    distances = np.abs(everything[:, None] - everything).max(axis=-1)
    assert distances[np.triu_indices(len(everything), 1)].min() > 1e-9


# what comes out


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("space", [PLANE, MIXED], ids=["plane", "mixed"])
def test_points_are_new_and_distinct_and_of_the_space(space: Space, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crowd, "POOL", 256)
    history = history_of(space, 25)
    add_pending(history, space.codec.decode(np.random.default_rng(1).random((15, len(space)))))
    points = filled(space, history, kind, 20)
    assert points.shape == (20, len(space))
    np.testing.assert_array_equal(space.codec.project(points)[0], points)
    assert_distinct(points, history.units)


@pytest.mark.parametrize("kind", KINDS)
def test_each_point_is_in_the_box_of_its_aim(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crowd, "POOL", 256)
    history = history_of(PLANE, 25)
    belief = belief_of(PLANE, history, kind)
    left = Box(np.array([0.0, 0.2]), np.array([0.3, 0.5]), np.array([[0.1, 0.3]]))
    shunned = np.array([0.8, 0.3])
    right = Box(np.array([0.6, 0.0]), np.array([1.0, 1.0]), shunned[None], shunned=shunned)
    boxes = [left, right, right, left] * 5
    points = fill([(belief, box) for box in boxes], Domain(PLANE, history), np.empty((0, 2)), Key(0, 25))
    for point, box in zip(points, boxes, strict=True):
        assert np.all((point >= box.low - 1e-12) & (point <= box.high + 1e-12))
    assert np.all(np.abs(points[[box is right for box in boxes]] - shunned).max(axis=1) > 0.05)
    assert_distinct(points, history.units)


def test_known_constraints_are_met(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crowd, "POOL", 256)
    space = Space(x=Float(0, 1), y=Float(0, 1)).where("x + y <= 0.8")
    points = filled(space, history_of(space, 25), "linear", 20)
    assert len(points) == 20
    assert np.all(points.sum(axis=1) <= 0.8 + 1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", [0.0, None], ids=["the model alone", "with what it cannot represent"])
def test_with_nothing_under_way_the_first_is_the_best(
    kind: str, share: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if share is not None:
        monkeypatch.setattr(crowd, "SHARE", share)
    history = history_of(PLANE, 25)
    belief = belief_of(PLANE, history, kind)
    point = filled(PLANE, history, kind, 1)

    def log_ei(units: Array) -> Array:
        at = belief.posteriors[0].marginals(belief.features(units))
        return FORMULAS["log_ei"](at.mean[:, 0], np.sqrt(at.variance), np.array(belief.best))[0]

    net = log_ei(np.random.default_rng(3).random((4000, 2)))
    assert log_ei(point)[0] > net.max() - (0.01 if share == 0 else 0.5)
    assert np.ptp(net) > 2


def test_the_first_of_many_is_the_first_of_one_and_points_keep_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crowd, "POOL", 256)
    history = history_of(PLANE, 25)
    points, beside = filled(PLANE, history, "linear", 12), filled(PLANE, history, "linear", 12, PLANE_PENDING)
    np.testing.assert_array_equal(points[0], filled(PLANE, history, "linear", 1)[0])
    distances = np.linalg.norm(points[:, None] - points, axis=-1)[np.triu_indices(12, 1)]
    assert np.median(distances) > 0.1
    assert not np.array_equal(points, beside)
    np.testing.assert_array_equal(points, filled(PLANE, history, "linear", 12))  # seeded


def test_a_point_under_way_where_most_is_expected_sends_the_next_elsewhere() -> None:
    history = history_of(PLANE, 25)
    best = filled(PLANE, history, "exact", 1)
    beside = filled(PLANE, history, "exact", 1, best + 1e-3)
    assert np.linalg.norm(beside - best) > 0.02


def test_hundreds_beside_hundreds_take_seconds() -> None:
    history = history_of(PLANE, 100)
    add_pending(history, PLANE.codec.decode(np.random.default_rng(5).random((200, 2))))
    started = time.perf_counter()
    points = filled(PLANE, history, "linear", 200)
    assert time.perf_counter() - started < 30
    assert len(points) == 200
    assert_distinct(points, history.units)


# small spaces


@pytest.mark.parametrize("kind", KINDS)
def test_a_small_space_is_used_up_without_repeating(kind: str) -> None:
    history = history_of(SMALL, 3)
    tried = len(history)
    add_pending(history, SMALL.codec.decode(missing(history)[:1]))
    points = filled(SMALL, history, kind, 10)
    assert len(points) == 8 - tried - 1
    assert_distinct(points, history.units)
    add_pending(history, SMALL.codec.decode(points))
    assert filled(SMALL, history, kind, 3).shape == (0, 2)


def missing(history: History) -> Array:
    field = Domain(SMALL, history)
    assert field.listed is not None
    return np.array([point for point in field.listed if field.novel(point)])


def test_without_feasible_points_there_are_none() -> None:
    space = Space(n=Int(0, 3), m=Int(0, 3)).where("n + m >= 100")
    history = history_of(Space(n=Int(0, 3), m=Int(0, 3)), 5)
    belief = belief_of(Space(n=Int(0, 3), m=Int(0, 3)), history)
    points = fill([(belief, whole(space, belief.incumbents))] * 2, Domain(space, history), np.empty((0, 2)), Key(0, 5))
    assert points.shape == (0, 2)


# what may fail


def above(units: Array) -> tuple[Array, Array]:
    """Log P of working: nearly 1 at the top, nearly 0 at the bottom."""
    chance = 1 / (1 + np.exp(-40 * (units[:, 1] - 0.4)))
    return np.log(chance), np.stack([np.zeros(len(units)), 40 * (1 - chance)], axis=1)


def seldom(units: Array) -> tuple[Array, Array]:
    """Log P of working: the same everywhere."""
    return np.full(len(units), np.log(0.05)), np.zeros(units.shape)


def that_may_fail(works: Any, *, known: bool = True) -> Array:
    history = history_of(PLANE, 25)
    belief = replace(belief_of(PLANE, history, "exact"), feasibility=works)
    belief = belief if known else replace(belief, best=None)
    box = whole(PLANE, belief.incumbents)
    return fill([(belief, box)] * 10, Domain(PLANE, history), PLANE_PENDING[:5], Key(0, 25))


@pytest.mark.parametrize("known", [True, False], ids=["something worked", "nothing worked"])
def test_points_are_where_things_work(known: bool) -> None:
    points = that_may_fail(above, known=known)
    assert len(points) == 10
    assert np.mean(points[:, 1] > 0.3) > 0.85
    assert np.mean(that_may_fail(None)[:, 1] > 0.3) < 0.85


def test_points_that_may_fail_keep_apart_too() -> None:
    """What works or fails at a point does so beside it, so that another one there is worth nothing either way."""
    for works in (None, seldom):
        points = that_may_fail(works)
        distances = np.linalg.norm(points[:, None] - points, axis=-1)[np.triu_indices(10, 1)]
        assert distances.min() > 1e-3


def test_several_models_are_averaged() -> None:
    history = history_of(PLANE, 25)
    one = belief_of(PLANE, history, "linear")
    other = replace(belief_of(PLANE, history, "exact"), best=one.best)
    both = replace(one, posteriors=(*one.posteriors, *other.posteriors))

    def worth(belief: Surrogate) -> Array:
        return crowd._Outlook(belief, PLANE_PENDING, np.empty((0, 2)), 1, 0).worth()

    expected = np.log((np.exp(worth(one)) + np.exp(worth(other))) / 2)
    np.testing.assert_allclose(worth(both), expected, rtol=1e-8)


# the beliefs of the pool


def part_of(
    kind: str, pending: int, *, size: int = 30, works: bool = True
) -> tuple[crowd._Part, Posterior, Array, Array]:  # fmt: skip
    """Beliefs about the first ``size`` of 30 points, beside some under way: the model's own, without what it lacks."""
    belief = belief_of(PLANE, history_of(PLANE, 25), kind)
    x = belief.features(np.random.default_rng(6).random((30 + pending, 2)))
    base = base_samples(16, pending + 3, 0)
    luck = np.random.default_rng(7).random(base.shape)
    part = crowd._Part(belief.posteriors[0], x[:size], x[30:], np.full(pending, float(works)), 0.5, base, luck)
    return part, belief.posteriors[0], x, base


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pending", [0, 1, 12])
def test_adding_points_is_conditioning_on_their_outcomes(
    kind: str, pending: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crowd, "SHARE", 0.0)
    part, posterior, x, base = part_of(kind, pending)
    seen, best = crowd.SEEN_AS - posterior.noise, np.full(16, 0.5)
    if pending:
        joint = posterior.joint(x[None, 30:])
        factor = np.linalg.cholesky(joint.covariance[0] + crowd.SEEN_AS * np.eye(pending))
        outcomes = joint.mean[0][:, None] + factor @ base[:, :pending].T
        posterior, best = posterior.condition(x[30:], outcomes, seen), np.maximum(best, outcomes.max(axis=0))
    for step, chosen in enumerate((4, 17, 5)):
        at = posterior.marginals(x[:30])
        np.testing.assert_allclose(part.mean, np.broadcast_to(at.mean, (30, 16)), atol=1e-4)
        np.testing.assert_allclose(part.variance, at.variance, rtol=1e-3, atol=2e-6)
        np.testing.assert_allclose(part.best, best, atol=1e-4)
        told = at.mean[chosen] + np.sqrt(at.variance[chosen] + crowd.SEEN_AS) * base[:, pending + step]
        posterior, best = posterior.condition(x[chosen : chosen + 1], told[None], seen), np.maximum(best, told)
        part.add(chosen, 1.0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pending", [0, 12])
def test_points_that_come_to_the_pool_later_are_believed_the_same(
    kind: str, pending: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crowd, "SHARE", 0.0)
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
def test_what_is_under_way_and_fails_is_no_best(kind: str) -> None:
    for works in (False, True):
        part, *_ = part_of(kind, 12, works=works)
        before = part.best.copy()
        assert np.any(before > 0.5) if works else np.all(before == 0.5)
        part.add(int(np.argmax(part.mean[:, 0])), float(works))
        assert np.all(part.best >= before) if works else np.all(part.best == 0.5)


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_model_cannot_represent_keeps_points_apart(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A share of the variance is of a process of its own, which knows only of what is near."""
    sure = {}
    for share in (0.0, 0.1):
        monkeypatch.setattr(crowd, "SHARE", share)
        part, *_ = part_of(kind, 12)
        start = part.variance.copy()
        part.add(3, 1.0)
        assert np.all(part.variance <= start + 1e-12)
        assert part.variance[3] < 1e-5
        sure[share] = part.variance
    assert np.all(np.delete(sure[0.1] > sure[0.0], 3))


# functions drawn from the belief


@pytest.mark.parametrize("kind", KINDS)
def test_drawn_functions_have_the_moments_of_the_belief(kind: str) -> None:
    belief = belief_of(PLANE, history_of(PLANE, 25), kind)
    x = belief.features(PLANE_PENDING[:6])
    pool, joint = belief.posteriors[0].pool(x), belief.posteriors[0].joint(x[None])
    drawn = pool.draw(np.random.default_rng(0), 20_000)
    scale = np.sqrt(np.diagonal(joint.covariance[0]).max())
    np.testing.assert_allclose(drawn.mean(axis=1), joint.mean[0], atol=0.03 * scale)
    np.testing.assert_allclose(np.cov(drawn), joint.covariance[0], atol=0.05 * scale**2)


@pytest.mark.parametrize("kind", KINDS)
def test_thompson_sampling_gives_distinct_points_too(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crowd, "POOL", 256)
    history = history_of(PLANE, 25)
    belief = belief_of(PLANE, history, kind)
    box = Box(np.array([0.1, 0.0]), np.array([0.9, 1.0]), belief.incumbents)
    points = fill([(belief, box)] * 20, Domain(PLANE, history), np.empty((0, 2)), Key(0, 25), thompson=True)
    assert points.shape == (20, 2)
    assert np.all((points >= box.low) & (points <= box.high))
    assert_distinct(points, history.units)
    at = belief.posteriors[0].marginals(belief.features(points)).mean[:, 0]
    assert np.mean(at) > np.mean(belief.posteriors[0].marginals(belief.features(PLANE_PENDING)).mean)
