from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import START, Sonde
from tests.server.service import Server

import sonde

SPACE = """
where = ["x + y <= 1.5"]
[parameters.x]
type = "float"
low = 0.0
high = 1.0
[parameters.y]
type = "float"
low = 0.0
high = 1.0
[parameters.kind]
type = "categorical"
choices = ["a b", "[flat]"]
"""

Answer = Callable[..., Any]


@pytest.fixture
def space() -> Path:
    path = Path("space.toml")
    path.write_text(SPACE, encoding="utf-8")
    return path


@pytest.fixture
def asked(cli: Sonde, space: Path) -> Any:
    """A trial of a new study."""
    return json.loads(cli("ask", "--space", str(space), "--seed", "1", "--json").out)


@pytest.fixture
def stdin(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], None]:
    """Put data, or text, on standard input."""

    def put(data: Any) -> None:
        text = data if isinstance(data, str) else json.dumps(data)
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8"))

    return put


def test_ask_makes_the_study_and_prints_the_trial(cli: Sonde, asked: Any) -> None:
    assert (asked["study"], asked["number"], len(asked["token"])) == ("default", 0, 32)
    assert set(asked["params"]) == {"x", "y", "kind"}
    with sonde.load("sonde.db", "default") as study:
        trial = study.trial(0)
        assert dict(trial.params) == asked["params"]
        assert (trial.token, trial.state) == (asked["token"], sonde.State.RUNNING)
        assert (study.seed, study.direction) == (1, "minimize")


def test_ask_several_for_people_and_for_programs(cli: Sonde, asked: Any) -> None:
    header, *lines = cli("ask", "-n", "2").out.splitlines()
    assert header.split() == ["number", "token", "x", "y", "kind"]
    assert [line.split()[0] for line in lines] == ["1", "2"]
    found = json.loads(cli("ask", "-n", "2", "--json").out)
    assert [one["number"] for one in found] == [3, 4]
    assert len(json.loads(cli("ask", "-n", "1", "--json").out)) == 1
    with sonde.load("sonde.db", "default") as study:
        assert f"{study.trial(1).params['x']!r}" in lines[0]  # exactly


def test_asks_are_those_of_python(cli: Sonde, asked: Any, space: Path) -> None:
    again = json.loads(cli("ask", "--space", str(space), "--seed", "1", "--storage", "other.db", "--json").out)
    assert again["params"] == asked["params"]


def test_a_lease_that_ends_gives_the_trial_to_another(cli: Sonde, space: Path) -> None:
    first = json.loads(cli("ask", "--space", str(space), "--lease", "0.000001", "--json").out)
    second = json.loads(cli("ask", "--json").out)
    assert second["params"] == first["params"]
    assert second["token"] != first["token"]
    third = json.loads(cli("ask", "--json").out)
    assert third["params"] != second["params"]  # whose lease never ends


def test_settings_of_a_new_study(cli: Sonde, space: Path) -> None:
    made = ["--space", str(space), "--name", "m", "--direction", "maximize", "--strategy", "random"]
    assert cli("ask", *made).code == 0
    assert cli("ask", *made).code == 0  # the same settings find it
    with sonde.load("sonde.db", "m") as study:
        assert (study.direction, len(study.trials)) == ("maximize", 2)
    assert "exists with direction='maximize'" in cli("ask", "--space", str(space), "--name", "m").err
    several = ["--objective", "loss:min", "--objective", "size:min", "--threshold", "size=9"]
    assert cli("ask", "--space", str(space), "--name", "two", *several).code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--lease", "0"], "--lease must be a positive number of seconds, or none, got '0'"),
        (["--lease", "nan"], "--lease must be a positive number of seconds, or none, got 'nan'"),
        (["--lease", "soon"], "--lease must be a positive number of seconds, or none, got 'soon'"),
        (["--seed", "0"], "--seed is for a new study, which needs --space, too; leave it out to open one"),
        (["--strategy", "gp"], "--strategy is for a new study, which needs --space, too; leave it out to open one"),
        (["--direction", "minimize"], "--direction is for a new study, which needs --space"),
        (["--objective", "a:min", "--objective", "b:min"], "--objective is for a new study, which needs --space"),
        (["--threshold", "a=1"], "--threshold is for several objectives"),
        (["--name", "none"], "there is no study 'none'"),
    ],
)
def test_what_cannot_be_asked(cli: Sonde, asked: Any, arguments: list[str], said: str) -> None:
    ended = cli("ask", *arguments)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith(f"error: {said}")
    assert len(ended.err.splitlines()) == 1


@pytest.mark.parametrize("text", ["", "where = []", "[parameters]", "parameters = 3", "speed = 1", "x = ["])
def test_a_space_file_without_a_space(cli: Sonde, text: str) -> None:
    Path("bad.toml").write_text(text)
    ended = cli("ask", "--space", "bad.toml")
    assert ended.code == 1
    assert "bad.toml" in ended.err
    assert not Path("sonde.db").exists()


def test_ask_needs_a_study(cli: Sonde) -> None:
    assert cli("ask").err.startswith("error: there is no database 'sonde.db'")
    assert not Path("sonde.db").exists()


def test_a_space_that_is_exhausted(cli: Sonde) -> None:
    sonde.Study(sonde.Space(x=sonde.Bool()), storage="sonde.db", name="s").close()
    assert cli("ask", "-n", "2").code == 0
    assert cli("ask").err == "error: all 2 configurations of the space have been tried\n"


# telling


def test_tell_a_value(cli: Sonde, asked: Any) -> None:
    assert cli("tell", "0", "-1.5e-3") == (0, "", "trial 0 completed: -0.0015\n")
    assert cli("tell", "0", "-0.0015") == (0, "", "trial 0 completed: -0.0015\n")  # again: nothing changes
    conflict = cli("tell", "0", "2")
    assert conflict.code == 1
    assert conflict.err.startswith("error: trial 0 was told -0.0015 before and is now told 2.0")
    assert len(conflict.err.splitlines()) == 1


def test_tell_everything(cli: Sonde, asked: Any) -> None:
    options = ["--noise", "0.1", "--gradient", "x=-2", "--gradient", "y=1", "--constraint", "size=-1", "--json"]
    found = json.loads(cli("tell", "0", "0.5", *options, "--trial-token", asked["token"]).out)
    assert (found["value"], found["noise"], found["constraints"]) == (0.5, 0.1, {"size": -1.0})
    assert found["gradient"] == {"x": -2.0, "y": 1.0}


def test_tell_a_failure_or_a_stop(cli: Sonde, asked: Any) -> None:
    cli("ask", "-n", "3")
    assert cli("tell", "0", "--failed", "first\nlast") == (0, "", "trial 0 failed: first: last\n")
    assert cli("tell", "1", "--stopped").err == "trial 1 stopped\n"
    assert cli("tell", "2", "nan").err == "trial 2 failed: the value is nan\n"


def test_tell_several_objectives(cli: Sonde, space: Path) -> None:
    cli("ask", "--space", str(space), "--objective", "loss:min", "--objective", "size:max")
    ended = cli("tell", "0", "--objective", "loss=0.5", "--objective", "size=3")
    assert ended == (0, "", "trial 0 completed: loss 0.5, size 3.0\n")
    assert cli("tell", "0", "3").err.startswith("error: ")
    assert cli("tell", "0", "3", "--objective", "loss=1").err.startswith("error: give a value for one objective or")


def test_another_token_tells_nothing(cli: Sonde, asked: Any) -> None:
    ended = cli("tell", "0", "1", "--trial-token", "0" * 32)
    assert ended.err.startswith("error: trial 0 has another token; ")
    with sonde.load("sonde.db", "default") as study:
        assert study.trial(0).state == sonde.State.RUNNING


def test_standard_input_has_one_result_or_several(cli: Sonde, asked: Any, stdin: Callable[[Any], None]) -> None:
    cli("ask", "-n", "3")
    stdin({"trial": 0, "token": asked["token"], "value": 0.5, "gradient": {"x": 1}, "attributes": {"host": "a"}})
    assert cli("tell", "-").err == "trial 0 completed: 0.5\n"
    stdin([{"trial": 1, "failed": "oom"}, {"trial": 2, "stopped": True}, {"trial": 3, "value": 1, "noise": None}])
    assert [one["state"] for one in json.loads(cli("tell", "-", "--json").out)] == ["failed", "stopped", "completed"]
    with sonde.load("sonde.db", "default") as study:
        assert study.trial(0).attributes == {"host": "a"}


@pytest.mark.filterwarnings("default:the database does not know")
def test_a_trial_that_the_database_has_lost_is_told_with_its_params(
    cli: Sonde, asked: Any, stdin: Callable[[Any], None]
) -> None:
    told = {"trial": 7, "token": "a" * 32, "params": {"x": 0.5, "y": 0.25, "kind": "[flat]"}, "value": 0.25}
    stdin(told)
    warning, said = cli("tell", "-").err.splitlines()
    assert warning.startswith("warning: the database does not know trial 7")
    assert said == "trial 1 completed: 0.25"
    stdin(told | {"token": "b" * 32, "params": {"x": 0.5}})
    assert cli("tell", "-").err.startswith("error: ")
    with sonde.load("sonde.db", "default") as study:
        assert dict(study.trial(1).params) == told["params"]
        assert len(study.trials) == 2


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("", "standard input is no JSON"),
        ("[" * 100_000, "standard input is no JSON"),
        ('"x"', "a result is an object such as"),
        ({"value": 1}, "a result is an object such as"),
        ({"trial": True, "value": 1}, "a result is an object such as"),
        ({"trial": 0, "valeu": 1}, "a result has no key 'valeu'; it may have trial, token, params, value"),
        ({"trial": 0, "token": 3, "value": 1}, "token must be text"),
        ({"trial": 0, "stopped": 1}, "stopped must be true or false, got 1"),
        ({"trial": 0, "value": "high"}, "the value"),
        ({"trial": 0}, "tell needs a value"),
        ({"trial": -1, "value": 1}, "there is no trial number -1"),
    ],
)
def test_json_that_is_no_result(cli: Sonde, asked: Any, stdin: Callable[[Any], None], data: Any, said: str) -> None:
    stdin(data)
    ended = cli("tell", "-")
    assert (ended.code, ended.out) == (1, "")
    assert said in ended.err
    assert len(ended.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["0"], 1, "error: give the value of the trial, or --failed REASON, or --stopped"),
        (["0", "1", "--failed", "x"], 1, "error: tell takes a value or failed=, not both"),
        (["0", "--stopped", "--noise", "1"], 1, "error: tell takes stopped=True alone"),
        (["x", "1"], 1, "error: the trial must be a number, or - for JSON on standard input, got 'x'"),
        (["-1", "1"], 1, "error: the trial must be a number"),
        (["99", "1"], 1, "error: study 'default' has no trial number 99"),
        (["0", "1", "2"], 2, "a trial has one value, got 1 2"),
        (["0", "--nois", "1"], 2, "no such option: --nois"),
        (["0", "high"], 2, "'high' is not a number"),
        (["0", "1", "--gradient", "x"], 1, "error: --gradient must be NAME=NUMBER, e.g. lr=-2.5, got 'x'"),
        (["0", "1", "--gradient", "z=1"], 1, "error: "),
        (["0", "1", "--gradient", "x=1", "--gradient", "x=1"], 1, "error: --gradient names 'x' twice"),
        (["0", "1", "--noise", "-1"], 1, "error: "),
        (["-", "--failed", "x"], 1, "error: with - all that is told comes from standard input"),
        ([], 2, "Missing argument"),
    ],
)
def test_what_cannot_be_told(cli: Sonde, asked: Any, arguments: list[str], code: int, said: str) -> None:
    ended = cli("tell", *arguments)
    assert (ended.code, ended.out) == (code, "")
    assert said in ended.err
    with sonde.load("sonde.db", "default") as study:
        assert study.trial(0).state == sonde.State.RUNNING


def test_a_shell_asks_and_tells(space: Path) -> None:
    sonde_ = f"{sys.executable} -c '{START}'"
    script = f"""
        set -eo pipefail
        {sonde_} ask --space space.toml --seed 1 --json \\
            | sed -n 's/.*"token": "\\(.*\\)",/{{"trial": 0, "token": "\\1", "value": 0.5}}/p' | {sonde_} tell -
    """
    subprocess.run(["bash", "-c", script], check=True, capture_output=True, timeout=100)
    with sonde.load("sonde.db", "default") as study:
        assert study.trial(0).value == 0.5


def test_through_a_service(cli: Sonde, asked: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server("sqlite:///sonde.db", tmp_path)
    try:
        monkeypatch.setenv("SONDE_TOKEN", server.token)
        where = ["--storage", f"http://127.0.0.1:{server.port}"]
        found = json.loads(cli("ask", "--json", *where).out)
        assert found["number"] == 1
        assert cli("tell", "1", "0.5", "--trial-token", found["token"], *where).err == "trial 1 completed: 0.5\n"
        assert cli("tell", "1", "0.75", *where).code == 1
        assert cli("explain", *where).out.startswith("auto: sobol, because")
    finally:
        server.process.kill()
        server.process.communicate()
