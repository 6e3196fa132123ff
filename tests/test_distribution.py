"""What is released: a wheel that works in a clean environment, and types that a user's strict check accepts."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = """
import sonde

space = sonde.Space(x=sonde.Float(0, 1), kind=sonde.Categorical(["a", "b"]))


def objective(trial: sonde.Trial) -> float:
    return float(trial["x"])


result: sonde.Result = sonde.minimize(objective, space, n_trials=3, seed=0)
best: float = result.best_value
study: sonde.Study = result.study
number: int = study.best_trial.number
several: list[sonde.Trial] = study.ask(2)
study.tell(several[0], sonde.Evaluation(0.5, gradient={"x": 1.0}))
strategy: sonde.Strategy = sonde.GP(acquisition="ucb")
"""
WRONG = "import sonde\nvalue: str = sonde.minimize(lambda trial: 1.0, {}, n_trials='3').best_value\n"


def run(*command: str | Path, folder: Path, **environment: str) -> str:
    done = subprocess.run(
        [str(part) for part in command], cwd=folder, env=os.environ | environment, capture_output=True, text=True,
        timeout=250,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build wheel and source distribution."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, folder=ROOT)
    return folder


def test_a_wheel_has_all_that_is_not_python(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    held = set(zipfile.ZipFile(wheel).namelist())
    package = ROOT / "src"
    wanted = {path.relative_to(package).as_posix() for path in package.rglob("*")
              if path.is_file() and "__pycache__" not in path.parts}  # fmt: skip
    assert wanted <= held
    assert {"sonde/py.typed", "sonde/server/web/static/index.html"} <= wanted
    assert not [name for name in held if not name.startswith(("sonde", "hydra_plugins/"))]


def test_a_source_distribution_has_what_builds_it_again(built: Path) -> None:
    (source,) = built.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "LICENSE", "README.md", "src/sonde/__init__.py"} <= held
    assert not [name for name in held if name.startswith((".venv", "out/", ".git/"))]


def test_the_wheel_works_in_a_clean_environment(built: Path, tmp_path: Path) -> None:
    (wheel,) = built.glob("*.whl")
    venv.create(tmp_path / "clean")
    python = tmp_path / "clean" / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check")
    install = (*pip, "install", "--quiet", "--no-compile")
    run(*install, wheel, folder=tmp_path)
    said = run(python, "-m", "sonde", "run", "-n", "6", "--", "echo", "{x:float:0..1}", folder=tmp_path)
    assert "best" in said
    assert run(tmp_path / "clean" / "bin" / "sonde", "trials", "--json", folder=tmp_path).count('"completed"') == 6
    assert str(tmp_path) in run(python, "-c", "import sonde; print(sonde.__file__)", folder=tmp_path)


def test_a_users_script_is_checked_strictly(tmp_path: Path) -> None:
    check = [sys.executable, "-m", "mypy", "--strict"]  # with the cache of `make lint`, which makes it quick
    (tmp_path / "script.py").write_text(SCRIPT)
    run(*check, tmp_path / "script.py", folder=ROOT)
    (tmp_path / "wrong.py").write_text(WRONG)
    with pytest.raises(
        AssertionError, match=r'(?s)Incompatible types in assignment.*"n_trials".*incompatible type "str"'
    ):
        run(*check, tmp_path / "wrong.py", folder=ROOT)
