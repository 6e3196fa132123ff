"""The contract of the strategy port, for every strategy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.space.spaces import examples, finite_spaces, spaces
from tests.trials.histories import Row, add_pending, changed, history_of

from sonde.errors import InfeasibleSpace, SpaceError
from sonde.sampling import Key
from sonde.space import Bool, Categorical, Float, Int, Space
from sonde.strategies import Strategy, resolve_strategy
from sonde.trials import Changes, Evaluation, History, State, failure, to_outcome
from sonde.trials.trial import pack_row

Array = NDArray[np.float64]

SPACE = Space(
    x=Float(-1, 1),
    rate=Float(1e-4, 1, log=True),
    n=Int(1, 50),
    kind=Categorical(["a", "b", "c"]),
    deep=Float(0, 1, when={"kind": "b"}),
)
SMALL = Space(n=Int(0, 3), on=Bool(), f=Float(0, 1, step=0.5, when={"on": True}))  # 4 * (1 + 3) configurations


pytestmark = pytest.mark.filterwarnings("ignore::sonde.errors.OddHistory")  # these histories are degenerate on purpose


@pytest.fixture(params=["random", "sobol", "gp", "fobo", "dngo", "igo", "auto"])
def strategy(request: pytest.FixtureRequest) -> Strategy:
    return resolve_strategy(request.param)


def assert_valid(space: Space, rows: Array) -> None:
    for row in rows:
        configuration = space.codec.configuration(row)
        assert configuration in space
        assert np.array_equal(space.row(configuration), row, equal_nan=True)


def assert_distinct(rows: Array) -> None:
    assert len({row.tobytes() for row in rows}) == len(rows)


@st.composite
def random_trials(draw: st.DrawFn, space: Space) -> list[Row]:
    """Trials at random points, with repetitions, in every state; values of any size, with NaN and inf."""
    points = space.codec.decode(np.random.default_rng(draw(st.integers(0, 99))).random((6, len(space))))
    outcomes = st.one_of(
        st.sampled_from([State.WAITING, State.RUNNING, State.LOST, State.CANCELLED, failure("why")]),
        st.floats().map(lambda value: to_outcome(value, space)),
    )
    trials = draw(st.lists(st.tuples(st.integers(0, 5), outcomes), max_size=12))
    return [changed(number, points[which], outcome) for number, (which, outcome) in enumerate(trials)]


def replay(space: Space, trials: list[Row]) -> History:
    history = History(space)
    history.update(Changes(len(trials), trials))
    return history


@pytest.mark.parametrize("name", ["random", "sobol", "gp", "fobo", "dngo", "igo", "auto"])
@examples(60)
@given(st.data())
def test_suggestions_are_novel_and_in_the_space_after_any_history(name: str, data: st.DataObject) -> None:
    space = data.draw(spaces())
    trials, count = data.draw(random_trials(space)), data.draw(st.integers(1, 8))
    known = {row for _, _, _, row, *_ in trials}
    key = Key(data.draw(st.integers(0, 9)), len(trials))
    rows = resolve_strategy(name).suggest(space, replay(space, trials), count, key)
    assert len(rows) == min(count, space.size - len(known))
    assert_valid(space, rows)
    assert_distinct(rows)
    continuous = [axis.continuous for axis in space.codec.axes]
    assert not any(pack_row(row) in known for row in rows if np.isnan(row[continuous]).all())


@pytest.mark.parametrize("name", ["random", "sobol"])
@examples(40)
@given(st.data())
def test_a_batch_equals_as_many_single_asks(name: str, data: st.DataObject) -> None:
    space = data.draw(spaces())
    trials, count = data.draw(random_trials(space)), data.draw(st.integers(1, 6))
    strategy, history = resolve_strategy(name), replay(space, trials)
    batch = strategy.suggest(space, history, count, Key(1, len(trials)))
    for offset in range(count):
        single = strategy.suggest(space, history, 1, Key(1, len(trials) + offset))
        assert np.array_equal(single, batch[offset : offset + 1], equal_nan=True)
        add_pending(history, single)


def test_the_same_seed_gives_the_same_suggestions_in_any_object(strategy: Strategy) -> None:
    history = history_of(SPACE, [])
    first = strategy.suggest(SPACE, history, 20, Key(7, 0))
    again = resolve_strategy(strategy.name).suggest(SPACE, history_of(SPACE, []), 20, Key(7, 0))
    other = strategy.suggest(SPACE, history, 20, Key(8, 0))
    np.testing.assert_array_equal(first, again)
    assert not np.any(first[1:, 0] == other[1:, 0])  # the first may be the centre


@pytest.mark.parametrize(
    "name", ["random", "sobol", "gp", "fobo", "dngo", "auto"]
)  # igo depends on the observations alone
def test_later_trials_get_other_suggestions(name: str) -> None:
    first, later = (resolve_strategy(name).suggest(SPACE, history_of(SPACE), 20, Key(7, at)) for at in (0, 20))
    assert not np.any(first[:, 0] == later[:, 0])


def test_suggestions_do_not_change_the_history(strategy: Strategy) -> None:
    trials: list[tuple[Mapping[str, Any], Any]] = [({"n": 0, "on": False}, to_outcome(1.0, SMALL))]
    history, untouched = history_of(SMALL, trials), history_of(SMALL, trials)
    strategy.suggest(SMALL, history, 8, Key(0, 1))
    assert len(history) == len(untouched)
    assert history.revision == untouched.revision
    np.testing.assert_array_equal(history.completed.rows, untouched.completed.rows)


def test_suggestions_cover_the_space(strategy: Strategy) -> None:
    rows = strategy.suggest(SPACE, history_of(SPACE), 300, Key(3, 0))
    units, _ = SPACE.codec.encode(rows)
    for column in range(4):
        assert np.histogram(units[:, column], 3, (0, 1))[0].min() > 80
    assert np.isnan(rows[:, 4]).sum() == np.sum(rows[:, 3] != 1)


@pytest.mark.parametrize("name", ["random", "sobol", "gp", "fobo", "dngo", "igo"])
@examples(25)
@given(st.data())
def test_a_finite_space_is_used_up_to_the_last_configuration(name: str, data: st.DataObject) -> None:
    space = data.draw(finite_spaces(most=3))
    strategy, history = resolve_strategy(name), History(space)
    while True:
        count = data.draw(st.integers(1, 30))
        rows = strategy.suggest(space, history, count, Key(5, len(history)))
        assert_valid(space, rows)
        add_pending(history, rows)
        if len(rows) < count:
            break
    assert len(history) == space.size
    assert_distinct(history.pending.rows)
    assert strategy.suggest(space, history, 3, Key(5, len(history))).shape == (0, len(space))


def test_a_finite_space_too_large_to_be_enumerated_first_is_used_up_too(strategy: Strategy) -> None:
    space = Space(n=Int(0, 4199))
    history = History(space)
    add_pending(history, space.codec.decode(np.linspace(0, 1, 8400)[:, None])[: 2 * 4190 : 2])
    left = 4200 - len({row.tobytes() for row in history.pending.rows})
    rows = strategy.suggest(space, history, 50, Key(0, len(history)))
    assert 0 < left < 50
    assert len(rows) == left
    assert_distinct(rows)


def test_constraints_are_met(strategy: Strategy) -> None:
    space = SPACE.where("x + rate < 0").where(lambda p: p["n"] % 7 == 0).where("deep > 0.5")
    rows = strategy.suggest(space, history_of(space), 60, Key(2, 0))
    assert len(rows) == 60
    assert_valid(space, rows)
    assert np.all(rows[:, 0] + rows[:, 1] < 0)
    assert set(rows[:, 2]) <= {7, 14, 21, 28, 35, 42, 49}
    assert np.nanmin(rows[:, 4]) > 0.5
    assert np.isnan(rows[:, 4]).any()


def test_a_constrained_finite_space_is_used_up(strategy: Strategy) -> None:
    space = SMALL.where("n >= 2").where(lambda p: p["on"])
    history = History(space)
    rows = strategy.suggest(space, history, 100, Key(4, 0))
    found = {(row[0], row[2]) for row in rows}
    assert len(rows) == 6
    assert found == {(n, f) for n in (2, 3) for f in (0.0, 0.5, 1.0)}
    add_pending(history, rows)
    assert len(strategy.suggest(space, history, 1, Key(4, 6))) == 0


@pytest.mark.parametrize(
    ("space", "said"),
    [
        (Space(x=Float(0, 1)).where("x > 2"), ["x > 2", "loosen", "narrow the ranges"]),
        (Space(x=Float(0, 1), n=Int(0, 3)).where("x < 1").where("n > 3"), ["n > 3", "loosen"]),
        (Space(n=Int(0, 3), on=Bool()).where("n > 3"), ["none of the 8 configurations", "n > 3", "loosen"]),
        (Space(n=Int(0, 9999)).where("n < 0"), ["none of the 10000 configurations", "n < 0", "loosen"]),
        (Space(n=Int(0, 2**30)).where("n < 0"), ["n < 0", "loosen"]),
    ],
)
def test_an_infeasible_space_is_reported_with_a_remedy(strategy: Strategy, space: Space, said: list[str]) -> None:
    with pytest.raises(InfeasibleSpace) as caught:
        strategy.suggest(space, history_of(space), 1, Key(0, 0))
    assert [part for part in said if part not in str(caught.value)] == []


def test_a_feasible_region_of_one_in_a_thousand_is_found(strategy: Strategy) -> None:
    space = Space(x=Float(0, 1), y=Float(0, 1)).where("abs(x - 0.3) < 0.01 and y > 0.95")
    assert_valid(space, strategy.suggest(space, history_of(space), 5, Key(1, 0)))


def test_with_noise_a_used_up_finite_space_is_repeated(strategy: Strategy) -> None:
    configurations = list(SMALL.configurations())
    quiet = [(configuration, to_outcome(1.0, SMALL)) for configuration in configurations]
    noisy = [*quiet[:-1], (configurations[-1], to_outcome(Evaluation(1.0, noise=0.1), SMALL))]
    assert len(strategy.suggest(SMALL, history_of(SMALL, quiet), 40, Key(0, 16))) == 0
    rows = strategy.suggest(SMALL, history_of(SMALL, noisy), 40, Key(0, 16))
    assert len(rows) == 40
    assert_valid(SMALL, rows)
    assert 8 < len({row.tobytes() for row in rows}) <= 16
    fresh = strategy.suggest(SMALL, history_of(SMALL, noisy[8:]), 8, Key(0, 8))
    assert_distinct(fresh)  # new configurations go first


def test_a_predicate_that_raises_is_reported(strategy: Strategy) -> None:
    space = Space(x=Float(0, 1)).where("1 / (x - x) > 0")
    with pytest.raises(SpaceError, match="ZeroDivisionError"):
        strategy.suggest(space, history_of(space), 1, Key(0, 0))


def test_a_strategy_explains_what_it_does(strategy: Strategy) -> None:
    assert "configurations" in strategy.explain(SPACE, history_of(SPACE))


def test_more_dimensions_than_the_sobol_table_has(strategy: Strategy) -> None:
    space = Space({f"x{i}": Float(0, 1) for i in range(1100)})
    rows = strategy.suggest(space, history_of(space), 3, Key(0, 0))
    assert rows.shape == (3, 1100)
    assert math.isclose(rows.mean(), 0.5, abs_tol=0.05)
