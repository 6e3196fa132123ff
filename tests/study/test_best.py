"""The best trial: by the model if values are noisy, else by its value."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import sonde
from sonde.errors import NoResult, OptionError
from sonde.study import best as best_module
from sonde.study.configurations import configurations_of
from sonde.study.predicting import EXACT

Params = Mapping[str, Any]

PLANE = sonde.Space(x=sonde.Float(0, 1), y=sonde.Float(0, 1))
KINDS = sonde.Space({name: sonde.Categorical(["a", "b", "c"]) for name in ("one", "two", "three")})
LINE = sonde.Space(x=sonde.Float(0, 1))
SIGMA = 0.5


def bowl(params: Params) -> float:
    """At least 0."""
    return 4 * float((params["x"] - 0.3) ** 2 + (params["y"] - 0.6) ** 2)


def letters(params: Params) -> float:
    """At least 0: the number of parameters that are not b, and one more for each a."""
    return float(sum({"a": 2, "b": 0, "c": 1}[kind] for kind in params.values()))


def noisy_study(
    space: sonde.Space, function: Callable[[Params], float], strategy: str, seed: int, *, told: bool, repeats: int
) -> sonde.Study:
    """60 configurations, more of them near the best as a search has it, the first few of them a second time."""
    rng = np.random.default_rng(seed)
    study = sonde.Study(space, strategy=strategy, seed=seed)
    units = rng.random((60, len(space)))
    units[30:] = units[30:] / 2 + 0.2
    tried = [space.codec.configuration(row) for row in space.codec.decode(units)]
    noise = {"noise": SIGMA} if told else {}
    study.add_trials(
        {"params": params, "value": function(params) + SIGMA * rng.standard_normal(), **noise}
        for params in tried + tried[:repeats]
    )
    return study


@pytest.mark.parametrize(
    ("strategy", "space", "function", "told"),
    [
        ("gp", PLANE, bowl, True),
        ("gp", PLANE, bowl, False),
        ("dngo", PLANE, bowl, True),
        ("auto", PLANE, bowl, False),
        ("random", PLANE, bowl, True),
        ("igo", KINDS, letters, True),
        ("igo", KINDS, letters, False),
    ],
)
def test_the_best_value_is_not_the_lowest_draw(
    strategy: str, space: sonde.Space, function: Callable[[Params], float], told: bool
) -> None:
    chance, error, regrets, observed_regrets = [], [], [], []
    for seed in range(5):
        study = noisy_study(space, function, strategy, seed, told=told, repeats=0 if told else 8)
        observed, best = study.best(by="observed"), study.best_trial
        chance.append(abs(observed.value - function(observed)))  # type: ignore[operator]
        error.append(abs(study.best_value - function(best)))
        regrets.append(function(best))
        observed_regrets.append(function(observed))
        assert best.mean == study.best_value
        assert best.std is not None
        assert error[-1] < 4 * best.std
    assert np.mean(chance) > SIGMA
    assert np.mean(error) < 0.3 * np.mean(chance)
    assert np.mean(regrets) <= np.mean(observed_regrets)


def test_declared_noise_is_averaged_out_in_a_search() -> None:
    rng = np.random.default_rng(0)
    result = sonde.minimize(
        lambda trial: sonde.Evaluation(bowl(trial) + SIGMA * rng.standard_normal(), noise=SIGMA),
        PLANE, n_trials=20, strategy="gp", seed=0, progress=False,
    )  # fmt: skip
    assert result.fun == result.best_value == result.study.best_value == result.best_trial.mean
    assert result.x == result.best_params == result.study.best_params
    observed = result.study.best(by="observed")
    assert observed.value == min(trial.value for trial in result.trials)
    assert observed.value < 0  # which the function never is
    assert abs(result.fun - bowl(result.x)) < 0.5 * abs(observed.value - bowl(observed))


def test_without_noise_the_best_is_the_best_observed_value() -> None:
    study = sonde.Study(PLANE, seed=0, strategy="gp")
    study.optimize(bowl, 6, progress=False)
    best = study.best_trial
    assert best.value == study.best_value == min(trial.value for trial in study.trials)
    assert best == study.best(by="observed") == study.trial(best.number)
    assert (best.mean, best.std) == (None, None)


def test_maximizing_the_negative_has_the_same_best() -> None:
    down = noisy_study(PLANE, bowl, "gp", 1, told=True, repeats=0)
    up = sonde.Study(PLANE, direction="maximize", strategy="gp", seed=1)
    up.add_trials({"params": dict(t.params), "value": -t.value, "noise": t.noise} for t in down.trials)  # type: ignore[operator]
    assert up.best_params == down.best_params
    assert up.best_value == pytest.approx(-down.best_value)
    assert up.best_trial.std == pytest.approx(down.best_trial.std)


def test_the_best_is_the_first_trial_of_its_configuration() -> None:
    study = sonde.Study(LINE, strategy="gp", seed=0)
    for x, value in ((0.5, 0.4), (0.1, 6.0), (0.5, -0.6), (0.9, 7.0), (0.5, 0.2)):
        study.add_trials([{"params": {"x": x}, "value": value}])
    best = study.best_trial
    assert (best.number, best.value) == (0, 0.4)
    assert best.mean == pytest.approx(0.0, abs=0.25)  # the mean of three
    assert study.best(by="observed").number == 2


def test_of_two_results_the_means_of_repetitions_are_compared() -> None:
    study = sonde.Study(LINE, strategy="gp", seed=0)
    study.add_trials([{"params": {"x": 0.5}, "value": value} for value in (1.0, 3.0)])
    assert (study.best_value, study.best_trial.value) == (2.0, 1.0)


def test_results_with_less_noise_weigh_more() -> None:
    study = sonde.Study(LINE, strategy="gp", seed=0)
    study.add_trials({"params": {"x": 0.5}, "value": v, "noise": s} for v, s in ((-100.0, 1e3), (0.3, 0.01)))
    assert study.best_value == pytest.approx(0.3, abs=1e-3)
    assert study.best_trial.std == pytest.approx(0.01, rel=1e-3)


@pytest.mark.parametrize("told", [True, False])
def test_a_model_that_is_too_smooth_near_the_best_does_no_harm(told: bool) -> None:
    """A few values of a million make everything small the same to a process on the values' own scale."""
    rng = np.random.default_rng(0)
    study = sonde.Study(LINE, strategy="gp", seed=0)

    def steep(x: float) -> float:
        return 0.1 + (x - 0.37) ** 2 if x < 0.7 else 1e6 * x

    tried = rng.random(30).tolist()
    study.add_trials(
        {"params": {"x": x}, "value": steep(x) + 0.001 * rng.standard_normal(), **({"noise": 0.001} if told else {})}
        for x in tried + ([] if told else tried[:8])
    )
    assert study.best_trial.mean is not None
    assert study.best_value == pytest.approx(steep(study.best_params["x"]), abs=0.003)
    assert abs(study.predict(study.best_params).mean - study.best_value) > 0.003


def test_an_infeasible_trial_is_not_the_best() -> None:
    study = sonde.Study(LINE, strategy="gp", seed=0)
    study.add_trials(
        {"params": {"x": x}, "value": x, "noise": 0.01, "constraints": {"c": 0.5 - x}}
        for x in (0.1, 0.3, 0.6, 0.8, 0.9)
    )
    assert study.best_params == {"x": 0.6}
    study.add_trials([{"params": {"x": 0.3}, "value": 0.3, "noise": 0.01, "constraints": {"c": -0.01}}])
    assert study.best_trial.number == 5  # the one that met it, not the first of its configuration


def test_nothing_feasible_says_why() -> None:
    study = sonde.Study(LINE, seed=0)
    for by in (None, "model", "observed"):
        with pytest.raises(NoResult, match="no trial has completed"):
            study.best(by=by)
    study.add_trials([{"params": {"x": 0.3}, "value": 0.3, "noise": 0.01, "constraints": {"c": 1}}])
    with pytest.raises(NoResult, match="none of 1 completed trials meets its constraints"):
        _ = study.best_value


def test_by_chooses_model_or_observed() -> None:
    study = sonde.Study(LINE, strategy="sobol", seed=0)
    study.add_trials({"params": {"x": x}, "value": (x - 0.4) ** 2} for x in (0.1, 0.3, 0.6, 0.8))
    modelled = study.best(by="model")
    assert modelled.params == {"x": 0.3}
    assert modelled.mean == pytest.approx(modelled.value, abs=0.01)
    with pytest.raises(OptionError, match="by must be one of model, observed, or None"):
        study.best(by="chance")


class Flat:
    """A model of the user's own that knows better: everything is as good as it is far to the right."""

    def predict(self, rows: Any) -> tuple[Any, Any]:
        return 1 - rows[:, 0], np.full(len(rows), 0.25)

    def leave_one_out(self) -> Any:
        raise NotImplementedError


class Mine(sonde.Strategy):
    name = "mine"

    def suggest(self, space: Any, history: Any, count: int, key: Any) -> Any:
        return space.codec.decode(np.full((count, len(space)), 0.5))

    def explain(self, space: Any, history: Any) -> str:
        return "stays where it is"

    def model(self, space: Any, history: Any) -> Any:
        return Flat()


class Modelless(Mine):
    def model(self, space: Any, history: Any) -> Any:
        return None


@pytest.mark.parametrize(("strategy", "x"), [(Mine(), 0.9), (Modelless(), 0.3)])
def test_strategies_of_the_users_own(strategy: sonde.Strategy, x: float) -> None:
    study = sonde.Study(LINE, strategy=strategy, seed=0)
    study.add_trials({"params": {"x": x}, "value": (x - 0.4) ** 2, "noise": 0.01} for x in (0.1, 0.3, 0.6, 0.8, 0.9))
    assert study.best_params == {"x": x}
    assert study.best_value == pytest.approx(0.1 if x == 0.9 else 0.01, abs=0.02)


def test_the_best_is_cached_until_a_result_arrives(monkeypatch: pytest.MonkeyPatch) -> None:
    fits: list[int] = []
    count = configurations_of
    monkeypatch.setattr(best_module, "configurations_of", lambda history: fits.append(1) or count(history))
    study = noisy_study(PLANE, bowl, "gp", 0, told=True, repeats=0)
    values = {study.best_value for _ in range(3)}
    trial = study.ask()
    values |= {study.best_value}
    assert (len(values), len(fits)) == (1, 1)
    study.tell(trial, -50.0, noise=0.01)
    assert (study.best_trial.number, len(fits)) == (trial.number, 2)


def test_many_results_of_a_strategy_without_a_model_take_seconds() -> None:
    rng = np.random.default_rng(0)
    study = sonde.Study(sonde.Space({f"b{i}": sonde.Bool() for i in range(10)}), strategy="igo", seed=0)
    rows = rng.random((EXACT + 500, 10)) < 0.5
    names = study.space.names
    study.add_trials(
        {"params": dict(zip(names, row.tolist(), strict=True)), "value": 10 - row.sum() + rng.standard_normal()}
        for row in rows
    )
    start = time.process_time()
    best, observed = study.best_trial, study.best(by="observed")
    assert time.process_time() - start < 30
    assert abs(study.best_value - (10 - sum(best.params.values()))) < 0.6
    assert abs(observed.value - (10 - sum(observed.params.values()))) > 1  # type: ignore[operator]


def test_a_reopened_study_has_the_same_best(tmp_path: Any) -> None:
    study = sonde.Study(PLANE, storage=tmp_path / "runs.db", name="s", strategy="gp", seed=0)
    source = noisy_study(PLANE, bowl, "gp", 2, told=False, repeats=6)
    study.add_trials({"params": dict(t.params), "value": t.value} for t in source.trials)
    again = sonde.load(tmp_path / "runs.db", "s")
    assert again.best_trial == study.best_trial
    assert again.best_value == source.best_value
