"""Very large spaces are read, stored, counted and searched quickly."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from sonde import Bool, Categorical, Float, Int, Space, Study
from sonde.errors import SpaceError

MANY = 10_000


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Of processor time: the machine may be busy."""
    start = time.process_time()
    yield
    assert time.process_time() - start < seconds


KINDS: dict[str, Callable[[int], Any]] = {
    "text": str,
    "numbers": float,
    "tuples": lambda i: (i, str(i)),
    "lists": lambda i: [i, [i]],
    "dicts": lambda i: {"a": i, "b": [i]},
    "objects": lambda i: object(),
}


@pytest.mark.parametrize("kind", KINDS)
def test_ten_thousand_categories(kind: str) -> None:
    choices = [KINDS[kind](i) for i in range(MANY)]
    with at_most(6.0):
        space = Space(c=Categorical(choices), x=Float(0, 1))
        text = space.to_json()
        assert Space.from_json(text).to_json() == text
        assert [space["c"].number(choice) for choice in choices] == list(range(MANY))


def test_a_twin_among_ten_thousand_categories_is_found() -> None:
    for kind in ("text", "numbers", "tuples", "lists", "dicts"):
        with at_most(4.0), pytest.raises(SpaceError, match="twice"):
            Categorical([*(KINDS[kind](i) for i in range(MANY)), KINDS[kind](MANY // 2)])


def test_a_condition_on_ten_thousand_values() -> None:
    with at_most(6.0):
        space = Space(
            c=Categorical([str(i) for i in range(MANY)]),
            n=Int(0, 2 * MANY),
            x=Int(1, 3, when={"c": [str(i) for i in range(MANY - 1)], "n": range(MANY)}),
        )
        assert Space.from_json(space.to_json()).size == space.size
    active = (MANY - 1) * MANY
    assert space.size == 3 * active + MANY * (2 * MANY + 1) - active


def test_a_parameter_under_twenty_six_conditions_is_counted_at_once() -> None:
    switches = {f"s{i}": Bool() for i in range(26)}
    all_on = dict.fromkeys(switches, True)
    with at_most(1.0):
        space = Space(switches | {"x": Int(1, 5, when=all_on), "y": Bool(when=all_on | {"x": [1, 2]})})
        assert space.size == 2**26 - 1 + 2 * 2 + 3


@pytest.fixture(scope="module", autouse=True)
def _everything_is_imported() -> None:
    _run(Space(x=Float(0, 1)), lambda trial: trial["x"], 6)


def _run(space: Space, objective: Callable[[Any], float], trials: int) -> Study:
    study = Study(space, seed=0)
    for _ in range(trials):
        trial = study.ask()
        study.tell(trial, objective(trial))
    return study


def test_a_thousand_floats_are_searched_by_a_model() -> None:
    with at_most(12.0):
        space = Space({f"x{i}": Float(0, 1) for i in range(1000)})
        assert Space.from_json(space.to_json()) == space
        study = _run(space, lambda trial: sum((x - 0.3) ** 2 for x in trial.values()), 12)
    assert "gp" in study.explain()


def test_ten_thousand_categories_are_searched_by_a_model() -> None:
    with at_most(20.0):
        space = Space(c=Categorical([f"c{i}" for i in range(MANY)]), x=Float(0, 1))
        study = _run(space, lambda trial: (trial["x"] - 0.3) ** 2 + int(trial["c"][1:]) % 7, 15)
    assert "gp" in study.explain()
    assert study.best_value < np.median([trial.value for trial in study.trials])
