"""The slices: the model along known functions, what is varied and what is not, and what is refused."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.plots.modelled import MIXED, PLANE, bowl, mixed, study_of

import sonde
from sonde.errors import OptionError
from sonde.plots.panels import BETWEEN, MARGINS, height, panels
from sonde.plots.table import Table


def model_of(table: Table, parameter: str, others: str = "best trial") -> Table:
    rows = [
        kind == "model" and own == parameter and other == others
        for kind, own, other in zip(table["kind"], table["parameter"], table["others"], strict=True)
    ]
    return table.select(np.array(rows))


def test_a_slice_of_a_quadratic_is_that_quadratic() -> None:
    study = study_of(PLANE, bowl, 40)
    own = model_of(study.plot.slices(data=True), "x")
    y = study.best_params["y"]
    assert own["mean"] == pytest.approx((own["value"] - 0.3) ** 2 + y, abs=0.02)
    assert np.all(own["low"] < own["mean"])
    assert np.all(own["mean"] < own["high"])
    assert own["value"][[0, -1]].tolist() == [0.0, 1.0]


def test_of_what_is_maximized_values_have_their_own_sign() -> None:
    study = study_of(PLANE, lambda p: -bowl(p), 40, direction="maximize")
    own = model_of(study.plot.slices(data=True), "x")
    assert own["mean"] == pytest.approx(-((own["value"] - 0.3) ** 2) - study.best_params["y"], abs=0.02)


def test_at_moves_the_other_parameters() -> None:
    study = study_of(PLANE, bowl, 40)
    low, high = (model_of(study.plot.slices(at={"y": y}, data=True), "x", "given") for y in (0.1, 0.9))
    assert high["mean"] - low["mean"] == pytest.approx(np.full(len(low), 0.8), abs=0.02)


def test_the_menu_shows_one_place_of_the_others_at_a_time() -> None:
    figure = study_of(PLANE, bowl, 20).plot.slices()
    menu = figure.layout.updatemenus[0]
    assert [button.label for button in menu.buttons] == [
        f"others at: {other}" for other in ("best trial", "second best", "third best", "centre")
    ]
    shown = np.array([button.args[0]["visible"] for button in menu.buttons])
    assert (shown.sum(axis=0) == 1).all()
    assert [trace.visible for trace in figure.data] == shown[0].tolist()


def test_scales_steps_and_categories_keep_their_kind() -> None:
    study = study_of(MIXED, mixed, 50)
    table, figure = study.plot.slices(data=True), study.plot.slices()
    rate = model_of(table, "rate")["value"]
    assert np.diff(np.log(rate)) == pytest.approx(np.full(len(rate) - 1, np.log(1e4) / (len(rate) - 1)))
    assert figure.layout.xaxis.type == "log"
    assert figure.layout.xaxis.range == pytest.approx((-4.16, 0.16))  # powers of ten, with a little room
    assert model_of(table, "layers")["value"].tolist() == [1, 2, 3, 4, 5]
    steps = next(trace for trace in figure.data if trace.xaxis == "x2" and trace.line.width == 2.5)
    assert list(steps.x) == pytest.approx([0.5, 1.5, 1.5, 2.5, 2.5, 3.5, 3.5, 4.5, 4.5, 5.5])
    assert model_of(table, "method")["label"] == ["adam", "sgd"]
    assert list(figure.layout.xaxis3.categoryarray) == ["adam", "sgd"]


def test_a_conditional_parameter_is_shown_where_it_is_active() -> None:
    study = study_of(MIXED, mixed, 50)
    table = study.plot.slices(at={"rate": 0.01, "layers": 3, "method": "adam"}, data=True)
    own = model_of(table, "momentum", "given")
    assert own["mean"] == pytest.approx(own["value"], abs=0.1)
    assert set(own["active"]) == {"method = sgd"}
    trials = [row for row in table.rows() if row["kind"] == "trial" and row["parameter"] == "momentum"]
    assert {row["trial"] for row in trials} == {t.number for t in study.trials if "momentum" in t.params}
    assert study.plot.slices().layout.xaxis4.title.text == "momentum<br>(where method = sgd)"


def test_trials_are_nearer_the_less_their_other_parameters_differ() -> None:
    study = study_of(PLANE, bowl, 30)
    rows = [row for row in study.plot.slices(at={"y": 0.5}, data=True).rows() if row["parameter"] == "x"]
    trials = [row for row in rows if row["kind"] == "trial"]
    apart = [abs(study.trial(row["trial"]).params["y"] - 0.5) for row in trials]
    assert apart == sorted(apart)
    assert [row["near"] for row in trials] == pytest.approx(np.exp(-0.5 * (np.array(apart) / 0.2) ** 2))
    assert [row["mean"] for row in trials] == [study.trial(row["trial"]).value for row in trials]


def test_the_model_is_not_shown_where_a_known_constraint_is_broken() -> None:
    space = PLANE.where("x <= 0.5")
    own = model_of(study_of(space, bowl, 20).plot.slices(data=True), "x")
    assert np.isnan(own["mean"]).tolist() == (own["value"] > 0.5).tolist()


def test_of_many_parameters_those_along_which_the_model_changes_are_shown() -> None:
    space = sonde.Space({f"x{i}": sonde.Float(0, 1) for i in range(16)})
    study = study_of(space, lambda p: p["x3"] + p["x15"], 60)
    table = study.plot.slices(data=True)
    assert len(set(table["parameter"])) == 12
    assert {"x3", "x15"} <= set(table["parameter"])
    assert "of 16 parameters the 12" in table.note
    assert "of 16 parameters the 12" in study.plot.slices().layout.title.subtitle.text
    assert set(study.plot.slices(parameters=["x1"], data=True)["parameter"]) == {"x1"}


def test_each_of_several_objectives_has_its_own_model() -> None:
    study = study_of(
        PLANE, lambda p: {"value": {"a": p["x"], "b": p["y"]}}, 30, objectives={"a": "minimize", "b": "maximize"}
    )
    for name, up, flat in (("a", "x", "y"), ("b", "y", "x")):
        table = study.plot.slices(objective=name, data=True)
        assert np.ptp(model_of(table, up)["mean"]) == pytest.approx(1, abs=0.1)
        assert np.ptp(model_of(table, flat)["mean"]) < 0.1
    best = model_of(study.plot.slices(objective="b", data=True), "y")
    assert best["mean"][-1] == pytest.approx(1, abs=0.1)


def test_rows_of_panels_are_equally_far_apart_however_many() -> None:
    for count in (4, 12):
        places = panels(count)
        whole = height(count) - MARGINS
        apart = (places[0].up[0] - places[3].up[1]) * whole
        assert apart == pytest.approx(BETWEEN)


def test_long_names_stay_inside_their_panel_and_are_whole_in_the_table(tmp_path: Path) -> None:
    long, choices = "<b>" + "word " * 30, ["c" * 40, "d" * 40, "e" * 40]
    space = sonde.Space({"x": sonde.Float(1e-3, 1, log=True), "model": sonde.Categorical(choices),
                         long: sonde.Float(0, 1, when={"model": "d" * 40})})  # fmt: skip
    study = study_of(space, lambda p: p["x"], 12)
    table, figure = study.plot.slices(data=True), study.plot.slices()
    assert set(table["active"]) == {"", f"model = {'d' * 40}"}
    titles = [
        [html.unescape(line) for line in figure.layout[axis].title.text.split("<br>")] for axis in ("xaxis2", "xaxis3")
    ]
    assert max(len(line) for title in titles for line in title) <= 38
    assert titles[1][0].startswith("<b>word word")
    assert figure.layout.xaxis.dtick == 1
    assert figure.layout.height > height(3)  # room for labels that stand upright
    figure.save(tmp_path / "a.svg")
    assert "rotate(-90" in (tmp_path / "a.svg").read_text().partition("cccc")[0][-300:]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"parameters": ["z"]}, "names 'z'; the parameters are x, y"),
        ({"parameters": []}, "takes a list of parameters"),
        ({"parameters": "x"}, "takes a list of parameters"),
        ({"at": {"z": 1}}, "names 'z'; the parameters are x, y"),
        ({"at": {"x": 2}}, "'x': got 2, expected a number from 0"),
        ({"at": 3}, "takes a dict"),
        ({"at": {"x": float("nan")}}, "parameter 'x'"),
        ({"at": {"x": "fast"}}, "parameter 'x'"),
        ({"parameters": [float("nan")]}, "names nan"),
        ({"objective": "loss"}, "there is no objective 'loss'"),
    ],
)
def test_what_is_wrong_is_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        study_of(PLANE, bowl, 5).plot.slices(**options)


def test_a_parameter_that_is_inactive_there_cannot_be_given() -> None:
    with pytest.raises(OptionError, match="'momentum', which is inactive there"):
        study_of(MIXED, mixed, 5).plot.slices(at={"method": "adam", "momentum": 0.5})
