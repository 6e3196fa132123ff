"""``sonde run --report``: learning curves of programs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Sonde

import sonde
from sonde.cli.reports import reader
from sonde.errors import OptionError

PATTERN = r"epoch (?P<step>\d+).*loss=(?P<value>\S+)"
PROGRAM = """
import math, sys, time
x = float(sys.argv[1])
for step in range(1, 21):
    print(FORMAT)
    time.sleep(0.005)
print(x)
"""


def run(cli: Sonde, program: str, *options: str, trials: int = 30) -> str:
    Path("train.py").write_text(program)
    fixed = ["-n", str(trials), "--seed", "1", "--strategy", "random", "--storage", "a.db"]
    ended = cli("run", *fixed, *options, "--", sys.executable, "train.py", "{x:float:0..1}")
    assert ended.code == 0, ended.err
    return ended.out


@pytest.mark.parametrize(
    ("pattern", "form"),
    [
        (PATTERN, 'f"epoch {step} of 20: loss={x + math.exp(-step):.5f}"'),
        (r"loss (?P<value>\S+)", 'f"loss {x + math.exp(-step)}"'),
        ("json", 'f\'{{"step": {step}, "value": {x + math.exp(-step)}}}\''),
    ],
)
def test_programs_that_are_not_worth_going_on_are_ended(cli: Sonde, pattern: str, form: str) -> None:
    said = run(cli, PROGRAM.replace("FORMAT", form), "--report", pattern, "-j", "2")
    study = sonde.load("a.db", "default")
    stopped = [trial for trial in study.trials if trial.state == "stopped"]
    assert f"({len(stopped)} stopped)" in said
    assert stopped
    assert all([step for step, _ in trial.curve] == list(range(1, len(trial.curve) + 1)) for trial in study.trials)
    whole = [trial for trial in study.trials if trial.state == "completed"]
    assert all(len(trial.curve) == 20 and trial.value == trial["x"] for trial in whole)


def test_a_program_that_ignores_sigterm_is_killed(cli: Sonde, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sonde.cli.children._TO_END", 0.2)
    program = """
import math, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
x = float(sys.argv[1])
for step in range(1, 6):
    print(f"epoch {step} loss={x + math.exp(-step):.5f}")
if x > 0.9:
    time.sleep(600)
print(x)
"""
    for x in [0.1, 0.12, 0.14, 0.16, 0.18, 0.11, 0.13, 0.95]:
        sonde.Study(sonde.Space(x=sonde.Float(0, 1)), storage="a.db", strategy="random", seed=1).enqueue({"x": x})
    run(cli, program, "--report", PATTERN, trials=8)
    assert sonde.load("a.db", "default").trial(7).state == "stopped"


def test_nothing_is_ended_if_not_wanted(cli: Sonde) -> None:
    form = 'f"epoch {step} loss={x + math.exp(-step):.5f}"'
    run(cli, PROGRAM.replace("FORMAT", form), "--report", PATTERN, "--stopping", "none", trials=12)
    trials = sonde.load("a.db", "default").trials
    assert {trial.state.value for trial in trials} == {"completed"}
    assert all(len(trial.curve) == 20 for trial in trials)


@pytest.mark.parametrize(
    ("pattern", "line", "found"),
    [
        (PATTERN, "epoch 12: lr=0.1 loss=0.25", (12.0, 0.25)),
        (PATTERN, "epoch 12: loss=nan", (12.0, "nan")),
        (PATTERN, "epoch 12: loss=low", None),
        (PATTERN, "nothing of interest", None),
        (r"acc (?P<value>\S+)", "acc 95.2%,", (1.0, 95.2)),
        ("json", '{"step": 3, "value": 0.5, "more": []}', (3.0, 0.5)),
        ("json", '{"value": 1}', (1.0, 1.0)),
        ("json", '{"step": "three", "value": 1}', None),
        ("json", '{"step": 1, "value": "low"}', None),
        ("json", "[1, 2]", None),
        ("json", "{", None),
    ],
)
def test_lines(pattern: str, line: str, found: tuple[float, float] | None) -> None:
    made = reader(pattern)
    assert made is not None
    read = made().read(line)
    assert json.dumps(read).replace("NaN", '"nan"') == json.dumps(found)


@pytest.mark.parametrize("pattern", ["(", "loss=(.*)"])
def test_a_wrong_pattern_is_refused_before_anything_runs(pattern: str, cli: Sonde) -> None:
    with pytest.raises(OptionError, match=r"--report.*\(\?P<step>"):
        reader(pattern)
    ended = cli("run", "-n", "1", "--storage", "a.db", "--report", pattern, "--", "true", "{x:float:0..1}")
    assert (ended.code, "--report" in ended.err) == (1, True)
    assert not Path("a.db").exists()


def test_stopped_trials_are_shown_with_their_predicted_value(cli: Sonde) -> None:
    form = 'f"epoch {step} loss={x + math.exp(-step):.5f}"'
    run(cli, PROGRAM.replace("FORMAT", form), "--report", PATTERN)
    shown = cli("trials", "--storage", "a.db", "--state", "stopped").out
    assert "stopped" in shown
    assert "~0." in shown
    assert json.loads(cli("best", "--storage", "a.db", "--json").out)["stopped"] > 0
