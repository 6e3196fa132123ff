from __future__ import annotations

import io
import re
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from rich.console import Console

import sonde
from sonde.activity import doing, watching
from sonde.strategies.sobol import Sobol
from sonde.study.progress import Bar, Lines, counted

SPACE = sonde.Space(x=sonde.Float(0, 1))


def eventually(condition: Callable[[], Any]) -> Any:
    """Wait until a condition holds, and return its value."""
    deadline = time.monotonic() + 100
    while not (found := condition()):
        assert time.monotonic() < deadline, "it never showed"
        time.sleep(0.02)
    return found


def terminal() -> tuple[Console, Callable[[], str]]:
    """A terminal of the usual width, and what has been drawn there, without colours."""
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=80, color_system=None)
    return console, lambda: re.sub(r"\x1b\[[0-9?]*[a-zA-Z]", "", file.getvalue())


def test_the_bar_counts_the_seconds_of_the_activity() -> None:
    console, drawn = terminal()
    with Bar("study", 5, console) as bar:
        bar.show(1, 0, 2.5)
        bar.stage("training networks on 1,001 results")
        eventually(lambda: "training networks on 1,001 results 1 s" in drawn())
        bar.stage("")
    assert "training" not in drawn().splitlines()[-1]
    assert "1/5 trials best 2.5" in drawn().splitlines()[-1]


@pytest.mark.parametrize("name", ["[/foo]", "[red]x[/red]", "a\x1b[2Jb", "{task.id}", "\ud800"])
def test_a_name_is_escaped(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    console, drawn = terminal()
    with Bar(name, 5, console) as bar:
        bar.show(1, 0, 2.5)
    shown = name.replace("\x1b", "\\x1b").replace("\ud800", "\\ud800")
    assert shown in drawn()
    with Lines(name, 5) as lines:
        lines.show(1, 0, 2.5)
    assert capsys.readouterr().err == f"{shown}: 1/5 trials, best 2.5, 0 s\n"


def test_a_long_name_leaves_room_for_the_rest() -> None:
    console, drawn = terminal()
    with Bar("n" * 500, 5, console) as bar:
        bar.show(1, 0, 2.5)
    assert "1/5 trials" in drawn()


class Slow(Sobol):
    """Says that it trains, until told to go on."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on = threading.Event()

    def suggest(self, *arguments: Any) -> Any:
        with doing("training networks on 1,001 results"):
            assert self.go_on.wait(30)
        return super().suggest(*arguments)


def test_without_a_terminal_a_line_says_what_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    strategy, errors = Slow(), io.StringIO()
    monkeypatch.setattr("sys.stderr", errors)

    def watch() -> None:
        try:
            eventually(lambda: "training" in errors.getvalue())
        finally:
            strategy.go_on.set()

    watcher = threading.Thread(target=watch)
    watcher.start()
    begun = time.monotonic()
    sonde.minimize(lambda trial: trial["x"], SPACE, 2, strategy=strategy, name="mine", seed=0)
    watcher.join()
    lines = errors.getvalue().splitlines()
    assert time.monotonic() - begun < 15
    assert re.fullmatch(r"mine: 0/2 trials, best -, \d+ s; training networks on 1,001 results \d+ s", lines[0])
    assert lines[-1].startswith("mine: 2/2 trials, best 0")
    assert len(lines) == 2


def test_running_trials_and_waiting_are_shown_too() -> None:
    stages: list[str] = []
    study = sonde.Study(SPACE, strategy="sobol", seed=0)

    class Noted(Lines):
        def stage(self, what: str) -> None:
            stages.append(what)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sonde.study.loop.progress_for", lambda title, total, wanted: Noted(title, total))
        study.optimize(lambda trial: 1.0, 1)
        study.optimize(lambda trial: 1.0, 2, workers=2)
    assert stages[:4] == ["suggesting", "", "running trial 0", ""]
    assert "waiting for 2 results" in stages


@pytest.mark.parametrize(
    ("done", "total", "first", "text"),
    [
        (5, 30, 0, "5/30 trials"),
        (5, None, 0, "5 trials"),
        (30, 30, 20, "30/30 trials"),
        (31, 30, 20, "31 trials, 30 asked for"),
        (60, 30, 60, "60 trials, 30 asked for: nothing to do"),
    ],
)
def test_counts_are_those_that_were_asked_for(done: int, total: int | None, first: int, text: str) -> None:
    assert counted(done, total, first) == text


def test_a_finished_study_has_nothing_to_do(capsys: pytest.CaptureFixture[str], sqlite_url: str) -> None:
    def run(trials: int) -> str:
        sonde.minimize(lambda trial: trial["x"], SPACE, trials, strategy="sobol", storage=sqlite_url, name="mine")
        return capsys.readouterr().err

    run(6)
    assert run(3).startswith("mine: 6 trials, 3 asked for: nothing to do, best ")


def test_the_activity_ends_when_a_watcher_raises() -> None:
    """An interrupt may be raised there."""

    def interrupt(what: str) -> None:
        if what:
            raise KeyboardInterrupt

    with watching(interrupt), pytest.raises(KeyboardInterrupt), doing("fitting"):
        pass
    said: list[str] = []
    with watching(said.append), doing("suggesting"):
        pass
    assert said == ["suggesting", ""]
