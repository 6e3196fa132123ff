"""Planar histograms: every trial is counted once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.plots.modelled import MIXED, PLANE, bowl, mixed, study_of

import sonde
from sonde.errors import OptionError


def test_every_result_is_in_one_cell_over_time() -> None:
    study = study_of(PLANE, bowl, 300, strategy="random")
    table = study.plot.planar(data=True)
    cells = [row for row in table.rows() if row["kind"] == "cell"]
    assert sum(row["count"] for row in cells) == 300
    for cell in (max(cells, key=lambda row: row["count"]), cells[0], cells[-1]):
        inside = [
            t for t in study.trials if cell["x_low"] <= t.number < cell["x_high"] + (cell["x_high"] == 299)
            and cell["y_low"] <= float(t.value or 0) < cell["y_high"]
        ]  # fmt: skip
        assert len(inside) == cell["count"] or cell is cells[-1]


def test_the_line_is_the_best_so_far() -> None:
    study = study_of(PLANE, lambda p: -bowl(p), 50, strategy="random", direction="maximize")
    best = [row for row in study.plot.planar(data=True).rows() if row["kind"] == "best"]
    values = [float(t.value or 0) for t in study.trials]
    for row in best:
        assert row["y_low"] == max(values[: int(row["x_low"]) + 1])
    assert best[-1]["x_low"] == 49
    assert list(study.plot.planar().data[1].y) == [row["y_low"] for row in best]


def test_two_parameters_have_counts_and_means() -> None:
    study = study_of(MIXED, mixed, 200, strategy="random")
    table = study.plot.planar(x="method", y="layers", data=True)
    assert table["count"].sum() == 200
    for row in table.rows():
        inside = [
            float(t.value or 0) for t in study.trials
            if t.params["method"] == row["x_label"] and t.params["layers"] == row["y"]
        ]  # fmt: skip
        assert row["count"] == len(inside)
        assert row["mean"] == pytest.approx(np.mean(inside))
    log = study.plot.planar(x="rate", y="momentum", data=True)
    active = sum("momentum" in t.params for t in study.trials)
    assert log["count"].sum() == active
    assert f"{active} results" in log.note


def test_a_lattice_with_many_values_and_many_choices_count_everything() -> None:
    space = sonde.Space(n=sonde.Int(1, 1000, log=True), kind=sonde.Categorical([f"k{i}" for i in range(100)]))
    table = study_of(space, lambda p: float(p["n"]), 500, strategy="random").plot.planar(x="n", y="kind", data=True)
    assert table["count"].sum() == 500


def test_values_over_decades_have_cells_of_equal_ratio() -> None:
    study = study_of(PLANE, lambda p: float(np.exp(12 * p["x"])), 200, strategy="random")
    assert study.plot.planar().layout.yaxis.type == "log"
    cells = [row for row in study.plot.planar(data=True).rows() if row["kind"] == "cell"]
    ratios = [row["y_high"] / row["y_low"] for row in cells]
    assert max(ratios) == pytest.approx(min(ratios))
    assert sum(row["count"] for row in cells) == 200


def test_many_results_are_all_counted() -> None:
    study = study_of(PLANE, bowl, 0, strategy="random")
    rng = np.random.default_rng(0)
    points = rng.random((20_000, 2)).tolist()
    study.add_trials([{"params": {"x": x, "y": y}, "value": x} for x, y in points])
    table = study.plot.planar(data=True)
    assert sum(row["count"] for row in table.rows() if row["kind"] == "cell") == 20_000


def test_before_a_result_the_figure_says_what_to_do() -> None:
    assert "tell a result" in study_of(PLANE, bowl, 0).plot.planar().layout.annotations[0].text
    assert study_of(PLANE, bowl, 1).plot.planar(data=True)["count"][:-1].sum() == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bins": 0}, "bins must be a whole number from 1 to 500"),
        ({"bins": True}, "bins must be a whole number"),
        ({"bins": float("nan")}, "bins must be a whole number"),
        ({"x": "x", "y": "x"}, "both 'x'; give two parameters"),
        ({"x": "x"}, "give both x= and y="),
        ({"x": "x", "y": "z"}, "y= names 'z'"),
        ({"objective": "loss"}, "no objective 'loss'"),
    ],
)
def test_what_is_wrong_is_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        study_of(PLANE, bowl, 3).plot.planar(**options)
