"""The loop: what it asks of a schedule and a search, and when."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.strategies.bayesian.histories import PLANE, evaluated

from sonde.activity import watching
from sonde.errors import OddHistory
from sonde.sampling import Key
from sonde.space import Int, Space
from sonde.strategies.bayesian.domain import Domain
from sonde.strategies.bayesian.loop import Loop
from sonde.strategies.bayesian.search import Search
from sonde.strategies.bayesian.target import Target
from sonde.strategies.sobol import Sobol

Array = NDArray[np.float64]


class Given:
    """A schedule that knows its points."""

    def __init__(self, *points: list[float], first: int = 4) -> None:
        self._points, self._first = points, first

    def first(self, space: Space) -> int:
        return self._first

    def targets(self, domain: Domain, count: int, key: Key) -> list[Target | Array]:
        return [np.array(point) for point in self._points[:count]]


def test_before_the_initial_design_is_complete_it_takes_a_sobol_sequence() -> None:
    history, key = evaluated(5), Key(3, 5)
    loop = Loop(Given([0.5, 0.5], first=6), Search())
    assert not loop.ready(PLANE, history)
    rows = loop.suggest(PLANE, history, 2, key)
    np.testing.assert_array_equal(rows, Sobol().suggest(PLANE, history, 2, key))


def test_then_it_suggests_what_the_schedule_and_the_search_find() -> None:
    history = evaluated(6)
    loop = Loop(Given([0.25, 0.5], [0.75, 0.5], first=6), Search())
    assert loop.ready(PLANE, history)
    np.testing.assert_allclose(loop.suggest(PLANE, history, 2, Key(3, 6)), [[0.25, 0.5], [0.75, 0.5]])


def test_points_become_rows_that_are_new() -> None:
    space = Space(n=Int(0, 9), m=Int(0, 9))
    history = evaluated(6, space=space)
    tried = history.units[0].tolist()
    rows = Loop(Given(tried, tried), Search()).suggest(space, history, 2, Key(3, 6))
    assert rows.shape == (2, 2)
    assert len({row.tobytes() for row in [*rows, *history.rows]}) == 2 + len({row.tobytes() for row in history.rows})


def test_it_says_what_it_is_doing_and_warns_of_odd_histories() -> None:
    messages: list[str] = []
    loop = Loop(Given([0.25, 0.5], [0.75, 0.5]), Search())
    with watching(messages.append), pytest.warns(OddHistory, match="all values so far are 1"):
        loop.suggest(PLANE, evaluated(6, lambda point: 1.0), 2, Key(3, 6))
    assert messages == ["fitting the model to 6 results", "", "searching for the next 2 points", ""]
