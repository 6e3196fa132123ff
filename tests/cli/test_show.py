from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from rich.console import Console

import sonde
from sonde.cli import output

Cli = Callable[..., Any]

pytestmark = pytest.mark.usefixtures("study")


def test_best_for_people(cli: Cli) -> None:
    ended = cli("best")
    assert ended.code == 0
    headline, *lines = ended.out.splitlines()
    assert headline == "shapes: the best of 25 trials (5 failed) is trial 21"
    assert [line.split() for line in lines] == [["value", "0.0"], ["x", "0.65625"], ["kind", "round"], ["n", "22"]]


def test_best_for_programs(cli: Cli) -> None:
    assert json.loads(cli("best", "--json").out) == {
        "study": "shapes",
        "best_value": 0.0,
        "observed_value": 0.0,
        "by": "observed",
        "best_params": {"x": 0.65625, "kind": "round", "n": 22},
        "best_trial": 21,
        "trials": 25,
        "failed": 5,
        "stopped": 0,
    }


def test_the_best_of_noisy_values_shows_posterior_mean_and_observed_value(cli: Cli) -> None:
    study = sonde.Study(sonde.Space(x=sonde.Bool()), storage="sqlite:///sonde.db", name="noisy")
    study.add_trials([{"params": {"x": True}, "value": value} for value in (0.25, 0.75)])
    study.storage.close()
    found = json.loads(cli("best", "--name", "noisy", "--json").out)
    assert (found["best_value"], found["observed_value"], found["by"]) == (0.5, 0.25, "model")
    assert cli("best", "--name", "noisy").out.splitlines()[1].split(maxsplit=1) == [
        "value", "0.5 (posterior mean; 0.25 observed)"
    ]  # fmt: skip


def test_no_best_says_why(cli: Cli) -> None:
    study = sonde.Study(sonde.Space(x=sonde.Bool()), storage="sqlite:///sonde.db", name="none")
    assert cli("best", "--name", "none").err == "error: study 'none' has no best trial yet: no trial has completed\n"
    study.add_trials([{"params": {"x": True}, "failed": "Traceback (most recent call last):\n  f()\nKeyError: 'a'"}])
    study.storage.close()
    assert cli("best", "--name", "none").err.endswith("; the last one failed: KeyError: 'a'\n")


def test_trials_for_people(cli: Cli) -> None:
    ended = cli("trials")
    header, *lines = ended.out.splitlines()
    assert header.split() == ["number", "state", "value", "x", "kind", "n", "error"]
    assert [int(line.split()[0]) for line in lines] == list(range(5, 25))
    assert lines[16].split() == ["21", "completed", "0", "0.65625", "round", "22"]
    assert lines[0].split()[:5] == ["5", "failed", "0.15625", "round", "6"]
    assert lines[0].endswith("exit code 3: out of memory")
    assert lines[1].split() == ["6", "completed", "15", "0.5", "[flat]"]  # no markup, no value where inactive
    assert "the last 20 of 25 trials; --all shows all" in ended.err


def test_trials_can_be_chosen(cli: Cli) -> None:
    def numbers(*options: str) -> list[int]:
        return [trial["number"] for trial in json.loads(cli("trials", "--json", *options).out)]

    assert numbers() == list(range(5, 25))
    assert numbers("--all") == list(range(25))
    assert numbers("--last", "2") == [23, 24]
    assert numbers("--state", "failed") == [0, 5, 10, 15, 20]
    assert numbers("--state", "failed", "--last", "1") == [20]
    assert len(numbers("--state", "failed", "--state", "completed", "--all")) == 25
    assert numbers("--state", "running") == []


def test_an_unknown_state_lists_the_known_ones(cli: Cli) -> None:
    ended = cli("trials", "--state", "broken")
    assert ended.code == 1
    assert ended.err.startswith("error: --state must be one of waiting, running, completed, failed,")


def test_a_narrow_terminal_folds_and_cuts_nothing(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "console", lambda: Console(width=44))
    ended = cli("trials", "--last", "5")
    assert all(len(line) <= 44 for line in ended.out.splitlines())
    assert "…" not in ended.out
    words = ended.out.split()
    assert words[:4] == ["number", "state", "value", "parameters"]
    assert {"x=0.65625", "kind=round", "n=22", "kind=[flat]", "(exit"} <= set(words)


def test_control_characters_do_not_reach_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_table(["a"], [["\x1b[31mred\x07\ttab\nline"]])
    assert capsys.readouterr().out.splitlines()[1].strip() == r"\x1b[31mred\x07\ttab\nline"


def test_studies_for_people(cli: Cli) -> None:
    sonde.Study(sonde.Space(x=sonde.Bool()), storage="sqlite:///sonde.db", name="a b", direction="maximize")
    header, first, second = cli("studies").out.splitlines()
    assert header.split() == ["name", "direction", "trials", "best", "created"]
    assert first.split()[:4] == ["a", "b", "maximize", "none"]
    assert second.split()[:7] == ["shapes", "minimize", "20", "completed,", "5", "failed", "0"]


def test_studies_for_programs(cli: Cli) -> None:
    [found] = json.loads(cli("studies", "--json").out)
    created = found.pop("created")
    assert datetime.fromisoformat(created).tzinfo is not None
    assert found == {
        "name": "shapes",
        "direction": "minimize",
        "strategy": "auto",
        "seed": 0,
        "counts": {"completed": 20, "failed": 5},
        "best": 0.0,
    }


def test_storage_and_name_come_from_the_environment(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        study = sonde.Study(sonde.Space(x=sonde.Bool()), storage="sqlite:///other.db", name=name)
        study.add_trials([{"params": {"x": True}, "value": len(name)}])
        study.storage.close()
    monkeypatch.setenv("SONDE_STORAGE", "other.db")
    ended = cli("best")
    assert (ended.code, ended.err) == (
        1,
        "error: the storage has 2 studies (one, two); choose one by its name (name=, --name)\n",
    )
    monkeypatch.setenv("SONDE_NAME", "two")
    assert json.loads(cli("best", "--json").out)["study"] == "two"
    assert json.loads(cli("best", "--json", "--name", "one").out)["study"] == "one"
    assert cli("best", "--name", "three").err == "error: there is no study 'three' in this storage; it has: one, two\n"


def test_a_study_with_an_unknown_strategy_can_be_read(cli: Cli) -> None:
    class Mine(sonde.Strategy):
        name = "mine"

        def suggest(self, space: Any, history: Any, count: int, key: Any) -> Any:
            raise NotImplementedError

        def explain(self, space: Any, history: Any) -> str:
            return ""

    study = sonde.Study(sonde.Space(x=sonde.Bool()), storage="sqlite:///mine.db", name="s", strategy=Mine())
    study.add_trials([{"params": {"x": True}, "value": 1.0}])
    study.storage.close()
    assert cli("best", "--storage", "mine.db").code == 0
