from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sonde.errors import ConfigurationError, SpaceError
from sonde.space import Bool, Categorical, Float, Int, Parameter


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Float(2, 1), ["Float", "low=2.0", "high=1.0", "swap"]),
        (lambda: Int(2, 1), ["Int", "low=2", "high=1", "swap"]),
        (lambda: Float(0, 1, log=True), ["Float", "log", "low > 0", "low=0.0"]),
        (lambda: Float(-1, 1, log=True), ["log", "low > 0", "low=-1.0"]),
        (lambda: Int(0, 9, log=True), ["Int", "log", "low > 0", "low=0"]),
        (lambda: Float(math.nan, 1), ["Float: low", "finite number", "nan"]),
        (lambda: Float(0, math.inf), ["Float: high", "finite number", "inf"]),
        (lambda: Float(-math.inf, 0), ["Float: low", "finite number", "-inf"]),
        (lambda: Float(0, 1, step=math.nan), ["Float: step", "finite number", "nan"]),
        (lambda: Int(0, math.inf), ["Int: high", "whole number", "inf"]),
        (lambda: Int(math.nan, 2), ["Int: low", "whole number", "nan"]),
        (lambda: Int(0, 10**400), ["Int: high", "whole number"]),
        (lambda: Float(0, 10**400), ["Float: high", "finite number"]),
        (lambda: Float(0, 1, step=0), ["Float: step", "positive", "0.0"]),
        (lambda: Float(0, 1, step=-0.1), ["Float: step", "positive", "-0.1"]),
        (lambda: Float(0, 1, step=2), ["Float: step=2.0", "larger than the range 0.0..1.0", "one value 0.0"]),
        (lambda: Int(1, 3, step=3), ["Int: step=3", "larger than the range 1..3"]),
        (lambda: Int(0, 9, step=0), ["Int: step", "positive", "0"]),
        (lambda: Int(0, 9, step=-1), ["Int: step", "positive", "-1"]),
        (lambda: Int(0, 9, step=1.5), ["Int: step", "whole number", "1.5"]),
        (lambda: Int(0, 9, step=None), ["Int: step", "whole number", "None"]),
        (lambda: Int(0.5, 9), ["Int: low", "whole number", "0.5"]),
        (lambda: Float("0", 1), ["Float: low", "finite number", "'0'"]),
        (lambda: Float(None, 1), ["Float: low", "finite number", "None"]),
        (lambda: Float(0, [1]), ["Float: high", "finite number", "[1]"]),
        (lambda: Float(False, True), ["Float: low", "finite number", "False"]),
        (lambda: Int(False, True), ["Int: low", "whole number", "False"]),
        (lambda: Int(np.False_, 3), ["Int: low", "whole number", "False"]),
        (lambda: Float(1j, 2), ["Float: low", "finite number", "1j"]),
        (lambda: Float(np.complex64(1), 2), ["Float: low", "finite number", "1"]),
        (lambda: Float(0, 1, log="yes"), ["Float: log", "True or False", "'yes'"]),
        (lambda: Int(1, 2, log=1), ["Int: log", "True or False", "1"]),
        (lambda: Float(-1e308, 1e308), ["Float", "wider than a float", "log=True"]),
        (lambda: Float(-8e307, 8.9e307, step=1.69e308), ["Float", "wider than a float"]),
        (lambda: Float(0, 1, step=1e-16), ["Float", "0.0..1.0", "1e-16", "larger step"]),
        (lambda: Float(1e15, 1e15 + 1, step=1e-3), ["Float", "tell apart", "larger step"]),
        (lambda: Int(0, 2**53), ["Int", "tell apart", "smaller range"]),
        (lambda: Int(2**53, 2**53 + 1), ["Int", "tell apart"]),
        (lambda: Int(1, 10**18 + 1, step=10**15), ["Int", "tell apart"]),
        (lambda: Int(1, 2**41, log=True), ["Int", "tell apart"]),
        (lambda: Int(10**14, 10**14 + 5, log=True), ["Int", "tell apart"]),
        (lambda: Categorical([]), ["Categorical", "choices is empty", "at least one"]),
        (lambda: Categorical("abc"), ["Categorical", "list of values", "'abc'"]),
        (lambda: Categorical(3), ["Categorical", "list of values", "3"]),
        (lambda: Categorical(["a", "b", "a"]), ["Categorical", "'a'", "twice"]),
        (lambda: Categorical([[1], [1]]), ["Categorical", "[1]", "twice"]),
        (lambda: Categorical([1.0, math.nan]), ["Categorical", "nan", "None"]),
    ],
)  # fmt: skip
def test_an_ill_defined_parameter_is_refused_with_what_came_and_what_was_expected(
    make: Callable[[], Any], said: list[str]
) -> None:
    with pytest.raises(SpaceError) as caught:
        make()
    assert [part for part in said if part not in str(caught.value)] == []


@pytest.mark.parametrize(
    ("parameter", "value", "said"),
    [
        (Float(0, 1), 1.5, ["1.5", "number from 0.0 to 1.0"]),
        (Float(0, 1), "0.5", ["'0.5'", "number from 0.0 to 1.0"]),
        (Float(0, 1), True, ["True", "number"]),
        (Float(0, 1), np.True_, ["True", "number"]),
        (Float(0, 1), None, ["None", "number"]),
        (Float(0, 1), math.nan, ["nan", "number"]),
        (Float(0, 1), math.inf, ["inf", "number"]),
        (Float(0, 1), 0.5 + 0j, ["0.5+0j", "number"]),
        (Float(0, 1), np.complex64(0.5), ["0.5+0j", "number"]),
        (Float(0, 1), np.array("0.5"), ["0.5", "number"]),
        (Float(0, 1), np.array([0.5]), ["0.5", "number"]),
        (Float(0, 1, step=0.25), 0.3, ["0.3", "0.0 to 1.0 in steps of 0.25"]),
        (Float(0, 1, step=1e-5), 1e308, ["1e+308", "0.0 to 1.0"]),
        (Int(0, 9), 2.5, ["2.5", "whole number from 0 to 9"]),
        (Int(0, 9), 10, ["10", "whole number from 0 to 9"]),
        (Int(0, 9), -1, ["-1", "whole number"]),
        (Int(0, 9), 10**400, ["1000", "whole number"]),
        (Int(0, 9), math.inf, ["inf", "whole number"]),
        (Int(0, 9), "3", ["'3'", "whole number"]),
        (Int(0, 9), False, ["False", "whole number"]),
        (Int(0, 9, step=2), 3, ["3", "0 to 9 in steps of 2"]),
        (Int(0, 9, step=2), 9, ["9", "0 to 9 in steps of 2"]),
        (Int(0, 10**8, step=10**7), 3, ["3", "in steps of 10000000"]),
        (Categorical(["a", "b"]), "c", ["'c'", "'a', 'b'"]),
        (Categorical(range(50)), -1, ["-1", "9, ..."]),
        (Categorical(["a"]), np.array(["a", "b"]), ["array", "'a'"]),
        (Bool(), 2, ["2", "True or False"]),
        (Bool(), "true", ["'true'", "True or False"]),
        (Bool(), None, ["None", "True or False"]),
    ],
)  # fmt: skip
def test_a_value_outside_is_refused_with_what_came_and_what_was_expected(
    parameter: Parameter, value: Any, said: list[str]
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parameter.number(value)
    assert [part for part in said if part not in str(caught.value)] == []
    assert value not in parameter


@pytest.mark.parametrize(
    ("parameter", "given", "value"),
    [
        (Float(0, 1), 1, 1.0),
        (Float(0, 1), np.float32(0.5), 0.5),
        (Float(0, 1), np.array(0.25), 0.25),
        (Float(0, 1), Decimal("0.125"), 0.125),
        (Float(0, 1, step=0.1), 0.1 + 0.2, 0.3),
        (Float(-1, 1, step=0.5), -0.0, 0.0),
        (Float(3, 3), 3, 3.0),
        (Int(0, 9), 3.0, 3),
        (Int(0, 9), np.int8(3), 3),
        (Int(-3, 3), -0.0, 0),
        (Int(0, 9), Fraction(6, 2), 3),
        (Int(10**15, 10**15 + 10), 10**15 + 7, 10**15 + 7),
        (Bool(), 1, True),
        (Bool(), np.False_, False),
        (Categorical([1, 2]), 2.0, 2),
        (Categorical(["a", "b"]), np.str_("b"), "b"),
    ],
)
def test_a_value_comes_back_in_the_parameters_own_type(parameter: Parameter, given: Any, value: Any) -> None:
    number = parameter.number(given)
    back = parameter.value(number)
    assert back == value
    assert type(back) is type(value)
    assert str(number) != "-0.0"


def test_one_and_one_point_zero_and_true_are_three_choices() -> None:
    parameter = Categorical([1, 1.0, True, "1"])
    assert [parameter.number(value) for value in (1, 1.0, True, "1")] == [0, 1, 2, 3]
    assert [type(parameter.value(index)) for index in range(4)] == [int, float, bool, str]


def test_a_choice_that_is_merely_equal_is_found_where_there_is_no_closer_one() -> None:
    assert Categorical([2.0, 1.0]).number(True) == 1
    assert Categorical([None, False]).number(0) == 1


def test_arrays_as_choices_are_told_apart_by_identity() -> None:
    left, right = np.zeros(2), np.ones(2)
    parameter = Categorical([left, right])
    assert parameter.number(right) == 1
    assert np.ones(2) not in parameter


def test_numeric_bounds_are_canonical() -> None:
    assert Float(0, 1) == Float(np.float64(0), Fraction(1))
    assert type(Float(0, 1).low) is float
    assert Int(np.int64(0), 4.0) == Int(0, 4)
    assert type(Int(0, 4.0).high) is int


@pytest.mark.parametrize(
    ("parameter", "size"),
    [(Float(0, 1), math.inf), (Float(2, 2), 1), (Int(0, 9, step=4), 3), (Categorical(["abc"]), 1), (Bool(), 2)],
)
def test_size(parameter: Parameter, size: float) -> None:
    assert parameter.size == size


def test_a_set_of_choices_has_the_same_order_in_every_process() -> None:
    program = (
        "from sonde import Categorical as C, Space; from enum import Enum; E = Enum('E', 'a b c');"
        "mixed = C({'b', 'a', 'c', 10, 9, 1.5, None, True, (1, 'x'), (1, 'y'), frozenset('pq')});"
        "print(Space(a=mixed, b=C(frozenset(E)), c=C({'x': 1, 'y': 2}.keys())).to_json())"
    )
    said = [
        subprocess.run(
            [sys.executable, "-c", program], env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, text=True
        ).stdout
        for seed in ("1", "2", "3")
    ]
    assert said[0]
    assert len(set(said)) == 1
    assert Categorical({"b", "a", 10, 9}).choices == (9, 10, "a", "b")


def test_unhashable_choices_and_equals_of_another_type_are_found() -> None:
    parameter = Categorical([{1, 2}, frozenset({3}), [1], (1,), {"a": [1]}])
    assert parameter.number(frozenset({1, 2})) == 0
    assert parameter.number({3}) == 1
    assert parameter.number([1.0]) == 2
    assert parameter.number((True,)) == 3
    assert parameter.number({"a": [1]}) == 4
    assert {"a": [2]} not in parameter
    assert Categorical(["a", "b"]).number(np.array("b")) == 1
