"""The map of the probability that a trial works."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from tests.plots.modelled import PLANE, bowl, study_of

import sonde
from sonde.errors import OptionError
from sonde.plots.table import Table

WIDE = sonde.Space(a=sonde.Float(0, 1), b=sonde.Float(0, 1), c=sonde.Float(0, 1))
TRACEBACK = 'Traceback (most recent call last):\n  File "f.py", line 1\nValueError: <script>alert(1)</script>'


def corner(params: Mapping[str, Any]) -> dict[str, Any]:
    """Fail where b > 0.6, and break a constraint where c > 0.7."""
    if params["b"] > 0.6:
        return {"failed": TRACEBACK}
    return {"value": params["a"], "constraints": {"memory": params["c"] - 0.7}}


def model_of(table: Table) -> Table:
    return table.select((np.array(table["kind"]) == "model") & (np.array(table["others"]) == "best trial"))


@pytest.mark.parametrize(("strategy", "count"), [("gp", 80), ("fobo", 60), ("dngo", 400), ("random", 80)])
def test_the_probability_is_high_where_trials_work_and_low_elsewhere(strategy: str, count: int) -> None:
    table = study_of(WIDE, corner, count, strategy=strategy).plot.feasibility(x="b", y="c", data=True)
    cells = model_of(table)
    works = (cells["x"] < 0.5) & (cells["y"] < 0.6)
    assert cells["probability"][works].mean() > 0.9
    assert cells["probability"][cells["x"] > 0.7].mean() < 0.2
    assert cells["probability"][cells["y"] > 0.8].mean() < 0.2
    assert np.all((cells["probability"] >= 0) & (cells["probability"] <= 1))


def test_the_default_pair_is_what_failures_depend_on() -> None:
    table = study_of(WIDE, corner, 80).plot.feasibility(data=True)
    assert {table["x_parameter"][0], table["y_parameter"][0]} == {"b", "c"}


def test_trials_have_their_state_and_the_reason() -> None:
    study = study_of(WIDE, corner, 60)
    table = study.plot.feasibility(x="b", y="c", data=True)
    rows = {row["trial"]: row for row in table.rows() if row["kind"] != "model"}
    assert len(rows) == 60
    for number, row in rows.items():
        trial = study.trial(number)
        if trial.params["b"] > 0.6:
            assert (row["kind"], row["reason"]) == ("failed", "ValueError: <script>alert(1)</script>")
        else:
            expected = ("infeasible", "breaks memory") if trial.params["c"] > 0.7 else ("completed", None)
            assert (row["kind"], row["reason"]) == expected
    shown = [text for trace in study.plot.feasibility(x="b", y="c").data for text in trace.text or ()]
    assert any("&lt;script&gt;" in text for text in shown)
    fails = study_of(WIDE, lambda p: {"failed": "no"} if p["b"] > 0.6 else {"value": p["a"]}, 20)
    named = {trace.name for trace in fails.plot.feasibility().data}
    assert named == {None, "worked", "failed"}  # no state without trials is in the legend
    assert not any("<script>" in text for text in shown)


def test_reasons_of_many_trials_are_read_for_those_that_are_shown() -> None:
    def sometimes(params: Mapping[str, Any]) -> dict[str, Any]:
        return {"failed": f"reason {params['x'] > 0.95}"} if params["x"] > 0.9 else {"value": params["x"]}

    study = study_of(sonde.Space(x=sonde.Float(0, 1), y=sonde.Float(0, 1)), sometimes, 5100, strategy="random")
    rows = [row for row in study.plot.feasibility(x="x", y="y", data=True).rows() if row["kind"] == "failed"]
    assert rows
    assert all(row["reason"] == f"reason {row['x'] > 0.95}" for row in rows)


def test_one_parameter_has_a_line() -> None:
    space = sonde.Space(x=sonde.Float(0, 1))
    study = study_of(space, lambda p: {"failed": "no"} if p["x"] > 0.5 else {"value": p["x"]}, 40)
    cells = model_of(study.plot.feasibility(data=True))
    assert set(cells["y_parameter"]) == {None}
    assert cells["probability"][cells["x"] < 0.4].min() > 0.8
    assert cells["probability"][cells["x"] > 0.6].max() < 0.3
    figure = study.plot.feasibility()
    assert figure.data[0].mode == "lines"
    assert {float(y) for trace in figure.data if trace.mode == "markers" for y in trace.y} == {0.0, 1.0}


def test_without_failures_or_without_successes_the_figure_says_so() -> None:
    works, fails = study_of(PLANE, bowl, 10), study_of(PLANE, lambda p: {"failed": "no"}, 10)
    assert "no trial has failed" in works.plot.feasibility().layout.annotations[0].text
    assert "no trial has worked yet" in fails.plot.feasibility().layout.annotations[0].text
    assert "no trial has failed" in study_of(PLANE, bowl, 0).plot.feasibility().layout.annotations[0].text
    assert "feasibility" not in works.plot.names()
    assert "feasibility" in fails.plot.names()


def test_what_is_wrong_is_named() -> None:
    study = study_of(WIDE, corner, 10)
    for options in ({"x": "z"}, {"y": "z"}, {"at": {"z": 1}}):
        with pytest.raises(OptionError, match="names 'z'; the parameters are a, b, c"):
            study.plot.feasibility(**options)  # type: ignore[arg-type]
