from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sonde
from sonde.cli.children import KEPT, Children, Ended
from sonde.cli.command import CannotStart, Command, check_program
from sonde.cli.results import read_result
from sonde.cli.template import parse
from sonde.errors import EvaluationError, OptionError

TRIAL = sonde.Trial(7, {"lr": 0.5, "bias": True})


def run(code: str, *arguments: str) -> Any:
    template = parse(
        [sys.executable, "-c", code.replace("{", "{{").replace("}", "}}"), *arguments], known=["lr", "bias"]
    )
    return Command(template, "a study", Children())(TRIAL)


def test_the_value_is_the_last_number_printed() -> None:
    assert run("import sys; print(1); print('lr', float(sys.argv[1]) * 2)", "{lr}") == 1.0


def test_the_environment_tells_study_trial_and_parameters() -> None:
    code = (
        "import json, os; e = os.environ; assert e['SONDE_STUDY'] == 'a study' and e['SONDE_TRIAL'] == '7';"
        "assert json.loads(e['SONDE_PARAMS']) == {'lr': 0.5, 'bias': True}; print(3)"
    )
    assert run(code) == 3.0


def test_a_program_has_no_input() -> None:
    assert run("import sys; assert sys.stdin.read() == ''; print(4)") == 4.0


def test_a_failure_keeps_the_exit_code_and_the_end_of_standard_error() -> None:
    with pytest.raises(EvaluationError) as caught:
        run("import sys; print(1); sys.stderr.write('x' * 5000 + 'the end'); sys.exit(3)")
    message = str(caught.value)
    assert message.startswith("exit code 3\nxxx")
    assert message.endswith("the end")
    assert len(message) < 2100


def test_a_signal_is_named() -> None:
    with pytest.raises(EvaluationError, match=r"^killed by signal SIGKILL$"):
        run("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    with pytest.raises(EvaluationError, match=r"^killed by signal 99$"):
        read_result(Ended(-99, "", ""))


def test_no_number_says_so() -> None:
    with pytest.raises(EvaluationError, match=r"(?s)^no number on standard output.*a hint$"):
        run("import sys; print('done'); print('a hint', file=sys.stderr)")


def test_long_outputs_are_read_and_forgotten() -> None:
    code = f"import sys; big = 'word ' * {KEPT}; sys.stderr.write(big); print(big); print(0.5)"
    template = parse([sys.executable, "-c", code])
    finished = Children().run(template.render({}), os.environ)
    assert len(finished.stdout) == len(finished.stderr) == KEPT
    assert read_result(finished).result == 0.5


def test_bytes_that_are_no_text_do_no_harm() -> None:
    assert run(r"import sys; sys.stdout.buffer.write(b'\xff\xfe 0.5')") == 0.5


def test_a_program_in_the_background_does_not_hold_us_up() -> None:
    started = time.monotonic()
    template = parse(["sh", "-c", "sleep 60 & echo $! > pid; echo 5"])
    assert Command(template, "s", Children())(TRIAL) == 5.0
    os.kill(int(Path("pid").read_text()), signal.SIGKILL)
    assert time.monotonic() - started < 50


@pytest.mark.parametrize("name", ["./missing", "./folder", "./text"])
def test_what_cannot_be_started_is_no_failed_trial(name: str) -> None:
    Path("folder").mkdir()
    Path("text").write_text("not a program")
    Path("text").chmod(0o755)
    with pytest.raises(CannotStart, match=f"cannot start '{name}': "):
        Command(parse([name]), "s", Children())(TRIAL)


def test_the_program_is_looked_for_before_anything_is_done() -> None:
    with pytest.raises(OptionError, match="cannot start 'no-such-program': there is no such program"):
        check_program(parse(["no-such-program", "{x:bool}"]))
    check_program(parse([sys.executable]))
    check_program(parse(["{solver:a|b}"]))


def test_stop_kills_whole_groups_and_lets_nothing_start(is_gone: Callable[[int], bool]) -> None:
    children = Children()
    ended: list[BaseException] = []

    def call() -> None:
        try:
            children.run(["sh", "-c", "sleep 60 & echo $! > pid; wait"], os.environ)
        except KeyboardInterrupt as error:
            ended.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    while not (Path("pid").exists() and Path("pid").read_text().strip()):
        time.sleep(0.01)
    children.stop()
    thread.join(10)
    assert len(ended) == 1
    assert is_gone(int(Path("pid").read_text()))
    with pytest.raises(KeyboardInterrupt):
        children.run(["true"], os.environ)


def test_parameters_that_json_lacks_are_told_by_their_names() -> None:
    trial = sonde.Trial(0, {"f": max, "t": (1, 2)})
    template = parse(
        [sys.executable, "-c", "import os; open('params', 'w').write(os.environ['SONDE_PARAMS']); print(1)"]
    )
    assert Command(template, "s", Children())(trial) == 1.0
    assert json.loads(Path("params").read_text()) == {"f": "builtins.max", "t": [1, 2]}
