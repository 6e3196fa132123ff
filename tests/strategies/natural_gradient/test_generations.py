"""The natural gradient over a history, without company."""

from __future__ import annotations

import math
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.space.spaces import examples
from tests.strategies.runs import Loss, Told, bits, zeros

from sonde.igo import Family
from sonde.space import Categorical, Float, Int, Space
from sonde.strategies.natural_gradient.families import Families
from sonde.strategies.natural_gradient.generations import BEGINNINGS, IDLE, Generations, Sample
from sonde.trials import Evaluation, State, failure

Array = NDArray[np.float64]

SPACE = bits(12)
SMALL = Space(kind=Categorical(["a", "b", "c"]), n=Int(0, 4), x=Float(0, 1, step=0.5, when={"kind": "b"}))


def generations_of(space: Space, seed: int = 0, **settings: object) -> Generations:
    layout = Families(space)
    assert isinstance(layout.family, Family)
    return Generations(space, layout, layout.family, seed, settings)


def proposed(generations: Generations, count: int | None = None) -> Array:
    """The first proposals: by default the generation."""
    wanted = generations.search.sample_size if count is None else count
    return np.array([sample.row for sample in islice(generations.proposals(), wanted)])


def climb(space: Space, loss: Loss, steps: int, seed: int = 0, **settings: object) -> tuple[Generations, Told]:
    """Tell every generation as it comes."""
    generations, told = generations_of(space, seed, **settings), Told(space)
    for _ in range(steps):
        for row in proposed(generations):
            told.add(row, loss(row))
        generations.advance(told.results)
    return generations, told


def test_a_generation_is_drawn_again_by_anybody_who_knows_the_results() -> None:
    one, told = climb(SPACE, zeros, 20)
    other = generations_of(SPACE)
    other.advance(told.results)
    assert one.number == other.number >= 20
    np.testing.assert_array_equal(proposed(one, 30), proposed(other, 30))
    np.testing.assert_array_equal(one.search.theta, other.search.theta)


def test_other_seeds_draw_others() -> None:
    assert not np.array_equal(proposed(generations_of(SPACE, 0), 5), proposed(generations_of(SPACE, 1), 5))


def test_no_step_is_taken_before_the_last_result() -> None:
    generations, told = generations_of(SPACE, sample_size=4), Told(SPACE)
    rows = proposed(generations)
    for row in rows[:-1]:
        generations.advance(told.add(row, zeros(row)))
        assert generations.number == 0
    generations.advance(told.add(rows[-1], zeros(rows[-1])))
    assert generations.number == 1
    assert not np.all(generations.search.theta == 0.5)


def test_the_order_of_arrival_within_a_generation_does_not_matter() -> None:
    rows = proposed(generations_of(SPACE, sample_size=6))
    thetas = []
    for order in (range(6), reversed(range(6))):
        generations, told = generations_of(SPACE, sample_size=6), Told(SPACE)
        for i in order:
            told.add(rows[i], zeros(rows[i]))
        generations.advance(told.results)
        thetas.append(generations.search.theta)
    np.testing.assert_array_equal(*thetas)


def test_it_learns_what_is_better() -> None:
    generations, _ = climb(SPACE, zeros, 40)
    assert generations.search.theta.mean() > 0.75 or generations.beginnings > 1


# further samples


def after(told_first: list[int], told_then: list[int], states: dict[int, State] | None = None) -> Generations:
    """A step in which further samples (2, 3, ...) came before or after the last of the generation (0, 1)."""
    generations, told = generations_of(SPACE), Told(SPACE)
    rows = proposed(generations, 12)
    assert len({row.tobytes() for row in rows}) == 12
    for i, state in (states or {}).items():
        told.add(rows[i], state)
    for i in [0, *told_first, 1]:
        told.add(rows[i], zeros(rows[i]))
    generations.advance(told.results)
    for i in told_then:
        generations.advance(told.add(rows[i], zeros(rows[i])))
    assert generations.number == 1
    return generations


def test_what_comes_before_the_last_result_counts() -> None:
    assert not np.array_equal(after([2, 3, 4], []).search.theta, after([], []).search.theta)


def test_what_comes_after_the_last_result_does_not_count() -> None:
    np.testing.assert_array_equal(after([2], [3, 4]).search.theta, after([2], []).search.theta)


@pytest.mark.parametrize("state", [State.RUNNING, State.LOST, State.CANCELLED])
def test_what_has_no_result_has_no_say(state: State) -> None:
    """Nobody who comes later knows what was under way then."""
    with_it, without = after([3, 4], [], {2: state}), after([3, 4], [])
    np.testing.assert_array_equal(with_it.search.theta, without.search.theta)


def test_a_step_taken_at_once_and_one_taken_late_are_the_same() -> None:
    at_once, told = generations_of(SPACE), Told(SPACE)
    rows = proposed(at_once, 12)
    for i in (3, 0, 5, 1, 4, 2):
        at_once.advance(told.add(rows[i], zeros(rows[i])))
    late = generations_of(SPACE)
    late.advance(told.results)
    np.testing.assert_array_equal(at_once.search.theta, late.search.theta)
    np.testing.assert_array_equal(proposed(at_once, 20), proposed(late, 20))


def test_further_samples_count_behind_one_that_breaks_a_where() -> None:
    space = SPACE.where(lambda p: sum(p.values()) > 5)

    def first(seed: int) -> list[Sample]:
        return list(islice(generations_of(space, seed).proposals(), 4))

    seed = next(seed for seed in range(100) if [s.allowed for s in first(seed)] == [True, True, False, True])

    def step(order: list[int]) -> Array:
        generations, told = generations_of(space, seed), Told(space)
        for i in order:
            row = first(seed)[i].row
            told.add(row, -100.0 if i == 3 else zeros(row))  # the middle one of three would have no weight
        generations.advance(told.results)
        assert generations.number == 1
        return generations.search.theta

    assert not np.array_equal(step([0, 3, 1]), step([0, 1]))


# repetitions


def test_a_sample_ranks_by_the_mean_of_its_results() -> None:
    """A lucky first result of the worst sample, and unlucky ones after it."""

    def step(*first: float) -> Array:
        generations, told = generations_of(SPACE, sample_size=4), Told(SPACE)
        rows = proposed(generations)
        for value in first:
            told.add(rows[0], value)
        for row in rows[1:]:
            told.add(row, zeros(row))
        generations.advance(told.results)
        assert generations.number == 1
        return generations.search.theta

    assert not np.array_equal(step(-50.0), step(50.0))
    np.testing.assert_array_equal(step(-50.0, 100.0, 100.0), step(50.0))
    np.testing.assert_array_equal(step(100.0, -200.0), step(-50.0))


def test_a_repetition_that_comes_after_a_step_does_not_change_it() -> None:
    at_once, told = generations_of(SPACE, sample_size=4), Told(SPACE)
    rows = proposed(at_once)
    for row in rows:
        at_once.advance(told.add(row, zeros(row)))
    before = at_once.search.theta.copy()
    at_once.advance(told.add(rows[0], 1e6))
    late = generations_of(SPACE, sample_size=4)
    late.advance(told.results)
    assert at_once.number == late.number == 1
    np.testing.assert_array_equal(at_once.search.theta, before)
    np.testing.assert_array_equal(late.search.theta, before)


@examples(15)
@given(st.integers(0, 50), st.data())
def test_with_repetitions_a_step_taken_at_once_and_one_taken_late_are_the_same(seed: int, data: st.DataObject) -> None:
    """A noisy search in which any earlier row may be tried again at any time."""
    rng = np.random.default_rng(seed)
    at_once, told = generations_of(bits(5), seed), Told(bits(5))
    for _ in range(40):
        tried = told.results.rows
        if tried and data.draw(st.booleans()):
            row = tried[data.draw(st.integers(0, len(tried) - 1))]
        else:
            unknown = [s.row for s in islice(at_once.proposals(), 200) if s.result(told.results) is None]
            row = unknown[0] if unknown else tried[0]
        at_once.advance(told.add(row, zeros(row) + 3 * rng.standard_normal()))
    late = generations_of(bits(5), seed)
    late.advance(told.results)
    assert (at_once.number, at_once.beginnings) == (late.number, late.beginnings)
    np.testing.assert_array_equal(at_once.search.theta, late.search.theta)
    np.testing.assert_array_equal(proposed(at_once, 20), proposed(late, 20))


# failures, and what is known


@pytest.mark.parametrize("worst", [failure("why"), math.nan, Evaluation(-100.0, constraints={"memory": 1.0})])
def test_failures_and_broken_constraints_rank_last(worst: object) -> None:
    def step(bad: object) -> Array:
        generations, told = generations_of(SPACE, sample_size=8), Told(SPACE)
        for i, row in enumerate(proposed(generations)):
            told.add(row, bad if i == 3 else zeros(row))  # type: ignore[arg-type]
        generations.advance(told.results)
        return generations.search.theta

    np.testing.assert_array_equal(step(worst), step(1e9))


def test_what_is_lost_or_cancelled_ranks_last_and_holds_nothing_up() -> None:
    generations, told = generations_of(SPACE, sample_size=4), Told(SPACE)
    rows = proposed(generations)
    for row in rows[:3]:
        told.add(row, zeros(row))
    generations.advance(told.add(rows[3], State.CANCELLED))
    assert generations.number == 1
    bad = generations_of(SPACE, sample_size=4)
    told = Told(SPACE)
    for row in rows[:3]:
        told.add(row, zeros(row))
    bad.advance(told.add(rows[3], 1e9))
    np.testing.assert_array_equal(generations.search.theta, bad.search.theta)


def test_what_breaks_a_where_needs_no_trial() -> None:
    space = SPACE.where(lambda p: p["b0"])
    generations, told = generations_of(space, sample_size=6), Told(space)
    samples = list(islice(generations.proposals(), 6))
    assert len({sample.allowed for sample in samples}) == 2
    for sample in samples:
        if sample.allowed:
            told.add(sample.row, 1.0)
    generations.advance(told.results)
    assert generations.number >= 1
    assert generations.search.theta[0] > 0.5


def test_what_is_known_needs_no_trial() -> None:
    told = Told(bits(4))
    for row in bits(4).rows():
        told.add(row, zeros(row))
    generations = generations_of(bits(4))
    generations.advance(told.results)
    assert generations.exhausted
    assert list(generations.proposals()) == []
    assert generations.beginnings > BEGINNINGS


def test_results_from_elsewhere_do_no_harm() -> None:
    told, rng = Told(SPACE), np.random.default_rng(0)
    for row in rng.integers(0, 2, (50, 12)).astype(float):
        told.add(row, zeros(row))
    generations = generations_of(SPACE)
    generations.advance(told.results)
    assert len(proposed(generations, 40)) == 40


# only order counts


@examples(20)
@given(st.integers(0, 50), st.sampled_from([math.exp, math.atan, lambda v: 1e9 * v - 3, lambda v: v**3]))
def test_increasing_transformations_change_nothing(seed: int, change: object) -> None:
    one, _ = climb(SMALL, lambda row: float(np.nansum(row)) - 2, 6, seed)
    other, _ = climb(SMALL, lambda row: change(float(np.nansum(row)) - 2), 6, seed)  # type: ignore[operator]
    assert one.number == other.number
    np.testing.assert_array_equal(one.search.theta, other.search.theta)


def test_where_all_are_equal_nothing_is_learned() -> None:
    generations, _ = climb(SPACE, lambda row: 1.0, 30)
    assert generations.number >= 30
    assert np.all(generations.search.theta == 0.5)


# beginning anew


def test_a_distribution_that_has_settled_begins_anew() -> None:
    generations, told = generations_of(bits(10)), Told(bits(10))
    while generations.beginnings == 1 and len(told.results) < 900:
        for row in proposed(generations):
            told.add(row, zeros(row))
        generations.advance(told.results)
        assert not generations.search.settled
    assert generations.beginnings == 2
    assert np.all(generations.search.theta == 0.5)
    assert min(told.results.losses) == 0


def test_a_distribution_that_draws_what_is_known_begins_anew() -> None:
    space = bits(10).where(lambda p: p["b0"] and p["b1"] and p["b2"] and p["b3"] and p["b4"])
    told = Told(space)
    for row in space.rows():
        if np.all(row[:5] == 1):
            told.add(row, 1.0)  # all are equal: theta stays where it is
    generations = generations_of(space)
    generations.advance(told.results)
    assert generations.number > IDLE * BEGINNINGS
    assert generations.exhausted


def test_settings_are_those_of_the_search() -> None:
    fixed = generations_of(SPACE, adapt=None, sample_size=7, step_size=0.25)
    assert (fixed.search.sample_size, fixed.search.step_size) == (7, 0.25)
    assert len(proposed(fixed)) == 7
