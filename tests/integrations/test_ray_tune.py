"""``SondeSearch``: its methods as Ray Tune calls them, and then a real Ray on this machine."""

from __future__ import annotations

import copy
import math
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import ray
from ray import tune
from ray.tune.result import DEFAULT_METRIC
from ray.tune.schedulers import ASHAScheduler
from ray.tune.search import ConcurrencyLimiter, Repeater, Searcher

import sonde
from sonde.errors import ConfigurationError, MissingExtra, NoResult, OptionError, SpaceError
from sonde.integrations.ray import SondeSearch
from sonde.trials import State

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")  # of Ray
PARAM_SPACE = {"x": tune.uniform(0, 1), "net": {"width": tune.randint(1, 9), "bias": True}, "data": "digits"}


def begun(config: Mapping[str, Any] = PARAM_SPACE, *, stop: Any = None, **options: Any) -> SondeSearch:
    """Return a search as it is when a ``Tuner`` runs."""
    search = SondeSearch(**{"strategy": "sobol", "seed": 0} | options)
    assert search.set_search_properties("loss", "min", dict(config), stop=stop or {}, num_samples=10)
    return search


def result(iteration: int, loss: Any, *, done: bool = False) -> dict[str, Any]:
    return {"training_iteration": iteration, "loss": loss, "done": done}


def returns(search: Searcher, trial_id: str, *losses: Any) -> None:
    """Report the losses of a trial whose function returns then: its last result comes once more."""
    for iteration, loss in enumerate(losses, 1):
        search.on_trial_result(trial_id, result(iteration, loss))
    search.on_trial_complete(trial_id, result(len(losses), losses[-1], done=True))


def is_ended(search: Searcher, trial_id: str, *losses: Any) -> None:
    """Report the losses of a trial that a scheduler ends: the last result does not come on the way."""
    for iteration, loss in enumerate(losses[:-1], 1):
        search.on_trial_result(trial_id, result(iteration, loss))
    search.on_trial_complete(trial_id, result(len(losses), losses[-1], done=True))


def states(search: SondeSearch) -> list[str]:
    return [str(trial.state) for trial in search.study.trials]


# suggestions


def test_parameters_are_nested_and_constants_are_left_to_ray() -> None:
    search = begun()
    suggested = search.suggest("a")
    assert isinstance(suggested, dict)
    assert suggested.keys() == {"x", "net"}
    assert suggested["net"].keys() == {"width"}
    assert search.study.trials[0].params == {"x": suggested["x"], "net/width": suggested["net"]["width"]}


def test_every_domain_of_ray() -> None:
    domains = {
        "uniform": tune.uniform(-2, 1), "quniform": tune.quniform(0, 1, 0.25), "loguniform": tune.loguniform(1e-4, 1),
        "qloguniform": tune.qloguniform(0.5, 8, 0.5), "randint": tune.randint(0, 3), "qrandint": tune.qrandint(0, 9, 3),
        "lograndint": tune.lograndint(1, 100), "choice": tune.choice(["a", None, (1, 2), {"k": 1}]),
    }  # fmt: skip
    search = begun(domains)
    every = [search.suggest(str(i)) for i in range(64)]
    assert all(domains[name].is_valid(value) for config in every for name, value in config.items())
    assert {config["randint"] for config in every} == {0, 1, 2}
    assert {config["quniform"] for config in every} == {0, 0.25, 0.5, 0.75, 1}
    assert all(isinstance(config["qrandint"], int) for config in every)


def test_inactive_parameters_are_absent() -> None:
    space = sonde.Space(
        {"kind": sonde.Categorical(["tree", "net"]), "net/width": sonde.Int(1, 9, when={"kind": "net"})}
    )
    search = begun({"data": "digits"}, space=space)
    every = [search.suggest(str(i)) for i in range(8)]
    assert {config["kind"] for config in every} == {"tree", "net"}
    assert all(("net" in config) == (config["kind"] == "net") for config in every)


def test_a_finite_space_comes_to_an_end_and_running_trials_are_pending() -> None:
    search = begun({"a": tune.choice(["x", "y"]), "b": tune.randint(0, 3)})
    every = [search.suggest(str(i)) for i in range(7)]
    assert every.pop() == Searcher.FINISHED
    assert len({(config["a"], config["b"]) for config in every}) == 6
    assert states(search) == ["running"] * 6


def test_the_same_seed_gives_the_same_search() -> None:
    def run(seed: int) -> list[Any]:
        search, found = begun(strategy="gp", seed=seed), []
        for i in range(7):
            found.append(search.suggest(str(i)))
            returns(search, str(i), found[-1]["x"] ** 2)
        return found

    assert run(3) == run(3) != run(4)


def test_a_limit_of_concurrency() -> None:
    search = ConcurrencyLimiter(begun(), max_concurrent=2)
    assert search.suggest("a")
    assert search.suggest("b")
    assert search.suggest("c") is None
    returns(search, "a", 1.0)
    assert search.suggest("c")
    assert states(search.searcher) == ["completed", "running", "running"]


# results


@pytest.mark.parametrize(("mode", "best"), [("min", 1.0), ("max", 3.0)])
def test_the_value_of_a_function_that_returned(mode: str, best: float) -> None:
    search = begun(mode=mode)
    for trial_id, losses in {"a": (9.0, 1.0), "b": (0.0, 3.0), "c": (5.0, 2.0)}.items():
        search.suggest(trial_id)
        returns(search, trial_id, *losses)
    assert [trial.value for trial in search.study.trials] == [1.0, 3.0, 2.0]
    assert search.study.trials[0].curve == [(1, 9.0), (2, 1.0)]
    assert search.study.best_value == best


def test_a_trial_that_a_scheduler_ended_is_told_when_its_end_can_be_predicted() -> None:
    search = begun(max_t=3)
    for i in range(8):
        search.suggest(str(i))
    is_ended(search, "0", 7.0)  # at its first step
    for i in range(1, 5):
        is_ended(search, str(i), 4.0 + i, 3.0 + i, 1.0 + i)  # there it is complete
    assert states(search) == ["running"] + ["completed"] * 4 + ["running"] * 3
    returns(search, "5", 6.0, 5.0)  # by itself, and earlier
    assert states(search) == ["stopped"] + ["completed"] * 5 + ["running"] * 2
    is_ended(search, "6", 9.0)
    first, later = search.study.trials[0], search.study.trials[6]
    assert (first.curve, later.curve, first.value) == ([(1, 7.0)], [(1, 9.0)], None)
    assert 2.0 <= first.mean <= 5.0
    assert [trial.value for trial in search.study.trials[1:6]] == [2.0, 3.0, 4.0, 5.0, 5.0]


def test_what_else_ends_a_trial() -> None:
    search = begun(max_t=4, stop={"training_iteration": 3, "accuracy": 0.9})
    for i in range(5):
        search.suggest(str(i))
    is_ended(search, "0", 3.0, 2.0, 1.0)  # a criterion of stop=
    search.on_trial_complete("1", result(1, 1.0, done=True) | {"accuracy": 0.95})  # another one
    search.on_trial_result("2", result(1, 1.0))
    search.on_trial_complete("2", result(1, 1.0))  # somebody stopped it: not done
    search.on_trial_result("3", result(4, 1.0))
    search.on_trial_complete("3")  # while it was paused, and it had got there
    search.on_trial_complete("4")  # before it began
    assert states(search) == ["completed", "completed", "running", "completed", "stopped"]


def test_a_scheduler_without_max_t_is_warned_of() -> None:
    search = begun()
    search.suggest("a")
    search.suggest("b")
    search.on_trial_result("b", result(1, 1.0))
    search.on_trial_complete("b", result(1, 1.0))  # somebody stopped it: no warning
    with pytest.warns(UserWarning, match=r"Give SondeSearch\(max_t=...\) the max_t of the scheduler"):
        is_ended(search, "a", 2.0, 1.0)
    every = begun(max_t=0)  # counts what Ray's own searchers count
    every.suggest("a")
    is_ended(every, "a", 2.0, 1.0)
    assert every.study.best_value == 1.0


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ({"result": result(1, math.nan, done=True)}, "nan"),
        ({"result": result(1, math.inf, done=True)}, "inf"),
        ({"result": result(1, "low", done=True)}, "no number 'loss': report it with tune.report"),
        ({"result": {"training_iteration": 1, "done": True}}, "no number 'loss'"),
        ({"error": True}, "error.txt"),
    ],
)
def test_failures(told: dict[str, Any], why: str) -> None:
    search = begun()
    search.suggest("a")
    search.on_trial_result("a", told.get("result", {}))
    search.on_trial_complete("a", **told)
    [trial] = search.study.trials
    assert trial.state is State.FAILED
    assert why in str(trial.error)


def test_a_failed_trial_that_ray_has_run_again_is_another_result() -> None:
    search = begun()
    search.suggest("a")
    search.on_trial_complete("a", error=True)
    returns(search, "a", 2.0, 1.0)
    assert states(search) == ["failed", "completed"]
    assert search.study.trials[0].params == search.study.trials[1].params


def test_trials_of_somebody_else_are_ignored() -> None:
    search = begun()
    returns(search, "unknown", 1.0)
    assert states(search) == []


def test_a_number_that_the_function_returns() -> None:
    search = SondeSearch({"x": (0.0, 1.0)}, mode="max")
    search.suggest("a")
    assert search.metric == DEFAULT_METRIC
    search.on_trial_result("a", {"_metric": 2.0, "training_iteration": 1})
    search.on_trial_complete("a", {"_metric": 2.0, "training_iteration": 1, "done": True})
    assert search.study.best_value == 2.0


def test_several_objectives() -> None:
    search = begun(metric=["loss", "seconds"], mode=["min", "max"])
    for trial_id, more in {"a": {"seconds": 3.0}, "b": {"seconds": math.nan}, "c": {}}.items():
        search.suggest(trial_id)
        search.on_trial_result(trial_id, result(1, 1.0) | more)
        search.on_trial_complete(trial_id, result(1, 1.0, done=True) | more)
    search.suggest("d")
    search.on_trial_complete("d", result(1, 1.0))  # somebody stopped it
    assert states(search) == ["completed", "failed", "failed", "stopped"]
    assert search.study.trials[0].value == {"loss": 1.0, "seconds": 3.0}


def test_repeated_trials() -> None:
    search = Repeater(begun(), repeat=2)
    same = [search.suggest(trial_id) for trial_id in "ab"]
    assert same[0]["x"] == same[1]["x"]
    returns(search, "a", 1.0)
    returns(search, "b", 2.0)
    assert search.searcher.study.trials[0].value == 1.5


# points that are known


def test_points_come_first() -> None:
    points = [{"x": 0.5, "net": {"width": 3, "bias": True}, "data": "digits"}, {"net": {"width": 2}}]
    search = begun(points_to_evaluate=points)
    every = [search.suggest(trial_id) for trial_id in "abc"]
    assert every[:2] == [{"x": 0.5, "net": {"width": 3}}, {"x": 0.5, "net": {"width": 2}}]
    assert every[2] not in every[:2]
    assert len(points) == 2


def test_results_of_another_run() -> None:
    search = begun(max_t=9)
    config = {"x": 0.5, "net": {"width": 3, "bias": False}, "data": "other"}
    search.add_evaluated_point(config, 0.25, intermediate_values=[1.0, 0.25])
    search.add_evaluated_point(config | {"x": 0.6}, None, error=True)
    search.add_evaluated_point(config | {"x": 0.7}, 1.0, pruned=True, intermediate_values=[1.0])
    assert states(search) == ["completed", "failed", "running"]  # its end cannot be predicted yet
    assert search.study.trials[0].params == {"x": 0.5, "net/width": 3}
    assert search.study.trials[0].curve == [(1, 1.0), (2, 0.25)]
    with pytest.raises(ConfigurationError, match="width"):
        search.add_evaluated_point({"x": 0.5}, 0.25)


# checkpoints


def test_a_restored_search_goes_on_as_the_one_that_was_saved(tmp_path: Path) -> None:
    space = sonde.Space(x=sonde.Float(0, 1), k=sonde.Int(1, 9)).where(lambda p: p["x"] * p["k"] < 5)
    one = SondeSearch(space, "loss", "min", strategy="gp", seed=1, max_t=2, points_to_evaluate=[{"x": 0.1, "k": 2}])
    for i in range(9):
        config = one.suggest(str(i))
        if i < 7:
            is_ended(one, str(i), *[abs(config["x"] - 0.4) + config["k"]] * (1 + (i != 3)))
    one.suggest("failed")
    one.on_trial_complete("failed", error=True)
    one.on_trial_result("8", result(1, 3.0))
    one.save(str(tmp_path / "search"))
    other = SondeSearch()
    other.restore(str(tmp_path / "search"))
    assert (
        states(other)
        == states(one)
        == ["completed"] * 3 + ["stopped"] + ["completed"] * 3 + ["running"] * 2 + ["failed"]
    )
    for mine, theirs in zip(one.study.trials, other.study.trials, strict=True):
        assert [getattr(mine, name) for name in ("params", "value", "mean", "std", "error", "curve")] == [
            getattr(theirs, name) for name in ("params", "value", "mean", "std", "error", "curve")
        ]
    for search in (one, other):
        search.on_trial_complete("8", result(1, 3.0, done=True))  # it returns
        is_ended(search, "7", 3.0, 1.0)
    assert [one.suggest(trial_id) for trial_id in "xyz"] == [other.suggest(trial_id) for trial_id in "xyz"]


def test_a_search_that_has_not_begun_can_be_copied() -> None:
    search = copy.deepcopy(SondeSearch(seed=1))
    with pytest.raises(NoResult, match="has not begun"):
        _ = search.study
    assert copy.deepcopy(begun()).suggest("a") == begun().suggest("a")


# wrong input


def test_another_space_is_refused_and_the_same_one_goes_on() -> None:
    search = begun()
    assert not search.set_search_properties("loss", "min", {"y": tune.uniform(0, 1)})
    search.suggest("a")
    assert search.set_search_properties("loss", "min", copy.deepcopy(PARAM_SPACE))
    assert states(search) == ["running"]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"k": "constant"}, "param_space has nothing to choose"),
        ({"x": tune.grid_search([1, 2])}, r"'x': a grid is not searched; use tune.choice"),
        ({"x": tune.randn()}, "no bounds"),
        ({"x": tune.sample_from(lambda _: 1)}, "'x'.*no counterpart"),
        ({"layers": [tune.randint(1, 9)]}, "'layers/0'.*not places in a list"),
        ({"a/b": tune.randint(1, 9)}, "'a/b'.*without a slash"),
        ({"net": tune.choice([{"width": tune.randint(1, 9)}, 1])}, "'net' has parameters inside a choice; .*when="),
    ],
)
def test_spaces_that_cannot_be_searched(config: dict[str, Any], message: str) -> None:
    with pytest.raises((OptionError, SpaceError), match=message):
        begun(config)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "loss", "mode": "least"}, "metric and mode are"),
        ({"metric": ["loss"], "mode": "min"}, "metric and mode are"),
        ({"metric": ["loss"], "mode": ["min", "max"]}, "metric and mode are"),
        ({"max_t": -1}, "max_t must be"),
        ({"max_t": "9"}, "max_t must be"),
        ({"seed": 0.5}, "seed must be"),
        ({"strategy": "best"}, "best"),
        ({"space": {"a": (0.0, 1.0), "a/b": (0.0, 1.0)}}, "rename one of them"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        SondeSearch(**options)


def test_what_is_missing_is_said() -> None:
    with pytest.raises(OptionError, match="give the Tuner a param_space"):
        SondeSearch(mode="min").suggest("a")
    with pytest.raises(OptionError, match=r"tune.TuneConfig\(metric="):
        SondeSearch().set_search_properties(None, None, PARAM_SPACE)
    with pytest.raises(
        OptionError, match="points_to_evaluate has 'lr', but a configuration has x, net/width, net/bias"
    ):
        begun(points_to_evaluate=[{"lr": 1}]).suggest("a")


def test_a_missing_package_is_named() -> None:
    program = """
import importlib.util, sonde
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "pyarrow" else found(name, *rest)
import sonde.extras
sonde.extras.find_spec = importlib.util.find_spec
try:
    import sonde.integrations.ray
except sonde.errors.MissingExtra as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == str(MissingExtra("pyarrow", "tune"))


# on a real Ray


@pytest.fixture(scope="module")
def folder() -> Iterator[str]:
    """A small Ray on this machine; its folder has a short name, as the names of its sockets must be."""
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory(prefix="t", ignore_cleanup_errors=True) as short:
        for name in ("RAY_USAGE_STATS_ENABLED", "RAY_AIR_NEW_OUTPUT"):
            patch.setenv(name, "0")
        patch.setenv("RAY_AUTH_MODE", "disabled")  # a token would be written to the home folder
        patch.setenv("TUNE_DISABLE_AUTO_CALLBACK_LOGGERS", "1")
        ray.init(
            num_cpus=2, include_dashboard=False, object_store_memory=80_000_000, _temp_dir=short, log_to_driver=False,
            logging_level="error",
        )  # fmt: skip
        yield short
        ray.shutdown()


def tuner(folder: str, train: Any, search: Any, samples: int, **options: Any) -> tune.Tuner:
    """Return a ``Tuner`` that uses its processes again: starting one takes longer than all else."""
    run = {name: options.pop(name) for name in ("callbacks", "name") if name in options}
    return tune.Tuner(
        train, param_space=options.pop("param_space", PARAM_SPACE),
        tune_config=tune.TuneConfig(
            search_alg=search, num_samples=samples, reuse_actors=True, **{"metric": "loss", "mode": "min"} | options
        ),
        run_config=tune.RunConfig(storage_path=folder, verbose=0, **run),
    )  # fmt: skip


def test_a_run_with_failures(folder: str) -> None:
    def train(config: dict[str, Any]) -> dict[str, float]:
        assert config["net"]["bias"]
        assert config["data"] == "digits"
        if config["net"]["width"] == 8:
            raise MemoryError  # it costs a new process
        return {"score": math.nan if config["x"] > 0.8 else config["x"] - config["net"]["width"]}

    search = SondeSearch(seed=0)
    results = tuner(folder, train, search, 10, metric="score", mode="max", max_concurrent_trials=1).fit()
    study = search.study
    assert len(results) == len(study.trials) == 10
    assert [trial.state is State.FAILED for trial in study.trials] == [
        trial["net/width"] == 8 or trial["x"] > 0.8 for trial in study.trials
    ]
    assert {"MemoryError" in str(each.error) for each in results} == {True, False}
    best = results.get_best_result()
    assert best.metrics["score"] == study.best_value == study.best_params["x"] - study.best_params["net/width"]
    assert best.config == {
        "x": study.best_params["x"], "net": {"width": study.best_params["net/width"], "bias": True}, "data": "digits",
    }  # fmt: skip


def test_beside_asha(folder: str) -> None:
    def train(config: dict[str, Any]) -> None:
        for step in range(1, 10):
            tune.report({"loss": config["x"] + config["net"]["width"] + 1 / step})

    search, asha = SondeSearch(seed=0, max_t=9), ASHAScheduler(max_t=9, grace_period=1, reduction_factor=3)
    results = tuner(folder, train, search, 16, scheduler=asha).fit()
    reached = sorted(each.metrics["training_iteration"] for each in results)
    assert sorted(len(trial.curve) for trial in search.study.trials) == reached
    assert {len(trial.curve) for trial in search.study.trials if trial.state is State.COMPLETED} == {9}
    assert all(len(trial.curve) < 9 for trial in search.study.trials if trial.state is not State.COMPLETED)
    assert reached[0] < 9
    assert results.get_best_result().metrics["loss"] == search.study.best_value
    other = begun()
    other.add_evaluated_trials(results._experiment_analysis, "loss")
    assert [trial.params for trial in other.study.trials] == [trial.params for trial in search.study.trials]
    assert other.study.best_value == search.study.best_value


def test_an_interrupted_run_is_restored(folder: str) -> None:
    interrupted = Path(folder) / "interrupted"

    class Interrupts(tune.Callback):
        """Also in the run that is restored, where it has happened already."""

        def on_trial_result(self, iteration: int, trials: Any, trial: Any, result: Any, **info: Any) -> None:
            if len(trials) == 5 and result["training_iteration"] == 2 and not interrupted.exists():
                interrupted.touch()
                signal.raise_signal(signal.SIGINT)  # as Ctrl-C

    def train(config: dict[str, Any]) -> None:
        for step in range(1, 4):
            tune.report({"loss": config["x"] + 1 / step})

    search = SondeSearch(seed=0)
    tuner(folder, train, search, 8, name="again", callbacks=[Interrupts()], max_concurrent_trials=1).fit()
    before = search.study.trials
    assert len(before) == 5
    assert State.RUNNING in {trial.state for trial in before}
    path = os.path.join(folder, "again")
    again = tune.Tuner.restore(path, train, param_space=PARAM_SPACE)
    results = again.fit()
    assert len(results) == 8
    assert not results.errors
    restored = SondeSearch()
    restored.restore_from_dir(path)
    after = restored.study.trials
    assert [trial.params for trial in after[:5]] == [trial.params for trial in before]
    assert [trial.state for trial in after] == [State.COMPLETED] * 8
    assert sorted(trial.value for trial in after) == sorted(each.metrics["loss"] for each in results)
