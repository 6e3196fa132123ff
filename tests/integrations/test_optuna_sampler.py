"""Optuna's own tests of samplers, and what Sonde's adds: conditions, gradients, several processes."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from multiprocessing import Process
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.samplers import BaseSampler
from optuna.testing.pytest_samplers import BasicSamplerTestCase, MultiObjectiveSamplerTestCase, RelativeSamplerTestCase

import sonde
from sonde.errors import OptionError
from sonde.integrations.optuna import SondeSampler, load, to_optuna
from sonde.space import Categorical, Float, Int, Space


@pytest.fixture(autouse=True)
def quiet() -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)


@pytest.mark.filterwarnings("ignore::sonde.errors.OddHistory")  # one of them always returns -1
class TestSondeSampler(BasicSamplerTestCase, RelativeSamplerTestCase, MultiObjectiveSamplerTestCase):
    """All of Optuna's shipped tests for a sampler of one and of several objectives."""

    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: SondeSampler(seed=0)


def conditional(trial: optuna.Trial) -> float:
    kind = trial.suggest_categorical("kind", ["tree", "net"])
    x = trial.suggest_float("x", -5, 5)
    if kind == "tree":
        return (x - 1) ** 2 + trial.suggest_float("rate", 1e-3, 1, log=True)
    layers = trial.suggest_int("layers", 1, 9, step=2)
    if layers > 5:
        raise ValueError("too deep")
    return x**2 + layers


def test_conditions_are_found_and_failures_learned_from() -> None:
    sampler = SondeSampler(seed=1)
    study = optuna.create_study(sampler=sampler)
    assert "nothing is known yet" in sampler.explain()
    study.optimize(conditional, 25, catch=(ValueError,))
    assert study.best_value < 0.05
    assert study.best_params["kind"] == "tree"
    assert sampler.explain().startswith("auto: gp")
    assert sampler.sonde_study.space == Space(
        kind=Categorical(["tree", "net"]),
        layers=Int(1, 9, step=2, when={"kind": ["net"]}),
        rate=Float(1e-3, 1, log=True, when={"kind": ["tree"]}),
        x=Float(-5, 5),
    )


def test_the_same_seed_gives_the_same_trials() -> None:
    def run() -> list[dict[str, Any]]:
        study = optuna.create_study(sampler=SondeSampler(seed=3))
        study.optimize(lambda trial: trial.suggest_float("x", 0, 1) + trial.suggest_int("n", 0, 3), 8)
        return [trial.params for trial in study.trials]

    assert run() == run()


def test_a_declared_space_is_searched_from_the_first_trial_on_and_goes_through_gradients() -> None:
    def objective(trial: optuna.Trial) -> float:
        x = [trial.suggest_float(name, -5, 5) for name in "abcd"]
        trial.set_user_attr("gradient", {name: 2 * (own - 1) for name, own in zip("abcd", x, strict=True)})
        return sum((own - 1) ** 2 for own in x)

    sampler = SondeSampler(seed=0, space={name: FloatDistribution(-5, 5) for name in "abcd"})
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, 8)
    assert sampler.explain().startswith("auto: fobo")
    assert study.best_value < 1e-6


def test_pruned_trials_are_stopped_ones_with_their_curves() -> None:
    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        for step in range(1, 6):
            trial.report(x + 1 / step, step)
            if x > 0.5 and step == 3:
                raise optuna.TrialPruned
        return x

    sampler = SondeSampler(seed=0)
    study = optuna.create_study(sampler=sampler, pruner=optuna.pruners.NopPruner())
    study.optimize(objective, 12)
    own = sampler.sonde_study.trials
    pruned = [t for t in study.trials if t.state is optuna.trial.TrialState.PRUNED]
    assert {dict(t)["x"] for t in own if t.state is sonde.State.STOPPED} == {t.params["x"] for t in pruned}
    assert all(len(t.curve) == 3 for t in own if t.state is sonde.State.STOPPED)


@pytest.mark.parametrize("by_function", [True] + [False] * hasattr(optuna.Trial, "set_constraint"))  # new in 5
def test_constraints(by_function: bool) -> None:
    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        if by_function:
            trial.set_user_attr("level", 0.5 - x)
        else:
            trial.set_constraint("level", 0.5 - x)
        return x

    function = (lambda trial: [trial.user_attrs["level"]]) if by_function else None
    sampler = SondeSampler(seed=0, constraints_func=function)
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, 12)
    assert 0.5 <= sampler.sonde_study.best_value < 0.51
    named = "0" if by_function else "level"
    assert {name for t in sampler.sonde_study.trials for name in t.constraints or {}} == {named}


def test_several_objectives() -> None:
    sampler = SondeSampler(seed=0)
    study = optuna.create_study(sampler=sampler, directions=["minimize", "maximize"])
    study.optimize(lambda trial: (trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)), 10)
    assert sampler.sonde_study.directions == {"0": "minimize", "1": "maximize"}
    assert {t.values[1] for t in study.best_trials} == {t.value["1"] for t in sampler.sonde_study.pareto_front}


def work(url: str, seed: int) -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.load_study(study_name="shared", storage=url, sampler=SondeSampler(seed=seed))
    study.optimize(lambda trial: trial.suggest_float("x", -5, 5) ** 2 + trial.suggest_int("n", 0, 9), 10)


def test_processes_with_one_database_and_one_seed_do_not_repeat_each_other(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/optuna.db"
    study = optuna.create_study(study_name="shared", storage=url)
    processes = [Process(target=work, args=(url, 7)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0]
    assert len(study.trials) == 20
    assert len({(t.params["x"], t.params["n"]) for t in study.trials}) >= 19  # they may have seen different results
    assert study.best_value < 0.1
    published = [key for t in study.trials for key in t.system_attrs if key.startswith("sonde:params")]
    assert published
    assert all(len(own) < 2046 for t in study.trials for own in t.system_attrs.values())


def test_a_running_trial_of_another_process_is_pending() -> None:
    space: dict[str, BaseDistribution] = {"x": FloatDistribution(0, 1)}
    sampler = SondeSampler(seed=0, space=space)
    study = optuna.create_study(sampler=sampler)
    for _ in range(3):
        study.ask(space)
    assert len(sampler.sonde_study.history.pending) == 2


def test_a_sampler_can_be_pickled() -> None:
    again = pickle.loads(pickle.dumps(SondeSampler("gp", seed=5)))
    assert str(again) == "SondeSampler('gp', seed=5)"


@pytest.mark.parametrize(
    ("options", "says"),
    [({"strategy": "tpe"}, "strategy must be one of"), ({"seed": -1}, "seed must be"), ({"space": 3}, "a space is"),
     ({"constraints_func": 3}, "constraints_func must be")],
)  # fmt: skip
def test_wrong_options_are_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        SondeSampler(**options)


def test_options_of_other_samplers_get_a_hint() -> None:
    with pytest.raises(TypeError, match="SondeSampler takes no n_startup_trials=; leave it out"):
        SondeSampler(n_startup_trials=5)  # type: ignore[call-arg]


def test_a_study_without_parameters_needs_a_space() -> None:
    with pytest.raises(OptionError, match="has no parameters yet; give space="):
        load(optuna.create_study())
    assert load(optuna.create_study(), space={"x": (0.0, 1.0)}).space.names == ("x",)


def test_studies_go_both_ways() -> None:
    study = optuna.create_study(sampler=SondeSampler(seed=1), study_name="there")
    study.optimize(conditional, 12, catch=(ValueError,))
    own = load(study)
    assert own.name == "there"
    assert own.best_value == study.best_value
    assert [dict(trial) for trial in own.trials] == [trial.params for trial in study.trials]
    assert own.history.count(sonde.State.FAILED) == sum(not t.value for t in study.trials)
    own.ask()
    back = to_optuna(own)
    assert [(t.params, t.value, t.state) for t in back.trials] == [(t.params, t.value, t.state) for t in study.trials]
    assert [t.datetime_complete is not None for t in back.trials] == [True] * 12


def test_nothing_is_lost_on_the_way_to_optuna_and_back() -> None:
    own = sonde.Study({"x": (0.0, 1.0), "flag": bool}, direction="max")
    first, second = own.ask(2)
    first.report(1, 0.5)
    own.tell(first, 0.7, gradient={"x": 2.0}, noise=0.1, constraints={"memory": -1.0}, attributes={"epochs": 3})
    own.tell(second, failed="out of memory")
    number = own.enqueue({"x": 0.25, "flag": True})
    there = to_optuna(own, study_name="there")
    assert there.trials[number].state is optuna.trial.TrialState.WAITING
    assert there.trials[1].system_attrs["fail_reason"] == "out of memory"
    with pytest.warns(UserWarning, match="1 of 3 trials run, wait"):
        again = load(there, space=own.space)
    for one, other in zip(own.trials[:2], again.trials, strict=True):
        for name in ("params", "state", "value", "gradient", "noise", "error", "attributes", "curve"):
            assert getattr(one, name) == getattr(other, name), name
    assert again.trials[0].constraints == {"0": -1.0}


def test_optuna_itself_is_an_extra() -> None:
    code = "import sys; sys.modules['optuna'] = None; import importlib.util as u; u.find_spec = lambda n: None\n"
    code += "import sonde.integrations.optuna as o; o.SondeSampler"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False).stderr
    assert "pip install 'sonde[optuna]'" in said
