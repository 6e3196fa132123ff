"""What programs tell besides a number: JSON on the last line, or in the result file."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sonde
from sonde.cli.children import Children, Ended
from sonde.cli.command import Command
from sonde.cli.results import read_result
from sonde.cli.template import parse
from sonde.errors import EvaluationError
from sonde.trials import Evaluation

Cli = Callable[..., Any]

FULL = {
    "value": 0.3,
    "gradient": {"lr": -2.0},
    "hessian": {"lr": {"lr": 4.0}},
    "noise": 0.01,
    "constraints": {"memory": -3},
    "attributes": {"epochs": 9},
}
DERIVED = Evaluation(
    0.3, gradient={"lr": -2.0}, hessian={"lr": {"lr": 4.0}}, noise=0.01, constraints={"memory": -3}
)  # fmt: skip


def printed(text: str, *objectives: str) -> Any:
    return read_result(Ended(0, text, ""), objectives=objectives)


@pytest.fixture
def in_file(tmp_path: Path) -> Callable[..., Any]:
    """What is read of a result file with this text; the program has printed a number, too."""

    def read(text: str, *objectives: str) -> Any:
        (tmp_path / "result.json").write_text(text)
        return read_result(Ended(0, "epoch 7\n", "some words"), tmp_path / "result.json", objectives)

    return read


def test_an_object_with_a_value_is_read_whole(in_file: Callable[..., Any]) -> None:
    for told in (printed(f"epoch 10\n{json.dumps(FULL)}\n"), in_file(json.dumps(FULL, indent=2))):
        assert told == (DERIVED, {"epochs": 9})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"loss": 0.25}', 0.25),  # an object without a value: the last number, as in any other text
        ('{"value": 0.25, "epoch": 12}', Evaluation(0.25)),
        ('{"value": 0.25}\n0.5', 0.5),
        ('{"value": 0.25', 0.25),
        ("[0.5, 0.25]", 0.25),
    ],
)
def test_other_lines_are_read_for_their_last_number(text: str, value: Any) -> None:
    assert printed(text).result == value


def test_the_file_counts_before_the_output(in_file: Callable[..., Any], tmp_path: Path) -> None:
    assert in_file("0.25").result == 0.25
    assert read_result(Ended(0, "0.5", ""), tmp_path / "none.json").result == 0.5
    with pytest.raises(EvaluationError, match=r"^exit code 3$"):
        read_result(Ended(3, "0.5", ""), tmp_path / "result.json")


@pytest.mark.parametrize(
    "told",
    [
        {"value": {"loss": 1, "noise": 2}, "noise": {"loss": 0.1}},
        {"loss": 1, "noise": 2},  # an objective may have any name
    ],
)
def test_several_objectives(in_file: Callable[..., Any], told: dict[str, Any]) -> None:
    expected = Evaluation({"loss": 1, "noise": 2}, noise={"loss": 0.1} if "value" in told else None)
    names = ("loss", "noise")
    assert printed(json.dumps(told), *names).result == in_file(json.dumps(told), *names).result == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"value": 1, "gradeint": {"lr": 1}}', "names 'gradeint'; it may have value, gradient, hessian, noise, "),
        ('{"gradient": {"lr": 1}}', "the result file has no value; it needs a number for each of value"),
        ('{"value": 1, "attributes": [1]}', r"attributes that are no object by name: \[1\]"),
        ("{", "the result file cannot be read"),
        ("", "the result file cannot be read"),
        ("[" * 100_000, "the result file cannot be read"),
        ("null", r"has no JSON object such as \{\"value\": 0.5\}"),
    ],
)
def test_what_cannot_be_read_is_a_failure_with_the_reason(in_file: Callable[..., Any], text: str, said: str) -> None:
    with pytest.raises(EvaluationError, match=rf"{said}.*\nsome words$"):
        in_file(text)


def test_a_shell_script_tells_gradients_and_constraints(cli: Cli) -> None:
    script = (
        'echo "{{\\"value\\": $SONDE_PARAM_x, \\"gradient\\": {{\\"x\\": 1}}, \\"constraints\\": {{\\"m\\": -1}}}}"'
    )
    ended = cli("run", "-n", "4", "--", "sh", "-c", f"{script}; : {{x:float:0..1}}")
    assert ended.code == 0, ended.err
    trials = sonde.load("sonde.db", "default").trials
    assert [trial.value for trial in trials] == [trial["x"] for trial in trials]
    assert all(trial.gradient == {"x": 1.0} and trial.constraints == {"m": -1.0} for trial in trials)


def test_files_for_parameters_and_result(cli: Cli) -> None:
    Path("train.py").write_text("""
import json, os
params = json.load(open(os.environ["SONDE_PARAMS_FILE"]))
assert params == json.loads(os.environ["SONDE_PARAMS"])
path = os.environ["SONDE_RESULT_FILE"]
result = {"value": params["x"] ** 2, "noise": 0.5, "attributes": {"folder": os.path.dirname(path)}}
json.dump(result, open(path, "w"))
""")
    Path("space.toml").write_text("[parameters.x]\ntype = 'float'\nlow = -1\nhigh = 1\n")
    assert cli("run", "-n", "3", "--space", "space.toml", "--", sys.executable, "train.py").code == 0
    trials = sonde.load("sonde.db", "default").trials
    assert [(trial.value, trial.noise) for trial in trials] == [(trial["x"] ** 2, 0.5) for trial in trials]
    assert len({trial.attributes["folder"] for trial in trials}) == 3
    assert not any(Path(trial.attributes["folder"]).exists() for trial in trials)  # they are not left


def test_a_derivative_of_no_parameter_is_a_failed_trial(cli: Cli) -> None:
    text = 'echo "{{\\"value\\": 1, \\"gradient\\": {{\\"y\\": 1}}}}"; : {x:float:0..1}'
    cli("run", "-n", "1", "sh", "-c", text)
    [trial] = sonde.load("sonde.db", "default").trials
    assert (trial.state, trial.error) == ("failed", "gradient names 'y'; the parameters are x")


def test_each_parameter_is_a_variable_of_the_environment() -> None:
    params = {"lr": 1e-05, "batch-size": 32, "bias": True, "opt": "adam", "a.b": 1, "a-b": 2, "null": "\0", "ä": 3}
    code = (
        "import json, os; print(json.dumps({'value': 0, 'attributes': "
        "{name: text for name, text in os.environ.items() if name.startswith('SONDE_PARAM_')}}))"
    )
    trial = sonde.Trial(0, params)
    Command(parse([sys.executable, "-c", code.replace("{", "{{").replace("}", "}}")]), "s", Children())(trial)
    assert trial.attributes == {
        "SONDE_PARAM_lr": "1e-05",
        "SONDE_PARAM_batch_size": "32",
        "SONDE_PARAM_bias": "true",
        "SONDE_PARAM_opt": "adam",
        "SONDE_PARAM__": "3",
    }
