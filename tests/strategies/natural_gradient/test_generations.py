"""The natural-gradient search over a history, on its own."""

from __future__ import annotations

import math
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.space.spaces import examples
from tests.strategies.runs import Loss, Observed, bits, zeros

from sonde.igo import Family
from sonde.space import Categorical, Float, Int, Space
from sonde.strategies.natural_gradient.families import Families
from sonde.strategies.natural_gradient.generations import MAX_IDLE_GENERATIONS, MAX_IDLE_RESTARTS, Generations, Sample
from sonde.trials import Evaluation, State, failure

Array = NDArray[np.float64]

SPACE = bits(12)
SMALL = Space(kind=Categorical(["a", "b", "c"]), n=Int(0, 4), x=Float(0, 1, step=0.5, when={"kind": "b"}))


def generations_of(space: Space, seed: int = 0, **settings: object) -> Generations:
    families = Families(space)
    assert isinstance(families.family, Family)
    return Generations(space, families, families.family, seed, settings)


def proposed(generations: Generations, count: int | None = None) -> Array:
    """The first proposals; by default those of the generation."""
    wanted = generations.search.sample_size if count is None else count
    return np.array([sample.row for sample in islice(generations.proposals(), wanted)])


def run(space: Space, loss: Loss, steps: int, seed: int = 0, **settings: object) -> tuple[Generations, Observed]:
    """Evaluate one generation after the other."""
    generations, observed = generations_of(space, seed, **settings), Observed(space)
    for _ in range(steps):
        for row in proposed(generations):
            observed.add(row, loss(row))
        generations.advance(observed.log)
    return generations, observed


def test_a_replay_draws_the_same_generation() -> None:
    one, observed = run(SPACE, zeros, 20)
    other = generations_of(SPACE)
    other.advance(observed.log)
    assert one.number == other.number >= 20
    np.testing.assert_array_equal(proposed(one, 30), proposed(other, 30))
    np.testing.assert_array_equal(one.search.theta, other.search.theta)


def test_other_seeds_draw_other_samples() -> None:
    assert not np.array_equal(proposed(generations_of(SPACE, 0), 5), proposed(generations_of(SPACE, 1), 5))


def test_no_step_is_taken_before_the_last_loss_of_a_generation() -> None:
    generations, observed = generations_of(SPACE, sample_size=4), Observed(SPACE)
    rows = proposed(generations)
    for row in rows[:-1]:
        generations.advance(observed.add(row, zeros(row)))
        assert generations.number == 0
    generations.advance(observed.add(rows[-1], zeros(rows[-1])))
    assert generations.number == 1
    assert not np.all(generations.search.theta == 0.5)


def test_the_order_of_arrival_within_a_generation_does_not_matter() -> None:
    rows = proposed(generations_of(SPACE, sample_size=6))
    thetas = []
    for order in (range(6), reversed(range(6))):
        generations, observed = generations_of(SPACE, sample_size=6), Observed(SPACE)
        for i in order:
            observed.add(rows[i], zeros(rows[i]))
        generations.advance(observed.log)
        thetas.append(generations.search.theta)
    np.testing.assert_array_equal(*thetas)


@pytest.mark.parametrize("seed", range(4))
def test_probabilities_move_towards_the_better_bits(seed: int) -> None:
    """Up where ones are better, down where zeros are: 40 generations of 30 bits, too few for a restart."""
    upwards, _ = run(bits(30), zeros, 40, seed)
    downwards, _ = run(bits(30), lambda row: -zeros(row), 40, seed)
    assert upwards.starts == downwards.starts == 1
    assert upwards.search.theta.mean() > 0.8
    assert downwards.search.theta.mean() < 0.2


# extra samples


def after(before_last: list[int], after_last: list[int], states: dict[int, State] | None = None) -> Generations:
    """A step in which losses of extra samples (2, 3, ...) arrive before or after the generation's last (0, 1)."""
    generations, observed = generations_of(SPACE), Observed(SPACE)
    rows = proposed(generations, 12)
    assert len({row.tobytes() for row in rows}) == 12
    for i, state in (states or {}).items():
        observed.add(rows[i], state)
    for i in [0, *before_last, 1]:
        observed.add(rows[i], zeros(rows[i]))
    generations.advance(observed.log)
    for i in after_last:
        generations.advance(observed.add(rows[i], zeros(rows[i])))
    assert generations.number == 1
    return generations


def test_an_extra_sample_before_the_last_loss_counts() -> None:
    assert not np.array_equal(after([2, 3, 4], []).search.theta, after([], []).search.theta)


def test_an_extra_sample_after_the_last_loss_does_not_count() -> None:
    np.testing.assert_array_equal(after([2], [3, 4]).search.theta, after([2], []).search.theta)


@pytest.mark.parametrize("state", [State.RUNNING, State.LOST, State.CANCELLED])
def test_an_extra_sample_without_a_loss_does_not_count(state: State) -> None:
    """A process that opens the study later cannot know what was pending then."""
    with_it, without = after([3, 4], [], {2: state}), after([3, 4], [])
    np.testing.assert_array_equal(with_it.search.theta, without.search.theta)


def test_a_step_is_the_same_at_once_and_in_a_replay() -> None:
    at_once, observed = generations_of(SPACE), Observed(SPACE)
    rows = proposed(at_once, 12)
    for i in (3, 0, 5, 1, 4, 2):
        at_once.advance(observed.add(rows[i], zeros(rows[i])))
    late = generations_of(SPACE)
    late.advance(observed.log)
    np.testing.assert_array_equal(at_once.search.theta, late.search.theta)
    np.testing.assert_array_equal(proposed(at_once, 20), proposed(late, 20))


def test_extra_samples_count_behind_an_infeasible_one() -> None:
    space = SPACE.where(lambda p: sum(p.values()) > 5)

    def first(seed: int) -> list[Sample]:
        return list(islice(generations_of(space, seed).proposals(), 4))

    seed = next(seed for seed in range(100) if [s.feasible for s in first(seed)] == [True, True, False, True])

    def step(order: list[int]) -> Array:
        generations, observed = generations_of(space, seed), Observed(space)
        for i in order:
            row = first(seed)[i].row
            observed.add(row, -100.0 if i == 3 else zeros(row))  # lowest: the middle one of three has no weight
        generations.advance(observed.log)
        assert generations.number == 1
        return generations.search.theta

    assert not np.array_equal(step([0, 3, 1]), step([0, 1]))


# repetitions


def test_a_sample_ranks_by_its_mean_loss() -> None:
    """A lucky first loss of a bad sample, then unlucky ones."""

    def step(*first: float) -> Array:
        generations, observed = generations_of(SPACE, sample_size=4), Observed(SPACE)
        rows = proposed(generations)
        for value in first:
            observed.add(rows[0], value)
        for row in rows[1:]:
            observed.add(row, zeros(row))
        generations.advance(observed.log)
        assert generations.number == 1
        return generations.search.theta

    assert not np.array_equal(step(-50.0), step(50.0))
    np.testing.assert_array_equal(step(-50.0, 100.0, 100.0), step(50.0))
    np.testing.assert_array_equal(step(100.0, -200.0), step(-50.0))


def test_a_repetition_after_a_step_does_not_change_it() -> None:
    at_once, observed = generations_of(SPACE, sample_size=4), Observed(SPACE)
    rows = proposed(at_once)
    for row in rows:
        at_once.advance(observed.add(row, zeros(row)))
    before = at_once.search.theta.copy()
    at_once.advance(observed.add(rows[0], 1e6))
    late = generations_of(SPACE, sample_size=4)
    late.advance(observed.log)
    assert at_once.number == late.number == 1
    np.testing.assert_array_equal(at_once.search.theta, before)
    np.testing.assert_array_equal(late.search.theta, before)


@examples(15)
@given(st.integers(0, 50), st.data())
def test_with_repetitions_a_step_is_the_same_at_once_and_in_a_replay(seed: int, data: st.DataObject) -> None:
    """A noisy search in which any earlier row may be evaluated again at any time."""
    rng = np.random.default_rng(seed)
    at_once, observed = generations_of(bits(5), seed), Observed(bits(5))
    for _ in range(40):
        evaluated = observed.log.rows
        if evaluated and data.draw(st.booleans()):
            row = evaluated[data.draw(st.integers(0, len(evaluated) - 1))]
        else:
            unknown = [s.row for s in islice(at_once.proposals(), 200) if s.observed(observed.log) is None]
            row = unknown[0] if unknown else evaluated[0]
        at_once.advance(observed.add(row, zeros(row) + 3 * rng.standard_normal()))
    late = generations_of(bits(5), seed)
    late.advance(observed.log)
    assert (at_once.number, at_once.starts) == (late.number, late.starts)
    np.testing.assert_array_equal(at_once.search.theta, late.search.theta)
    np.testing.assert_array_equal(proposed(at_once, 20), proposed(late, 20))


# failures, and samples that need no trial


@pytest.mark.parametrize("worst", [failure("why"), math.nan, Evaluation(-100.0, constraints={"memory": 1.0})])
def test_failures_and_violated_constraints_rank_last(worst: object) -> None:
    def step(bad: object) -> Array:
        generations, observed = generations_of(SPACE, sample_size=8), Observed(SPACE)
        for i, row in enumerate(proposed(generations)):
            observed.add(row, bad if i == 3 else zeros(row))  # type: ignore[arg-type]
        generations.advance(observed.log)
        return generations.search.theta

    np.testing.assert_array_equal(step(worst), step(1e9))


def test_a_cancelled_sample_ranks_last_and_does_not_block_the_step() -> None:
    generations, observed = generations_of(SPACE, sample_size=4), Observed(SPACE)
    rows = proposed(generations)
    for row in rows[:3]:
        observed.add(row, zeros(row))
    generations.advance(observed.add(rows[3], State.CANCELLED))
    assert generations.number == 1
    bad = generations_of(SPACE, sample_size=4)
    observed = Observed(SPACE)
    for row in rows[:3]:
        observed.add(row, zeros(row))
    bad.advance(observed.add(rows[3], 1e9))
    np.testing.assert_array_equal(generations.search.theta, bad.search.theta)


def test_an_infeasible_sample_needs_no_trial() -> None:
    space = SPACE.where(lambda p: p["b0"])
    generations, observed = generations_of(space, sample_size=6), Observed(space)
    samples = list(islice(generations.proposals(), 6))
    assert len({sample.feasible for sample in samples}) == 2
    for sample in samples:
        if sample.feasible:
            observed.add(sample.row, 1.0)
    generations.advance(observed.log)
    assert generations.number >= 1
    assert generations.search.theta[0] > 0.5


def test_an_observed_sample_needs_no_trial() -> None:
    observed = Observed(bits(4))
    for row in bits(4).rows():
        observed.add(row, zeros(row))
    generations = generations_of(bits(4))
    generations.advance(observed.log)
    assert generations.exhausted
    assert list(generations.proposals()) == []
    assert generations.starts > MAX_IDLE_RESTARTS


def test_observations_of_other_configurations_are_ignored() -> None:
    observed, rng = Observed(SPACE), np.random.default_rng(0)
    for row in rng.integers(0, 2, (50, 12)).astype(float):
        observed.add(row, zeros(row))
    generations = generations_of(SPACE)
    generations.advance(observed.log)
    assert len(proposed(generations, 40)) == 40


# invariance


@examples(20)
@given(st.integers(0, 50), st.sampled_from([math.exp, math.atan, lambda v: 1e9 * v - 3, lambda v: v**3]))
def test_increasing_transformations_change_nothing(seed: int, change: object) -> None:
    one, _ = run(SMALL, lambda row: float(np.nansum(row)) - 2, 6, seed)
    other, _ = run(SMALL, lambda row: change(float(np.nansum(row)) - 2), 6, seed)  # type: ignore[operator]
    assert one.number == other.number
    np.testing.assert_array_equal(one.search.theta, other.search.theta)


def test_equal_losses_leave_theta_unchanged() -> None:
    generations, _ = run(SPACE, lambda row: 1.0, 30)
    assert generations.number >= 30
    assert np.all(generations.search.theta == 0.5)


# restarts


def test_a_converged_distribution_restarts() -> None:
    generations, observed = generations_of(bits(10)), Observed(bits(10))
    while generations.starts == 1 and len(observed.log) < 900:
        for row in proposed(generations):
            observed.add(row, zeros(row))
        generations.advance(observed.log)
        assert not generations.search.settled
    assert generations.starts == 2
    assert np.all(generations.search.theta == 0.5)
    assert min(observed.log.losses) == 0


def test_a_distribution_that_draws_nothing_new_restarts() -> None:
    space = bits(10).where(lambda p: p["b0"] and p["b1"] and p["b2"] and p["b3"] and p["b4"])
    observed = Observed(space)
    for row in space.rows():
        if np.all(row[:5] == 1):
            observed.add(row, 1.0)  # equal losses: theta does not move
    generations = generations_of(space)
    generations.advance(observed.log)
    assert generations.number > MAX_IDLE_GENERATIONS * MAX_IDLE_RESTARTS
    assert generations.exhausted


def test_settings_reach_the_search() -> None:
    fixed = generations_of(SPACE, adapt=None, sample_size=7, step_size=0.25)
    assert (fixed.search.sample_size, fixed.search.step_size) == (7, 0.25)
    assert len(proposed(fixed)) == 7
