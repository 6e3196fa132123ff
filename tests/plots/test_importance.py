"""Importance: known Sobol' indices through the model, conditions, uncertainty, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.plots.modelled import MIXED, PLANE, bowl, mixed, study_of

import sonde
from sonde.arrays import Array
from sonde.errors import OptionError
from sonde.plots.activity import required, restricted, share
from sonde.plots.effects import measured, ranked
from sonde.plots.table import Table
from sonde.strategies.bayesian.predictions import Predictions


def effects(table: Table, kind: str) -> dict[str, float]:
    return {row["parameter"]: row["mean"] for row in table.rows() if row["kind"] == kind}


def test_of_ishigami_the_indices_are_those_of_the_closed_form() -> None:
    space = sonde.Space({name: sonde.Float(-np.pi, np.pi) for name in ("a", "b", "c")})
    study = study_of(
        space, lambda p: float(np.sin(p["a"]) + 7 * np.sin(p["b"]) ** 2 + 0.1 * p["c"] ** 4 * np.sin(p["a"])), 200
    )
    table = study.plot.importance(data=True)
    assert effects(table, "main") == pytest.approx({"a": 0.314, "b": 0.442, "c": 0.0}, abs=0.04)
    assert effects(table, "total") == pytest.approx({"a": 0.558, "b": 0.442, "c": 0.244}, abs=0.04)
    pairs = {frozenset((row["parameter"], row["other"])): row["mean"] for row in table.rows() if row["other"]}
    assert pairs[frozenset("ac")] == pytest.approx(0.244, abs=0.04)
    assert pairs[frozenset("ab")] < 0.03
    assert all(row["low"] <= row["mean"] <= row["high"] for row in table.rows() if row["kind"] == "total")


def test_the_effects_are_those_of_the_model_on_a_grid() -> None:
    study = study_of(PLANE, lambda p: np.sin(5 * p["x"]) * (0.5 + p["y"]), 60)
    table, middles = study.plot.importance(data=True), (np.arange(40) + 0.5) / 40
    grid = np.column_stack([np.repeat(middles, 40), np.tile(middles, 40)])
    values = study.model().predict(grid)[0].reshape(40, 40)
    whole, of_x, of_y = values.var(), values.mean(axis=1).var(), values.mean(axis=0).var()
    assert effects(table, "main") == pytest.approx({"x": of_x / whole, "y": of_y / whole}, abs=0.03)
    assert effects(table, "total") == pytest.approx({"x": 1 - of_y / whole, "y": 1 - of_x / whole}, abs=0.03)
    assert effects(table, "interaction")["x"] == pytest.approx(1 - (of_x + of_y) / whole, abs=0.03)


@pytest.mark.parametrize("seed", range(3))
def test_of_twenty_parameters_the_effects_are_those_of_the_closed_form_within_their_intervals(seed: int) -> None:
    a = np.array([0, 1, 4.5, 9, *[99] * 16])  # Sobol's g-function
    parts = 1 / (3 * (1 + a) ** 2)
    total = parts * np.prod(1 + parts) / (1 + parts) / (np.prod(1 + parts) - 1)
    space = sonde.Space({f"x{i}": sonde.Float(0, 1) for i in range(20)})

    def function(rows: Array) -> Array:
        return np.repeat(np.prod((np.abs(4 * rows - 2) + a) / (1 + a), axis=1)[:, None], 64, axis=1)

    found = measured(space, space.names, function, 6, seed)
    low, high = np.quantile(found.total[1], (0.025, 0.975), axis=1)
    assert found.names == list(space.names)
    assert found.total[0].mean(axis=1) == pytest.approx(total, abs=0.03)
    assert np.all((low < total + 0.003) & (total < high + 0.003))


def test_the_ranking_is_by_the_total_effects() -> None:
    space = sonde.Space({name: sonde.Float(0, 1) for name in "abc"})
    assert ranked(space, lambda rows: rows[:, 1] + 3 * rows[:, 2] + 0.1 * rows[:, 0], 0) == ["c", "b", "a"]


@pytest.mark.parametrize("strategy", ["gp", "dngo", "fobo"])
def test_drawn_functions_pass_through_what_is_known(strategy: str) -> None:
    def told(params: Any) -> dict[str, Any]:
        return {"value": bowl(params), "gradient": {"x": 2 * (params["x"] - 0.3), "y": 1.0}}

    study = study_of(PLANE, told if strategy == "fobo" else bowl, 40, strategy=strategy)
    model = study.model()
    assert isinstance(model, Predictions)
    rows = study.history.rows
    drawn = model.functions(16, np.random.default_rng(0))(rows)
    mean, std, noise = model.latent(rows)
    assert np.max(np.abs(drawn.mean(axis=1) - mean)) < 4 * np.max(std + noise) / 4 + 1e-3
    x = model.surrogate.features(study.space.codec.encode(rows)[0])
    for posterior in model.surrogate.posteriors:
        np.testing.assert_allclose(posterior.means(x), posterior.marginals(x).mean, rtol=1e-10, atol=1e-12)


def test_bars_of_both_panels_are_equally_wide() -> None:
    space = sonde.Space({name: sonde.Float(0, 1) for name in "abcdefg"})
    figure = study_of(space, lambda p: p["a"] * p["b"], 40).plot.importance(pairs=3)
    one, other = figure.layout.yaxis, figure.layout.yaxis2
    assert one.range[1] - one.range[0] == other.range[1] - other.range[0] == 7


def test_few_results_leave_wider_intervals() -> None:
    widths = []
    for count in (6, 60):
        table = study_of(PLANE, lambda p: np.sin(6 * p["x"]) + p["y"], count).plot.importance(data=True)
        widths.append(max(row["high"] - row["low"] for row in table.rows() if row["kind"] == "total"))
    assert widths[0] > 1.5 * widths[1]


def test_the_scale_of_a_parameter_is_its_measure() -> None:
    space = sonde.Space(rate=sonde.Float(1e-6, 1, log=True), x=sonde.Float(0, 1))
    table = study_of(space, lambda p: np.log10(p["rate"]) / 6 + p["x"], 30).plot.importance(data=True)
    assert effects(table, "total") == pytest.approx({"rate": 0.5, "x": 0.5}, abs=0.03)


def test_a_conditional_parameter_is_measured_where_it_is_active() -> None:
    space = sonde.Space(
        method=sonde.Categorical(["a", "b", "c"]), x=sonde.Float(0, 1), y=sonde.Float(0, 1, when={"method": "b"})
    )
    table = study_of(space, lambda p: p["x"] + p.get("y", 0.5), 60).plot.importance(data=True)
    totals = effects(table, "total")
    assert totals["y"] == pytest.approx((1 / 12) / (1 / 9), abs=0.05)
    # given y, the value is y with chance 1/3 and else 0.5; the whole variance is 1/12 + 1/36
    assert totals["method"] == pytest.approx((2 / 9 / 12) / (1 / 9), abs=0.03)
    rows = {row["parameter"]: row for row in table.rows()}
    assert rows["y"]["active"] == pytest.approx(1 / 3)
    assert rows["y"]["where"] == "method = b"
    assert "(*) is measured where it is active" in table.note


def test_points_are_uniform_where_a_parameter_is_active() -> None:
    space = sonde.Space(
        layers=sonde.Int(1, 8, log=True), width=sonde.Float(0, 1, when={"layers": [2, 3, 8]}),
        depth=sonde.Float(0, 1, when={"layers": 3}),
    )  # fmt: skip
    units = np.random.default_rng(0).random((20_000, 3))
    plain = space.codec.decode(units)
    for name in ("width", "depth"):
        column, needed = space.names.index(name), required(space, name)
        active = ~np.isnan(plain[:, column])
        moved = space.codec.decode(restricted(space, needed, units))
        assert not np.isnan(moved[:, column]).any()
        assert share(space, needed) == pytest.approx(active.mean(), abs=0.01)
        for layers in (1, 2, 3, 8):
            assert np.mean(moved[:, 0] == layers) == pytest.approx(np.mean(plain[active, 0] == layers), abs=0.02)


def test_a_strategy_without_a_model_gets_one_and_a_constant_one_says_so() -> None:
    study = study_of(PLANE, bowl, 20, strategy="random")
    assert effects(study.plot.importance(data=True), "total")["y"] > 0.7
    only = study_of(sonde.Space(x=sonde.Int(3, 3)), lambda p: 1.0, 1)
    assert "no parameter has more than one value" in only.plot.importance().layout.annotations[0].text


def test_the_figure_names_the_method_and_stacks_main_and_rest() -> None:
    study = study_of(MIXED, mixed, 40)
    table, figure = study.plot.importance(data=True), study.plot.importance()
    assert "Sobol' indices of 64 functions drawn from the model" in figure.layout.title.subtitle.text
    alone, rest = figure.data[:2]
    totals = dict(zip(alone.y, np.array(alone.x) + np.array(rest.x), strict=True))
    expected = {name + (" *" if name == "momentum" else ""): mean for name, mean in effects(table, "total").items()}
    assert totals == pytest.approx(expected)


@pytest.mark.parametrize("pairs", [-1, 1.5, True, "all", 1000, float("nan")])
def test_a_wrong_number_of_pairs_is_refused(pairs: Any) -> None:
    with pytest.raises(OptionError, match="pairs must be a whole number from 0 to 100"):
        study_of(PLANE, bowl, 5).plot.importance(pairs=pairs)
    with pytest.raises(OptionError, match="no objective 'loss'"):
        study_of(PLANE, bowl, 5).plot.importance(objective="loss")
