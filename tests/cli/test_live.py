from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import START, Sonde
from tests.server.service import Server

import sonde
from sonde.storage import Asker

EVIL = "\x1b]0;gotcha\x07\u202eevil"


def _study(name: str = "s", **options: Any) -> sonde.Study:
    return sonde.Study(sonde.Space(x=sonde.Float(0, 1)), storage="sonde.db", name=name, seed=0, **options)


def _added(study: sonde.Study, values: list[Any]) -> None:
    trials = [{"params": {"x": i / len(values)}, "value": value} for i, value in enumerate(values)]
    study.add_trials(trials)


def _rows(text: str) -> dict[str, str]:
    """Return the lines of a view by their labels."""
    lines = [line.rstrip() for line in text.splitlines()[2:]]
    return {line.split()[0]: line.partition(" ")[2].strip() for line in lines if line and not line.startswith(" ")}


@pytest.mark.usefixtures("study")
def test_a_view_for_people(cli: Sonde) -> None:
    ended = cli("show", "--once")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines()[0] == "shapes"
    rows = _rows(ended.out)
    assert rows["objective"] == "minimize, 3 parameters, seed 0"
    assert rows["strategy"] == "auto"
    assert rows["state"] == "idle"
    assert rows["trials"] == "25: 20 completed, 5 failed"
    assert rows["best"] == "0  trial 21"
    assert rows["failures"] == "trial 20  exit code 3: out of memory"
    assert rows["workers"] == "none"
    assert rows["end"] == "unknown, give --total"
    assert "kind  round" in ended.out
    assert "best of the first 1 to 25 results" in ended.out
    assert cli("show").out == ended.out  # no terminal


@pytest.mark.usefixtures("study")
def test_a_view_for_programs(cli: Sonde) -> None:
    found = json.loads(cli("show", "--json", "--total", "30").out)
    assert (found["study"], found["direction"], found["objectives"]) == ("shapes", "minimize", None)
    assert (found["state"], found["strategy"], found["why"], found["seed"]) == ("idle", "auto", None, 0)
    assert found["counts"] | {"completed": 20, "failed": 5} == found["counts"]
    assert sum(found["counts"].values()) == 25
    assert found["best"] == {"trial": 21, "value": 0.0, "params": {"x": 0.65625, "kind": "round", "n": 22}}
    values = {number: float(abs(number - 21)) for number in range(25) if number % 5}
    best, expected = float("inf"), []
    for number in range(25):
        if values.get(number, best) < best:
            best = values[number]
            expected.append({"results": number + 1, "trial": number, "value": best})
    assert found["improvements"] == expected
    assert [one["trial"] for one in found["failures"]] == [20, 15, 10]
    assert (found["running"], found["rate"], found["total"], found["end"]) == ([], None, 30, None)


def test_the_best_of_a_maximized_study_keeps_its_sign(cli: Sonde) -> None:
    with _study(direction="maximize") as study:
        _added(study, [1.0, 5.0, 3.0])
    found = json.loads(cli("show", "--json").out)
    assert [one["value"] for one in found["improvements"]] == [1.0, 5.0]
    assert found["best"]["value"] == 5.0


def test_results_that_break_a_constraint_are_no_improvement(cli: Sonde) -> None:
    with _study() as study:
        study.add_trials(
            [
                {"params": {"x": 0.1}, "value": 1.0, "constraints": {"size": 2.0}},
                {"params": {"x": 0.2}, "value": 3.0, "constraints": {"size": -1.0}},
            ]
        )
    assert json.loads(cli("show", "--json").out)["improvements"] == [{"results": 2, "trial": 1, "value": 3.0}]


def test_running_trials_and_the_estimated_end(cli: Sonde) -> None:
    with _study() as study:
        for _ in range(3):
            study.tell(study.ask(lease=None), 1.0)
        running = study.ask(9, lease=None)
    rows = _rows(cli("show", "--once", "--total", "100").out)
    assert rows["state"] == "running"
    assert rows["trials"] == "12: 9 running, 3 completed"
    assert f"trial {running[0].number}  for 0 s" in rows["workers"]
    assert "3 more" in cli("show", "--once").out
    assert ": 3 of 100 trials; " in rows["end"]
    found = json.loads(cli("show", "--json", "--total", "100").out)
    assert [one["trial"] for one in found["running"]] == [trial.number for trial in running]
    assert found["rate"] > 0
    assert found["end"] > found["running"][0]["since"]
    assert _rows(cli("show", "--once", "--total", "3").out)["end"].startswith("reached: 3 of 3 trials")


def test_of_a_failure_only_the_reason_is_cut(cli: Sonde, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    with _study() as study:
        study.add_trials([{"params": {"x": 0.1}, "failed": "no memory " * 50}] * 11)
    lines = cli("show", "--once").out.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("failures"))
    assert [line.strip() for line in lines[first : first + 3]] == [
        "failures   trial 10  no memory no memor…", "trial 9   no memory no memor…", "trial 8   no memory no memor…",
    ]  # fmt: skip


def test_the_view_says_who_suggests_and_how_many_wait(cli: Sonde) -> None:
    study = _study()
    asker, other = Asker("me\x1b[31m", 60.0, None), Asker("other", 60.0, None)
    assert "suggester" not in _rows(cli("show", "--once").out)
    study.storage.begin_ask(study._header.key, ["a" * 32], asker)
    study.storage.begin_ask(study._header.key, ["b" * 32], other)
    assert _rows(cli("show", "--once").out)["suggester"].startswith("me\\x1b[31m for ")
    assert _rows(cli("show", "--once").out)["suggester"].endswith(" s, 1 ask waits")
    found = json.loads(cli("show", "--json").out)["suggesting"]
    assert (found["suggester"], found["asks"], found["seconds"] >= 0) == ("me\x1b[31m", 1, True)
    study.storage.end_suggester_lease(study._header.key, asker.name)
    assert _rows(cli("show", "--once").out)["suggester"] == "nobody, 1 ask waits"


def test_a_paused_study_says_so(cli: Sonde) -> None:
    with _study() as study:
        study.ask(lease=None)
        study.pause()
    assert _rows(cli("show", "--once").out)["state"] == "paused"
    assert json.loads(cli("show", "--json").out)["state"] == "paused"


def test_a_study_without_trials(cli: Sonde) -> None:
    _study().close()
    rows = _rows(cli("show", "--once", "--total", "9").out)
    assert (rows["trials"], rows["best"]) == ("none yet", "none yet")
    assert rows["end"].startswith("unknown: 0 of 9 trials")
    found = json.loads(cli("show", "--json").out)
    assert (found["best"], found["improvements"], found["failures"]) == (None, [], [])


def test_only_failures(cli: Sonde) -> None:
    with _study() as study:
        study.add_trials([{"params": {"x": 0.5}, "failed": f"first\n{EVIL}"}])
    ended = cli("show", "--once")
    assert _rows(ended.out)["best"] == "none yet"
    assert r"first: \x1b]0;gotcha\x07\u202eevil" in ended.out


def test_one_trial(cli: Sonde) -> None:
    with _study() as study:
        _added(study, [0.25])
    assert "0.25 ┤" in cli("show", "--once").out


def test_values_over_many_decades_have_a_log_axis(cli: Sonde) -> None:
    with _study() as study:
        _added(study, [1e6, 1.0, 1e-6])
    assert "best of the first 1 to 3 results, log scale" in cli("show", "--once").out


def test_several_objectives(cli: Sonde) -> None:
    with _study(objectives={"loss": "minimize", "gain": "maximize"}) as study:
        _added(study, [{"loss": 1, "gain": 1}, {"loss": 2, "gain": 3}, {"loss": 3, "gain": 2}])
    rows = _rows(cli("show", "--once").out)
    assert rows["front"] == "2 trials"
    assert "loss  1 to 2  minimize" in cli("show", "--once").out
    assert "gain  3 to 1  maximize" in cli("show", "--once").out
    found = json.loads(cli("show", "--json").out)
    assert (found["front"], found["best"], found["direction"]) == (2, None, None)
    assert found["ranges"][1] == {"name": "gain", "direction": "maximize", "best": 3.0, "worst": 1.0}


def test_hostile_names_are_shortened_and_escaped(cli: Sonde) -> None:
    names = [EVIL, "n" * 200, "😀" * 50, "<script>", "[bold]", "شكل"]
    space = sonde.Space({name: sonde.Categorical([name, "b"]) for name in names})
    with sonde.Study(space, storage="sonde.db", name="[red]" + "w" * 300) as study:
        study.add_trials([{"params": {name: name for name in names}, "value": 1.0}])
    out = cli("show", "--once").out
    assert not any(letter in out for letter in "\x1b\x07\u202e")
    assert all(len(line) <= 80 for line in out.splitlines())
    assert "[red]www" in out
    assert "<script>" in out
    assert json.loads(cli("show", "--json").out)["best"]["params"] == {name: name for name in names}


def test_many_parameters_are_counted(cli: Sonde) -> None:
    space = sonde.Space({f"x{i}": sonde.Float(0, 1) for i in range(50)})
    with sonde.Study(space, storage="sonde.db", name="s") as study:
        study.add_trials([{"params": {f"x{i}": 0.5 for i in range(50)}, "value": 1.0}])
    assert "38 more; sonde best shows all" in cli("show", "--once").out


def test_a_terminal_that_knows_ascii_only(study: Any) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", START, "show"],
        capture_output=True,
        check=True,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
    )
    assert ended.stdout.isascii()
    assert b"****" in ended.stdout


def test_explain_says_why(cli: Sonde) -> None:
    _study().close()
    assert _rows(cli("show", "--once", "--explain").out)["strategy"].startswith("auto: sobol, because")
    assert json.loads(cli("show", "--json", "--explain").out)["why"].startswith("auto: sobol, because")


def test_the_strategy_need_not_be_installed(cli: Sonde) -> None:
    class Mine(sonde.Strategy):
        name = "mine"

        def suggest(self, space: Any, history: Any, count: int, key: Any) -> Any:
            raise NotImplementedError

        def explain(self, space: Any, history: Any) -> str:
            return ""

    _study(strategy=Mine()).close()
    assert _rows(cli("show", "--once").out)["strategy"] == "mine"
    assert cli("show", "--explain").err.startswith("error: strategy must be one of")


def test_showing_changes_nothing(cli: Sonde, study: Any) -> None:
    def revision() -> int:
        with sonde.load("sonde.db", "shapes") as opened:
            return opened.history.revision

    before = revision()
    cli("show", "--once")
    cli("show", "--json")
    assert revision() == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--name", "none"], "error: there is no study 'none' in this storage; it has: shapes\n"),
        (["--name", "\udcff"], "error: no study has the name '\\udcff', which is not valid text\n"),
        (["--storage", "none.db"], "error: there is no database 'none.db'; check --storage and SONDE_STORAGE, or start "
         "a study with: sonde run\n"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("study")
def test_what_is_not_there(cli: Sonde, arguments: list[str], said: str) -> None:
    assert cli("show", *arguments) == (1, "", said)
    assert not Path("none.db").exists()


@pytest.mark.usefixtures("study")
@pytest.mark.parametrize("option", [["--every", "0"], ["--every", "nan"], ["--total", "0"], ["--total", "x"]])
def test_options_are_checked(cli: Sonde, option: list[str]) -> None:
    assert cli("show", *option).code == 2


class Terminal:
    """``sonde show`` in a terminal of its own. A shell's background jobs, and so its tests, ignore Ctrl-C."""

    def __init__(self) -> None:
        self._own, other = pty.openpty()
        environment = os.environ | {"TERM": "xterm", "COLUMNS": "90", "LINES": "50"}
        self.process = subprocess.Popen(
            ["env", "--default-signal=INT", sys.executable, "-c", START, "show", "--every", "0.1"],
            stdin=other, stdout=other, stderr=other, env=environment, start_new_session=True,
        )  # fmt: skip
        os.close(other)
        self.said = ""

    def wait_for(self, text: str) -> None:
        deadline = time.monotonic() + 60
        while text not in self.said:
            assert time.monotonic() < deadline, self.said
            self._read()

    def end(self, number: int) -> int:
        self.process.send_signal(number)
        try:
            while True:
                self._read()
        except OSError:  # the terminal is closed
            pass
        return self.process.wait(60)

    def _read(self) -> None:
        self.said += os.read(self._own, 65536).decode("utf-8", "replace")


@pytest.fixture
def terminal(study: Any) -> Iterator[Terminal]:
    started = Terminal()
    yield started
    started.process.kill()
    started.process.wait()


def test_a_live_view_follows_the_study_until_ctrl_c(terminal: Terminal) -> None:
    terminal.wait_for("25: 20 completed")
    with sonde.load("sonde.db", "shapes") as study:
        study.add_trials([{"params": {"x": 0.9, "kind": "[flat]"}, "value": -7.5}])
    terminal.wait_for("26: 21 completed")
    assert "-7.5" in terminal.said
    assert terminal.end(signal.SIGINT) == 0
    assert "Traceback" not in terminal.said
    assert terminal.said.rindex("\x1b[?25h") > terminal.said.rindex("\x1b[?25l")  # the cursor is visible again


def test_sigterm_leaves_a_visible_cursor(terminal: Terminal) -> None:
    terminal.wait_for("25: 20 completed")
    assert terminal.end(signal.SIGTERM) == 143
    assert terminal.said.rindex("\x1b[?25h") > terminal.said.rindex("\x1b[?25l")


def test_a_study_that_is_deleted_ends_the_view_with_an_error(terminal: Terminal) -> None:
    terminal.wait_for("25: 20 completed")
    sonde.delete("sonde.db", "shapes")
    terminal.wait_for("error: ")
    assert terminal.process.wait(60) == 1


def test_a_study_of_a_service(cli: Sonde, study: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = cli("show", "--once", "--explain").out, json.loads(cli("show", "--json").out)
    server = Server("sqlite:///sonde.db", tmp_path)
    try:
        monkeypatch.setenv("SONDE_TOKEN", server.token)
        url = f"http://127.0.0.1:{server.port}"
        assert cli("show", "--once", "--explain", "--storage", url).out == here[0]
        assert json.loads(cli("show", "--json", "--storage", url).out) == here[1]
    finally:
        server.process.kill()
        server.process.communicate()
