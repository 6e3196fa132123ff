"""The numbers of every figure of what was tried, against values worked out by hand, and the traces against them."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
from tests.plots.zoo import HOSTILE, ZOO

import sonde
from sonde.errors import OptionError
from sonde.igo import Bernoulli
from sonde.plots.figure import Figure
from sonde.plots.grouping import GROUPS
from sonde.plots.scales import nice
from sonde.plots.table import Table

NAN = float("nan")
LINE = sonde.Space(x=sonde.Float(0, 10))


def same(given: Any, expected: Any) -> None:
    np.testing.assert_allclose(np.asarray(given, dtype=float), expected, rtol=1e-9)


def told(values: list[Any], space: sonde.Space = LINE, **options: Any) -> sonde.Study:
    """Return a study of these results: a value, the text of a failure, or a dict."""
    study = sonde.Study(space, strategy="random", seed=0, **options)
    results = [each if isinstance(each, dict) else {"failed" if isinstance(each, str) else "value": each}
               for each in values]  # fmt: skip
    study.add_trials([{"params": {"x": float(place)}, **each} for place, each in enumerate(results)])
    return study


def trace(figure: Figure, name: str) -> Any:
    return next(each for each in figure.data if each.name == name)


def stopped(study: sonde.Study, reports: list[tuple[int, float]]) -> sonde.Trial:
    trial = study.ask()
    for step, value in reports:
        trial.report(step, value)
    study.tell(trial, stopped=True)
    return study.trial(trial.number)


# history


def test_history_of_values() -> None:
    study = told([3.0, "out of memory", {"value": 1.0, "constraints": {"size": 0.5}}, 2.0, 5.0])
    end = stopped(study, [(1, 9.0)])
    study.ask()
    shown = study.plot.history(data=True)
    assert shown["number"].tolist() == [0, 1, 2, 3, 4, 5]  # the running trial has not ended
    assert list(shown["state"]) == ["completed", "failed", "infeasible", "completed", "completed", "stopped"]
    same(shown["value"], [3, NAN, 1, 2, 5, NAN if end.mean is None else end.mean])
    same(shown["best"], [3, 3, 3, 2, 2, 2])
    assert shown["parameters"] == ["x = 0", "", "", "x = 3", "", ""]
    figure = study.plot.history()
    same(trace(figure, "completed").x, [0, 3, 4])
    same(trace(figure, "completed").y, [3, 2, 5])
    same(trace(figure, "infeasible").y, [1])
    same(trace(figure, "failed").x, [1])
    assert trace(figure, "failed").yaxis == "y2"  # a lane of its own
    same(trace(figure, "best so far").x, [0, 3, 5])
    same(trace(figure, "best so far").y, [3, 2, 2])
    assert figure.layout.yaxis.type == "linear"


def test_history_to_be_maximized() -> None:
    study = told([1.0, -2.0, 4.0], direction="maximize")
    shown = study.plot.history(data=True)
    same(shown["value"], [1, -2, 4])
    same(shown["best"], [1, 1, 4])


def test_a_logarithmic_axis_where_it_helps_or_as_told() -> None:
    study = told([1e-4, 1.0, 30.0])
    assert study.plot.history().layout.yaxis.type == "log"
    assert study.plot.history(log=False).layout.yaxis.type == "linear"
    signed = told([-1.0, 1.0, 1e4]).plot
    assert signed.history().layout.yaxis.type == "linear"
    figure = signed.history(log=True)
    assert figure.layout.yaxis.type == "log"
    assert "1 value of zero or less not on the logarithmic axis" in figure.layout.title.subtitle.text


def objectives(**options: Any) -> sonde.Study:
    """Cost is minimized and gain maximized, from cost 4 and gain 0."""
    results = [
        {"value": {"cost": 1, "gain": 1}},  # 3 x 1
        {"value": {"cost": 2, "gain": 2}},  # adds 2 x 1
        {"value": {"cost": 3, "gain": 1}},  # dominated
        "no device",
        {"value": {"cost": 0, "gain": 9}, "constraints": {"size": 1.0}},
        {"value": {"cost": 5, "gain": 5}},  # on the front, beyond the threshold of cost
        {"value": {"cost": 2, "gain": 2}},  # as good as another one
    ]
    directions = {"cost": "minimize", "gain": "maximize"}
    return told(results, objectives=directions, thresholds={"cost": 4, "gain": 0}, **options)


def test_history_of_several_objectives_is_the_hypervolume() -> None:
    study = objectives()
    shown = study.plot.history(data=True)
    same(shown["best"], [3, 5, 5, 5, 5, 5, 5])
    same(shown["value_cost"], [1, 2, 3, NAN, 0, 5, 2])
    same(shown["value_gain"], [1, 2, 1, NAN, 9, 5, 2])
    one = study.plot.history(objective="gain", data=True)
    same(one["best"], [1, 2, 2, 2, 2, 5, 5])
    same(trace(study.plot.history(), "hypervolume so far").y, [3, 5, 5])


# the front


def test_front() -> None:
    study = objectives()
    shown = study.plot.front(model=False, data=True)
    assert shown["number"].tolist() == [0, 1, 2, 4, 5, 6]
    assert list(shown["state"]) == ["front", "front", "dominated", "infeasible", "front", "dominated"]
    same(shown["value_gain"], [1, 2, 1, 9, 5, 2])
    assert [bool(text) for text in shown["parameters"]] == [True, True, False, False, True, False]
    figure = study.plot.front(model=False)
    same(trace(figure, "front").x, [1, 2, 5])
    same(trace(figure, "front").y, [1, 2, 5])
    same([line.x0 for line in figure.layout.shapes if line.xref == "x"], [4])
    assert figure.layout.xaxis.title.text == "cost (minimize)"
    assert "3 of 6 trials are on the front" in figure.layout.title.subtitle.text


def test_front_with_the_band_of_the_model() -> None:
    study = objectives()
    shown = study.plot.front(data=True)
    on_front = shown.select(np.asarray(shown["state"]) == "front")
    rows = study.history.rows[on_front["number"]]
    for name, sign in (("cost", 1), ("gain", -1)):
        mean, std = study.model(name).predict(rows)
        same(on_front[f"mean_{name}"], sign * mean)
        same(on_front[f"std_{name}"], std)
        assert np.all(np.isnan(shown[f"mean_{name}"][np.asarray(shown["state"]) != "front"]))
    same(trace(study.plot.front(), "model").error_x.array, on_front["std_cost"])


def test_front_of_three_objectives_has_a_panel_for_each_pair() -> None:
    study = ZOO["three"]()
    figure, shown = study.plot.front(model=False), study.plot.front(model=False, data=True)
    fronts = [each for each in figure.data if each.name == "front"]
    assert [(each.xaxis, each.yaxis) for each in fronts] == [("x", "y"), ("x2", "y2"), ("x3", "y3")]
    assert {trial.number for trial in study.pareto_front} == set(
        shown["number"][np.asarray(shown["state"]) == "front"].tolist()
    )
    two = study.plot.front(objectives=["size", "loss"], model=False, data=True)
    assert [name for name in two.names if name.startswith("value_")] == ["value_size", "value_loss"]


@pytest.mark.parametrize("given", ["cost", ["cost"], ["cost", "cost"], ["cost", "nothing"], 3])
def test_odd_objectives_of_a_front(given: Any) -> None:
    with pytest.raises(OptionError, match="cost"):
        objectives().plot.front(objectives=given)


# curves


def test_curves_and_what_was_stopped() -> None:
    study = sonde.Study(LINE, strategy="random", seed=0, stopping="none")
    for place in range(8):  # enough of them that the end of the stopped one is predicted
        trial = study.ask()
        for step in (1, 2, 3):
            trial.report(step, place + 6 / step)
        study.tell(trial, place + 2.0)
    last = stopped(study, [(1, 20.0), (2, 18.0)])
    shown = study.plot.curves(data=True)
    assert shown["number"].tolist() == [n for n in range(8) for _ in range(3)] + [8, 8]
    same(shown["step"], [1, 2, 3] * 8 + [1, 2])
    same(shown["value"], [n + 6 / step for n in range(8) for step in (1, 2, 3)] + [20, 18])
    assert shown["best"].tolist() == [True] * 3 + [False] * 23
    assert last.mean is not None
    same(shown["predicted"], [NAN] * 25 + [last.mean])
    same(shown["std"], [NAN] * 25 + [last.std])
    figure = study.plot.curves()
    same(trace(figure, "stopped here").x, [2])
    same(trace(figure, "predicted end, one std").y, [last.mean])
    same(trace(figure, "predicted end, one std").x, [3])
    same(trace(figure, "best, trial 0").y, [6, 3, 2])
    gaps = np.isnan(np.asarray(trace(figure, "completed").y))
    assert gaps.sum() == 6  # between the seven others
    assert "9 curves, 1 of them stopped" in figure.layout.title.subtitle.text


def test_a_stopped_curve_whose_end_nobody_can_predict_has_its_mark() -> None:
    study = sonde.Study(LINE, strategy="random", seed=0, stopping="none")
    assert stopped(study, [(1, 9.0), (2, 4.0)]).mean is None
    figure = study.plot.curves()
    same(trace(figure, "stopped here").x, [2])
    same(trace(figure, "stopped here").y, [4])
    assert "1 curve, 1 of them stopped early" in figure.layout.title.subtitle.text


def test_many_curves_are_quantiles() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(400, 4))
    study = told([{"value": float(row[-1]), "curve": list(enumerate(row.tolist(), 1))} for row in values],
                 sonde.Space(x=sonde.Float(0, 1000)))  # fmt: skip
    shown = study.plot.curves(data=True)
    same(shown["step"], [1, 2, 3, 4])
    same(shown["lowest"], values.min(axis=0))
    same(shown["low"], np.quantile(values, 0.25, axis=0))
    same(shown["median"], np.median(values, axis=0))
    same(shown["highest"], values.max(axis=0))
    same(shown["best"], values[np.argmin(values[:, -1])])
    assert shown["reports"].tolist() == [400] * 4
    assert "400 curves" in study.plot.curves().layout.title.subtitle.text


# parallel coordinates


def test_parallel() -> None:
    space = sonde.Space(
        lr=sonde.Float(1e-4, 1, log=True), opt=sonde.Categorical(["sgd", "adam", 3, "3"]),
        momentum=sonde.Float(0, 2, when={"opt": "sgd"}),
    )  # fmt: skip
    study = sonde.Study(space, strategy="random", seed=0)
    study.add_trials([
        {"params": {"lr": 1e-2, "opt": "adam"}, "value": 5.0},
        {"params": {"lr": 1e-4, "opt": "sgd", "momentum": 0.5}, "value": 1.0},
        {"params": {"lr": 1.0, "opt": "3"}, "failed": "diverged"},
        {"params": {"lr": 1.0, "opt": "3"}, "value": 3.0},
    ])  # fmt: skip
    shown = study.plot.parallel(data=True)
    assert shown["number"].tolist() == [1, 3, 0]  # the best first, without the failed one
    same(shown["value"], [1, 3, 5])
    same(shown["params_lr"], [1e-4, 1, 1e-2])
    assert shown["params_opt"] == ["sgd", "'3'", "adam"]
    same(shown["params_momentum"], [0.5, NAN, NAN])
    figure = study.plot.parallel()
    best = trace(figure, "best, trial 1")
    same(best.y, [0, 1 / 8, 0.25, 0])  # of four choices each has the middle of its quarter
    assert list(best.text) == ["lr: 0.0001", "opt: sgd", "momentum: 0.5", "value: 1"]
    others = [each for each in figure.data if each.name == "trials"]
    same(others[0].y[:2], [0.5, 3 / 8])  # the worst is drawn first; lr on its own scale
    assert others[0].y[2] < 0  # inactive is not zero
    texts = [note.text for note in figure.layout.annotations]
    assert {"inactive", "sgd", "adam", "3", "'3'", "0.0001", "1"} <= set(texts)
    chosen = study.plot.parallel(parameters=["opt", "lr"], data=True)
    assert chosen.names == ["number", "value", "params_opt", "params_lr"]


@pytest.mark.parametrize("given", ["x", [], ["y"], 3, [["x"]]])
def test_odd_parameters(given: Any) -> None:
    with pytest.raises(OptionError, match="parameters="):
        told([1.0]).plot.parallel(parameters=given)


def test_parallel_has_the_order_of_one_objective() -> None:
    study = objectives()
    assert study.plot.parallel(data=True)["number"].tolist() == [0, 1, 6, 2, 5]
    assert study.plot.parallel(objective="gain", data=True)["number"].tolist() == [5, 1, 6, 0, 2]


# workers and seconds


def test_timeline_and_seconds() -> None:
    study = sonde.Study(LINE, strategy="random", seed=0)
    first, second = study.ask(), study.ask()
    study.tell(second, 1.0)
    study.tell(first, failed="out of memory")
    study.add_trials([{"params": {"x": 1.0}, "value": 1.0}])  # which no worker has begun
    running = study.ask()
    trials = study.trials
    begun = [trials[n] for n in (0, 1, running.number)]
    starts = [trial.started.timestamp() for trial in begun]
    ends = [trials[n].finished.timestamp() for n in (0, 1)]
    shown = study.plot.timeline(data=True)
    assert shown["number"].tolist() == [0, 1, running.number]
    assert list(shown["state"]) == ["failed", "completed", "running"]
    np.testing.assert_allclose(shown["started"], np.array(starts) - starts[0], atol=1e-5)
    np.testing.assert_allclose(shown["finished"], np.array([*ends, max(starts + ends)]) - starts[0], atol=1e-5)
    assert shown["retry_of"].tolist() == [-1, -1, -1]
    seconds = study.plot.seconds(data=True)
    assert seconds["number"].tolist() == [0, 1, running.number]
    same(seconds["suggested_in"], [trial.suggested_in for trial in begun])
    np.testing.assert_allclose(seconds["objective"], [ends[0] - starts[0], ends[1] - starts[1], NAN], atol=1e-5)


def test_busy_shares_add_up() -> None:
    from sonde.plots.timeline import figure

    rng = np.random.default_rng(0)
    count, workers = 6000, 100
    lasted = rng.random(count)
    started = np.concatenate([np.cumsum(lasted[worker::workers] + 0.5) - lasted[worker::workers] - 0.5
                              for worker in range(workers)])  # fmt: skip
    own = np.concatenate([lasted[worker::workers] for worker in range(workers)])
    table = Table({"number": np.arange(count), "state": np.full(count, "completed"),
                   "worker": [f"w{n // 60}" for n in range(count)], "started": started, "finished": started + own,
                   "retry_of": np.full(count, -1)})  # fmt: skip
    drawn = figure(table, told([]))
    (shares,) = drawn.data
    assert np.asarray(shares.z).shape == (40, 200)
    sizes = [len(group) for group in np.array_split(np.arange(workers), 40)]
    spans = np.diff(np.asarray(shares.x, dtype=float))
    assert np.sum(np.asarray(shares.z) * spans * np.array(sizes)[:, None]) == pytest.approx(own.sum())
    assert "each row is a group of 2 or 3 workers" in drawn.layout.title.subtitle.text


# the distribution


def test_distribution_over_generations() -> None:
    """It is that of the search told the same samples, four in each generation."""
    bits = 20
    space = sonde.Space({f"b{i}": sonde.Bool() for i in range(bits)})
    study = sonde.Study(space, strategy=sonde.IGO(polish=False, adapt=None, sample_size=4), seed=0)
    study.optimize(lambda trial: sum(trial.values()), 16, progress=False)
    rows, values = study.history.rows, study.history.values
    assert len(np.unique(rows, axis=0)) == len(rows)  # a repeated sample would need no trial
    search = sonde.igo.IGO(Bernoulli(bits), adapt=None, sample_size=4)
    expected = [search.theta.copy()]
    for start in range(0, 16, 4):
        search.tell(rows[start : start + 4], values[start : start + 4])
        expected.append(search.theta.copy())
    shown = study.plot.distribution(data=True)
    is_true = np.array(shown["choice"]) == "True"
    same(shown["probability"][is_true].reshape(bits, -1).T, expected)
    same(shown["probability"][~is_true].reshape(bits, -1).T, 1 - np.array(expected))
    first = shown.select((np.array(shown["parameter"]) == "b0") & is_true)
    assert first["generation"].tolist() == [0, 1, 2, 3, 4]
    assert first["results"].tolist() == [0, 4, 8, 12, 16]


def test_distribution_of_categories() -> None:
    study = ZOO["igo"]()
    shown = study.plot.distribution(data=True)
    colour = shown.select(np.array(shown["parameter"]) == "colour")
    assert colour["choice"][:3] == ["red", "green", "blue"]
    shares = colour["probability"].reshape(-1, 3)
    same(shares[0], [1 / 3] * 3)
    same(shares.sum(axis=1), np.ones(len(shares)))


def test_distribution_of_a_number_is_on_its_own_scale() -> None:
    shown = ZOO["igo"]().plot.distribution(data=True)
    z = shown.select(np.array(shown["parameter"]) == "z")
    assert z["choice"] == [None] * len(z)
    assert np.all(np.isnan(z["probability"]))
    assert np.all((z["low"] >= 1e-3) & (z["low"] <= z["mean"]) & (z["mean"] <= z["high"]) & (z["high"] <= 1))
    assert z["mean"][0] == pytest.approx(math.sqrt(1e-3))  # the middle of a logarithmic scale


def test_strategies_without_a_distribution_say_so() -> None:
    figure = told([1.0]).plot.distribution()
    assert not figure.data
    assert "igo" in figure.layout.annotations[0].text


# several studies


def test_comparison() -> None:
    studies = [told([4.0, "diverged", 2.0], name="a"), told([3.0, 5.0], name="b"), told([], name="a")]
    shown = studies[0].plot.compare(*studies[1:], data=True)
    assert shown["study"] == ["a", "a", "a", "b", "b"]
    assert shown["trial"].tolist() == [1, 2, 3, 1, 2]
    same(shown["best"], [4, 4, 2, 3, 3])
    assert [each.name for each in studies[0].plot.compare(*studies[1:]).data] == ["a", "b"]
    with pytest.raises(OptionError, match="other objectives"):
        studies[0].plot.compare(objectives())
    with pytest.raises(OptionError, match=r"sonde\.Study\.load opens one"):
        studies[0].plot.compare("b")


def test_comparison_of_hypervolumes_has_one_reference_point() -> None:
    study = objectives(name="a")
    shown = study.plot.compare(objectives(name="b"), data=True)
    same(shown["best"], [3, 5, 5, 5, 5, 5, 5] * 2)
    assert "cost 4, gain 0" in shown.note
    same(study.plot.compare(objective="cost", data=True)["best"], [1] * 7)


# no trials, one trial, names


@pytest.mark.parametrize("kind", ["empty", "one", "failures", "hostile"])
def test_tables_of_little_are_tables(kind: str, tmp_path: Path) -> None:
    study = ZOO[kind]()
    for name in ("history", "parallel", "curves", "timeline", "seconds", "distribution", "compare"):
        shown = getattr(study.plot, name)(data=True)
        assert len(shown) == len(shown.rows())
        shown.write(tmp_path / "a.json")
        written = json.loads((tmp_path / "a.json").read_text("utf-8"), parse_constant=pytest.fail)
        assert len(written) == len(shown)
        figure = getattr(study.plot, name)()
        go.Figure(figure.to_dict())  # raises where Plotly knows no such entry
        if not len(shown):
            assert figure.layout.annotations[0].text.endswith((".", "does."))


def test_one_trial() -> None:
    study = told([2.0])
    figure = study.plot.history()
    same(trace(figure, "best so far").y, [2])
    same(study.plot.parallel(data=True)["params_x"], [0])


def test_long_names_are_cut_in_figures_and_whole_in_tables() -> None:
    study = ZOO["hostile"]()
    shown = study.plot.parallel(data=True)
    assert f"params_{HOSTILE}" in shown
    ticks = study.plot.parallel().layout.xaxis.ticktext
    assert ticks[0].startswith("&lt;b&gt;bold")
    assert "<" not in "".join(ticks)
    assert ticks[1] == "שלום"


def test_points_have_the_number_of_their_trial_for_whoever_clicks_on_one() -> None:
    history = told([3.0, "out of memory", 1.0, 2.0]).plot.history()
    assert [trace(history, name).customdata.tolist() for name in ("completed", "failed")] == [[0, 2, 3], [1]]
    assert trace(history, "best so far").customdata.tolist() == [0, 2, 2]  # at the end, the trial that was the best
    front = objectives().plot.front(model=False)
    assert trace(front, "front").customdata.tolist() == [0, 1, 5]
    assert trace(front, "dominated").customdata.tolist() == [2, 6]
    study = ZOO["plain"]()
    for name in ("curves", "timeline", "seconds", "parallel", "slices", "contours", "predictions", "feasibility"):
        known = [np.asarray(each.customdata, dtype=float) for each in getattr(study.plot, name)().data
                 if each.type != "heatmap" and each.customdata is not None]  # fmt: skip
        numbers = np.concatenate(known)
        numbers = numbers[np.isfinite(numbers)]
        assert len(np.unique(numbers)) > 5, name
        assert set(numbers.tolist()) <= set(range(len(study.trials))), name


def test_without_any_value_the_axis_of_values_has_no_ticks() -> None:
    figure = told(["out of memory", "out of memory"]).plot.history()
    assert figure.layout.yaxis.showticklabels is False
    assert [each.name for each in figure.data] == ["failed"]


def test_bars_of_a_moment_can_be_seen() -> None:
    from sonde.plots.timeline import figure

    study = told([1.0])
    table = study.plot.timeline(data=True)
    columns = {"number": [0, 1], "state": np.array(["completed", "failed"]), "worker": ["w", "w"],
               "retry_of": np.array([-1, -1])}  # fmt: skip
    assert len(table) == 0
    for lasted, width in ((0.001, 1.5), (40.0, 0.5)):
        started = np.array([0.0, 50.0])
        shown = figure(Table({**columns, "started": started, "finished": started + lasted}), study)
        assert [bar.marker.line.width for bar in shown.data] == [width, width]
        assert (shown.data[1].marker.line.color == shown.data[1].marker.color) == (lasted < 1)


@pytest.mark.parametrize(
    ("low", "high", "log", "expected"),
    [
        (16, 512, True, [20, 50, 100, 200, 500]),
        (1e-5, 1e-1, True, [1e-5, 1e-4, 1e-3, 1e-2, 1e-1]),
        (10, 14, True, [10, 11, 12, 13, 14]),
        (0, 0.8, False, [0, 0.2, 0.4, 0.6, 0.8]),
    ],
)
def test_ticks_are_round_and_apart(low: float, high: float, log: bool, expected: list[float]) -> None:
    assert nice(low, high, log=log) == expected


# many trials


def test_many_trials_are_aggregated_and_none_is_left_out() -> None:
    rng = np.random.default_rng(0)
    values = rng.lognormal(size=6000)
    values[1234], values[4321] = 1e-3, 1e3  # which a sample would miss
    study = sonde.Study(LINE, strategy="random", seed=0)
    study.add_trials([{"params": {"x": float(x)}, "value": float(value)} for x, value in zip(
        10 * rng.random(6000), values, strict=True)])  # fmt: skip
    figure = study.plot.history()
    band = np.asarray(trace(figure, "range of values").y)
    assert (band.min(), band.max()) == (1e-3, 1e3)
    assert len(band) == 2 * GROUPS
    assert "6,000 trials, 0 of them failed; the band is the range of each 12" in figure.layout.title.subtitle.text
    same(trace(figure, "best so far").y[-1], values.min())
    counted = study.plot.parallel()
    assert "the best 200 of 6,000 trials are lines; grey: where all trials are" in counted.layout.title.subtitle.text


# tables


def test_tables_are_written_without_nan(tmp_path: Path) -> None:
    study = told([3.0, "out of memory"])
    shown = study.plot.history(data=True)
    shown.write(tmp_path / "a.json")
    rows = json.loads((tmp_path / "a.json").read_text("utf-8"), parse_constant=pytest.fail)
    assert [row["value"] for row in rows] == [3.0, None]
    shown.write(tmp_path / "a.csv")
    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as file:
        assert [row["value"] for row in csv.DictReader(file)] == ["3.0", ""]
    with pytest.raises(OptionError, match=r"must end in \.csv or \.json"):
        shown.write(tmp_path / "a.txt")


def test_tables_are_printed() -> None:
    shown = Table({"name": ["<b>", "b"], "value": np.array([1 / 3, NAN]), "none": [None, True]}, "what it is")
    assert repr(shown).splitlines() == ["name  value     none", "<b>   0.333333", "b     nan       True", "what it is"]
    page = shown._repr_html_()
    assert "&lt;b&gt;" in page
    assert "nan" not in page
    assert "what it is" in page
    assert shown.select([1]).rows()[0]["name"] == "b"
    assert list(shown.dataframe().columns) == ["name", "value", "none"]
    with pytest.raises(OptionError, match="one length"):
        Table({"a": [1], "b": []})
