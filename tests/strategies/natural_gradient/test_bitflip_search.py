"""The bit-flip local search on its own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.space.spaces import examples, finite_spaces
from tests.strategies.runs import Loss, Observed, bits, zeros

from sonde.space import Bool, Categorical, Int, Space
from sonde.strategies.natural_gradient.bitflip_search import BitFlipSearch, Moves
from sonde.strategies.natural_gradient.families import Families
from sonde.trials import State, failure

Array = NDArray[np.float64]


def search_of(space: Space, seed: int = 0) -> BitFlipSearch:
    families = Families(space)
    assert families.family is not None
    return BitFlipSearch(space, families, families.family, seed)


class Walk:
    """A local search from a given row, driven step by step."""

    def __init__(self, space: Space, loss: Loss, start: Array, seed: int = 0) -> None:
        self.loss, self.observed, self.search = loss, Observed(space), search_of(space, seed)
        self.evaluated: list[Array] = []
        self.evaluate(start)

    def evaluate(self, row: Array) -> None:
        self.search.advance(self.observed.add(row, self.loss(row)))
        self.evaluated.append(row)

    def next(self) -> Array | None:
        return next((candidate.row for candidate in self.search.proposals()), None)

    def go(self, count: int) -> Walk:
        for _ in range(count):
            row = self.next()
            if row is None:
                break
            self.evaluate(row)
        return self

    @property
    def best(self) -> float:
        return min(self.observed.log.losses)


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


def test_there_are_no_proposals_before_the_first_observation() -> None:
    search, observed = search_of(bits(5)), Observed(bits(5))
    search.advance(observed.log)
    assert list(search.proposals()) == []
    assert not search.exhausted


def test_a_first_step_changes_one_parameter() -> None:
    for seed in range(10):
        start = middle(MIXED)
        row = Walk(MIXED, zeros, start, seed).next()
        assert row is not None
        assert np.sum(~((row == start) | (np.isnan(row) & np.isnan(start)))) in (
            1,
            2,
        )  # two where another parameter depends on it


def test_single_flips_of_all_bits_are_proposed_at_once() -> None:
    walk = Walk(bits(20), zeros, np.zeros(20))
    rows = [candidate.row for candidate in walk.search.proposals()]
    assert len(rows) == 20
    assert {changed(row, walk.evaluated[0]) for row in rows} == {1}
    assert len({row.tobytes() for row in rows}) == 20


def test_iterating_over_the_proposals_does_not_use_them_up() -> None:
    walk = Walk(MIXED, zeros, middle(MIXED))
    first = [candidate.row.tobytes() for candidate in walk.search.proposals()]
    next(walk.search.proposals())
    assert first == [candidate.row.tobytes() for candidate in walk.search.proposals()]


def test_one_sweep_solves_onemax() -> None:
    walk = Walk(bits(30), zeros, np.zeros(30)).go(30)
    assert walk.best == 0


@examples(25)
@given(finite_spaces(most=4), st.integers(0, 9))
def test_nothing_is_evaluated_twice_until_the_search_is_exhausted(space: Space, seed: int) -> None:
    if Families(space).family is None:
        return
    walk = Walk(space, lambda row: float(np.nansum(row) % 3), middle(space), seed).go(60)
    packed = [row.tobytes() for row in walk.evaluated]
    assert len(set(packed)) == len(packed)
    assert all(space.codec.configuration(row) in space for row in walk.evaluated)
    if walk.search.exhausted:
        assert walk.next() is None
    else:
        assert len(walk.evaluated) == 61


@examples(25)
@given(finite_spaces(), st.integers(0, 9))
def test_candidates_of_any_finite_space_are_valid_and_distinct(space: Space, seed: int) -> None:
    if Families(space).family is None:
        return
    walk = Walk(space, lambda row: 0.0, middle(space), seed).go(25)
    assert all(space.codec.configuration(row) in space for row in walk.evaluated)
    assert len({row.tobytes() for row in walk.evaluated}) == len(walk.evaluated)


def test_plateaus_are_crossed() -> None:
    """Moves between equal losses are accepted: a step of four bits needs three moves without a gain."""
    walk = Walk(bits(16), lambda row: float(np.sum(row == 0) // 4), np.zeros(16)).go(400)
    assert walk.best == 0


def test_equal_losses_are_accepted() -> None:
    walk = Walk(bits(16), lambda row: 1.0, np.zeros(16)).go(5)
    assert np.sum(walk.evaluated[-1]) == 5


def test_leading_ones_is_solved() -> None:
    def leading_ones(row: Array) -> float:
        return float(len(row) - np.sum(np.cumprod(row)))

    assert Walk(bits(15), leading_ones, np.zeros(15)).go(400).best == 0


def trap(row: Array) -> float:
    """A deceptive function: all zeros is a local minimum three flips away from anything better; all ones is best."""
    ones = int(np.sum(row))
    return -10.0 if ones == len(row) else float(ones if ones < 3 else 2 - ones)


def test_a_perturbation_leaves_a_local_optimum() -> None:
    walk = Walk(bits(10), trap, np.zeros(10))
    walk.go(10)  # all neighbours are worse
    row = walk.next()
    assert row is not None
    assert changed(row, np.zeros(10)) >= 2
    assert walk.go(600).best == -10


def test_a_perturbation_is_accepted_whatever_its_loss() -> None:
    walk = Walk(bits(10), trap, np.zeros(10)).go(10)
    perturbed = walk.next()
    assert perturbed is not None
    walk.evaluate(perturbed)
    row = walk.next()
    assert row is not None
    assert changed(row, perturbed) == 1


def test_the_search_moves_to_an_incumbent_found_by_another_search() -> None:
    walk = Walk(bits(20), zeros, np.zeros(20)).go(3)
    better = np.ones(20)
    better[:2] = 0
    walk.evaluate(better)
    walk.go(1)  # the candidate it waits for
    row = walk.next()
    assert row is not None
    assert changed(row, better) == 1
    assert walk.go(20).best == 0


def test_a_worse_observation_of_another_search_is_ignored() -> None:
    walk = Walk(bits(20), zeros, np.ones(20)).go(3)
    walk.evaluate(np.zeros(20))
    walk.go(1)
    row = walk.next()
    assert row is not None
    assert changed(row, np.ones(20)) == 1


def test_a_configuration_with_a_lucky_loss_is_left_when_its_mean_rises() -> None:
    walk = Walk(bits(20), zeros, np.zeros(20)).go(3)
    lucky, better = np.zeros(20), np.ones(20)
    better[:2] = 0
    walk.search.advance(walk.observed.add(lucky, -100.0))  # the start again: 20, and now -40 on average
    walk.evaluate(better)
    row = walk.next()
    assert row is not None
    walk.evaluate(row)
    row = walk.next()
    assert row is not None
    assert changed(row, lucky) == 1  # the mean of both is the best
    for _ in range(2):
        walk.search.advance(walk.observed.add(lucky, 20.0))
    walk.search.advance(walk.observed.add(lucky, 120.0))
    walk.go(1)
    row = walk.next()
    assert row is not None
    assert changed(row, better) == 1


def test_a_replay_with_repetitions_gives_the_same_proposals() -> None:
    rng = np.random.default_rng(0)
    walk = Walk(bits(7), lambda row: zeros(row) + 2 * rng.standard_normal(), np.zeros(7))
    for _ in range(60):
        walk.go(1)
        again = walk.evaluated[int(rng.integers(len(walk.evaluated)))]
        walk.search.advance(walk.observed.add(again, zeros(again) + 2 * rng.standard_normal()))
    other = search_of(bits(7))
    other.advance(walk.observed.log)
    mine, theirs = ([candidate.row.tobytes() for candidate in search.proposals()] for search in (walk.search, other))
    assert mine == theirs
    assert mine


@pytest.mark.parametrize("start", [failure("why"), float("nan")])
def test_a_search_that_starts_at_a_failure_continues(start: object) -> None:
    search, observed = search_of(bits(8)), Observed(bits(8))
    search.advance(observed.add(np.zeros(8), start))  # type: ignore[arg-type]
    for _ in range(60):
        row = next(search.proposals()).row
        search.advance(observed.add(row, zeros(row)))
    assert min(observed.log.losses) == 0


def test_cancelled_candidates_are_skipped() -> None:
    walk = Walk(bits(6), zeros, np.zeros(6))
    for _ in range(30):
        row = walk.next()
        assert row is not None
        walk.evaluated.append(row)
        if len(walk.evaluated) % 3 == 0:
            walk.search.advance(walk.observed.add(row, State.CANCELLED))
        else:
            walk.search.advance(walk.observed.add(row, zeros(row)))
    assert len({row.tobytes() for row in walk.evaluated}) == 31


def test_constraints_are_met() -> None:
    space = bits(8).where(lambda p: sum(p.values()) != 3)
    walk = Walk(space, lambda row: -zeros(row), np.ones(8)).go(80)
    assert all(np.sum(row) != 3 for row in walk.evaluated)
    assert walk.best == -8  # a perturbation jumps over the infeasible gap


def test_integers_move_by_unit_steps_and_by_random_jumps() -> None:
    space = Space(n=Int(0, 10_000))
    walk = Walk(space, lambda row: abs(row[0] - 9_000), np.array([100.0])).go(120)
    steps = {abs(row[0] - 100.0) for row in walk.evaluated[1:3]}
    assert 1.0 in steps
    assert walk.best < 1000


def test_a_replay_gives_the_same_proposals() -> None:
    for space in (bits(10), MIXED):
        walk = Walk(space, lambda row: float(np.round(3 * np.nansum(row)) % 5), middle(space)).go(80)
        other = search_of(space)
        other.advance(walk.observed.log)
        mine, theirs = (
            [candidate.row.tobytes() for candidate in search.proposals()] for search in (walk.search, other)
        )
        assert mine == theirs
        assert mine


@pytest.mark.parametrize("space", [bits(3), Space(n=Int(0, 9)), MIXED])
def test_a_sweep_changes_every_parameter(space: Space) -> None:
    sweep = Moves(Families(space)).sweep(np.random.default_rng(0))
    assert {move.column for move in sweep} == set(range(len(space)))


def test_a_sweep_reaches_every_category_and_the_neighbours_of_a_number() -> None:
    sweep = Moves(Families(MIXED)).sweep(np.random.default_rng(0))
    assert sorted(move.apply(1.0) for move in sweep if move.column == 1) == [0.0, 2.0, 3.0]
    numbers = [move.apply(20.0) for move in sweep if move.column == 2]
    assert {19.0, 20.0} <= set(numbers)  # clipped at the bound
    assert all(0 <= number <= 20 for number in numbers)
    assert [move.apply(0.0) for move in sweep if move.column == 0] == [1.0]
