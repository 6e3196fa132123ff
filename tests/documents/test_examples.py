"""The scripts in examples/ run; those that store a study go on with it when they are run again."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

TRIALS = {"demo.py": "1", "ray_tune.py": "1", "trainings.py": "1"}  # each takes seconds; two of the others
EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(path, id=path.name, marks=[pytest.mark.jax] * ("import jax" in path.read_text()))
        for path in EXAMPLES
    ],
)
def test_examples_run(script: Path, tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="ex") as short:  # the paths of Ray's sockets must not be long
        run(script, tmp_path, os.environ | {"RAY_AUTH_MODE": "disabled", "RAY_TMPDIR": short})


def run(script: Path, folder: Path, environment: dict[str, str]) -> None:
    command = [sys.executable, str(script), TRIALS.get(script.name, "2")]
    for _ in range(1 + ("out/" in script.read_text(encoding="utf-8"))):  # the second run resumes
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=240)
        assert done.returncode == 0, done.stderr
        assert re.search("best|test error", done.stdout)
