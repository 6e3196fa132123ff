from __future__ import annotations

import functools
import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from tests.space.spaces import JSON_CHOICES, examples, parameters, relu, spaces

from sonde.errors import SpaceError
from sonde.space import Bool, Categorical, Float, Int, Space, choices


@examples(75)
@given(spaces(parameters(JSON_CHOICES)))
def test_a_space_comes_back_from_json(space: Space) -> None:
    text = space.to_json()
    again = Space.from_json(text)
    assert again == space
    assert again.to_json() == text
    for name in space.names:  # 1 == 1.0 == True: equality is not enough
        assert repr(again[name]) == repr(space[name])


@examples(50)
@given(spaces())
def test_a_space_with_any_choices_keeps_its_shape_in_json(space: Space) -> None:
    text = space.to_json()
    again = Space.from_json(text)
    assert again.to_json() == text
    assert again.size == space.size
    units = np.random.default_rng(0).random((20, len(space)))
    assert np.array_equal(again.codec.decode(units), space.codec.decode(units), equal_nan=True)


def test_the_layout() -> None:
    space = Space(
        lr=Float(1e-5, 0.1, log=True),
        n=Int(1, 8, when={"model": ["mlp"]}),
        model=Categorical(["mlp", (1, [2.0]), {"k": None}, math.inf, relu]),
        bias=Bool(when={"n": 3, "model": "mlp"}),
        x=Float(0, 1, step=0.25),
    ).where("n <= 4")
    assert json.loads(space.to_json()) == {
        "version": 1,
        "parameters": {
            "lr": {"type": "float", "low": 1e-5, "high": 0.1, "log": True},
            "n": {"type": "int", "low": 1, "high": 8, "step": 1, "when": {"model": {"list": ["mlp"]}}},
            "model": {
                "type": "categorical",
                "choices": [
                    "mlp",
                    {"tuple": [1, {"list": [2.0]}]},
                    {"dict": [["k", None]]},
                    {"float": "inf"},
                    {"opaque": "tests.space.spaces.relu"},
                ],
            },
            "bias": {"type": "bool", "when": {"n": 3, "model": "mlp"}},
            "x": {"type": "float", "low": 0.0, "high": 1.0, "step": 0.25},
        },
        "where": ["n <= 4"],
    }


def test_a_file_written_by_hand() -> None:
    space = Space.from_data(
        {
            "parameters": {
                "lr": {"type": "float", "low": 1e-5, "high": 1, "log": True},
                "layers": {"type": "int", "low": 1, "high": 4},
                "shape": {"type": "categorical", "choices": ["wide", [64, 32]], "when": {"layers": [2, 3]}},
            },
            "where": ["layers <= 3"],
        }
    )
    expected = Space(
        lr=Float(1e-5, 1, log=True),
        layers=Int(1, 4),
        shape=Categorical(["wide", [64, 32]], when={"layers": [2, 3]}),
    )
    assert space == expected.where("layers <= 3")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ([], ["table 'parameters'"]),
        ({}, ["table 'parameters'"]),
        ({"parameters": [1]}, ["table 'parameters'"]),
        ({"parameters": {}}, ["no parameters"]),
        ({"version": 2, "parameters": {"a": {"type": "bool"}}}, ["version 2", "reads 1", "upgrade"]),
        ({"version": "1", "parameters": {"a": {"type": "bool"}}}, ["version '1'", "reads 1"]),
        ({"parameter": {}, "parameters": {"a": {"type": "bool"}}}, ["'parameter'"]),
        ({"parameters": {"a": {"type": "real"}}}, ["'a'", "float, int, categorical, bool", "'real'"]),
        ({"parameters": {"a": 3}}, ["'a'", "type"]),
        ({"parameters": {"a": {"type": "bool", "low": 0}}}, ["'a'", "'low'", "bool"]),
        ({"parameters": {"a": {"type": "float", "low": 0}}}, ["'a'", "type float needs high"]),
        ({"parameters": {"a": {"type": "int"}}}, ["'a'", "type int needs low and high"]),
        ({"parameters": {"a": {"type": "float", "low": 1, "high": 0}}}, ["'a'", "low=1.0", "high=0.0"]),
        ({"parameters": {"a": {"type": "int", "low": "1", "high": 3}}}, ["'a'", "Int: low", "'1'"]),
        ({"parameters": {"a": {"type": "categorical", "choices": "abc"}}}, ["'a': choices must be a list", "'abc'"]),
        ({"parameters": {"a": {"type": "bool", "when": "b"}}}, ["'a'", "when= must be a dict", "'b'"]),
        ({"parameters": {"a": {"type": "bool", "when": {"b": 1}}}}, ["'a'", "'b'", "not in the space"]),
        ({"parameters": {"a": {"type": "bool"}}, "where": "a"}, ["where must be a list", "'a'"]),
        ({"parameters": {"a": {"type": "bool"}}, "where": [3]}, ["where()", "3"]),
        ({"parameters": {"a": {"type": "bool"}}, "where": ["b"]}, ["'b'", "parameters are a"]),
    ],
)
def test_an_ill_formed_file_is_refused(data: Any, said: list[str]) -> None:
    with pytest.raises(SpaceError) as caught:
        Space.from_data(data)
    assert [part for part in said if part not in str(caught.value)] == []


class Network:
    def __init__(self, width: int) -> None:
        self.width = width


def test_an_opaque_choice_reads_as_its_label_and_stays_what_it_is() -> None:
    space = Space(f=Categorical([relu, math.sin, Network(1), "x"]), n=Int(0, 1, when={"f": relu}))
    again = Space.from_json(space.to_json())
    labels = ["tests.space.spaces.relu", "math.sin", f"<{__name__}.Network object>", "x"]
    shown = [str(choice) for choice in again["f"].choices]
    assert shown == labels
    assert [type(choice) for choice in again["f"].choices[:3]] == [choices.Opaque] * 3
    assert again.codec.configuration(np.array([0.0, 1.0])) == {"f": choices.Opaque(labels[0]), "n": 1}
    assert again.to_json() == space.to_json()


def test_choices_that_read_the_same_are_numbered() -> None:
    functions = [lambda x: x, lambda x: 2 * x, [relu], [lambda: 1], [lambda: 2]]
    space = Space(
        f=Categorical(functions),
        n=Int(1, 3, when={"f": functions[1]}),
        m=Bool(when={"f": [functions[1], functions[4]]}),
    )
    again = Space.from_json(space.to_json())
    labels = [str(choice) for choice in again["f"].choices]
    assert len(set(labels)) == 5
    assert labels[1] == f"{labels[0]} #2"
    assert again.to_json() == space.to_json()
    assert [row.tobytes() for row in again.rows()] == [row.tobytes() for row in space.rows()]


def test_labels_are_the_same_in_every_process() -> None:
    assert choices.label(Network(1)) == choices.label(Network(2))
    assert choices.label(functools.partial(relu, Network(1))) == choices.label(functools.partial(relu, Network(2)))
    words = [str(number) for number in range(50)]
    assert choices.label(frozenset(words)) == f"frozenset({', '.join(sorted(map(repr, words)))})"


def test_a_condition_on_a_set_is_written_in_order() -> None:
    names = [f"m{number}" for number in range(20)]
    there = Space(m=Categorical(names), x=Bool(when={"m": set(names[5:])}))
    back = Space(m=Categorical(names), x=Bool(when={"m": names[5:]}))
    assert there.to_json() == back.to_json()


def test_text_that_is_not_json() -> None:
    with pytest.raises(SpaceError, match="not JSON"):
        Space.from_json("{")


def test_choices_of_numpy_are_plain_values() -> None:
    space = Space(k=Categorical(np.array([16, 32])))
    assert Space.from_json(space.to_json()) == space
    assert type(space["k"].value(0)) is int


def test_a_stored_step_larger_than_its_range_is_one_value_as_it_was() -> None:
    """Version 0.1.0 took such a step; it is refused now where it is written."""
    stored = '{"version": 1, "parameters": {"x": {"type": "float", "low": 0.0, "high": 1.0, "step": 2.0}}}'
    space = Space.from_json(stored)
    assert (space.size, {"x": 0.0} in space, {"x": 1.0} in space) == (1, True, False)
    with pytest.raises(SpaceError, match="step"):
        Space.from_data({"parameters": {"x": {"type": "float", "low": 0.0, "high": 1.0, "step": 2.0}}})
