"""The climb, without company."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.space.spaces import examples, finite_spaces
from tests.strategies.runs import Loss, Told, bits, zeros

from sonde.space import Bool, Categorical, Int, Space
from sonde.strategies.natural_gradient.bitflip_search import BitFlipSearch, Moves
from sonde.strategies.natural_gradient.families import Families
from sonde.trials import State, failure

Array = NDArray[np.float64]


def climb_of(space: Space, seed: int = 0) -> BitFlipSearch:
    layout = Families(space)
    assert layout.family is not None
    return BitFlipSearch(space, layout, layout.family, seed)


class Walk:
    """A climb from a row, as far as it is told to go."""

    def __init__(self, space: Space, loss: Loss, start: Array, seed: int = 0) -> None:
        self.loss, self.told, self.climb = loss, Told(space), climb_of(space, seed)
        self.looked: list[Array] = []
        self.look_at(start)

    def look_at(self, row: Array) -> None:
        self.climb.advance(self.told.add(row, self.loss(row)))
        self.looked.append(row)

    def next(self) -> Array | None:
        return next((place.row for place in self.climb.proposals()), None)

    def go(self, count: int) -> Walk:
        for _ in range(count):
            row = self.next()
            if row is None:
                break
            self.look_at(row)
        return self

    @property
    def best(self) -> float:
        return min(self.told.results.losses)


def middle(space: Space) -> Array:
    return space.codec.decode(np.full((1, len(space)), 0.4))[0]


def changed(one: Array, other: Array) -> int:
    return int(np.sum(one != other))


MIXED = Space(
    on=Bool(),
    kind=Categorical(["a", "b", "c", "d"]),
    n=Int(0, 20),
    m=Int(1, 64, log=True),
    deep=Int(0, 9, when={"kind": "b"}),
)


def test_there_is_nothing_to_climb_before_the_first_result() -> None:
    climb, told = climb_of(bits(5)), Told(bits(5))
    climb.advance(told.results)
    assert list(climb.proposals()) == []
    assert not climb.exhausted


def test_a_first_step_changes_one_parameter() -> None:
    for seed in range(10):
        start = middle(MIXED)
        row = Walk(MIXED, zeros, start, seed).next()
        assert row is not None
        assert np.sum(~((row == start) | (np.isnan(row) & np.isnan(start)))) in (1, 2)  # or what depends on it


def test_one_step_changes_of_all_bits_are_proposed_at_once() -> None:
    walk = Walk(bits(20), zeros, np.zeros(20))
    rows = [place.row for place in walk.climb.proposals()]
    assert len(rows) == 20
    assert {changed(row, walk.looked[0]) for row in rows} == {1}
    assert len({row.tobytes() for row in rows}) == 20


def test_looking_at_the_proposals_does_not_use_them_up() -> None:
    walk = Walk(MIXED, zeros, middle(MIXED))
    first = [place.row.tobytes() for place in walk.climb.proposals()]
    next(walk.climb.proposals())
    assert first == [place.row.tobytes() for place in walk.climb.proposals()]


def test_every_bit_is_tried_once_where_each_is_better_alone() -> None:
    walk = Walk(bits(30), zeros, np.zeros(30)).go(30)
    assert walk.best == 0


@examples(25)
@given(finite_spaces(most=4), st.integers(0, 9))
def test_nothing_is_looked_at_twice_until_nothing_is_left(space: Space, seed: int) -> None:
    if Families(space).family is None:
        return
    walk = Walk(space, lambda row: float(np.nansum(row) % 3), middle(space), seed).go(60)
    packed = [row.tobytes() for row in walk.looked]
    assert len(set(packed)) == len(packed)
    assert all(space.codec.configuration(row) in space for row in walk.looked)
    if walk.climb.exhausted:
        assert walk.next() is None
    else:
        assert len(walk.looked) == 61


@examples(25)
@given(finite_spaces(), st.integers(0, 9))
def test_a_climb_stays_in_any_finite_space_and_ends(space: Space, seed: int) -> None:
    if Families(space).family is None:
        return
    walk = Walk(space, lambda row: 0.0, middle(space), seed).go(25)
    assert all(space.codec.configuration(row) in space for row in walk.looked)
    assert len({row.tobytes() for row in walk.looked}) == len(walk.looked)


def test_plateaus_are_crossed() -> None:
    """Equal ones are moved to: steps of four bits need three moves without a gain."""
    walk = Walk(bits(16), lambda row: float(np.sum(row == 0) // 4), np.zeros(16)).go(400)
    assert walk.best == 0


def test_what_is_equal_is_moved_to() -> None:
    walk = Walk(bits(16), lambda row: 1.0, np.zeros(16)).go(5)
    assert np.sum(walk.looked[-1]) == 5


def test_leading_ones_take_one_change_after_the_other() -> None:
    def following(row: Array) -> float:
        return float(len(row) - np.sum(np.cumprod(row)))

    assert Walk(bits(15), following, np.zeros(15)).go(400).best == 0


def trap(row: Array) -> float:
    """All zeros is a local optimum three changes away from anything better; all ones is best."""
    ones = int(np.sum(row))
    return -10.0 if ones == len(row) else float(ones if ones < 3 else 2 - ones)


def test_a_local_optimum_is_left_by_a_kick() -> None:
    walk = Walk(bits(10), trap, np.zeros(10))
    walk.go(10)  # all neighbours are worse
    row = walk.next()
    assert row is not None
    assert changed(row, np.zeros(10)) >= 2
    assert walk.go(600).best == -10


def test_a_kick_is_followed_wherever_it_leads() -> None:
    walk = Walk(bits(10), trap, np.zeros(10)).go(10)
    kicked = walk.next()
    assert kicked is not None
    walk.look_at(kicked)
    row = walk.next()
    assert row is not None
    assert changed(row, kicked) == 1


def test_the_climb_goes_to_the_best_found_elsewhere() -> None:
    walk = Walk(bits(20), zeros, np.zeros(20)).go(3)
    better = np.ones(20)
    better[:2] = 0
    walk.look_at(better)
    walk.go(1)  # what was waited for
    row = walk.next()
    assert row is not None
    assert changed(row, better) == 1
    assert walk.go(20).best == 0


def test_what_is_worse_elsewhere_is_left_there() -> None:
    walk = Walk(bits(20), zeros, np.ones(20)).go(3)
    walk.look_at(np.zeros(20))
    walk.go(1)
    row = walk.next()
    assert row is not None
    assert changed(row, np.ones(20)) == 1


def test_a_place_that_was_lucky_is_left_when_more_is_known_of_it() -> None:
    walk = Walk(bits(20), zeros, np.zeros(20)).go(3)
    lucky, better = np.zeros(20), np.ones(20)
    better[:2] = 0
    walk.climb.advance(walk.told.add(lucky, -100.0))  # the start again: 20, and now -40 on average
    walk.look_at(better)
    row = walk.next()
    assert row is not None
    walk.look_at(row)
    row = walk.next()
    assert row is not None
    assert changed(row, lucky) == 1  # the mean of both is the best
    for _ in range(2):
        walk.climb.advance(walk.told.add(lucky, 20.0))
    walk.climb.advance(walk.told.add(lucky, 120.0))
    walk.go(1)
    row = walk.next()
    assert row is not None
    assert changed(row, better) == 1


def test_with_repetitions_the_climb_is_the_same_for_anybody_who_knows_the_results() -> None:
    rng = np.random.default_rng(0)
    walk = Walk(bits(7), lambda row: zeros(row) + 2 * rng.standard_normal(), np.zeros(7))
    for _ in range(60):
        walk.go(1)
        again = walk.looked[int(rng.integers(len(walk.looked)))]
        walk.climb.advance(walk.told.add(again, zeros(again) + 2 * rng.standard_normal()))
    other = climb_of(bits(7))
    other.advance(walk.told.results)
    mine, theirs = ([place.row.tobytes() for place in climb.proposals()] for climb in (walk.climb, other))
    assert mine == theirs
    assert mine


@pytest.mark.parametrize("start", [failure("why"), float("nan")])
def test_a_climb_that_begins_at_a_failure_goes_on(start: object) -> None:
    climb, told = climb_of(bits(8)), Told(bits(8))
    climb.advance(told.add(np.zeros(8), start))  # type: ignore[arg-type]
    for _ in range(60):
        row = next(climb.proposals()).row
        climb.advance(told.add(row, zeros(row)))
    assert min(told.results.losses) == 0


def test_what_was_cancelled_is_passed_over() -> None:
    walk = Walk(bits(6), zeros, np.zeros(6))
    for _ in range(30):
        row = walk.next()
        assert row is not None
        walk.looked.append(row)
        if len(walk.looked) % 3 == 0:
            walk.climb.advance(walk.told.add(row, State.CANCELLED))
        else:
            walk.climb.advance(walk.told.add(row, zeros(row)))
    assert len({row.tobytes() for row in walk.looked}) == 31


def test_constraints_are_met() -> None:
    space = bits(8).where(lambda p: sum(p.values()) != 3)
    walk = Walk(space, lambda row: -zeros(row), np.ones(8)).go(80)
    assert all(np.sum(row) != 3 for row in walk.looked)
    assert walk.best == -8  # a kick jumps over the gap


def test_integers_move_by_steps_and_leaps() -> None:
    space = Space(n=Int(0, 10_000))
    walk = Walk(space, lambda row: abs(row[0] - 9_000), np.array([100.0])).go(120)
    steps = {abs(row[0] - 100.0) for row in walk.looked[1:3]}
    assert 1.0 in steps
    assert walk.best < 1000


def test_the_climb_is_the_same_for_anybody_who_knows_the_results() -> None:
    for space in (bits(10), MIXED):
        walk = Walk(space, lambda row: float(np.round(3 * np.nansum(row)) % 5), middle(space)).go(80)
        other = climb_of(space)
        other.advance(walk.told.results)
        mine, theirs = ([place.row.tobytes() for place in climb.proposals()] for climb in (walk.climb, other))
        assert mine == theirs
        assert mine


@pytest.mark.parametrize("space", [bits(3), Space(n=Int(0, 9)), MIXED])
def test_moves_of_every_parameter(space: Space) -> None:
    sweep = Moves(Families(space)).sweep(np.random.default_rng(0))
    assert {move.column for move in sweep} == set(range(len(space)))


def test_a_sweep_reaches_every_category_and_the_neighbours_of_a_number() -> None:
    sweep = Moves(Families(MIXED)).sweep(np.random.default_rng(0))
    assert sorted(move.apply(1.0) for move in sweep if move.column == 1) == [0.0, 2.0, 3.0]
    numbers = [move.apply(20.0) for move in sweep if move.column == 2]
    assert {19.0, 20.0} <= set(numbers)  # at the bound it stays
    assert all(0 <= number <= 20 for number in numbers)
    assert [move.apply(0.0) for move in sweep if move.column == 0] == [1.0]
