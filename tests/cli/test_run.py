from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sonde

Cli = Callable[..., Any]

TRAIN = """
import argparse, os, sys
parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, required=True)
parser.add_argument("--layers", type=int, required=True)
parser.add_argument("--opt", choices=["sgd", "adam"], required=True)
parser.add_argument("--bias", choices=["true", "false"], required=True)
parser.add_argument("--momentum", type=float)
options = parser.parse_args()
assert (options.opt == "sgd") == (options.momentum is not None), "an inactive parameter came"
open(f"trial-{os.environ['SONDE_TRIAL']}-{os.environ['SONDE_STUDY']}", "x").close()
if options.layers == 4:
    sys.exit("out of memory")
print("epoch10 took 3.2s")
print(f"loss={abs(options.lr - 0.01) + options.layers}")
"""

SPACE = """
where = ["layers <= 4"]

[parameters.momentum]
type = "float"
low = 0
high = 0.9
when = { opt = "sgd" }
"""

# What a program would get on its command line, and its output decides; cheap, so that the tests are quick.
SHELL = ("sh", "-c")


@pytest.fixture
def tuned() -> list[str]:
    """The arguments after ``sonde run`` that tune a script."""
    Path("train.py").write_text(TRAIN)
    Path("space.toml").write_text(SPACE)
    placeholders = ["--lr={lr:float:1e-5..1e-1:log}", "--layers", "{layers:int:1..8}", "--opt", "{opt:sgd|adam}",
                    "--bias", "{bias:bool}", "--momentum", "{momentum}"]  # fmt: skip
    return ["-j", "2", "--seed", "1", "--name", "net", "--space", "space.toml", "--", sys.executable, "train.py",
            *placeholders]  # fmt: skip


def trials() -> list[sonde.Trial]:
    study = sonde.load("sqlite:///sonde.db", "net")
    found = study.trials
    study.storage.close()
    return found


def test_a_script_is_tuned_with_failures_conditions_and_resumed(program: Cli, tuned: list[str]) -> None:
    ended = program("run", "-n", "8", *tuned)
    assert ended.code == 0, ended.err
    assert ended.out.startswith("net: the best of 8 trials (")
    assert "net: 8/8 trials, best " in ended.err
    found = trials()
    assert len(found) == 8
    failed = [trial for trial in found if trial.params["layers"] == 4]
    assert failed
    assert all(trial.error == "exit code 1\nout of memory" for trial in failed)
    assert all(trial.value == abs(trial["lr"] - 0.01) + trial["layers"] for trial in found if trial not in failed)
    assert all(("momentum" in trial) == (trial["opt"] == "sgd") for trial in found)
    assert len(list(Path.cwd().glob("trial-*-net"))) == 8

    ended = program("run", "-n", "10", "--json", *tuned)  # a larger total continues
    assert ended.code == 0, ended.err
    assert len(trials()) == 10
    best = min((trial for trial in trials() if trial.value is not None), key=lambda trial: trial.value or 0)
    assert json.loads(ended.out) == {
        "study": "net",
        "best_value": best.value,
        "observed_value": best.value,
        "by": "observed",
        "best_params": dict(best.params),
        "best_trial": best.number,
        "trials": 10,
        "failed": sum(trial.state == "failed" for trial in trials()),
        "stopped": 0,
    }


def test_a_finished_study_says_so_and_shows_the_best(cli: Cli) -> None:
    command = ("run", "-n", "3", *SHELL, "echo {x:float:0..1}")
    first = cli(*command)
    second = cli(*command)
    assert (first.code, second.code) == (0, 0)
    assert second.out == first.out
    assert second.err == "study 'default' has 3 trials, all that were asked for; a larger -n continues it\n"


def test_maximize_and_the_same_seed_the_same_trials(cli: Cli) -> None:
    def run(name: str, *options: str) -> Any:
        command = ("run", "-n", "5", "--seed", "3", "--name", name, "--json", *options, "--", *SHELL)
        return json.loads(cli(*command, "echo {x:int:-50..50}").out)

    low, high = run("a", "--strategy", "sobol"), run("b", "--direction", "maximize", "--strategy", "sobol", "-j", "2")
    assert low["best_value"] == low["best_params"]["x"] < high["best_value"] == high["best_params"]["x"]
    values = [
        [trial["params"]["x"] for trial in json.loads(cli("trials", "--name", name, "--json").out)] for name in "ab"
    ]
    assert values[0] == values[1]


def test_a_program_that_never_gives_a_number(cli: Cli) -> None:
    ended = cli("run", "-n", "2", *SHELL, "echo done; echo {x:bool} >&2")
    assert ended.code == 1
    assert ended.out == ""
    assert ended.err.splitlines()[-1].startswith("error: study 'default' has no best trial yet: no trial has completed")
    assert "no number on standard output" in ended.err


def test_programs_that_all_fail_alike_end_the_run(cli: Cli) -> None:
    command = ("--strategy", "sobol", *SHELL, "echo oh no {x:float:0..1} >&2; exit 3")
    ended = cli("run", "-n", "100", "--give-up-after", "4", *command)
    assert ended.code == 1
    assert ended.out == ""
    last = ended.err.splitlines()[-1]
    assert last.startswith(
        "error: 4 trials in a row failed for the same reason and none has completed: exit code 3: oh no "
    )
    assert last.endswith("run the same command again, or continue anyway with --give-up-after 0")
    assert cli("run", "-n", "20", "--give-up-after", "0", *command).code == 1
    assert len(json.loads(cli("trials", "--all", "--json").out)) == 20


def test_nan_is_a_failed_trial(cli: Cli) -> None:
    cli("run", "-n", "2", *SHELL, "echo {x:nan|inf}")
    errors = {trial["error"] for trial in json.loads(cli("trials", "--json").out)}
    assert errors == {"the value is nan", "the value is inf"}


def test_a_small_space_ends_early_and_needs_no_number_of_trials(cli: Cli) -> None:
    ended = cli("run", *SHELL, "echo {x:1|2|4}")
    assert ended.out.startswith("default: the best of 3 trials is trial ")
    ended = cli("run", "-n", "10", *SHELL, "echo {x:1|2|4}")
    assert "there can be no more than 3 trials: every configuration of the space was tried" in ended.err


def test_a_timeout_ends_the_run(cli: Cli) -> None:
    ended = cli("run", "--timeout", "0.2", *SHELL, "sleep 0.05; echo {x:float:0..1}")
    assert ended.code == 0
    assert "; the same command" not in ended.err


def test_a_program_that_hangs_is_killed_with_its_own_and_the_study_goes_on(
    cli: Cli, is_gone: Callable[[int], bool]
) -> None:
    hangs = "test $SONDE_TRIAL != 1 || {{ echo words >&2; sleep 600 & echo $! > inner; wait; }}; echo {x:float:0..1}"
    ended = cli("run", "-n", "4", "--trial-timeout", "2", "--strategy", "sobol", *SHELL, hangs)
    assert ended.code == 0, ended.err
    found = json.loads(cli("trials", "--json").out)
    assert [trial["state"] for trial in found] == ["completed", "failed", "completed", "completed"]
    assert found[1]["error"] == "took longer than trial_timeout=2 s and was stopped\nwords"
    assert is_gone(int(Path("inner").read_text()))


def test_parameters_may_come_by_the_environment_alone(cli: Cli) -> None:
    Path("space.toml").write_text("[parameters.x]\ntype = 'int'\nlow = 5\nhigh = 5\n")
    ended = cli("run", "-n", "1", "--space", "space.toml", "--json", *SHELL, 'echo "$SONDE_PARAMS" | tr -d "}}"')
    assert json.loads(ended.out)["best_value"] == 5.0


def test_trials_of_another_process_are_told(cli: Cli) -> None:
    study = sonde.Study(sonde.Space(x=sonde.Float(0, 1)), storage="sqlite:///sonde.db", name="default")
    study.ask()
    ended = cli("run", "-n", "3", *SHELL, "echo {x:float:0..1}")
    assert ended.code == 0
    assert "1 trial still running in other processes; the same command continues what they leave" in ended.err
    study.storage.close()


def test_a_program_that_cannot_be_started_stops_the_run_before_it_begins(cli: Cli) -> None:
    ended = cli("run", "-n", "100", "--", "no-such-program", "{x:bool}")
    assert ended.code == 1
    assert ended.err.startswith("error: cannot start 'no-such-program': ")
    assert not Path("sonde.db").exists()


def test_a_program_that_stops_being_startable_fails_no_trial(cli: Cli) -> None:
    Path("prog").write_text("#!/bin/sh\nrm prog; echo $1\n")
    os.chmod("prog", 0o755)
    ended = cli("run", "-n", "100", "--", "./prog", "{x:float:0..1}")
    assert ended.code == 1
    assert "error: cannot start './prog': No such file or directory; correct the command" in ended.err
    states = [trial["state"] for trial in json.loads(cli("trials", "--json").out)]
    assert states == ["completed", "lost", "waiting"]


WRONG = [
    (["-n", "3", "--", "echo", "{print}"], "placeholder {print}: there is no parameter 'print'"),
    (["-n", "3", "--", "echo", "{x:float:1}"], "placeholder {x:float:1}: expected LOW..HIGH"),
    (["-n", "3", "--", "echo", "{x:float:2..1}"], "parameter 'x': Float: low=2.0 is above high=1.0"),
    (["-n", "3", "--", "echo", "1"], "the command has no parameters to tune"),
    (["--", "echo", "{x:float:0..1}"], "the run has no end; give -n"),
    (["-n", "3", "--strategy", "magic", "--", "echo", "{x:bool}"], "strategy must be one of auto"),
    (["-n", "3", "--storage", "mongo://x", "--", "echo", "{x:bool}"], "storage must be 'sqlite:///file.db'"),
    (["-n", "3", "--timeout", "-1", "--", "echo", "{x:bool}"], "timeout must be a positive number"),
    (["-n", "3", "--trial-timeout", "0", "--", "echo", "{x:bool}"], "trial-timeout must be a positive number"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG)
def test_what_is_wrong_is_one_line(cli: Cli, arguments: list[str], message: str) -> None:
    ended = cli("run", *arguments)
    assert ended.code == 1
    assert ended.out == ""
    [line] = ended.err.splitlines()
    assert line.startswith(f"error: {message}")
    assert not Path("sonde.db").exists()


def test_another_space_under_the_same_name_is_one_line(cli: Cli) -> None:
    cli("run", "-n", "1", *SHELL, "echo {x:float:0..1}")
    ended = cli("run", "-n", "1", *SHELL, "echo {x:float:0..2}")
    [line] = ended.err.splitlines()
    assert line.startswith("error: study 'default' exists with another space; ")


USAGE = [
    ["-n", "3"],
    ["-n", "0", "--", "echo"],
    ["-j", "0", "--", "echo"],
    ["--direction", "up", "--", "echo"],
    ["--space", "missing.toml", "--", "echo"],
    ["--nonsense", "--", "echo"],
]


@pytest.mark.parametrize("arguments", USAGE)
def test_wrong_usage_exits_with_2(cli: Cli, arguments: list[str]) -> None:
    assert cli("run", *arguments).code == 2
