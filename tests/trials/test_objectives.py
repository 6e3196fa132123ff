"""Several objectives: how they are declared and stored, what is told of them, and the history that has them."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.space.spaces import examples
from tests.trials.histories import changed

from sonde.errors import EvaluationError, OptionError, StorageError
from sonde.space import Categorical, Float, Space
from sonde.storage.rules import new_token
from sonde.trials import Changes, Evaluation, History, Outcome, State, TrialRecord, to_outcome
from sonde.trials.objectives import ONE, Objective, Objectives
from sonde.trials.outcome import unpack_gradient, unpack_objectives
from sonde.trials.trial import pack_row, to_trial

NAN = math.nan
SPACE = Space(x=Float(0, 2), rate=Float(1e-3, 1, log=True), kind=Categorical(["a", "b"]))
PLANE = Space(a=Float(0, 1), b=Float(0, 2))
TWO = Objectives.of(several={"loss": "minimize", "accuracy": "maximize"})
THREE = Objectives.of(several=["min", "max", "min"])


# declaring


def test_one_objective_is_a_direction() -> None:
    assert Objectives.of() == Objectives.of("minimize") == Objectives.of("min") == ONE
    largest = Objectives.of("max")
    assert (str(ONE), str(largest)) == ("minimize", "maximize")
    assert (len(largest), largest.several, largest.described) == (1, False, "maximize")
    np.testing.assert_array_equal(largest.signs, [-1.0])


def test_several_have_names_directions_and_an_order() -> None:
    assert TWO.each == (Objective("loss", "minimize"), Objective("accuracy", "maximize"))
    assert (len(TWO), TWO.several, TWO.names) == (2, True, ("loss", "accuracy"))
    assert TWO.described == "minimize loss, maximize accuracy"
    np.testing.assert_array_equal(TWO.signs, [1.0, -1.0])
    assert [TWO.index(name) for name in TWO.names] == [0, 1]


def test_a_list_of_directions_names_them_by_number() -> None:
    assert THREE.names == ("0", "1", "2")
    assert Objectives.of(several=("minimize", "maximize", "minimize")) == THREE


def test_thresholds_are_signed_and_missing_ones_are_nan() -> None:
    limited = Objectives.of(
        several={"loss": "min", "accuracy": "max", "size": "min"}, thresholds={"accuracy": np.float32(0.5), "loss": 3}
    )
    np.testing.assert_array_equal(limited.thresholds, [3.0, -0.5, NAN])
    assert [one.threshold for one in limited.each] == [3.0, 0.5, None]
    assert Objectives.of(several={"a": "min", "b": "min"}, thresholds={}) == Objectives.of(
        several={"a": "min", "b": "min"}
    )


EXAMPLE = "objectives={'loss': 'minimize', 'latency': 'minimize'}"
PAIR = {"loss": "min", "size": "min"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"direction": "up"}, ["direction must be 'minimize' or 'maximize', got 'up'"]),
        ({"direction": ["minimize"]}, ["direction must be", "got ['minimize']"]),
        ({"several": {"a": "min"}}, ["needs two or more", EXAMPLE, "got {'a': 'min'}", "give direction="]),
        ({"several": {}}, ["needs two or more", "got {}"]),
        ({"several": ["min"]}, ["needs two or more", "got ['min']"]),
        ({"several": "minimize"}, ["must be a dict by name or a list of directions", EXAMPLE, "got 'minimize'"]),
        ({"several": {"min", "max"}}, ["must be a dict by name or a list"]),  # a set has no order
        ({"several": 2}, ["must be a dict by name or a list", "got 2"]),
        ({"several": {"a": "min", "b": "up"}}, ["the direction of 'b' must be 'minimize' or 'maximize', got 'up'"]),
        ({"several": ["min", None]}, ["the direction of '1' must be", "got None"]),
        ({"several": {"a": "min", "": "min"}}, ["the name of an objective must be a printable text", "got ''"]),
        ({"several": {"a": "min", "b\n": "min"}}, ["the name of an objective", r"got 'b\n'"]),
        ({"several": {"a": "min", 1: "min"}}, ["the name of an objective", "got 1"]),
        ({"several": {"a": "min", "b" * 101: "min"}}, ["at most 100 characters"]),
        ({"several": PAIR, "direction": "min"}, ["direction= for one", "objectives= for several", "not both"]),
        ({"thresholds": {"value": 1.0}}, ["thresholds= is for several objectives", EXAMPLE]),
        ({"several": PAIR, "thresholds": [1, 2]}, ["thresholds must be a dict", "(loss, size)", "got [1, 2]"]),
        ({"several": PAIR, "thresholds": {"los": 1}}, ["thresholds names 'los'", "the objectives are loss, size"]),
        ({"several": PAIR, "thresholds": {"loss": "1"}}, ["threshold of 'loss' must be a finite number, got '1'"]),
        ({"several": PAIR, "thresholds": {"loss": NAN}}, ["threshold of 'loss'", "got nan"]),
        ({"several": PAIR, "thresholds": {"size": True}}, ["threshold of 'size'", "got True"]),
    ],
)
def test_wrong_objectives_are_refused(arguments: dict[str, Any], said: list[str]) -> None:
    with pytest.raises(OptionError) as caught:
        Objectives.of(**arguments)
    assert [part for part in said if part not in str(caught.value)] == []
    assert "\n" not in str(caught.value)


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(OptionError, match="there is no objective 'los'; the objectives are loss, accuracy"):
        TWO.index("los")


# storing


def test_the_text_is_readable() -> None:
    limited = Objectives.of(several={"loss": "min", "latency": "min"}, thresholds={"latency": 20})
    assert str(limited) == '{"loss": "minimize", "latency": {"direction": "minimize", "threshold": 20.0}}'


NAMES = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=20)


@examples(60)
@given(st.dictionaries(NAMES, st.sampled_from(["minimize", "maximize"]), min_size=2, max_size=6), st.data())
def test_the_text_brings_them_back(named: dict[str, str], data: st.DataObject) -> None:
    limits = data.draw(st.dictionaries(st.sampled_from(list(named)), st.floats(-1e300, 1e300), max_size=len(named)))
    told = Objectives.of(several=named, thresholds=limits)
    assert Objectives.from_text(str(told)) == told
    json.loads(str(told))


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_the_text_of_one_brings_it_back(direction: str) -> None:
    assert Objectives.from_text(direction) == Objectives.of(direction)


# telling


@pytest.mark.parametrize(
    "told",
    [
        {"loss": 0.5, "accuracy": 0.25}, {"accuracy": 0.25, "loss": 0.5}, (0.5, 0.25), [0.5, 0.25],
        np.array([0.5, 0.25]), np.array([0.5, 0.25], dtype=np.float32), (np.float32(0.5), np.array(0.25)),
    ],
)  # fmt: skip
def test_values_come_by_name_or_in_order(told: Any) -> None:
    outcome = to_outcome(told, SPACE, TWO)
    assert outcome == to_outcome(Evaluation(told), SPACE, TWO)
    assert (outcome.state, outcome.value, outcome.noise, outcome.gradient) == (State.COMPLETED, None, None, None)
    assert outcome.objectives is not None
    values, noise = unpack_objectives(outcome.objectives)
    np.testing.assert_array_equal(values, [0.5, 0.25])
    np.testing.assert_array_equal(noise, [NAN, NAN])


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"loss": 1.0}, ["a value is needed for each of loss, accuracy", "accuracy missing"]),
        ({}, ["loss, accuracy missing"]),
        ({"loss": 1.0, "accuracy": 2.0, "size": 3.0}, ["each of loss, accuracy", "size unknown"]),
        (1.0, ["this study has 2 objectives", "a dict by name (loss, accuracy)", "2 numbers in that order", "got 1.0"]),
        ([1.0], ["2 objectives", "got [1.0]"]),
        ((1.0, 2.0, 3.0), ["2 objectives", "got (1.0, 2.0, 3.0)"]),
        ("ab", ["2 objectives", "got 'ab'"]),
        (None, ["2 objectives", "got None"]),
        (np.array(1.0), ["2 objectives"]),
        (np.ones(3), ["2 objectives"]),
        ({"loss": "low", "accuracy": 1.0}, ["the value of 'loss' must be a number, got str 'low'"]),
        ({"loss": 1.0, "accuracy": None}, ["the value of 'accuracy' must be a number, got NoneType"]),
        ((True, 1.0), ["the value of 'loss' must be a number, got bool"]),
        (np.ones((2, 1)), ["the value of 'loss' must be a number"]),
    ],
)
def test_what_is_not_one_number_for_each_is_refused(told: Any, said: list[str]) -> None:
    with pytest.raises(EvaluationError) as caught:
        to_outcome(told, SPACE, TWO)
    assert [part for part in said if part not in str(caught.value)] == []


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"a": 1.0}, ["the value must be a number, got dict", "several objectives are declared: Study(space, obj"]),
        ((1.0, 2.0), ["got tuple", "(value, gradient) needs jac=True", "several objectives are declared"]),
        ([1.0, 2.0, 3.0], ["got list", "several objectives are declared"]),
    ],
)
def test_several_values_of_one_objective_say_how_to_declare_them(told: Any, said: list[str]) -> None:
    with pytest.raises(EvaluationError) as caught:
        to_outcome(told, SPACE)
    assert [part for part in said if part not in str(caught.value)] == []


@pytest.mark.parametrize(
    ("told", "error"),
    [
        ((NAN, 1.0), "the value of 'loss' is nan"),
        ({"accuracy": -math.inf, "loss": 0.0}, "the value of 'accuracy' is -inf"),
        (np.array([math.inf, NAN]), "the value of 'loss' is inf"),
        ((10**400, 1), "the value of 'loss' is inf"),
    ],
)
def test_one_value_that_is_not_finite_is_a_failure(told: Any, error: str) -> None:
    assert to_outcome(told, SPACE, TWO) == Outcome(State.FAILED, error=error)


def test_noise_is_by_objective() -> None:
    outcome = to_outcome(Evaluation((1, 2), noise={"accuracy": np.float32(0.5)}), SPACE, TWO)
    assert outcome.noise is None
    assert outcome.objectives is not None
    np.testing.assert_array_equal(unpack_objectives(outcome.objectives)[1], [NAN, 0.5])
    assert to_outcome(Evaluation((1, 2), noise={"loss": None, "accuracy": 0.5}), SPACE, TWO) == outcome
    assert to_outcome(Evaluation((1, 2), noise={}), SPACE, TWO) == to_outcome((1, 2), SPACE, TWO)


def test_derivatives_of_all_objectives_follow_each_other() -> None:
    told = Evaluation((1, 2), gradient={"accuracy": {"rate": 3.0}}, hessian={"loss": {"x": {"x": 2.0}}})
    outcome = to_outcome(told, SPACE, TWO)
    np.testing.assert_array_equal(unpack_gradient(outcome.gradient), [NAN] * 3 + [NAN, 3.0, NAN])
    np.testing.assert_array_equal(unpack_gradient(outcome.hessian), [2.0, *[NAN] * 11])
    by_order = {"loss": [1.0, 2.0], "accuracy": np.array([3.0, 4.0])}
    outcome = to_outcome(Evaluation((1, 2), gradient=by_order), PLANE, TWO)
    np.testing.assert_array_equal(unpack_gradient(outcome.gradient), [1, 2, 3, 4])
    for nothing in ({}, {"loss": None}, None):
        assert to_outcome(Evaluation((1, 2), gradient=nothing, hessian=nothing), PLANE, TWO).gradient is None


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        ({"noise": 0.1}, ["noise must be a dict by objective (loss, accuracy), got 0.1"]),
        ({"noise": {"los": 0.1}}, ["noise names 'los'; the objectives are loss, accuracy"]),
        ({"noise": {"loss": -0.1}}, ["the noise of 'loss' is a standard deviation, zero or more, got -0.1"]),
        ({"noise": {"loss": "0.1"}}, ["the noise of 'loss' must be a number, got str"]),
        ({"gradient": [1.0, 2.0]}, ["gradient must be a dict by objective (loss, accuracy), got [1.0, 2.0]"]),
        ({"gradient": {"x": 1.0}}, ["gradient names 'x'; the objectives are loss, accuracy"]),
        ({"gradient": {"loss": {"z": 1.0}}}, ["gradient names 'z'", "x, rate, kind"]),
        ({"gradient": {"loss": [1.0]}}, ["gradient has shape (1,)", "expected (3,)"]),
        ({"hessian": np.eye(3)}, ["hessian must be a dict by objective (loss, accuracy)"]),
        ({"hessian": {"loss": [[1, 2, 0], [3, 4, 0], [0, 0, 1]]}}, ["hessian must be symmetric"]),
        ({"constraints": [0.5]}, ["constraints must be a dict of numbers by name"]),
    ],
)
def test_extras_that_cannot_be_read_are_refused(extra: dict[str, Any], said: list[str]) -> None:
    with pytest.raises(EvaluationError) as caught:
        to_outcome(Evaluation((1.0, 2.0), **extra), SPACE, TWO)
    assert [part for part in said if part not in str(caught.value)] == []


@examples(60)
@given(st.integers(2, 5), st.integers(1, 4), st.data())
def test_unpacking_inverts_packing(count: int, dimension: int, data: st.DataObject) -> None:
    objectives = Objectives.of(several={f"f{k}": data.draw(st.sampled_from(["min", "max"])) for k in range(count)})
    space = Space({f"x{i}": Float(0, 1) for i in range(dimension)})
    numbers = st.floats(-1e300, 1e300)
    values = data.draw(st.lists(numbers, min_size=count, max_size=count))
    known = data.draw(st.sets(st.sampled_from(objectives.names)))
    gradient = {name: dict.fromkeys(space.names, float(len(name))) for name in sorted(known)}
    noise = dict.fromkeys(sorted(known), 0.5)
    outcome = to_outcome(Evaluation(values, gradient=gradient, noise=noise), space, objectives)
    record = TrialRecord(3, State.COMPLETED, pack_row(np.zeros(dimension)), outcome, token=new_token())
    trial = to_trial(record, space, objectives=objectives)
    assert trial.value == dict(zip(objectives.names, values, strict=True))
    assert (trial.noise or {}, trial.gradient or {}) == (noise, gradient)


# in the history

TOLD = [
    Evaluation((1.0, 5.0), gradient={"loss": {"a": 1.0, "b": 2.0}}, noise={"accuracy": 0.5}),
    Evaluation({"accuracy": 7.0, "loss": 3.0}, gradient={"accuracy": {"b": 4.0}}, hessian={"accuracy": np.eye(2)}),
    Evaluation((NAN, 1.0)),
    Evaluation((2.0, 6.0), constraints={"memory": 1.0}),
]


@pytest.fixture
def history() -> History:
    """A history of four results and a pending trial."""
    outcomes = [*(to_outcome(each, PLANE, TWO) for each in TOLD), State.RUNNING]
    rows = [changed(number, np.array([0.25, 1.0 + number / 8]), each) for number, each in enumerate(outcomes)]
    history = History(PLANE, objectives=TWO)
    history.update(Changes(len(rows), rows))
    return history


def test_outcomes_are_signed_and_missing_ones_are_nan(history: History) -> None:
    np.testing.assert_array_equal(history.outcomes, [[1, -5], [3, -7], [NAN, NAN], [2, -6], [NAN, NAN]])
    assert np.isnan(history.values).all()
    assert history.best() is None
    assert history.noisy
    assert history.has_gradients
    np.testing.assert_array_equal(history.feasible[:4], [True, True, True, False])
    assert (history.count(State.COMPLETED), history.count(State.FAILED), len(history.pending)) == (3, 1, 1)


def test_each_objective_has_a_history(history: History) -> None:
    loss, accuracy = history.of(0), history.of(1)
    np.testing.assert_array_equal(loss.values, [1, 3, NAN, 2, NAN])
    np.testing.assert_array_equal(accuracy.values, [-5, -7, NAN, -6, NAN])
    assert (loss.sign, accuracy.sign) == (1.0, -1.0)
    assert (loss.noisy, accuracy.noisy) == (False, True)
    assert (loss.best(), accuracy.best()) == (0, 1)
    numbers = np.array([0, 1])  # units of the cube: b has the range 2
    np.testing.assert_allclose(loss.unit_gradients(numbers), [[1, 4], [NAN, NAN]])
    np.testing.assert_allclose(accuracy.unit_gradients(numbers), [[NAN, NAN], [NAN, -8]])
    assert np.isnan(loss.unit_hessians(numbers)).all()
    np.testing.assert_allclose(accuracy.unit_hessians(numbers)[1], [[-1, 0], [0, -4]])
    np.testing.assert_array_equal(loss.failed.numbers, history.failed.numbers)
    np.testing.assert_array_equal(loss.pending.units, history.pending.units)


def test_a_history_of_one_objective_is_that_of_the_objective() -> None:
    history = History(PLANE, -1.0, objectives=Objectives.of("maximize"))
    history.update(Changes(1, [changed(0, np.array([0.5, 0.5]), to_outcome(3.0, PLANE))]))
    assert history.of(0) is history
    np.testing.assert_array_equal(history.outcomes, [[-3.0]])


def test_a_history_of_other_values_has_no_derivatives(history: History) -> None:
    view = history.with_values(history.outcomes.sum(axis=1))
    np.testing.assert_array_equal(view.values, [-4, -4, NAN, -4, NAN])
    assert not view.has_gradients
    assert not view.noisy
    assert not view.objectives.several
    assert history.has_gradients  # it is unchanged


def test_views_of_an_empty_history() -> None:
    history = History(PLANE, objectives=TWO)
    assert history.outcomes.shape == (0, 2)
    assert len(history.of(1)) == len(history.of(1).completed) == 0
    assert not history.has_gradients


def test_a_damaged_row_is_named() -> None:
    outcome = Outcome(State.COMPLETED, objectives=b"\0" * 24)
    with pytest.raises(StorageError, match="trial 3 is damaged in the database: it has 24 bytes of values, not 32"):
        History(PLANE, objectives=TWO).update(Changes(1, [changed(3, np.array([0.5, 0.5]), outcome)]))
    record = TrialRecord(3, State.COMPLETED, pack_row([0.5, 0.5]), outcome)
    with pytest.raises(StorageError, match="trial 3 is damaged"):
        to_trial(record, PLANE, objectives=TWO)
