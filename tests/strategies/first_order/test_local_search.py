from __future__ import annotations

from dataclasses import astuple, replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.space.spaces import examples

from sonde.strategies.first_order.local_search import (
    BASIN,
    CAUTION,
    COARSE,
    FINE,
    LEAST_CAUTION,
    MOST_CAUTION,
    NARROWEST,
    RESIZE,
    SAME_MINIMUM,
    STALLED,
    START,
    WIDEST,
    Evaluated,
    LocalSearch,
    replay,
)

Array = NDArray[np.float64]
STEEP = 100.0


def line(*steps: tuple[float, ...]) -> Evaluated:
    """Trials on one axis: (unit, value), or (unit, value, gradient); a gradient is steep unless it is given."""
    whole = [(*step, -STEEP)[:3] for step in steps]
    units, values, gradients = np.array(whole, dtype=float).reshape(-1, 3).T
    return all_requested(values, units[:, None], gradients[:, None])


def all_requested(values: Array, units: Array, gradients: Array) -> Evaluated:
    return Evaluated(values, units, gradients, np.ones(len(values), dtype=bool), np.zeros(len(values), dtype=np.intp))


def state(search: LocalSearch) -> tuple[int, float, bool]:
    return search.best, search.side, search.finished


def selected(trials: Evaluated, rows: slice) -> Evaluated:
    """Some of the trials."""
    arrays = (trials.values, trials.units, trials.gradients, trials.requested, trials.discrete)
    return Evaluated(*(each[rows] for each in arrays), trials.local_first)


# one local search


def test_no_trials_make_no_local_search() -> None:
    assert replay(line(), 4) == []


@pytest.mark.parametrize("count", [1, 3, 4])
def test_the_first_search_starts_from_the_best_of_the_initial_design(count: int) -> None:
    values = [3.0, 1.0, 0.0, 2.0][:count]
    trials = line(*((0.2 * i, value) for i, value in enumerate(values)))
    assert [state(each) for each in replay(trials, 4)] == [(int(np.argmin(values)), START, False)]


@pytest.mark.parametrize(
    ("decrease", "caution", "inside", "edge"),
    [
        (-1.0, 4 * CAUTION, START / RESIZE, START / RESIZE),
        (0.2, 4 * CAUTION, START / RESIZE, START / RESIZE),
        (0.3, CAUTION, START, START),
        (0.7, CAUTION, START, START),
        (0.8, CAUTION / 2, START, RESIZE * START),
        (2.0, CAUTION / 2, START, RESIZE * START),  # as much as the gradient predicts
    ],
)
def test_the_decrease_of_a_step_sets_caution_and_trust_region(
    decrease: float, caution: float, inside: float, edge: float
) -> None:
    """A decrease of 1 is that of a step to the minimum of a quadratic with this gradient."""
    for step, side in ((0.89 * START / 2, inside), (0.91 * START / 2, edge)):
        (only,) = replay(line((0.5, 10.0), (0.5 + step, 10.0 - decrease * 0.5 * STEEP * step)), 1)
        assert (only.caution, only.side) == (caution, side)
        assert only.best == (1 if decrease > 0 else 0)
        assert only.last_step == pytest.approx(step)


@pytest.mark.parametrize("gradient", [np.nan, STEEP], ids=["no gradient", "uphill"])
def test_where_the_gradient_predicts_no_decrease_any_gain_is_good(gradient: float) -> None:
    good, poor = (replay(line((0.5, 10.0, gradient), (0.7, 10.0 - gain, -STEEP)), 1)[0] for gain in (1e-3, 0.0))
    assert (good.best, good.caution, good.side) == (1, CAUTION / 2, RESIZE * START)
    assert (poor.best, poor.caution, poor.side) == (0, 4 * CAUTION, START / RESIZE)


def test_good_steps_widen_the_trust_region_up_to_the_widest() -> None:
    steps = [(0.0, 100.0), (0.2, 80.0), (0.7, 40.0), (0.71, 39.0)]  # the last one is short
    found = [replay(line(*steps[: k + 1]), 1)[0] for k in range(len(steps))]
    assert [each.side for each in found] == [START, RESIZE * START, WIDEST, WIDEST]
    assert [each.best for each in found] == [0, 1, 2, 3]
    assert WIDEST < RESIZE**2 * START


def test_poor_steps_in_a_row_narrow_the_trust_region() -> None:
    start = (0.5, 10.0)
    failed = line(start, (0.55, 11.0), (0.45, 12.0))
    assert [state(each) for each in replay(failed, 1)] == [(0, START / RESIZE / RESIZE, False)]
    mixed = line(start, (0.55, 11.0), (0.45, 5.0), (0.47, 6.0))
    assert [state(each) for each in replay(mixed, 1)] == [(2, START / RESIZE / RESIZE, False)]


def test_caution_has_bounds() -> None:
    good = line((0.5, 10.0), *((0.5 + 1e-3 * i, 10.0 - i) for i in range(1, 10)))
    poor = line((0.5, 10.0), *((0.5 + 1e-3 * i, 10.0 + i) for i in range(1, 4)))
    assert replay(selected(good, slice(8)), 1)[0].caution == CAUTION / 2**7 == LEAST_CAUTION
    assert replay(good, 1)[0].caution == LEAST_CAUTION
    assert [replay(selected(poor, slice(k)), 1)[0].caution for k in (2, 3, 4)] == [4.0, MOST_CAUTION, MOST_CAUTION]


def test_a_small_gain_moves_the_best_point_and_is_no_success() -> None:
    first = [(0.1, 100.0), (0.9, 100.0), (0.3, 100.0), (0.5, 0.0)]
    (only,) = replay(line(*first, (0.51, -1e-3), (0.52, -2e-3)), 4)
    assert state(only) == (5, START / RESIZE / RESIZE, False)  # the gradient had predicted more
    assert only.stalled == 0  # the search of the incumbent has not stalled while it gains anything
    assert replay(line(*first[:3], (0.5, 0.0), (0.95, -5.0), (0.51, -1e-3), (0.52, -2e-3)), 4)[0].stalled == 2
    large = replay(line(*first[:3], (0.5, 0.0), (0.95, -5.0), (0.51, -1.0), (0.52, -2.0)), 4)[0]
    assert (large.best, large.stalled) == (6, 0)


@pytest.mark.parametrize("lower", [1.0, -1.0], ids=["incumbent", "another"])
def test_a_search_finishes_after_many_trials_without_success(lower: float) -> None:
    """The search of the incumbent may have more of them than another one."""
    failures = [(0.8 + 1e-6 * (-1) ** i, 2.0) for i in range(2 * STALLED)]
    found = [replay(line((0.1, lower), (0.8, 0.0), *failures[:k]), 1) for k in range(2 * STALLED + 1)]
    patience = next(k for k, (_, second) in enumerate(found) if second.finished)
    assert patience == STALLED or (lower > 0 and patience > STALLED)
    first, second = found[patience]
    assert (second.best, second.stepped, second.stalled) == (1, True, patience)
    assert second.side > NARROWEST
    assert (first.stepped, first.finished) == (False, False)


def test_a_search_finishes_where_its_trust_region_is_too_narrow() -> None:
    steps, value, unit = [(0.5, 0.0, -1e9)], 0.0, 0.5  # so steep that more gain is predicted
    for _ in range(20):  # a success after each poor step, so that it never stalls
        steps.append((unit + 1e-8, value + 1.0))
        value, unit = value - 1.0, unit + 1e-9
        steps.append((unit, value, -1e9))
    trials = line(*steps)
    finished_search = next(k for k in range(1, len(steps)) if replay(line(*steps[:k]), 1)[0].finished)
    assert replay(line(*steps[:finished_search]), 1)[0].side < NARROWEST
    assert replay(line(*steps[: finished_search - 1]), 1)[0].side >= NARROWEST
    assert replay(trials, 1)[0].finished


# the gain that gradients predict


@pytest.mark.parametrize(
    ("unit", "gradient", "predicted"),
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
def test_the_predicted_gain_is_limited_by_the_region_and_the_cube(
    unit: float, gradient: float, predicted: float
) -> None:
    assert line((unit, 0.0, gradient)).predicted_gain(0, 0.4) == pytest.approx(predicted)


def test_the_predicted_gain_sums_the_known_partial_derivatives() -> None:
    trials = all_requested(np.zeros(1), np.array([[0.5, 0.0, 0.5]]), np.array([[1.0, 5.0, np.nan]]))
    assert trials.predicted_gain(0, 0.4) == pytest.approx(0.4)


@pytest.mark.parametrize(("unit", "gradient"), [(0.5, 0.0), (0.0, STEEP), (1.0, -STEEP)])
def test_a_search_finishes_where_no_gain_is_predicted(unit: float, gradient: float) -> None:
    near = abs(unit - 0.1)
    finished_search = replay(line((near, 10.0), (unit, 0.0, gradient)), 1)
    continuing = replay(line((near, 10.0), (unit, 0.0, -gradient or STEEP)), 1)
    assert [state(each) for each in finished_search] == [(1, START, True)]
    assert [state(each) for each in continuing] == [(1, START, False)]


def test_without_gradients_a_search_continues() -> None:
    assert not replay(line((0.5, 10.0, np.nan), (0.6, 0.0, np.nan)), 1)[0].finished


def test_the_search_of_the_incumbent_continues_to_more_digits() -> None:
    small = np.sqrt(COARSE * FINE) * 100 / START  # of a spread of 100
    others = [(0.1, 100.0), (0.2, 100.0), (0.3, 100.0)]
    leading = replay(line(*others, (0.9, 0.0, small)), 3)
    following = replay(line(*others[:2], (0.3, -1.0), (0.9, 0.0, small)), 3)
    assert [each.finished for each in leading] == [False, False]
    assert [each.finished for each in following] == [False, True]


# several local searches


def test_a_trial_in_no_trust_region_starts_another_search() -> None:
    edge = 0.1 + START / 2
    assert len(replay(line((0.1, 0.0), (edge - 1e-6, 1.0)), 1)) == 1
    both = replay(line((0.1, 0.0), (edge + 1e-6, 1.0)), 1)
    assert [state(each) for each in both] == [(0, START, False), (1, START, False)]


def test_a_start_that_is_worse_than_the_incumbent_is_continued() -> None:
    trials = line((0.1, 0.0), (0.9, 50.0), (0.7, 40.0), (0.6, 30.0), (0.12, 1.0))
    first, second = replay(trials, 1)
    assert (*state(first), first.caution) == (0, START / RESIZE, False, 4 * CAUTION)
    assert (*state(second), second.caution) == (3, RESIZE * START, False, CAUTION / 4)


def test_a_trial_in_two_regions_belongs_to_the_nearer_one_in_units_of_their_sides() -> None:
    wide = [(0.0, 100.0), (0.2, 90.0)]  # a side of 1 around 0.2
    assert replay(line(*wide), 1)[0].side == 1.0
    trials = line(*wide, (0.8, 100.0), (0.62, 50.0))  # 0.42 of 1 from the first, 0.18 of 0.4 from the second
    first, second = replay(trials, 1)
    assert (first.best, second.best) == (3, 2)
    closer = line(*wide, (0.8, 100.0), (0.64, 50.0))
    assert [each.best for each in replay(closer, 1)] == [1, 3]


def test_a_finished_search_owns_no_further_trials() -> None:
    trials = line((0.5, 10.0), (0.5, 5.0, 0.0), (0.52, 6.0))
    assert [state(each) for each in replay(trials, 1)] == [(1, START, True), (2, pytest.approx(0.02), False)]


def test_a_search_finishes_at_a_known_local_minimum() -> None:
    minimum = [(0.5, 10.0), (0.5, 5.0, 0.0)]
    duplicate = replay(line(*minimum, (0.5 + 0.9 * SAME_MINIMUM, 6.0)), 1)
    other = replay(line(*minimum, (0.5 + 1.1 * SAME_MINIMUM, 6.0)), 1)
    assert [each.finished for each in duplicate] == [True, True]
    assert [each.finished for each in other] == [True, False]


def test_trials_with_other_discrete_parameters_are_infinitely_far() -> None:
    """Trials of another category make searches and minima of their own."""
    units = np.array([[0.5], [0.5], [0.55], [0.5]])
    gradients = np.array([[1.0], [0.0], [STEEP], [STEEP]])
    values = np.array([10.0, 5.0, 6.0, 5.5])
    here = Evaluated(values, units, gradients, np.ones(4, dtype=bool), np.array([0, 0, 1, 1]))
    assert [each.best for each in replay(here, 1)] == [1, 3]
    assert [each.finished for each in replay(here, 1)] == [True, False]
    assert here.distances(3, [0, 1, 2]).tolist() == [np.inf, np.inf, pytest.approx(0.05)]
    alone = all_requested(values, units, gradients)
    assert replay(alone, 1)[-1].duplicate  # at the minimum of the first search


def test_two_minima_are_one_if_they_agree_in_every_coordinate() -> None:
    units = np.array([[0.5, 0.5], [0.5, 0.5], [0.5, 0.5 + 1.5 * SAME_MINIMUM], [0.5, 0.5 + 0.8 * SAME_MINIMUM]])
    gradients = np.array([[1.0, 1.0], [0.0, 0.0], [STEEP, STEEP], [STEEP, STEEP]])
    trials = all_requested(np.array([10.0, 5.0, 6.0, 5.5]), units, gradients)
    assert [each.finished for each in replay(selected(trials, slice(3)), 1)] == [True, False]
    assert [each.finished for each in replay(trials, 1)] == [True, True]  # at the minimum of the first search


def test_a_trust_region_reaches_halfway_to_a_known_minimum() -> None:
    minimum = [(0.5, 10.0), (0.5, 5.0, 0.0)]
    start = (0.6, 6.0, STEEP / 2)  # too steep to be of that basin
    other, grown = replay(line(*minimum, start), 1)[1], replay(line(*minimum, start, (0.65, 5.5)), 1)[1]
    assert (other.best, other.finished) == (2, False)
    assert other.side == pytest.approx(0.1)
    assert (grown.best, grown.finished) == (3, False)
    assert grown.side == pytest.approx(0.15)
    assert grown.side < RESIZE * other.side


@pytest.mark.parametrize(("share", "ends"), [(0.9, False), (1.1, True), (2.0, True), (2.9, True), (3.1, False)])
def test_two_gradients_that_point_to_a_known_minimum_finish_a_search(share: float, ends: bool) -> None:
    """The minimum is 10 lower at a distance of 0.1; a search that finishes on the way there is a duplicate."""
    assert BASIN == (1.0, 3.0)
    on_the_way = [(0.5, 30.0), (0.5, 5.0, 0.0), (0.62, 17.0, share * 12.0 / 0.12)]
    once, twice = replay(line(*on_the_way), 1)[1], replay(line(*on_the_way, (0.6, 15.0, share * 10.0 / 0.1)), 1)[1]
    assert not once.finished  # one gradient may point there by chance
    assert (twice.finished, twice.duplicate) == (ends, ends)


def test_gradients_that_point_to_two_different_minima_finish_nothing() -> None:
    two = [(0.1, 30.0), (0.1, 5.0, 0.0), (0.5, 20.0, -STEEP), (0.5, 5.0, 0.0)]
    small = replay(line(*two, (0.36, 12.0, -2 * 7.0 / 0.14), (0.29, 11.0, 2 * 6.0 / 0.19)), 1)[-1]
    assert (small.best, small.finished) == (5, False)


# trials that no local search requested


def not_requested(*steps: tuple[float, ...], first: int = 1) -> Evaluated:
    trials = line(*steps)
    return replace(trials, requested=np.arange(len(steps)) < first)


def test_a_trial_of_the_global_model_in_its_region_may_be_its_best_and_is_no_failure() -> None:
    better = replay(not_requested((0.5, 10.0), (0.55, 9.0)), 1)
    worse = replay(not_requested((0.5, 10.0), (0.55, 11.0), (0.45, 12.0), (0.52, 13.0)), 1)
    assert [state(each) for each in better] == [(1, START, False)]
    assert [state(each) for each in worse] == [(0, START, False)]
    assert (worse[0].caution, worse[0].stalled) == (CAUTION, 0)
    assert (better[0].caution, better[0].stepped) == (CAUTION, False)


def test_a_trial_of_the_global_model_outside_is_a_start_if_it_is_the_incumbent() -> None:
    assert len(replay(not_requested((0.1, 10.0), (0.9, 11.0)), 1)) == 1
    assert [state(each) for each in replay(not_requested((0.1, 10.0), (0.9, 9.0)), 1)] == [
        (0, START, False),
        (1, START, False),
    ]


def test_local_first_every_trial_is_a_step_until_a_minimum_is_known() -> None:
    steps = [(0.5, 10.0), (0.55, 11.0), (0.52, 12.0), (0.9, 13.0)]
    (kept,) = replay(not_requested(*steps), 1)
    stepped, other = replay(replace(not_requested(*steps), local_first=True), 1)
    assert (kept.caution, kept.stepped) == (CAUTION, False)
    assert (stepped.caution, stepped.stepped, stepped.stalled) == (MOST_CAUTION, True, 2)
    assert other.best == 3  # a start, although it is worse
    minimum = [(0.1, 10.0), (0.1, 5.0, 0.0)]
    after = replace(not_requested(*minimum, *((unit, 10 + value) for unit, value in steps)), local_first=True)
    assert [(each.best, each.finished) for each in replay(after, 1)] == [(1, True)]
    requested = replace(after, requested=np.ones(6, dtype=bool))
    assert [each.best for each in replay(requested, 1)] == [1, 2, 5]


def test_a_search_finishes_where_no_gain_is_predicted_over_the_last_step() -> None:
    """The region may still be wide: short steps show that the minimum is near."""
    others = [(0.1, 100.0), (0.2, 100.0), (0.5, 0.0)]
    gradient = 10 * FINE * 100 / START  # predicts ten times the finest gain within the region
    long = replay(line(*others, (0.6, 0.0, gradient)), 3)
    short = replay(line(*others, (0.505, -1e-3, gradient)), 3)
    assert [each.finished for each in long] == [False]
    assert [each.finished for each in short] == [True]


# the last digits of the incumbent


def converged_search(*more: tuple[float, ...]) -> list[LocalSearch]:
    """A search whose gradient predicts little more gain, after a step of 0.01; it holds the incumbent."""
    others = [(0.1, 100.0), (0.2, 100.0), (0.5, 0.0)]
    little = 0.5 * COARSE * 100 / 0.01
    return replay(line(*others, (0.51, -10.0, little), *more), 3)


def test_the_search_of_the_incumbent_converges_and_narrows_its_region() -> None:
    (only,) = converged_search()
    assert (only.best, only.converged, only.finished, only.at_minimum) == (3, True, False, True)
    assert only.side == pytest.approx(4 * 0.01)
    elsewhere = converged_search((0.6, 50.0))
    assert [each.best for each in elsewhere] == [3, 4]
    assert elsewhere[0] == only


def test_a_converged_search_continues_while_it_holds_the_incumbent() -> None:
    better = converged_search((0.505, -10.01, 1e-3))
    assert [(each.best, each.converged, each.finished) for each in better] == [(4, True, False)]
    beaten = converged_search((0.9, -20.0), (0.505, -10.01, 1e-3))
    assert [(each.best, each.finished) for each in beaten] == [(5, True), (4, False)]


def test_the_minimum_of_a_converged_search_is_known_to_others() -> None:
    come = converged_search((0.8, 50.0, 2 * 60.0 / 0.29), (0.7, 15.0, 2 * 25.0 / 0.19))
    assert [(each.best, each.finished, each.duplicate) for each in come] == [(3, False, False), (5, True, True)]


# failed trials


def test_a_failed_trial_is_never_the_best() -> None:
    trials = line((0.5, 1.0), (0.55, np.inf), (0.45, np.inf))
    assert [state(each) for each in replay(trials, 1)] == [(0, START / RESIZE / RESIZE, False)]
    assert [each.best for each in replay(line((0.1, np.inf), (0.3, 2.0), (0.5, np.inf)), 3)] == [1]


def test_the_first_feasible_trial_is_a_success() -> None:
    (only,) = replay(line((0.5, np.inf, np.nan), (0.6, 3.0)), 1)
    assert (only.best, only.stalled) == (1, 0)


def test_nothing_is_feasible_so_far() -> None:
    """The difference of infinities raises no warning."""
    trials = line(*((0.5 + 0.01 * i, np.inf, np.nan) for i in range(3)))
    (only,) = replay(trials, 1)
    assert (only.best, only.side, only.stalled) == (0, START / RESIZE / RESIZE, 2)


def test_huge_values_have_a_finite_difference() -> None:
    trials = line((0.1, 1.7e308), (0.3, -1.7e308), (0.9, 1.7e308), (0.32, -1.75e308))
    assert [each.best for each in replay(trials, 3)] == [3]
    assert trials.spread(1) == 0.0
    assert line((0.1, np.inf)).spread(1) == 0.0
    assert line((0.1, 5.0), (0.2, 1.0), (0.3, np.inf), (0.4, 3.0)).spread(4) == 2.0


# a fold


@st.composite
def histories(draw: st.DrawFn) -> Evaluated:
    """Trials around a few points, with failures and missing gradients among them."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    count, d = draw(st.integers(1, 30)), draw(st.integers(1, 3))
    centres = rng.random((3, d))
    units = np.clip(centres[rng.integers(3, size=count)] + 0.05 * rng.standard_normal((count, d)), 0.0, 1.0)
    values = np.round(1024 * rng.normal(size=count)) / 1024  # so that sums and differences are exact
    values[1:][rng.random(count - 1) < 0.15] = np.inf
    gradients = rng.normal(size=(count, d)) * 10 ** rng.uniform(-9, 1, (count, 1))
    gradients[rng.random((count, d)) < 0.2] = np.nan
    return Evaluated(values, units, gradients, rng.random(count) < 0.7, rng.integers(0, 2, count), draw(st.booleans()))


@examples(40)
@given(histories())
def test_replay_changes_no_input_and_has_no_memory(trials: Evaluated) -> None:
    before = [np.copy(each) for each in astuple(trials)]
    found = replay(trials, 4)
    replay(selected(trials, slice(None, None, -1)), 4)
    assert replay(trials, 4) == found
    for one, other in zip(before, astuple(trials), strict=True):
        np.testing.assert_array_equal(one, other)


@examples(40)
@given(histories())
def test_trials_elsewhere_do_not_change_a_search(trials: Evaluated) -> None:
    """A trial changes only the search that it belongs to."""
    count, d = trials.units.shape
    corner = all_requested(np.full(4, 5.0), np.ones((4, d)), np.full((4, d), 1.0))
    near = replace(trials, units=trials.units / 8)
    arrays = zip(astuple(near)[:-1], astuple(corner)[:-1], strict=True)
    both = Evaluated(*map(np.concatenate, arrays), near.local_first)
    earlier, whole = replay(near, 1), replay(both, 1)
    assume(all(each.side < WIDEST for each in earlier))  # a wider region reaches the corner
    assert whole[: len(earlier)] == earlier
    assert whole[len(earlier)].best == count


@examples(40)
@given(histories(), st.integers(-3, 3), st.sampled_from([0.0, 1024.0]))
def test_units_of_the_values_do_not_matter(trials: Evaluated, power: int, shift: float) -> None:
    factor = 4.0**power
    other = replace(trials, values=factor * (trials.values + shift), gradients=factor * trials.gradients)
    assert replay(other, 4) == replay(trials, 4)
