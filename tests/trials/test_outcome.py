from __future__ import annotations

import math
import warnings
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.space.spaces import examples

from sonde.errors import EvaluationError, SondeError
from sonde.space import Bool, Categorical, Float, Int, Space
from sonde.trials import Evaluation, Outcome, State, failure, to_outcome
from sonde.trials.outcome import MAX_ERROR_CHARACTERS, unpack_gradient, unpack_hessian

SPACE = Space(x=Float(0, 1), kind=Categorical(["a", "b"]), rate=Float(1e-3, 1, log=True), n=Int(1, 8), on=Bool())
NAN = math.nan


@pytest.mark.parametrize(
    ("given", "value"),
    [
        (0.5, 0.5), (3, 3.0), (-2, -2.0), (np.float32(0.25), 0.25), (np.int64(4), 4.0), (np.array(1.5), 1.5),
        (np.uint8(7), 7.0), (Decimal("0.125"), 0.125), (Fraction(1, 4), 0.25), (1.7e308, 1.7e308), (5e-324, 5e-324),
    ],
)  # fmt: skip
def test_a_number_is_a_completed_outcome(given: Any, value: float) -> None:
    outcome = to_outcome(given, SPACE)
    assert outcome == Outcome(State.COMPLETED, value)
    assert type(outcome.value) is float
    assert to_outcome(Evaluation(given), SPACE) == outcome


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (math.nan, "nan"), (math.inf, "inf"), (-math.inf, "-inf"), (np.float32("nan"), "nan"),
        (np.array(np.inf), "inf"), (10**400, "inf"), (-(10**400), "-inf"), (Fraction(10**400), "inf"),
        (Decimal("1e400"), "inf"),
    ],
)  # fmt: skip
def test_a_value_that_is_not_finite_is_a_failure(value: Any, reason: str) -> None:
    assert to_outcome(value, SPACE) == Outcome(State.FAILED, error=f"the value is {reason}")


@pytest.mark.parametrize(
    "value",
    [
        True, False, np.True_, np.array(False), "0.5", b"0.5", np.array("0.5"), None, 1 + 0j, np.complex64(1),
        np.complex128(1 + 2j), np.array(1j), [0.5], (0.5,), {"value": 0.5}, np.array([0.5]), np.array([]), object(),
        max, {0.5}, bytearray(b"1"),
    ],
)  # fmt: skip
def test_what_is_not_one_real_number_is_refused(value: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it must not take a warning turned into an error to notice
        with pytest.raises(EvaluationError, match="the value must be a number, got"):
            to_outcome(value, SPACE)


def test_a_long_value_is_shortened_in_the_message() -> None:
    with pytest.raises(EvaluationError) as caught:
        to_outcome(list(range(10_000)), SPACE)
    assert "list [0, 1, 2" in str(caught.value)
    assert len(str(caught.value)) < 200


def test_noise_is_a_standard_deviation() -> None:
    assert to_outcome(Evaluation(1.0, noise=0), SPACE).noise == 0.0
    assert to_outcome(Evaluation(1.0, noise=np.float32(0.5)), SPACE).noise == 0.5
    for noise in (-1e-9, math.nan, math.inf, 10**400):
        with pytest.raises(EvaluationError, match="noise is a standard deviation, zero or more, got"):
            to_outcome(Evaluation(1.0, noise=noise), SPACE)
    for noise in ("0.1", True, [0.1]):
        with pytest.raises(EvaluationError, match="noise must be a number, got"):
            to_outcome(Evaluation(1.0, noise=noise), SPACE)


@pytest.mark.parametrize(
    ("gradient", "numbers"),
    [
        ({"x": 1, "rate": -2.5, "n": np.float32(0.5)}, [1, NAN, -2.5, 0.5, NAN]),
        ({"rate": 3}, [NAN, NAN, 3, NAN, NAN]),
        ({}, [NAN] * 5),
        ({"x": math.nan, "rate": math.inf, "n": -math.inf}, [NAN] * 5),
        ({"x": 10**400, "n": 1}, [NAN, NAN, NAN, 1, NAN]),
        ([1, 2, 3, 4, 5], [1, 2, 3, 4, 5]),
        ((1, None, 3, math.inf, 0), [1, NAN, 3, NAN, 0]),
        (np.arange(5, dtype=np.int8), [0, 1, 2, 3, 4]),
        (np.arange(5, dtype=np.float32), [0, 1, 2, 3, 4]),
    ],
)
def test_gradients_are_packed_in_the_order_of_the_space(gradient: Any, numbers: list[float]) -> None:
    packed = to_outcome(Evaluation(1.0, gradient=gradient), SPACE).gradient
    np.testing.assert_array_equal(unpack_gradient(packed), numbers)
    assert packed == np.array(numbers, dtype="<f8").tobytes()


@pytest.mark.parametrize(
    ("gradient", "said"),
    [
        ({"y": 1.0}, ["gradient names 'y'", "x, kind, rate, n, on"]),
        ({"kind": 1.0}, ["gradient names 'kind'", "without order", "leave it out"]),
        ({"on": 1.0}, ["gradient names 'on'", "without order"]),
        ({"x": "1"}, ["gradient['x'] must be a number", "'1'"]),
        ({"x": True}, ["gradient['x'] must be a number", "True"]),
        ({"x": None}, ["gradient['x'] must be a number", "None"]),
        ({"x": [1.0]}, ["gradient['x'] must be a number", "[1.0]"]),
        ([1, 2, 3], ["gradient has shape (3,)", "expected (5,)"]),
        (np.ones((1, 5)), ["gradient has shape (1, 5)", "expected (5,)"]),
        (3.0, ["gradient has shape ()", "expected (5,)"]),
        ("steep", ["gradient must be numbers", "steep"]),
        (["1", "2", "3", "4", "5"], ["gradient must be numbers"]),
        (np.ones(5) * 1j, ["gradient must be numbers"]),
        ([[1], [2, 3]], ["gradient must be numbers"]),
        ([10**400, 0, 0, 0, 0], ["gradient must be numbers"]),
        ({1.0, 2.0}, ["gradient must be numbers"]),
    ],
)
def test_a_gradient_that_cannot_be_read_is_refused(gradient: Any, said: list[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(EvaluationError) as caught:
            to_outcome(Evaluation(1.0, gradient=gradient), SPACE)
    assert [part for part in said if part not in str(caught.value)] == []


def test_with_one_parameter_a_number_is_a_gradient() -> None:
    line = Space(x=Float(0, 1))
    for number in (3, 3.0, np.float32(3), [3], np.array(3), np.array([3])):
        outcome = to_outcome(Evaluation(1.0, gradient=number, hessian=number), line)
        assert outcome.gradient == outcome.hessian == np.array([3.0]).tobytes()


PLANE = Space(a=Float(0, 1), b=Float(0, 1), c=Int(0, 9))


@pytest.mark.parametrize(
    ("hessian", "matrix"),
    [
        ({"a": {"a": 1, "b": 2}, "b": {"b": 3}}, [[1, 2, NAN], [2, 3, NAN], [NAN, NAN, NAN]]),
        ({"b": {"a": 2, "b": 3}, "a": {"a": 1}}, [[1, 2, NAN], [2, 3, NAN], [NAN, NAN, NAN]]),
        ({"a": {"c": 5}, "c": {"a": 5}}, [[NAN, NAN, 5], [NAN, NAN, NAN], [5, NAN, NAN]]),
        ({"a": [1, 2, 3]}, [[1, 2, 3], [2, NAN, NAN], [3, NAN, NAN]]),
        ({}, [[NAN] * 3] * 3),
        ([[1, 2, 3], [2, 4, 5], [3, 5, 6]], [[1, 2, 3], [2, 4, 5], [3, 5, 6]]),
        ([[1, 2, 3], [NAN, 4, 5], [NAN, NAN, 6]], [[1, 2, 3], [2, 4, 5], [3, 5, 6]]),
        (np.diag([1.0, math.inf, 3.0]), [[1, 0, 0], [0, NAN, 0], [0, 0, 3]]),
        ([[1, math.inf, 3], [2, 4, 5], [3, 5, 6]], [[1, 2, 3], [2, 4, 5], [3, 5, 6]]),
        ([[1, 1e6, 0], [1e6 + 1e-4, 4, 0], [0, 0, 1]], [[1, 1e6, 0], [1e6, 4, 0], [0, 0, 1]]),
    ],
)
def test_hessians_are_packed_as_one_half(hessian: Any, matrix: Any) -> None:
    packed = to_outcome(Evaluation(1.0, hessian=hessian), PLANE).hessian
    assert packed is not None
    assert len(packed) == 8 * 6
    np.testing.assert_array_equal(unpack_hessian(packed, 3), np.array(matrix, dtype=float))


@pytest.mark.parametrize(
    ("hessian", "said"),
    [
        ([[1, 2, 0], [3, 4, 0], [0, 0, 1]], ["symmetric"]),
        ([[math.inf, 2, 0], [3, 4, 0], [0, 0, 1]], ["symmetric"]),
        ({"a": {"b": 1}, "b": {"a": 2}}, ["symmetric"]),
        ({"a": {"y": 1}}, ["hessian['a'] names 'y'", "a, b, c"]),
        ({"y": {"a": 1}}, ["hessian names 'y'", "a, b, c"]),
        ({"a": {"b": "1"}}, ["hessian['a']['b'] must be a number"]),
        ({"a": 3.0}, ["hessian['a'] has shape ()", "expected (3,)"]),
        ([1, 2, 3], ["hessian has shape (3,)", "expected (3, 3)"]),
        (np.eye(2), ["hessian has shape (2, 2)", "expected (3, 3)"]),
        ("flat", ["hessian must be numbers", "flat"]),
        (np.eye(3) * 1j, ["hessian must be numbers"]),
    ],
)
def test_a_hessian_that_cannot_be_read_is_refused(hessian: Any, said: list[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(EvaluationError) as caught:
            to_outcome(Evaluation(1.0, hessian=hessian), PLANE)
    assert [part for part in said if part not in str(caught.value)] == []


def test_a_hessian_by_name_leaves_out_categories() -> None:
    with pytest.raises(EvaluationError, match="'kind', a parameter without order"):
        to_outcome(Evaluation(1.0, hessian={"x": {"kind": 1.0}}), SPACE)


_NUMBERS = st.one_of(st.just(math.nan), st.floats(-1e9, 1e9))


@examples(60)
@given(st.integers(1, 6), st.data())
def test_unpacking_inverts_packing(dimension: int, data: st.DataObject) -> None:
    space = Space({f"x{i}": Float(0, 1) for i in range(dimension)})
    gradient = np.array(data.draw(st.lists(_NUMBERS, min_size=dimension, max_size=dimension)))
    half = np.zeros((dimension, dimension))
    upper = np.triu_indices(dimension)
    half[upper] = data.draw(st.lists(_NUMBERS, min_size=len(upper[0]), max_size=len(upper[0])))
    hessian = np.where(np.tri(dimension, k=-1, dtype=bool), half.T, half)
    outcome = to_outcome(Evaluation(1.0, gradient=gradient, hessian=hessian), space)
    np.testing.assert_array_equal(unpack_gradient(outcome.gradient), gradient)
    np.testing.assert_array_equal(unpack_hessian(outcome.hessian, dimension), hessian)


def test_without_derivatives_nothing_is_packed() -> None:
    outcome = to_outcome(Evaluation(1.0), SPACE)
    assert outcome.gradient is outcome.hessian is outcome.noise is outcome.constraints is None
    assert unpack_gradient(None) is None
    assert unpack_hessian(None, 3) is None


def test_constraints_are_numbers_by_name() -> None:
    assert to_outcome(Evaluation(1.0, constraints={"memory": np.float32(-0.5), 3: 1}), SPACE).constraints == {
        "memory": -0.5,
        "3": 1.0,
    }
    assert to_outcome(Evaluation(1.0, constraints={}), SPACE).constraints == {}
    with pytest.raises(EvaluationError, match=r"constraints\['memory'\] must be a number, got str"):
        to_outcome(Evaluation(1.0, constraints={"memory": "low"}), SPACE)
    with pytest.raises(EvaluationError, match="constraints must be a dict of numbers by name"):
        to_outcome(Evaluation(1.0, constraints=[0.5]), SPACE)


def test_a_constraint_that_is_not_finite_is_a_failure() -> None:
    outcome = to_outcome(Evaluation(1.0, constraints={"time": -1.0, "memory": math.nan}), SPACE)
    assert outcome == Outcome(State.FAILED, error="the constraint 'memory' is nan")


def test_equal_tells_are_equal_outcomes() -> None:
    by_name = Evaluation(1, gradient={"a": 1.0, "b": 2.0, "c": 3.0}, noise=0.5, constraints={"m": 0})
    by_order = Evaluation(1.0, gradient=[1, 2, 3], noise=0.5, constraints={"m": 0.0})
    assert to_outcome(by_name, PLANE) == to_outcome(by_order, PLANE)
    assert to_outcome(by_name, PLANE) != to_outcome(1.0, PLANE)


@pytest.mark.parametrize(
    ("reason", "error"),
    [
        ("out of memory", "out of memory"),
        ("  \n", "failed without a reason"),
        ("", "failed without a reason"),
        ("\0", "failed without a reason"),
        ("a\0b\n", "ab"),
        (ValueError("bad"), "bad"),
        (3, "3"),
        ("lone \ud800 half", "lone ? half"),
        ("ünï ∂", "ünï ∂"),
    ],
)
def test_a_failure_keeps_its_reason_as_text_that_any_database_takes(reason: Any, error: str) -> None:
    outcome = failure(reason)
    assert outcome == Outcome(State.FAILED, error=error)
    assert outcome.error is not None
    assert outcome.error.encode()


def test_the_end_of_a_long_reason_is_kept() -> None:
    error = failure("start" + "x" * 50_000 + "ValueError: the end").error
    assert error is not None
    assert len(error) == MAX_ERROR_CHARACTERS
    assert error.endswith("xxValueError: the end")


def test_an_evaluation_error_is_sondes_own_and_a_value_error() -> None:
    assert issubclass(EvaluationError, SondeError)
    assert issubclass(EvaluationError, ValueError)
