from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import sonde
from sonde.errors import OptionError, StudyMismatch

SPACE = sonde.Space(x=sonde.Float(0, 1))


def value(trial: sonde.Trial) -> float:
    return float(trial["x"])


def test_a_storage_without_a_name_is_resumed(sqlite_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    for total in (3, 5):
        result = sonde.minimize(value, SPACE, total, storage=sqlite_url, strategy="sobol", seed=0)
        assert len(result.trials) == total
        assert capsys.readouterr().err.startswith(f"default: {total}/{total} trials")
    assert sonde.Study(SPACE, storage=sqlite_url).name == "default"
    assert len(sonde.load(sqlite_url, "default").trials) == 5


def test_other_settings_without_a_name_are_told_to_have_one(sqlite_url: str) -> None:
    sonde.Study(SPACE, storage=sqlite_url)
    with pytest.raises(StudyMismatch, match=r"study 'default' exists with another space; .*another name \(name="):
        sonde.Study(sonde.Space(y=sonde.Bool()), storage=sqlite_url)


def test_in_memory_every_study_has_a_name_of_its_own() -> None:
    assert sonde.Study(SPACE).name != sonde.Study(SPACE).name


@pytest.mark.parametrize("name", ["", "  ", "\0", "a\ud800", 3, "n" * 501])
def test_a_name_that_cannot_be_stored_is_refused(name: Any, sqlite_url: str) -> None:
    with pytest.raises(OptionError, match=r"^name "):
        sonde.Study(SPACE, storage=sqlite_url, name=name)


def options(function: Any, *without: str) -> dict[str, Any]:
    parameters = inspect.signature(function).parameters.values()
    return {each.name: (each.default, each.annotation) for each in parameters if each.name not in without}


def test_the_one_call_has_all_options_of_the_two_that_it_makes() -> None:
    whole = options(sonde.minimize)
    assert whole == options(sonde.maximize)
    parts = options(sonde.Study.__init__, "self", "direction", "lease")
    parts |= options(sonde.Study.optimize, "self", "total_trials")
    assert whole == parts


def test_every_option_arrives(sqlite_url: str) -> None:
    told: list[int] = []
    with pytest.raises(ZeroDivisionError):
        sonde.maximize(
            lambda trial: 1 / 0, SPACE, 3, storage=sqlite_url, name="mine", seed=5, strategy="random", timeout=60,
            trial_timeout=60, workers=1, callbacks=[lambda study, trial: told.append(trial.number)], catch=KeyError,
            give_up_after=2, progress=False,
        )  # fmt: skip
    study = sonde.load(sqlite_url, "mine")
    assert (study.seed, study.direction, len(study.trials)) == (5, "maximize", 1)
    assert told == []  # it was raised before


def test_a_misspelt_keyword_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    with pytest.raises(TypeError, match="minimize takes no tiemout=; write timeout="):
        sonde.minimize(value, SPACE, 3, storage=path, tiemout=3)  # type: ignore[call-arg]
    assert not path.exists()


SNIPPET = """
import sonde
space = sonde.Space(x=sonde.Float(0, 1))
sonde.minimize(lambda trial: 1.0, space, 3, trial_timeout=3.0, workers=2)
sonde.minimize(lambda trial: 1.0, space, 3, tiemout=3.0)
sonde.maximize(lambda trial: 1.0, space, 3, timeout="3")
@sonde.autograd
def loss(p: dict[str, float]) -> float:
    return (p["x"] - 1) ** 2
wrong: int = sonde.minimize(loss, space, n_trials=2)
names: list[str] = list(space)
"""


def test_the_type_checker_sees_what_is_wrong_and_nothing_else(tmp_path: Path) -> None:
    source = Path(sonde.__file__).parents[1]
    (tmp_path / "snippet.py").write_text(SNIPPET)
    ended = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", "", "--follow-imports", "silent", "--ignore-missing-imports",
         "--no-site-packages", "--cache-dir", str(tmp_path / "cache"), "snippet.py"],
        cwd=tmp_path, capture_output=True, text=True, timeout=240, env={"MYPYPATH": str(source)},
    )  # fmt: skip
    found = [line for line in ended.stdout.splitlines() if "error" in line]
    assert found[0].startswith('snippet.py:5: error: Unexpected keyword argument "tiemout" for "minimize"'), ended
    assert found[1].startswith('snippet.py:6: error: Argument "timeout" to "maximize" has incompatible type "str"')
    assert found[2].startswith("snippet.py:10: error: Incompatible types in assignment")
    assert found[3].startswith("Found 3 errors")
