"""The scripts in examples/ run; those that store a study go on with it when they are run again."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(path, id=path.name, marks=[pytest.mark.jax] * ("import jax" in path.read_text()))
        for path in EXAMPLES
    ],
)
def test_examples_run(script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAX_DISABLE_MOST_OPTIMIZATIONS")  # compiled as for users
    for _ in range(1 + ("out/" in script.read_text(encoding="utf-8"))):  # the second run resumes
        done = subprocess.run(
            [sys.executable, str(script), "2"], cwd=tmp_path, capture_output=True, text=True, timeout=240
        )
        assert done.returncode == 0, done.stderr
        assert re.search("best|test error", done.stdout)
