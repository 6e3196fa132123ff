"""Predicted against observed: the numbers of the diagnosis, and calibration of a process that the model knows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm, spearmanr
from tests.plots.modelled import PLANE, bowl, study_of

import sonde
from sonde.errors import OptionError
from sonde.plots.predictions import LEVELS, calibration
from sonde.strategies.bayesian.predictions import Predictions
from sonde.study.predicting import Diagnosis
from sonde.surrogates.gaussian_process.posterior import ExactPosterior


def test_the_table_is_the_diagnosis() -> None:
    study = study_of(PLANE, bowl, 25)
    table, told = study.plot.predictions(data=True), study.diagnose()
    assert table["trial"].tolist() == told.numbers.tolist()
    assert table["mean"].tolist() == told.means.tolist()
    assert (table["high"] - table["low"]).tolist() == pytest.approx((2 * 1.96 * told.stds).tolist())
    assert f"rank correlation {told.correlation:.2f}" in table.note
    assert f"{100 * told.coverage:.0f}% within" in table.note
    assert study.plot.predictions().layout.title.subtitle.text == table.note


def test_a_prediction_is_that_of_the_process_without_the_trial() -> None:
    study = study_of(PLANE, lambda p: bowl(p) + 0.05 * np.sin(40 * p["x"]), 12)
    model, table = study.model(), study.plot.predictions(data=True)
    assert isinstance(model, Predictions)
    (posterior,) = model.surrogate.posteriors
    assert isinstance(posterior, ExactPosterior)
    means, stds = [], []
    for out in range(12):
        others = np.arange(12) != out
        rest = ExactPosterior.of(posterior.covariance, posterior.x[others], model.surrogate.values[others])
        at = rest.marginals(posterior.x[[out]])
        mean, std = model.surrogate.scale.restore(at.mean[:, 0], at.variance + rest.noise)
        means.append(mean[0])
        stds.append(std[0])
    assert table["mean"].tolist() == pytest.approx(means, rel=1e-6)
    assert table["std"].tolist() == pytest.approx(stds, rel=1e-6)


def test_a_prediction_is_near_that_of_a_study_without_the_trial() -> None:
    function = lambda p: np.sin(4 * p["x"]) + p["y"]  # noqa: E731
    study = study_of(PLANE, function, 30)
    table = study.plot.predictions(data=True)
    for out in (3, 17):
        without = sonde.Study(PLANE, strategy="gp", seed=1)
        without.add_trials([{"params": t.params, "value": t.value} for t in study.trials if t.number != out])
        held = without.predict(study.trial(out).params)
        assert table["mean"][out] == pytest.approx(held.mean, abs=2 * held.std)
        assert table["std"][out] == pytest.approx(held.std, rel=1.0)


def test_equal_values_have_the_mean_of_their_ranks_and_one_value_no_order() -> None:
    values, means = np.array([1.0, 1.0, 2.0, 3.0, 3.0]), np.array([2.0, 1.0, 1.0, 5.0, 4.0])
    told = Diagnosis(np.arange(5), values, means, np.ones(5), np.zeros(5))
    assert told.correlation == pytest.approx(spearmanr(values, means).statistic)
    assert np.isnan(replace(told, values=np.ones(5)).correlation)
    assert "no order" in study_of(PLANE, lambda p: 1.0, 5).plot.predictions(data=True).note


def test_a_logarithmic_axis_says_what_it_does_not_show() -> None:
    study = study_of(PLANE, lambda p: p["x"] - 0.5, 20)
    figure, values = study.plot.predictions(log=True), study.plot.predictions(data=True)
    hidden = int(np.sum((values["value"] <= 0) | (values["mean"] <= 0)))
    assert figure.layout.xaxis.type == figure.layout.yaxis.type == "log"
    assert f"{hidden} values of zero or less" in figure.layout.title.subtitle.text
    assert np.isfinite(figure.layout.yaxis.range).all()


def test_true_scores_lie_on_the_diagonal_and_too_sure_ones_below() -> None:
    scores = norm.ppf((np.arange(2000) + 0.5) / 2000)
    right, sure = (np.array(calibration(factor * scores)[2]["y"]) for factor in (1.0, 2.0))
    assert right == pytest.approx(LEVELS, abs=0.002)
    assert np.all(sure[5:] < LEVELS[5:] - 0.02)


def test_noisy_values_of_a_smooth_function_are_calibrated() -> None:
    rng = np.random.default_rng(3)
    study = study_of(PLANE, lambda p: bowl(p) + 0.1 * rng.standard_normal(), 150)
    scores = study.plot.predictions(data=True)["score"]
    share = np.array(calibration(scores)[2]["y"])
    assert np.max(np.abs(share - LEVELS)) < 0.14


def test_many_results_are_counts() -> None:
    rng = np.random.default_rng(3)
    space = sonde.Space(x=sonde.Float(0, 1))
    study = study_of(space, lambda p: p["x"] + 0.1 * rng.standard_normal(), 3500, strategy="random")
    figure = study.plot.predictions()
    assert figure.data[0].type == "heatmap"
    assert np.nansum(figure.data[0].customdata) == 3500


def test_positive_values_over_decades_have_logarithmic_axes() -> None:
    study = study_of(PLANE, lambda p: float(np.exp(8 * p["x"])), 40)
    table = study.plot.predictions(data=True)
    figure = study.plot.predictions()
    assert figure.layout.xaxis.type == figure.layout.yaxis.type == ("log" if (table["mean"] > 0).all() else "linear")
    assert study.plot.predictions(log=False).layout.xaxis.type == "linear"


def test_before_three_results_the_figure_says_what_is_missing() -> None:
    for count in range(3):
        figure = study_of(PLANE, bowl, count).plot.predictions()
        assert "3 completed trials" in figure.layout.annotations[0].text


def test_of_several_objectives_one_is_chosen() -> None:
    study = study_of(
        PLANE, lambda p: {"value": {"a": p["x"], "b": 5 + p["y"]}}, 12, objectives={"a": "minimize", "b": "maximize"}
    )
    assert study.plot.predictions(objective="b", data=True)["value"].min() >= 5
    assert study.plot.predictions(data=True)["value"].max() <= 1
    with pytest.raises(OptionError, match="no objective 'c'"):
        study.plot.predictions(objective="c")
