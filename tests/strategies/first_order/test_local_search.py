from __future__ import annotations

from dataclasses import astuple, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.space.spaces import examples

from sonde.strategies.first_order.local_search import (
    BASIN,
    FINE,
    KNOWN,
    LEADING,
    NARROWEST,
    PROMISE,
    STALLED,
    START,
    WIDEST,
    LocalSearch,
    Results,
    follow,
)

Array = NDArray[np.float64]
STEEP = 100.0


def line(*steps: tuple[float, ...]) -> Results:
    """Results on one axis: (unit, value), or (unit, value, slope); a slope is steep unless it is given."""
    whole = [(*step, -STEEP)[:3] for step in steps]
    units, values, gradients = np.array(whole, dtype=float).reshape(-1, 3).T
    return all_asked(values, units[:, None], gradients[:, None])


def all_asked(values: Array, units: Array, gradients: Array) -> Results:
    return Results(values, units, gradients, np.ones(len(values), dtype=bool), np.zeros(len(values), dtype=np.intp))


def state(descent: LocalSearch) -> tuple[int, float, bool]:
    return descent.best, descent.side, descent.over


# one descent


def test_nothing_leads_nowhere() -> None:
    assert follow(line(), 4) == []


@pytest.mark.parametrize("count", [1, 3, 4])
def test_the_first_one_starts_from_the_best_of_the_first_results(count: int) -> None:
    values = [3.0, 1.0, 0.0, 2.0][:count]
    results = line(*((0.2 * i, value) for i, value in enumerate(values)))
    assert [state(each) for each in follow(results, 4)] == [(int(np.argmin(values)), START, False)]


def test_two_successes_double_the_region_up_to_the_widest() -> None:
    steps = [(0.5, 100.0), (0.55, 90.0), (0.6, 80.0), (0.65, 70.0), (0.7, 60.0), (0.75, 50.0), (0.8, 40.0)]
    sides = [follow(line(*steps[: k + 1]), 1)[0].side for k in range(len(steps))]
    assert sides == [START, START, 2 * START, 2 * START, 4 * START, 4 * START, WIDEST]
    assert follow(line(*steps), 1)[0].best == 6


def test_two_failures_halve_the_region_and_a_success_between_them_does_not() -> None:
    start = (0.5, 10.0)
    failed = line(start, (0.55, 11.0), (0.45, 12.0))
    assert [state(each) for each in follow(failed, 1)] == [(0, START / 2, False)]
    mixed = line(start, (0.55, 11.0), (0.45, 5.0), (0.47, 6.0))
    assert [state(each) for each in follow(mixed, 1)] == [(2, START, False)]


def test_a_gain_too_small_to_be_a_success_moves_the_best_and_narrows_nothing() -> None:
    first = [(0.1, 100.0), (0.9, 100.0), (0.3, 100.0), (0.5, 0.0)]
    results = line(*first, (0.51, -1e-3), (0.52, -2e-3))
    (only,) = follow(results, 4)
    assert state(only) == (5, START, False)
    assert only.stalled == 0  # the best of all has not stalled while it gains anything
    assert follow(line(*first[:3], (0.5, 0.0), (0.95, -5.0), (0.51, -1e-3), (0.52, -2e-3)), 4)[0].stalled == 2
    large = line(*first, (0.51, -1.0), (0.52, -2.0))
    assert follow(large, 4)[0].side == 2 * START


@pytest.mark.parametrize(("lower", "patience"), [(1.0, LEADING), (-1.0, STALLED)])
def test_it_is_over_after_so_many_without_success(lower: float, patience: int) -> None:
    """The best of all is given more time than another, which is here the descent from elsewhere."""
    failures = [(0.8 + 1e-4 * (-1) ** i, 2.0 + i) for i in range(patience)]
    before, after = (follow(line((0.1, lower), (0.8, 0.0), *failures[:k]), 1) for k in (patience - 1, patience))
    assert [each.over for each in before] == [False, False]
    assert [each.over for each in after] == [False, True]
    assert after[1].best == 1
    assert after[1].moved
    assert not after[0].moved


def test_it_is_over_where_its_region_is_too_narrow() -> None:
    steps, value, unit = [(0.5, 0.0)], 0.0, 0.5
    for _ in range(40):  # a success after each halving, so that it never stalls
        steps += [(unit + 1e-5, value + 1.0), (unit - 1e-5, value + 1.0)]
        value, unit = value - 1.0, unit + 1e-6
        steps.append((unit, value, -1e9))  # so steep that more is promised
    results = line(*steps)
    ended = next(k for k in range(1, len(steps)) if follow(line(*steps[:k]), 1)[0].over)
    assert follow(line(*steps[:ended]), 1)[0].side < NARROWEST
    assert follow(line(*steps[: ended - 1]), 1)[0].side >= NARROWEST
    assert follow(results, 1)[0].over


# what gradients promise


@pytest.mark.parametrize(
    ("unit", "slope", "promised"),
    [
        (0.5, 2.0, 2.0 * 0.4),  # as far as the region goes
        (0.5, -2.0, 2.0 * 0.4),
        (0.1, 2.0, 2.0 * 0.1),  # as far as the cube goes
        (0.9, -2.0, 2.0 * 0.1),
        (0.0, 2.0, 0.0),  # down is outside
        (1.0, -2.0, 0.0),
        (0.0, -2.0, 2.0 * 0.4),
        (0.5, 0.0, 0.0),
        (0.5, np.nan, np.inf),
    ],
)
def test_slopes_promise_what_the_region_and_the_cube_have_room_for(unit: float, slope: float, promised: float) -> None:
    assert line((unit, 0.0, slope)).promise(0, 0.4) == pytest.approx(promised)


def test_a_promise_is_the_sum_of_those_slopes_that_are_known() -> None:
    results = all_asked(np.zeros(1), np.array([[0.5, 0.0, 0.5]]), np.array([[1.0, 5.0, np.nan]]))
    assert results.promise(0, 0.4) == pytest.approx(0.4)


@pytest.mark.parametrize(("unit", "slope"), [(0.5, 0.0), (0.0, STEEP), (1.0, -STEEP)])
def test_it_is_over_where_nothing_is_promised(unit: float, slope: float) -> None:
    near = abs(unit - 0.1)
    ended = follow(line((near, 10.0), (unit, 0.0, slope)), 1)
    going = follow(line((near, 10.0), (unit, 0.0, -slope or STEEP)), 1)
    assert [state(each) for each in ended] == [(1, START, True)]
    assert [state(each) for each in going] == [(1, START, False)]


def test_without_slopes_it_goes_on() -> None:
    assert not follow(line((0.5, 10.0, np.nan), (0.6, 0.0, np.nan)), 1)[0].over


def test_the_best_of_all_is_followed_to_more_digits_than_the_others() -> None:
    between = np.sqrt(PROMISE * FINE) * 100 / START  # of a spread of 100
    others = [(0.1, 100.0), (0.2, 100.0), (0.3, 100.0)]
    leading = follow(line(*others, (0.9, 0.0, between)), 3)
    following = follow(line(*others[:2], (0.3, -1.0), (0.9, 0.0, between)), 3)
    assert [each.over for each in leading] == [False, False]
    assert [each.over for each in following] == [False, True]


# several descents


def test_a_result_in_no_region_starts_another() -> None:
    edge = 0.1 + START / 2
    assert len(follow(line((0.1, 0.0), (edge - 1e-6, 1.0)), 1)) == 1
    both = follow(line((0.1, 0.0), (edge + 1e-6, 1.0)), 1)
    assert [state(each) for each in both] == [(0, START, False), (1, START, False)]


def test_a_start_that_is_worse_than_the_best_of_all_is_followed_down() -> None:
    results = line((0.1, 0.0), (0.9, 50.0), (0.8, 40.0), (0.7, 30.0), (0.12, 1.0))
    first, second = follow(results, 1)
    assert state(first) == (0, START, False)
    assert state(second) == (3, 2 * START, False)
    assert first.failures == 1


def test_a_result_in_two_regions_belongs_to_the_nearer_one_by_their_sides() -> None:
    wide = [(0.0, 100.0), (0.02, 90.0), (0.04, 80.0)]  # a side of 0.8 around 0.04
    results = line(*wide, (0.6, 100.0), (0.35, 50.0))  # 0.31 of 0.8 from the first, 0.25 of 0.4 from the second
    first, second = follow(results, 1)
    assert (first.best, second.best) == (4, 3)
    closer = line(*wide, (0.6, 100.0), (0.42, 50.0))
    assert [each.best for each in follow(closer, 1)] == [2, 4]


def test_a_descent_that_is_over_owns_nothing_any_more() -> None:
    results = line((0.5, 10.0), (0.5, 5.0, 0.0), (0.52, 6.0))
    assert [state(each) for each in follow(results, 1)] == [(1, START, True), (2, pytest.approx(0.02), False)]


def test_a_known_bottom_ends_a_descent() -> None:
    bottom = [(0.5, 10.0), (0.5, 5.0, 0.0)]
    known = follow(line(*bottom, (0.5 + 0.9 * KNOWN, 6.0)), 1)
    other = follow(line(*bottom, (0.5 + 1.1 * KNOWN, 6.0)), 1)
    assert [each.over for each in known] == [True, True]
    assert [each.over for each in other] == [True, False]


def test_results_at_other_places_are_nowhere_near() -> None:
    """Whether another category begins, is a step, or has come to a known bottom: by its own results alone."""
    units = np.array([[0.5], [0.5], [0.55], [0.5]])
    gradients = np.array([[1.0], [0.0], [STEEP], [STEEP]])
    values = np.array([10.0, 5.0, 6.0, 5.5])
    here = Results(values, units, gradients, np.ones(4, dtype=bool), np.array([0, 0, 1, 1]))
    assert [each.best for each in follow(here, 1)] == [1, 3]
    assert [each.over for each in follow(here, 1)] == [True, False]
    assert here.apart(3, [0, 1, 2]).tolist() == [np.inf, np.inf, pytest.approx(0.05)]
    alone = all_asked(values, units, gradients)
    assert follow(alone, 1)[-1].known  # it is where the first one's bottom is


def test_a_bottom_is_known_by_every_coordinate() -> None:
    units = np.array([[0.5, 0.5], [0.5, 0.5], [0.5, 0.5 + 1.5 * KNOWN], [0.5, 0.5 + 0.8 * KNOWN]])
    gradients = np.array([[1.0, 1.0], [0.0, 0.0], [STEEP, STEEP], [STEEP, STEEP]])
    results = all_asked(np.array([10.0, 5.0, 6.0, 5.5]), units, gradients)
    assert [each.over for each in follow(Results(*(each[:3] for each in astuple(results))), 1)] == [True, False]
    assert [each.over for each in follow(results, 1)] == [True, True]  # it has come to the first one's bottom


def test_a_descent_keeps_halfway_away_from_a_known_bottom() -> None:
    bottom = [(0.5, 10.0), (0.5, 5.0, 0.0)]
    other = follow(line(*bottom, (0.6, 6.0, STEEP / 2), (0.59, 7.0)), 1)[1]  # too steep to be of that basin
    assert (other.best, other.over) == (2, False)
    assert other.side == pytest.approx(0.1)


@pytest.mark.parametrize(("share", "ends"), [(0.9, False), (1.1, True), (2.0, True), (2.9, True), (3.1, False)])
def test_slopes_that_fall_to_a_known_bottom_end_a_descent(share: float, ends: bool) -> None:
    """The height is 10 at a distance of 0.1; an end on the way there is no bottom of its own."""
    assert BASIN == (1.0, 3.0)
    on_the_way = [(0.5, 30.0), (0.5, 5.0, 0.0), (0.62, 17.0, share * 12.0 / 0.12)]
    once, twice = follow(line(*on_the_way), 1)[1], follow(line(*on_the_way, (0.6, 15.0, share * 10.0 / 0.1)), 1)[1]
    assert not once.over  # one slope may point there by chance
    assert (twice.over, twice.known) == (ends, ends)


def test_slopes_that_fall_to_two_bottoms_end_nothing() -> None:
    two = [(0.1, 30.0), (0.1, 5.0, 0.0), (0.5, 20.0, -STEEP), (0.5, 5.0, 0.0)]
    between = follow(line(*two, (0.36, 12.0, -2 * 7.0 / 0.14), (0.29, 11.0, 2 * 6.0 / 0.19)), 1)[-1]
    assert (between.best, between.over) == (5, False)


# results that no descent asked for


def unasked(*steps: tuple[float, ...], first: int = 1) -> Results:
    results = line(*steps)
    return replace(results, asked=np.arange(len(steps)) < first)


def test_what_others_find_in_its_region_may_be_its_best_and_is_no_failure() -> None:
    better = follow(unasked((0.5, 10.0), (0.55, 9.0)), 1)
    worse = follow(unasked((0.5, 10.0), (0.55, 11.0), (0.45, 12.0), (0.52, 13.0)), 1)
    assert [state(each) for each in better] == [(1, START, False)]
    assert [state(each) for each in worse] == [(0, START, False)]
    assert (worse[0].failures, worse[0].stalled) == (0, 0)


def test_what_others_find_elsewhere_is_a_start_where_it_is_the_best_of_all() -> None:
    assert len(follow(unasked((0.1, 10.0), (0.9, 11.0)), 1)) == 1
    assert [state(each) for each in follow(unasked((0.1, 10.0), (0.9, 9.0)), 1)] == [
        (0, START, False),
        (1, START, False),
    ]


def test_it_is_over_where_its_slope_promises_nothing_over_the_last_step() -> None:
    """A region may still be wide: steps that have become short say that the bottom is near."""
    others = [(0.1, 100.0), (0.2, 100.0), (0.5, 0.0)]
    slope = 10 * FINE * 100 / START  # promises ten times what counts within the region
    long = follow(line(*others, (0.6, 0.0, slope)), 3)
    short = follow(line(*others, (0.505, -1e-3, slope)), 3)
    assert [each.over for each in long] == [False]
    assert [each.over for each in short] == [True]


# the last digits of the best of all


def at_rest(*more: tuple[float, ...]) -> list[LocalSearch]:
    """A descent whose slope promises little more, after a step of 0.01; it is the best of all."""
    others = [(0.1, 100.0), (0.2, 100.0), (0.5, 0.0)]
    little = 0.5 * PROMISE * 100 / 0.01
    return follow(line(*others, (0.51, -10.0, little), *more), 3)


def test_the_best_of_all_rests_at_a_bottom_and_keeps_to_itself() -> None:
    (only,) = at_rest()
    assert (only.best, only.resting, only.over, only.at_bottom) == (3, True, False, True)
    assert only.side == pytest.approx(4 * 0.01)
    elsewhere = at_rest((0.6, 50.0))
    assert [each.best for each in elsewhere] == [3, 4]
    assert elsewhere[0].failures == 0


def test_it_goes_on_with_the_last_digits_while_it_is_the_best() -> None:
    better = at_rest((0.505, -10.01, 1e-3))
    assert [(each.best, each.resting, each.over) for each in better] == [(4, True, False)]
    beaten = at_rest((0.9, -20.0), (0.505, -10.01, 1e-3))
    assert [(each.best, each.over) for each in beaten] == [(5, True), (4, False)]


def test_a_bottom_at_which_one_rests_is_known_to_others() -> None:
    come = at_rest((0.8, 50.0, 2 * 60.0 / 0.29), (0.7, 15.0, 2 * 25.0 / 0.19))
    assert [(each.best, each.over, each.known) for each in come] == [(3, False, False), (5, True, True)]


# results that are none


def test_what_failed_is_never_the_best() -> None:
    results = line((0.5, 1.0), (0.55, np.inf), (0.45, np.inf))
    assert [state(each) for each in follow(results, 1)] == [(0, START / 2, False)]
    assert [each.best for each in follow(line((0.1, np.inf), (0.3, 2.0), (0.5, np.inf)), 3)] == [1]


def test_the_first_result_that_works_is_a_success() -> None:
    (only,) = follow(line((0.5, np.inf, np.nan), (0.6, 3.0)), 1)
    assert (only.best, only.stalled) == (1, 0)


def test_nothing_works_so_far() -> None:
    """Without a warning of what infinities differ by."""
    results = line(*((0.5 + 0.01 * i, np.inf, np.nan) for i in range(3)))
    (only,) = follow(results, 1)
    assert (only.best, only.side, only.stalled) == (0, START / 2, 2)


def test_huge_values_have_a_finite_difference() -> None:
    results = line((0.1, 1.7e308), (0.3, -1.7e308), (0.9, 1.7e308), (0.32, -1.75e308))
    assert [each.best for each in follow(results, 3)] == [3]
    assert results.spread(1) == 0.0
    assert line((0.1, np.inf)).spread(1) == 0.0
    assert line((0.1, 5.0), (0.2, 1.0), (0.3, np.inf), (0.4, 3.0)).spread(4) == 2.0


# a fold


@st.composite
def histories(draw: st.DrawFn) -> Results:
    """Results around a few places, with failures and missing gradients among them."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    count, d = draw(st.integers(1, 30)), draw(st.integers(1, 3))
    centres = rng.random((3, d))
    units = np.clip(centres[rng.integers(3, size=count)] + 0.05 * rng.standard_normal((count, d)), 0.0, 1.0)
    values = np.round(1024 * rng.normal(size=count)) / 1024  # so that sums and differences are exact
    values[1:][rng.random(count - 1) < 0.15] = np.inf
    gradients = rng.normal(size=(count, d)) * 10 ** rng.uniform(-9, 1, (count, 1))
    gradients[rng.random((count, d)) < 0.2] = np.nan
    return Results(values, units, gradients, rng.random(count) < 0.7, rng.integers(0, 2, count))


@examples(40)
@given(histories())
def test_following_changes_nothing_and_has_no_memory(results: Results) -> None:
    before = [np.copy(each) for each in astuple(results)]
    found = follow(results, 4)
    follow(Results(*(each[::-1] for each in before)), 4)
    assert follow(results, 4) == found
    for one, other in zip(before[:3], (results.values, results.units, results.gradients), strict=True):
        np.testing.assert_array_equal(one, other)


@examples(40)
@given(histories())
def test_results_elsewhere_do_not_touch_a_descent(results: Results) -> None:
    """What has been followed so far is a state of its own: more results change only those they belong to."""
    count, d = results.units.shape
    corner = all_asked(np.full(4, 5.0), np.ones((4, d)), np.full((4, d), 1.0))
    near = replace(results, units=results.units / 8)
    both = Results(*(np.concatenate(pair) for pair in zip(astuple(near), astuple(corner), strict=True)))
    earlier, whole = follow(near, 1), follow(both, 1)
    if all(each.side < WIDEST for each in earlier):
        assert whole[: len(earlier)] == earlier
        assert whole[len(earlier)].best == count


@examples(40)
@given(histories(), st.integers(-3, 3), st.sampled_from([0.0, 1024.0]))
def test_units_of_the_values_do_not_matter(results: Results, power: int, shift: float) -> None:
    factor = 4.0**power
    other = replace(results, values=factor * (results.values + shift), gradients=factor * results.gradients)
    assert follow(other, 4) == follow(results, 4)
