"""Several objectives on the command line: declared, run, resumed, shown."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import sonde
from sonde.cli import output
from sonde.cli.children import Ended
from sonde.cli.results import read_result
from sonde.errors import EvaluationError
from sonde.trials import Evaluation

Cli = Callable[..., Any]

TRAIN = """
import json, sys
width, layers = float(sys.argv[1]), int(sys.argv[2])
if layers == 4:
    sys.exit("out of memory")
print("epoch 10: loss=0.9")
print(json.dumps({"size": 100 * width + layers, "accuracy": width ** 0.5 + layers / 10, "epochs": 10}))
"""

GOALS = ["--objective", "accuracy:maximize", "--objective", "size:min"]
PLACEHOLDERS = ["{width:float:0..1}", "{layers:int:1..4}"]
PRINTS = ["--", "sh", "-c"]  # what follows is a command for the shell, cheaper than a Python program


@pytest.fixture
def tuned() -> list[str]:
    """The arguments after ``sonde run`` that tune a script of two objectives."""
    Path("train.py").write_text(TRAIN)
    return ["--seed", "1", "--strategy", "sobol", *GOALS, "--", sys.executable, "train.py", *PLACEHOLDERS]


@pytest.fixture
def study() -> sonde.Study:
    """A study with the front 2, 0, 3 (by loss); trial 1 is dominated, trial 4 failed."""
    study = sonde.Study(
        sonde.Space(x=sonde.Float(0, 1), kind=sonde.Categorical(["round", "[flat]"])),
        objectives={"loss": "minimize", "speed": "maximize"}, storage="sqlite:///sonde.db", name="shapes", seed=0,
    )  # fmt: skip
    values: list[Any] = [(2.0, 4.0), (3.0, 3.0), (1.0, 1.0), (4.0, 5.0)]
    study.add_trials(
        [{"params": {"x": i / 4, "kind": "round"}, "value": value} for i, value in enumerate(values)]
        + [{"params": {"x": 1.0, "kind": "[flat]"}, "failed": "out of memory"}]
    )
    study.storage.close()
    return study


# running


def test_a_program_is_tuned_and_the_same_command_continues(cli: Cli, tuned: list[str]) -> None:
    ended = cli("run", "-n", "6", "-j", "2", *tuned)
    assert ended.code == 0, ended.err
    assert "default: 6/6 trials, front " in ended.err
    with sonde.load("sqlite:///sonde.db", "default") as study:
        for trial in study.trials:
            if trial["layers"] == 4:
                assert trial.error == "exit code 1: out of memory" or "out of memory" in str(trial.error)
            else:
                accuracy, size = trial["width"] ** 0.5 + trial["layers"] / 10, 100 * trial["width"] + trial["layers"]
                assert trial.value == {"accuracy": pytest.approx(accuracy), "size": pytest.approx(size)}
        failed = sum(trial.state == "failed" for trial in study.trials)
        front = sorted(study.pareto_front, key=lambda trial: -trial.value["accuracy"])
    headline, header, *lines = ended.out.splitlines()
    counted = f"6 trials ({failed} failed)" if failed else "6 trials"
    assert headline == f"default: the Pareto front has {len(front)} of {counted}"
    assert header.split() == ["number", "accuracy", "size", "width", "layers"]
    assert [int(line.split()[0]) for line in lines] == [trial.number for trial in front]

    again = cli("run", "-n", "6", "-j", "2", *tuned)
    assert "study 'default' has 6 trials, all that were asked for; a larger -n continues it" in again.err
    assert again.out == ended.out
    document = json.loads(cli("run", "-n", "8", "--json", *tuned).out)
    assert document["trials"] == 8
    assert document["objectives"] == {"accuracy": "maximize", "size": "minimize"}


def test_thresholds_are_stored(cli: Cli) -> None:
    command = [*GOALS, "--threshold", "size=3", *PRINTS, 'echo "{{\\"size\\": {x:float:0..1}, \\"accuracy\\": 1}}"']
    assert cli("run", "-n", "2", *command).code == 0
    with sonde.load("sqlite:///sonde.db", "default") as study:
        assert [one.threshold for one in study.objectives.each] == [None, 3.0]
    assert json.loads(cli("best", "--json").out)["reference"]["size"] == 3.0


def test_other_objectives_under_the_same_name_are_one_line(cli: Cli, tuned: list[str]) -> None:
    sonde.Study(sonde.Space(width=sonde.Float(0, 1), layers=sonde.Int(1, 4)), storage="sonde.db").close()
    [line] = cli("run", "-n", "2", *tuned).err.splitlines()
    assert line.startswith("error: study 'default' exists with objectives=minimize, not {")
    assert "another name (name=, --name), or delete it to start over" in line


@pytest.mark.parametrize(
    ("printed", "reason"),
    [
        ("0.5", "the last line is not a JSON object such as {\"accuracy\": 0.5, \"size\": 0.5}: 0.5"),
        ('{{\\"size\\": 1}}', "the JSON on the last line has no accuracy; it needs a number for each of "),
        ('{{\\"size\\": 1, \\"accuracy\\": \\"high\\"}}', "value of 'accuracy' must be a number, got str 'high'"),
        ('{{\\"size\\": 1, \\"accuracy\\": NaN}}', "the value of 'accuracy' is nan"),
    ],
)  # fmt: skip
def test_output_without_a_number_for_each_fails_the_trial(cli: Cli, printed: str, reason: str) -> None:
    ended = cli("run", "-n", "2", *GOALS, *PRINTS, f'echo "{printed}" # {{x:float:0..1}}')
    assert ended.code == 1
    assert ended.err.splitlines()[-1].endswith(f"the last one failed: {reason}") or reason in ended.err.splitlines()[-1]
    assert {trial["state"] for trial in json.loads(cli("trials", "--json").out)} == {"failed"}


def test_the_first_ten_failures_end_the_run(cli: Cli) -> None:
    last = cli("run", "-n", "20", *GOALS, *PRINTS, "true {x:float:0..1}").err.splitlines()[-1]
    assert last.startswith("error: 10 trials in a row failed for the same reason and none has completed: nothing on ")
    assert 'print JSON on the last line, such as {"accuracy": 0.5, "size": 0.5}; correct the program' in last


NAMES = ("loss", "size")


@pytest.mark.parametrize(
    "text",
    ['{"loss": 1, "size": 2}', '0.5\n{"size": 2, "loss": 1, "epochs": [3]}\n', '  {"loss": 1.0, "size": 2}  \n\n'],
)
def test_the_json_on_the_last_line_is_read(text: str) -> None:
    assert read_result(Ended(0, text, ""), objectives=NAMES).result == Evaluation({"loss": 1, "size": 2})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "nothing on standard output"),
        (" \n ", "nothing on standard output"),
        ('{"loss": 1, "size": 2}\ndone', "the last line is not a JSON object such as .*: done"),
        ("[1, 2]", r"not a JSON object such as \{\"loss\": 0\.5, \"size\": 0\.5\}: \[1, 2\]"),
        ("{'loss': 1}", "not a JSON object"),
        ("[" * 100_000, r"not a JSON object .*\[\.\.\.$"),
        ("x" * 1000, r"x{60}\.\.\.$"),
        ("{}", "has no loss, size; it needs a number for each of loss, size"),
    ],
)
def test_what_is_no_json_of_all_values_is_refused(text: str, said: str) -> None:
    with pytest.raises(EvaluationError, match=said):
        read_result(Ended(0, text, ""), objectives=NAMES)


def test_a_reason_has_the_end_of_standard_error() -> None:
    with pytest.raises(EvaluationError, match=r"nothing on standard output.*\nwords$"):
        read_result(Ended(0, "", "words\n", timed_out=False), objectives=NAMES)


WRONG = [
    (["--objective", "loss"], "--objective must be NAME:minimize or NAME:maximize, e.g. loss:minimize, got 'loss'"),
    (["--objective", "loss:up"], "--objective must be NAME:minimize or NAME:maximize"),
    (["--objective", ":min", "--objective", "a:min"], "--objective must be NAME:minimize or NAME:maximize"),
    (["--objective", "loss:max"], "--objective needs two or more"),
    (["--objective", "a:min", "--objective", "a:max"], "--objective names 'a' twice"),
    ([*GOALS, "--direction", "maximize"], "give --direction for one objective or --objective for each of several"),
    (["--threshold", "size=3"], "--threshold is for several objectives; declare them, e.g. --objective loss:minimize"),
    ([*GOALS, "--threshold", "size"], "--threshold must be NAME=NUMBER, e.g. latency=20, got 'size'"),
    ([*GOALS, "--threshold", "size=big"], "--threshold must be NAME=NUMBER"),
    ([*GOALS, "--threshold", "size=nan"], "the threshold of 'size' must be a finite number, got nan"),
    ([*GOALS, "--threshold", "loss=1"], "thresholds names 'loss'; the objectives are accuracy, size"),
    ([*GOALS, "--threshold", "size=1", "--threshold", "size=2"], "--threshold names 'size' twice"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "message"), WRONG)
def test_what_is_wrong_is_one_line_and_creates_nothing(cli: Cli, options: list[str], message: str) -> None:
    ended = cli("run", "-n", "3", *options, "--", "echo", "{x:bool}")
    assert (ended.code, ended.out) == (1, "")
    [line] = ended.err.splitlines()
    assert line.startswith(f"error: {message}")
    assert not Path("sonde.db").exists()


def test_the_remedy_for_one_objective_keeps_its_direction(cli: Cli) -> None:
    ended = cli("run", "-n", "3", "--objective", "loss:max", "--", "echo", "{x:bool}")
    assert ended.err.endswith("for one, give --direction maximize and print the value last\n")


def test_spaces_around_names_do_not_matter(cli: Cli) -> None:
    printed = 'echo "{{\\"a b\\": {x:float:0..1}, \\"c\\": 1}}"'
    options = ["--objective", " a b: min", "--objective", "c:max", "--threshold", " a b = 3"]
    assert cli("run", "-n", "2", *options, *PRINTS, printed).code == 0
    assert cli("best", "--weights", " a b=1, c = 2").code == 0


@pytest.mark.parametrize("command", ["run", "best"])
def test_the_help_names_the_options(cli: Cli, command: str) -> None:
    text = " ".join(cli(command, "--help").out.split())
    for words in {"run": ["--objective NAME:DIRECTION", "--threshold NAME=NUMBER", "JSON"], "best": ["--weights"]}[
        command
    ]:
        assert words in text


# looking


@pytest.mark.usefixtures("study")
def test_best_shows_the_front_sorted_by_the_first_objective(cli: Cli) -> None:
    headline, header, *lines = cli("best").out.splitlines()
    assert headline == "shapes: the Pareto front has 3 of 5 trials (1 failed)"
    assert header.split() == ["number", "loss", "speed", "x", "kind"]
    assert [line.split() for line in lines] == [
        ["2", "1", "1", "0.5", "round"], ["0", "2", "4", "0", "round"], ["3", "4", "5", "0.75", "round"]
    ]  # fmt: skip


@pytest.mark.usefixtures("study")
def test_the_front_for_programs(cli: Cli) -> None:
    found = json.loads(cli("best", "--json").out)
    front = found.pop("front")
    assert front[0] == {
        "number": 2, "value": {"loss": 1.0, "speed": 1.0}, "params": {"x": 0.5, "kind": "round"}
    }  # fmt: skip
    assert [one["number"] for one in front] == [2, 0, 3]
    reference = found.pop("reference")
    assert reference == {"loss": pytest.approx(4.3), "speed": pytest.approx(0.6)}
    with sonde.load("sonde.db", "shapes") as study:
        assert found.pop("hypervolume") == pytest.approx(study.hypervolume(reference))
    assert found == {
        "study": "shapes", "objectives": {"loss": "minimize", "speed": "maximize"}, "trials": 5, "failed": 1,
        "stopped": 0,
    }  # fmt: skip


@pytest.mark.usefixtures("study")
def test_weights_show_one_trial(cli: Cli) -> None:
    headline, *lines = cli("best", "--weights", "loss=2,speed=2").out.splitlines()
    assert headline == "shapes: the best of 5 trials (1 failed) with weights loss 2, speed 2 is trial 0"
    assert [line.split() for line in lines] == [["loss", "2.0"], ["speed", "4.0"], ["x", "0.0"], ["kind", "round"]]
    assert json.loads(cli("best", "--weights", "speed=1", "--json").out) == {
        "study": "shapes",
        "weights": {"speed": 1.0},
        "best_values": {"loss": 4.0, "speed": 5.0},
        "best_params": {"x": 0.75, "kind": "round"},
        "best_trial": 3,
        "trials": 5,
        "failed": 1,
        "stopped": 0,
    }


@pytest.mark.usefixtures("study")
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ("", "--weights must be NAME=NUMBER, e.g. loss=2,latency=1, got ''"),
        ("loss", "--weights must be NAME=NUMBER, e.g. loss=2,latency=1, got 'loss'"),
        ("loss=1,speed", "--weights must be NAME=NUMBER"),
        ("loss=1,loss=2", "--weights names 'loss' twice"),
        ("size=1", "there is no objective 'size'; the objectives are loss, speed"),
        ("loss=-1", "the weight of 'loss' must be a number, zero or more, got -1.0"),
        ("loss=0", "weights must have a positive number at least"),
    ],
)
def test_wrong_weights_are_one_line(cli: Cli, weights: str, message: str) -> None:
    ended = cli("best", "--weights", weights)
    assert (ended.code, ended.out) == (1, "")
    [line] = ended.err.splitlines()
    assert line.startswith(f"error: {message}")


def test_weights_of_one_objective_are_one_line(cli: Cli) -> None:
    sonde.Study(sonde.Space(x=sonde.Bool()), storage="sonde.db", name="one").close()
    ended = cli("best", "--weights", "loss=1")
    assert ended.err == "error: --weights is for several objectives, and study 'one' has one; leave it out\n"


@pytest.mark.usefixtures("study")
def test_trials_and_studies_have_a_column_for_each_objective(cli: Cli) -> None:
    header, *lines = cli("trials").out.splitlines()
    assert header.split() == ["number", "state", "loss", "speed", "x", "kind", "error"]
    assert lines[3].split() == ["3", "completed", "4", "5", "0.75", "round"]
    assert lines[4].split() == ["4", "failed", "1", "[flat]", "out", "of", "memory"]
    assert [trial["value"] for trial in json.loads(cli("trials", "--json").out)][3:] == [
        {"loss": 4.0, "speed": 5.0}, None
    ]  # fmt: skip
    assert " minimize loss, maximize speed " in cli("studies").out
    [found] = json.loads(cli("studies", "--json").out)
    assert (found["direction"], found["objectives"], found["best"]) == (
        None, {"loss": "minimize", "speed": "maximize"}, None
    )  # fmt: skip
    assert cli("export").out.startswith("number,state,value_loss,value_speed,params_x,")


def test_a_narrow_terminal_folds_and_cuts_nothing(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    space = sonde.Space({f"width{i}": sonde.Int(1, 9) for i in range(8)})
    study = sonde.Study(space, storage="sonde.db", objectives={"loss": "min", "speed": "max"})
    study.add_trials([{"params": {name: i for i, name in enumerate(space, 1)}, "value": (1.0, 2.0)}])
    study.close()
    monkeypatch.setattr(output, "console", lambda: Console(width=44))
    shown = cli("best").out
    assert all(len(line) <= 44 for line in shown.splitlines())
    assert {f"width{i}={i + 1}" for i in range(8)} <= set(shown.split())
    assert "…" not in shown


def test_no_front_says_why(cli: Cli) -> None:
    study = sonde.Study(sonde.Space(x=sonde.Bool()), storage="sonde.db", name="none", objectives=["min", "max"])
    assert cli("best").err == "error: study 'none' has no Pareto front yet: no trial has completed\n"
    study.add_trials([{"params": {"x": True}, "failed": "Traceback (most recent call last):\n  f()\nKeyError: 'a'"}])
    assert cli("best").err.endswith("; the last one failed: KeyError: 'a'\n")
    study.add_trials([{"params": {"x": True}, "value": (1.0, 2.0), "constraints": {"memory": 1.0}}])
    study.close()
    said = cli("best", "--json")
    assert (said.code, said.out) == (1, "")
    assert "study 'none' has no Pareto front yet: " in said.err
    assert said.err.endswith(" meets its constraints\n")
