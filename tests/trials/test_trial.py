from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from sonde.space import Bool, Categorical, Float, Int, Space
from sonde.trials import Evaluation, Outcome, State, Trial, TrialRecord, to_outcome
from sonde.trials.trial import pack_row, to_trial

SPACE = Space(lr=Float(0, 1), n=Int(1, 8), kind=Categorical(["a", "b"]), deep=Bool(when={"kind": "b"}))
PARAMS = {"lr": 0.5, "n": 3, "kind": "a"}


def record(outcome: Outcome | None = None, **fields: Any) -> TrialRecord:
    state = State.RUNNING if outcome is None else outcome.state
    return TrialRecord(7, state, pack_row(SPACE.row(PARAMS)), outcome, **fields)


def test_a_trial_is_a_mapping_of_its_parameters() -> None:
    trial = Trial(0, PARAMS)
    assert isinstance(trial, Mapping)
    assert dict(trial) == PARAMS
    assert dict(**trial) == PARAMS
    assert len(trial) == 3
    assert trial["lr"] == 0.5
    assert list(trial) == ["lr", "n", "kind"]
    assert "deep" not in trial
    assert trial.get("deep", 1) == 1
    with pytest.raises(KeyError, match="deep"):
        trial["deep"]
    assert trial in SPACE


def test_a_trial_survives_pickling() -> None:
    trial = to_trial(record(to_outcome(Evaluation(1.0, gradient={"lr": 2.0}), SPACE), worker="w"), SPACE)
    trial.attributes["note"] = [1]
    again = pickle.loads(pickle.dumps(trial))
    assert again == trial
    assert again is not trial
    assert dict(again) == PARAMS
    assert again.attributes == {"note": [1]}


def test_a_trial_is_read_only_but_for_its_attributes() -> None:
    trial = Trial(0, PARAMS)
    with pytest.raises(FrozenInstanceError):
        trial.value = 3.0
    with pytest.raises(TypeError):
        trial["lr"] = 3.0
    trial.attributes["seen"] = True
    assert Trial(1, PARAMS).attributes == {}


def test_equality_is_of_everything_and_the_hash_of_the_number() -> None:
    trial = Trial(3, PARAMS, value=1.0)
    assert trial == Trial(3, dict(PARAMS), value=1.0)
    assert trial != Trial(3, PARAMS, value=2.0)
    assert trial != PARAMS
    assert len({trial, Trial(3, PARAMS, value=1.0), Trial(4, PARAMS)}) == 2


def test_a_record_becomes_a_trial_with_names() -> None:
    evaluation = Evaluation(
        0.25, gradient={"lr": 2.0, "n": float("nan")}, hessian={"lr": {"lr": 3.0, "n": 4.0}}, noise=0.1,
        constraints={"memory": -1.0},
    )  # fmt: skip
    trial = to_trial(
        record(
            to_outcome(evaluation, SPACE), worker="host:1", created=10.0, started=20.0, finished=22.5, retry_of=2,
            attributes={"k": "v"},
        ),
        SPACE,
    )  # fmt: skip
    assert dict(trial) == PARAMS
    assert (trial.number, trial.state, trial.value, trial.noise) == (7, State.COMPLETED, 0.25, 0.1)
    assert trial.gradient == {"lr": 2.0}
    assert trial.hessian == {"lr": {"lr": 3.0, "n": 4.0}, "n": {"lr": 4.0}}
    assert trial.constraints == {"memory": -1.0}
    assert (trial.worker, trial.retry_of, trial.attributes) == ("host:1", 2, {"k": "v"})
    assert trial.created == datetime.fromtimestamp(10.0, UTC)
    assert trial.duration == 2.5
    assert trial.feasible
    assert trial.declared is not None
    assert trial.declared["lr"][0] == "Float"


def test_a_running_trial_has_no_result() -> None:
    trial = to_trial(record(started=20.0), SPACE)
    assert trial.state is State.RUNNING
    assert trial.value is trial.gradient is trial.hessian is trial.error is trial.finished is trial.duration is None
    assert not trial.feasible


@pytest.mark.parametrize(
    ("outcome", "feasible"),
    [
        (to_outcome(1.0, SPACE), True),
        (to_outcome(Evaluation(1.0, constraints={"m": 0.0, "t": -1.0}), SPACE), True),
        (to_outcome(Evaluation(1.0, constraints={"m": -1.0, "t": 1e-9}), SPACE), False),
        (to_outcome(float("nan"), SPACE), False),
    ],
)
def test_feasible_is_completed_with_every_constraint_at_most_zero(outcome: Outcome, feasible: bool) -> None:
    assert to_trial(record(outcome), SPACE).feasible is feasible


def test_a_failed_trial_says_why() -> None:
    trial = to_trial(record(to_outcome(float("nan"), SPACE)), SPACE)
    assert (trial.state, trial.value, trial.error) == (State.FAILED, None, "the value is nan")
    assert replace(trial, number=8) != trial
