"""Hydra's sweeper, in a real program of Hydra's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from omegaconf import OmegaConf

import sonde

PROGRAM = """
import hydra

@hydra.main(version_base=None, config_path=".", config_name="config")
def train(config):
    if config.layers == 3:
        raise MemoryError("too many layers")
    if config.layers == 0:
        return None
    loss = (config.lr - 0.01) ** 2 + config.layers + (config.opt.name == "sgd")
    return {"loss": loss, "size": config.layers} if config.several else loss

train()
"""
CONFIG = """
defaults: [_self_, {override hydra/sweeper: sonde}]
lr: 0.1
layers: 2
opt: {name: sgd}
several: false
hydra: {sweep: {dir: out}, sweeper: {seed: 0, params: {layers: "range(1, 5)"}}}
"""
SWEEP = ("lr=tag(log, interval(1e-4, 1.0))", "opt.name=sgd,adam")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(PROGRAM)
    (tmp_path / "config.yaml").write_text(CONFIG)
    return tmp_path


def run(folder: Path, *arguments: str, wrong: bool = False) -> str:
    done = subprocess.run(
        [sys.executable, "train.py", "--multirun", *arguments], cwd=folder, capture_output=True, text=True, timeout=200,
        env=os.environ | {"HYDRA_FULL_ERROR": "0"},
    )  # fmt: skip
    assert (done.returncode != 0) == wrong, done.stderr
    return done.stdout + done.stderr


def test_a_sweep_with_failures_is_stored_and_goes_on(folder: Path) -> None:
    options = ("hydra.sweeper.storage=sqlite:///runs.db", "hydra.sweeper.name=first")
    said = run(folder, *SWEEP, *options, "hydra.sweeper.n_trials=7")
    study = sonde.load(f"sqlite:///{folder}/runs.db", "first")
    assert study.space == sonde.Space(
        {
            "layers": sonde.Int(1, 4),
            "lr": sonde.Float(1e-4, 1, log=True),
            "opt.name": sonde.Categorical(["sgd", "adam"]),
        }
    )
    assert len(study.trials) == 7
    for trial in study.trials:
        assert (trial.state == "failed") == (trial["layers"] == 3)
        written = OmegaConf.load(folder / "out" / str(trial.number) / ".hydra" / "config.yaml")
        assert (written.lr, written.layers, written.opt.name) == (trial["lr"], trial["layers"], trial["opt.name"])
    failed = [trial for trial in study.trials if trial.state == "failed"]
    assert failed
    assert failed[0].error == "MemoryError: too many layers"
    assert f"trial {failed[0].number} has failed: MemoryError: too many layers" in said
    assert "alembic" not in said
    results = OmegaConf.load(folder / "out" / "optimization_results.yaml")
    assert (dict(results.best_params), results.best_value) == (dict(study.best_trial), study.best_value)
    again = run(folder, *SWEEP, *options, "hydra.sweeper.n_trials=9", "hydra.sweeper.workers=2")
    assert len(study.trials) == 9
    assert "Launching 2 jobs" in again
    study.close()


def test_a_finite_space_comes_to_its_end_and_constants_are_passed_on(folder: Path) -> None:
    said = run(folder, "layers=1,2", "lr=0.5", "opt.name=adam", "hydra.sweeper.direction=maximize")
    assert said.count("lr=0.5 opt.name=adam") == 2
    assert "all configurations have been tried" in said
    assert OmegaConf.load(folder / "out" / "optimization_results.yaml").best_params.layers == 2


def test_choices_are_what_they_are_in_the_configuration(folder: Path) -> None:
    (folder / "model").mkdir()
    for name in ("small", "large"):
        (folder / "model" / f"{name}.yaml").write_text(f"size: {name}")
    sweeps = ("layers=shuffle(range(1, 9))", "lr=tag(log, range(1, 100))", "+rate=range(0, 1, 0.25)", "+model=glob(*)",
              """opt.name="a b",'c,d'""", "+kind=shuffle(2,1,true,text)", "+list=[1,2],[3]")  # fmt: skip
    options = ("hydra.sweeper.storage=sqlite:///runs.db", "hydra.sweeper.name=all")
    run(folder, *sweeps, *options, "hydra.sweeper.n_trials=3")
    run(folder, *sweeps, *options, "hydra.sweeper.n_trials=4")  # the same space, although some of it is shuffled
    study = sonde.load(f"sqlite:///{folder}/runs.db", "all")
    assert study.space == sonde.Space(
        {
            "layers": sonde.Int(1, 8),
            "lr": sonde.Int(1, 99, log=True),
            "rate": sonde.Float(0, 0.75, step=0.25),
            "model": sonde.Categorical(["large", "small"]),
            "opt.name": sonde.Categorical(["a b", "c,d"]),
            "kind": sonde.Categorical([2, 1, True, "text"]),
            "list": sonde.Categorical(["[1,2]", "[3]"]),
        }
    )
    for trial in study.trials:
        written = OmegaConf.load(folder / "out" / str(trial.number) / ".hydra" / "config.yaml")
        assert (written.kind, written.opt.name, written.model.size) == (
            trial["kind"],
            trial["opt.name"],
            trial["model"],
        )
        assert str(list(written.list)).replace(" ", "") == trial["list"]
    study.close()


def test_if_nothing_is_returned_the_sweep_ends_with_one_line(folder: Path) -> None:
    said = run(folder, "lr=interval(0, 1)", "layers=0", wrong=True)
    assert "10 trials in a row failed for the same reason and none has completed: the program returned None" in said
    assert "Traceback" not in said


def test_several_objectives(folder: Path) -> None:
    objectives = "+hydra.sweeper.objectives={loss: minimize, size: maximize}"
    run(folder, *SWEEP, "several=true", "layers=choice(1, 4)", objectives, "hydra.sweeper.n_trials=4")
    found = OmegaConf.load(folder / "out" / "optimization_results.yaml")
    solutions = found.solutions if "solutions" in found else [{"value": found.best_value}]
    assert all(each["value"].keys() == {"loss", "size"} for each in solutions)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["layers=2", "lr=0.5"], "give a parameter a range, such as 'lr=interval(0, 1)'"),
        (["lr=interval(1, 0)"], "lr=interval(1, 0): Float: low=1.0 is above high=0.0; swap them"),
        (["lr=interval(0, 1)", "hydra.sweeper.strategy=best"], "strategy must be one of auto, random"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(folder: Path, arguments: list[str], says: str) -> None:
    said = run(folder, *arguments, wrong=True)
    assert says in said
    assert "Traceback" not in said
