"""The contours: the model over pairs of parameters, and which pair is chosen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.plots.modelled import MIXED, PLANE, bowl, mixed, study_of

import sonde
from sonde.errors import OptionError
from sonde.plots.table import Table


def cells_of(table: Table, others: str = "best trial") -> Table:
    return table.select((np.array(table["kind"]) == "model") & (np.array(table["others"]) == others))


def test_the_mean_is_that_of_the_function_and_the_best_trial_is_marked() -> None:
    study = study_of(PLANE, bowl, 40)
    table = study.plot.contours(x="x", y="y", data=True)
    cells = cells_of(table)
    assert len(cells) == 41 * 41
    assert cells["mean"] == pytest.approx((cells["x"] - 0.3) ** 2 + cells["y"], abs=0.03)
    assert np.all(cells["std"] > 0)
    best = [row for row in table.rows() if row["kind"] == "best" and row["others"] == "best trial"]
    assert [row["trial"] for row in best] == [study.best_trial.number]
    assert best[0]["mean"] == study.best_value


def test_the_default_pair_is_that_which_matters_most() -> None:
    space = sonde.Space({name: sonde.Float(0, 1) for name in ("a", "b", "c", "d")})
    study = study_of(space, lambda p: 3 * p["d"] + 2 * p["b"] + 0.01 * p["a"], 30)
    table = study.plot.contours(data=True)
    assert (table["x_parameter"][0], table["y_parameter"][0]) == ("d", "b")
    other = study.plot.contours(y="c", data=True)
    assert (other["x_parameter"][0], other["y_parameter"][0]) == ("d", "c")


def test_a_categorical_axis_has_cells_with_labels() -> None:
    study = study_of(MIXED, mixed, 40)
    figure = study.plot.contours(x="method", y="rate")
    cells = figure.data[0]
    assert cells.type == "heatmap"
    assert list(cells.x) == ["adam", "sgd"]
    assert figure.layout.yaxis.type == "log"
    assert len(cells.y) == len(cells.z) + 1
    assert (cells.y[0], cells.y[-1]) == pytest.approx((1e-4, 1))
    table = cells_of(study.plot.contours(x="method", y="rate", data=True))
    assert set(table["x_label"]) == {"adam", "sgd"}
    assert set(table["y_label"]) == {None}


def test_the_cells_of_the_figure_are_those_of_the_table() -> None:
    study = study_of(PLANE, bowl, 20)
    table, figure = cells_of(study.plot.contours(x="y", y="x", data=True)), study.plot.contours(x="y", y="x")
    for trace, column in ((figure.data[0], "mean"), (figure.data[2], "std")):
        place = {(x, y): z for y, row in zip(trace.y, trace.z, strict=True) for x, z in zip(trace.x, row, strict=True)}
        assert [place[row["x"], row["y"]] for row in table.rows()] == table[column].tolist()


def test_a_conditional_parameter_is_shown_where_it_is_active() -> None:
    study = study_of(MIXED, mixed, 40)
    table = cells_of(study.plot.contours(x="momentum", y="rate", data=True))
    slope = np.polyfit(table["x"], table["mean"], 1)[0]
    assert slope == pytest.approx(1, abs=0.15)
    assert study.plot.contours(x="momentum", y="rate").layout.xaxis.title.text == "momentum<br>(where method = sgd)"


def test_without_two_parameters_the_figure_says_what_to_do() -> None:
    study = study_of(sonde.Space(x=sonde.Float(0, 1), y=sonde.Int(3, 3)), lambda p: p["x"], 5)
    assert "study.plot.slices()" in study.plot.contours().layout.annotations[0].text
    assert len(study.plot.contours(data=True)) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"x": "z"}, "x= names 'z'; the parameters are rate"),
        ({"x": "rate", "y": "rate"}, "both 'rate'"),
        ({"x": "rate", "y": "z"}, "y= names 'z'"),
        ({"x": float("nan")}, "x= names nan"),
        ({"objective": "loss"}, "no objective 'loss'"),
        ({"at": {"rate": 7}}, "parameter 'rate'"),
    ],
)
def test_what_is_wrong_is_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        study_of(MIXED, mixed, 5).plot.contours(**options)


def test_parameters_that_are_never_active_together_are_refused() -> None:
    space = sonde.Space(
        kind=sonde.Categorical(["a", "b"]), p=sonde.Float(0, 1, when={"kind": "a"}),
        q=sonde.Float(0, 1, when={"kind": "b"}),
    )  # fmt: skip
    study = study_of(space, lambda p: p.get("p", 0.5), 20)
    with pytest.raises(OptionError, match="never active together"):
        study.plot.contours(x="p", y="q")
    table = study.plot.contours(data=True)
    assert {table["x_parameter"][0], table["y_parameter"][0]} == {"p", "kind"}
