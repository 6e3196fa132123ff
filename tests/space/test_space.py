from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import sonde
from sonde.errors import ConfigurationError, SondeError, SpaceError
from sonde.space import Bool, Categorical, Float, Int, Space

SPACE = Space(lr=Float(1e-5, 0.1, log=True), layers=Int(1, 8), opt=Categorical(["sgd", "adam"]), bias=Bool())
GOOD = {"lr": 0.01, "layers": 2, "opt": "sgd", "bias": True}


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Space(), ["no parameters", "Space(lr="]),
        (lambda: Space({}), ["no parameters"]),
        (lambda: Space([Bool()]), ["dict of parameters", "list"]),
        (lambda: Space({"a": Bool()}, a=Bool()), ["'a'", "twice"]),
        (lambda: Space({"": Bool()}), ["name", "non-empty string", "''"]),
        (lambda: Space({3: Bool()}), ["name", "non-empty string", "3"]),
        (lambda: Space(a=3), ["'a'", "sonde.Float(", "range(1, 9)", "got 3"]),
        (lambda: Space(a=Float), ["'a'", "sonde.Float("]),
        (lambda: SPACE["rate"], ["'rate'", "lr, layers, opt, bias"]),
    ],
)
def test_an_ill_defined_space_is_refused(make: Callable[[], Any], said: list[str]) -> None:
    with pytest.raises(SpaceError) as caught:
        make()
    assert [part for part in said if part not in str(caught.value)] == []


@pytest.mark.parametrize(
    ("configuration", "said"),
    [
        ({**GOOD, "lr": 1.0}, ["'lr'", "1.0", "from 1e-05 to 0.1"]),
        ({**GOOD, "layers": 2.5}, ["'layers'", "2.5", "whole number from 1 to 8"]),
        ({**GOOD, "opt": "lbfgs"}, ["'opt'", "'lbfgs'", "'sgd', 'adam'"]),
        ({**GOOD, "bias": "no"}, ["'bias'", "'no'", "True or False"]),
        ({**GOOD, "rate": 1}, ["'rate'", "lr, layers, opt, bias"]),
        ({"lr": 0.01, "layers": 2, "opt": "sgd"}, ["'bias'", "missing"]),
        ({}, ["'lr'", "missing"]),
        ([0.01, 2, "sgd", True], ["dict of parameters", "[0.01"]),
        (None, ["dict of parameters", "None"]),
        ("lr=0.01", ["dict of parameters", "'lr=0.01'"]),
        (3, ["dict of parameters", "3"]),
    ],
)
def test_a_configuration_outside_is_refused_by_name(configuration: Any, said: list[str]) -> None:
    with pytest.raises(ConfigurationError) as caught:
        SPACE.validate(configuration)
    assert [part for part in said if part not in str(caught.value)] == []
    assert configuration not in SPACE


def test_errors_are_sondes_own_and_value_errors() -> None:
    assert issubclass(SpaceError, SondeError)
    assert issubclass(SpaceError, ValueError)
    assert issubclass(ConfigurationError, SondeError)
    assert issubclass(ConfigurationError, ValueError)


def test_validate_gives_canonical_values_in_the_order_of_the_space() -> None:
    given = MappingProxyType({"bias": 1, "opt": np.str_("adam"), "layers": np.int64(3), "lr": np.float32(0.0625)})
    checked = SPACE.validate(given)
    assert checked == {"lr": 0.0625, "layers": 3, "opt": "adam", "bias": True}
    assert list(checked) == ["lr", "layers", "opt", "bias"]
    assert [type(value) for value in checked.values()] == [float, int, str, bool]


def test_a_space_reads_like_a_mapping_of_its_parameters() -> None:
    assert SPACE.names == ("lr", "layers", "opt", "bias")
    assert len(SPACE) == 4
    assert SPACE["layers"] == Int(1, 8)
    assert Space({"batch-size": Int(1, 8)}).names == ("batch-size",)


def test_what_is_declared_has_kind_and_range() -> None:
    space = Space(c=Categorical([0.1, 0.5]), s=Float(0, 1, step=0.5), n=Int(1, 2, log=True), b=Bool())
    numbers = {"s": ("Float", 0, 1, False, 0.5), "n": ("Int", 1, 2, True, 1)}
    assert space.declared == {"c": ("Categorical",), **numbers, "b": ("Bool",)}


def test_equality_is_by_parameters_order_and_constraints() -> None:
    assert Space(a=Bool(), b=Int(0, 1)) == Space({"a": Bool(), "b": Int(0, 1)})
    assert hash(Space(a=Bool())) == hash(Space(a=Bool()))
    assert Space(a=Bool(), b=Int(0, 1)) != Space(b=Int(0, 1), a=Bool())
    assert Space(a=Int(0, 1)) != Space(a=Float(0, 1))
    assert Space(a=Int(0, 1)).where("a < 1") != Space(a=Int(0, 1)).where("a <= 1")
    assert Space(a=Bool()) != {"a": Bool()}


def test_repr_can_be_evaluated() -> None:
    names = {"Space": Space, "Float": Float, "Int": Int, "Categorical": Categorical, "Bool": Bool}
    assert eval(repr(SPACE), names) == SPACE
    assert repr(SPACE.where("layers < 4")).endswith(".where(layers < 4)")


def test_the_public_names_are_these() -> None:
    assert (sonde.Space, sonde.Float, sonde.Int) == (Space, Float, Int)
    assert (sonde.Categorical, sonde.Bool) == (Categorical, Bool)


def test_rows_come_in_order() -> None:
    space = Space(a=Int(1, 2), b=Bool(when={"a": 2}), c=Categorical(["x", "y"]))
    assert list(space.configurations()) == [
        {"a": 1, "c": "x"},
        {"a": 1, "c": "y"},
        {"a": 2, "b": False, "c": "x"},
        {"a": 2, "b": False, "c": "y"},
        {"a": 2, "b": True, "c": "x"},
        {"a": 2, "b": True, "c": "y"},
    ]


def test_a_space_is_read_like_a_dict_of_its_parameters() -> None:
    parameters = {"lr": Float(0, 1), "layers": Int(1, 8)}
    space = Space(parameters)
    assert list(space) == list(space.keys()) == ["lr", "layers"]
    assert dict(space) == dict(space.items()) == parameters
    assert list(space.values()) == list(parameters.values())
    assert Space({**space, "bias": Bool()}).names == ("lr", "layers", "bias")
    assert {"lr": 0.5, "layers": 1} in space
    assert "lr" not in space  # a name is no configuration
    assert "lr" in space.names


def test_a_space_nested_too_deep_is_refused() -> None:
    deep = "[" * 100_000 + "]" * 100_000
    with pytest.raises(SpaceError, match="nested too deep"):
        Space.from_json(deep)
    entry = {"type": "categorical", "choices": ["a"]}
    for depth in (450, 700, 900):
        choice: object = 1
        for _ in range(depth):
            choice = [choice]
        text = json.dumps({"parameters": {"c": entry | {"choices": [choice, "a"]}}})
        with contextlib.suppress(SpaceError):  # how deep is too deep depends on where it is called from
            assert Space.from_json(text).size == 2


@pytest.mark.parametrize("name", ["\ud800", "a\udfffb"])
def test_a_lone_surrogate_in_a_parameters_name_is_refused(name: str) -> None:
    with pytest.raises(SpaceError, match="half a character"):
        Space({name: Bool()})


def test_a_lone_surrogate_in_a_choice_is_kept() -> None:
    space = Space(c=Categorical(["\ud800", "a"]))
    assert Space.from_json(space.to_json()) == space
