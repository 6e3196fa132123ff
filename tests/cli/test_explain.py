from __future__ import annotations

import json

import pytest
from tests.cli.conftest import Sonde

import sonde


@pytest.mark.usefixtures("study")
def test_strategy_and_diagnosis(cli: Sonde) -> None:
    why, diagnosis = cli("explain").out.splitlines()
    assert why.startswith("auto: gp, because")
    assert diagnosis.startswith("leave-one-out over 20 results: rank correlation ")
    found = json.loads(cli("explain", "--json").out)
    assert (found["study"], found["why"]) == ("shapes", why)
    assert found["diagnosis"]["results"] == 20
    assert {one["trial"] for one in found["diagnosis"]["trials"]} == {i for i in range(25) if i % 5}
    assert f"rank correlation {found['diagnosis']['rank_correlation']:.2f}, " in diagnosis


def test_too_few_results(cli: Sonde) -> None:
    with sonde.Study(sonde.Space(x=sonde.Float(0, 1)), storage="sonde.db", name="s") as study:
        study.add_trials([{"params": {"x": 0.5}, "value": 1.0}])
    why, diagnosis = cli("explain").out.splitlines()
    assert why.startswith("auto: sobol, because")
    assert diagnosis == "no diagnosis: a diagnosis needs 3 completed trials, there are 1; tell more results"
    assert json.loads(cli("explain", "--json").out)["diagnosis"] is None


def test_several_objectives(cli: Sonde) -> None:
    with sonde.Study(
        sonde.Space(x=sonde.Float(0, 1)), storage="sonde.db", name="s", objectives={"a": "minimize", "b": "minimize"}
    ) as study:
        study.add_trials([{"params": {"x": i / 8}, "value": {"a": i, "b": (4 - i) ** 2}} for i in range(8)])
    assert [line.split(":")[0] for line in cli("explain").out.splitlines()[1:]] == ["a", "b"]
    assert set(json.loads(cli("explain", "--json").out)["diagnosis"]) == {"a", "b"}


def test_equal_values_have_no_correlation_in_json(cli: Sonde) -> None:
    with sonde.Study(sonde.Space(x=sonde.Float(0, 1)), storage="sonde.db", name="s") as study:
        study.add_trials([{"params": {"x": i / 8}, "value": 1.0} for i in range(8)])
    assert json.loads(cli("explain", "--json").out)["diagnosis"]["results"] == 8
