"""The scripts in examples/ run; those that store a study go on with it when they are run again."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

TRIALS = {"demo.py": "1"}  # each takes seconds; two of the others
EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(path, id=path.name, marks=[pytest.mark.jax] * ("import jax" in path.read_text()))
        for path in EXAMPLES
    ],
)
def test_examples_run(script: Path, tmp_path: Path) -> None:
    command = [sys.executable, str(script), TRIALS.get(script.name, "2")]
    for _ in range(1 + ("out/" in script.read_text(encoding="utf-8"))):  # the second run resumes
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=240)
        assert done.returncode == 0, done.stderr
        assert re.search("best|test error", done.stdout)
