from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from tests.space.spaces import all_rows, definitions, examples, finite_spaces, relu, small_parameters

from sonde.errors import ConfigurationError, SpaceError
from sonde.space import Bool, Categorical, Float, Int, Parameter, Space

TREE = Space(
    depth=Int(1, 3, when={"model": "net"}),  # before its parent on purpose
    model=Categorical(["net", "forest", "svm"]),
    width=Int(8, 64, step=8, when={"depth": [2, 3]}),
    trees=Int(10, 100, when={"model": "forest"}),
    c=Float(0.1, 10, log=True, when={"model": "svm"}),
    shared=Bool(when={"model": ["net", "svm"]}),
)


@pytest.mark.parametrize(
    "configuration",
    [
        {"model": "net", "depth": 1, "shared": True},
        {"model": "net", "depth": 3, "width": 16, "shared": False},
        {"model": "forest", "trees": 10},
        {"model": "svm", "c": 1.0, "shared": True},
    ],
)
def test_a_configuration_has_the_active_parameters(configuration: dict[str, Any]) -> None:
    assert configuration in TREE
    assert TREE.validate(configuration) == configuration


@pytest.mark.parametrize(
    ("configuration", "said"),
    [
        ({"model": "net", "depth": 1, "width": 8, "shared": True}, ["'width'", "8", "inactive because of 'depth'"]),
        ({"model": "forest", "trees": 10, "depth": 2}, ["'depth'", "2", "inactive because of 'model'", "leave it out"]),
        ({"model": "forest", "trees": 10, "width": 8}, ["'width'", "inactive because of 'depth'"]),
        ({"model": "net", "depth": 3, "shared": True}, ["'width'", "missing", "every active parameter"]),
    ],
)
def test_an_inactive_value_or_a_missing_active_one_is_refused(configuration: dict[str, Any], said: list[str]) -> None:
    with pytest.raises(ConfigurationError) as caught:
        TREE.validate(configuration)
    assert [part for part in said if part not in str(caught.value)] == []


@pytest.mark.parametrize(
    "wanted", [[2, 3], (2, 3), {2, 3}, range(2, 4), np.array([2, 3]), [2.0, 3], {2: "x", 3: "y"}.keys()]
)
def test_any_collection_of_values_will_do(wanted: Any) -> None:
    space = Space(n=Int(1, 4), x=Bool(when={"n": wanted}))
    assert space.size == 4 + 2
    assert {"n": 3, "x": True} in space
    assert {"n": 1, "x": True} not in space
    again = Space.from_json(space.to_json())
    assert list(again.configurations()) == list(space.configurations())


@pytest.mark.parametrize(
    ("choices", "wanted", "on"),
    [
        ([[1, 2], [3], 1], [1, 2], [[1, 2]]),  # the list is itself a choice
        ([(1, 2), 1, 2], (1, 2), [(1, 2)]),
        ([[1, 2], [3], 1], [[1, 2], [3]], [[1, 2], [3]]),
        (["ab", "a", "b"], "ab", ["ab"]),  # a string is one value
        ([{"a": 1}, "a"], {"a": 1}, [{"a": 1}]),
        ([relu, math.sin], relu, [relu]),
        ([1, True, 1.0], True, [True]),
        ([None, 0], None, [None]),
    ],
)
def test_a_value_of_the_parent_is_one_value_whatever_it_is(choices: list[Any], wanted: Any, on: list[Any]) -> None:
    space = Space(c=Categorical(choices), x=Bool(when={"c": wanted}))
    active = [choice for choice in choices if {"c": choice, "x": True} in space]
    assert [(type(one), one) for one in active] == [(type(one), one) for one in on]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Space(x=Bool(when={"y": 1})), ["'x'", "'y'", "not in the space"]),
        (lambda: Space(x=Bool(when={"x": True})), ["circle", "x -> x"]),
        (
            lambda: Space(a=Bool(when={"b": True}), b=Bool(when={"c": True}), c=Bool(when={"a": True})),
            ["circle", "a", "b", "c", "->"],
        ),
        (lambda: Space(f=Float(0, 1), x=Bool(when={"f": 0.5})), ["'x'", "'f'", "continuous", "step", "Categorical"]),
        (lambda: Space(n=Int(1, 3), x=Bool(when={"n": 4})), ["'x'", "'n'", "got 4", "from 1 to 3"]),
        (lambda: Space(n=Int(1, 3), x=Bool(when={"n": [1, 9]})), ["'x'", "'n'", "got 9", "from 1 to 3"]),
        (lambda: Space(m=Categorical(["a"]), x=Bool(when={"m": "b"})), ["'x'", "'m'", "got 'b'", "one of 'a'"]),
        (lambda: Space(n=Int(1, 3), x=Bool(when={"n": []})), ["'x'", "'n'", "never be active"]),
        (
            lambda: Space(
                m=Categorical(["a", "b"]), n=Bool(when={"m": "a"}), x=Float(0, 1, when={"n": True, "m": "b"})
            ),
            ["'x'", "'m'", "never be active"],
        ),
        (lambda: Space(n=Bool(), x=Bool(when="n")), ["'x'", "when= must be a dict", "'n'"]),
        (lambda: Space(n=Bool(), x=Bool(when=[("n", 1)])), ["'x'", "must be a dict"]),
    ],
)
def test_an_ill_defined_condition_is_refused_by_name(make: Callable[[], Any], said: list[str]) -> None:
    with pytest.raises(SpaceError) as caught:
        make()
    assert [part for part in said if part not in str(caught.value)] == []


@examples(75)
@given(finite_spaces())
def test_size_and_rows_are_those_of_brute_force(space: Space) -> None:
    expected = set(all_rows(space.parameters))
    listed = [tuple(None if number != number else number for number in row.tolist()) for row in space.rows()]
    assert len(listed) == len(set(listed)) == space.size
    assert set(listed) == expected
    assert space.finite


@examples(75)
@given(definitions(small_parameters(), most=4))
def test_a_space_is_refused_if_and_only_if_some_parameter_is_never_active(parameters: dict[str, Parameter]) -> None:
    rows = set(all_rows(parameters))
    idle = [name for column, name in enumerate(parameters) if all(row[column] is None for row in rows)]
    if not idle:
        assert Space(parameters).size == len(rows)
        return
    with pytest.raises(SpaceError, match="it would never be active") as caught:
        Space(parameters)
    assert any(f"parameter {name!r}" in str(caught.value) for name in idle)


@examples(50)
@given(finite_spaces())
def test_configurations_are_all_in_the_space_and_all_different(space: Space) -> None:
    configurations = list(space.configurations())
    assert all(configuration in space for configuration in configurations)
    assert len({space.row(configuration).tobytes() for configuration in configurations}) == space.size


def test_size_of_a_continuous_space_is_infinite_even_where_the_range_is_conditional() -> None:
    assert TREE.size == math.inf
    assert not TREE.finite
    with pytest.raises(SpaceError, match="continuous"):
        next(TREE.rows())


def test_size_of_many_switches_is_counted_at_once() -> None:
    switches = {f"s{i}": Bool() for i in range(300)}
    children = {f"c{i}": Int(1, 4, when={f"s{i}": True}) for i in range(300)}
    pair = {"both": Bool(when={"s0": True, "s299": True})}
    assert Space(switches | children).size == 5**300
    # both switches off or one of two: 1 + 4 + 4; both on: 16 settings below, twice
    assert Space(switches | children | pair).size == 5**298 * (9 + 16 * 2)


def test_size_of_a_deep_chain() -> None:
    chain = {"x0": Bool()} | {f"x{i}": Bool(when={f"x{i - 1}": True}) for i in range(1, 1500)}
    assert Space(chain).size == 1501
