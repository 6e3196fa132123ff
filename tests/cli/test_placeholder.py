from __future__ import annotations

from typing import Any

import pytest

from sonde.cli.placeholder import parameter
from sonde.errors import OptionError

GOOD: list[tuple[str, dict[str, Any]]] = [
    ("float:1e-5..1e-1:log", {"type": "float", "low": 1e-5, "high": 1e-1, "log": True}),
    ("float:0..0.5:step=0.1", {"type": "float", "low": 0.0, "high": 0.5, "step": 0.1}),
    ("float:-5..10", {"type": "float", "low": -5.0, "high": 10.0}),
    ("float:-.5..-.1", {"type": "float", "low": -0.5, "high": -0.1}),
    ("float:0...5", {"type": "float", "low": 0.0, "high": 0.5}),
    ("float:1e-3..1:step=1e-3:log", {"type": "float", "low": 1e-3, "high": 1.0, "step": 1e-3, "log": True}),
    ("int:1..8", {"type": "int", "low": 1, "high": 8}),
    ("int:-5..10:step=5", {"type": "int", "low": -5, "high": 10, "step": 5}),
    ("int:1e2..1e4:log", {"type": "int", "low": 100, "high": 10_000, "log": True}),
    ("int:0..9007199254740993", {"type": "int", "low": 0, "high": 9007199254740993}),
    ("bool", {"type": "bool"}),
    ("sgd|adam", {"type": "categorical", "choices": ["sgd", "adam"]}),
    ("1|2|4", {"type": "categorical", "choices": [1, 2, 4]}),
    ("-1|0", {"type": "categorical", "choices": [-1, 0]}),
    ("0.1|1e-5|1", {"type": "categorical", "choices": [0.1, 1e-5, 1.0]}),
    ("1|2|many", {"type": "categorical", "choices": ["1", "2", "many"]}),
    ("007|008", {"type": "categorical", "choices": ["007", "008"]}),
    ("1_0|2_0", {"type": "categorical", "choices": ["1_0", "2_0"]}),
    ("nan|inf", {"type": "categorical", "choices": ["nan", "inf"]}),
    ("http://a:80|http://b:80", {"type": "categorical", "choices": ["http://a:80", "http://b:80"]}),
    ("float|int", {"type": "categorical", "choices": ["float", "int"]}),
]


@pytest.mark.parametrize(("spec", "expected"), GOOD, ids=[spec for spec, _ in GOOD])
def test_a_spec_is_the_data_of_a_parameter(spec: str, expected: dict[str, Any]) -> None:
    data = parameter("x", spec)
    assert data == expected
    assert [type(choice) for choice in data.get("choices", ())] == [type(c) for c in expected.get("choices", ())]


BAD = {
    "": "expected float, int, bool or choices",
    "adam": "expected float, int, bool or choices",
    "1..8": "expected float, int, bool or choices",
    "double:0..1": "expected float, int, bool or choices",
    "float": "expected LOW..HIGH after float, got ''",
    "float:": "expected LOW..HIGH after float, got ''",
    "float:1": "expected LOW..HIGH after float, got '1'",
    "float:1..": "expected LOW..HIGH after float, got '1..'",
    "float:..1": "expected LOW..HIGH after float, got '..1'",
    "float:0-1": "expected LOW..HIGH after float, got '0-1'",
    "float:a..1": "expected a number, got 'a'",
    "float:0..1:ln": "expected log or step=NUMBER after the range, got 'ln'",
    "float:0..1:step": "expected log or step=NUMBER after the range, got 'step'",
    "float:0..1:step=": "expected a number, got ''",
    "float:0..1:": "expected log or step=NUMBER after the range, got ''",
    "int:1..2.5": "expected a whole number, got '2.5'",
    "int:1..inf": "expected a whole number, got 'inf'",
    "int:1..8:step=x": "expected a whole number, got 'x'",
    "bool:yes": "bool takes no options",
    "a||b": "a choice is empty",
    "|a": "a choice is empty",
    "int:1|2": "choices have no type before them; write {x:1|2}",
    "categorical:a|b": "choices have no type before them; write {x:a|b}",
}


@pytest.mark.parametrize("spec", BAD)
def test_a_wrong_spec_is_named_with_what_was_expected_and_an_example(spec: str) -> None:
    with pytest.raises(OptionError) as caught:
        parameter("x", spec)
    message = str(caught.value)
    assert message.startswith(f"placeholder {{x:{spec}}}: ")
    assert BAD[spec] in message
    assert "e.g. {" in message or "write {" in message


@pytest.mark.parametrize("name", ["", "1x", "a b", "$x", "-x"])
def test_a_wrong_name_is_told(name: str) -> None:
    with pytest.raises(OptionError, match="must begin with a letter"):
        parameter(name, "int:1..8")


@pytest.mark.parametrize("name", ["x", "_x", "batch-size", "model.depth", "größe"])
def test_names_may_have_dots_and_dashes(name: str) -> None:
    assert parameter(name, "bool") == {"type": "bool"}
