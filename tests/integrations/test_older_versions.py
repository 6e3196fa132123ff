"""The libraries of integrations in an older version, which `make test` installs beside the newest."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
OLDER = Path(sys.prefix) / "older"


@pytest.mark.parametrize(
    ("file", "versions", "without"),
    [
        ("test_optuna_sampler.py", {"optuna": "4.9."}, "processes"),  # Optuna's own tests of that version, and ours
        ("test_sklearn.py", {"sklearn": "1.7."}, "own_checks or dask or joblib"),
        (
            "test_callbacks.py",
            {"xgboost": "3.0.", "lightgbm": "4.5.", "keras": "3.8.", "lightning": "2.4."},
            "not there or without_a_validation or fraction",
        ),
    ],
    ids=["optuna", "sklearn", "training"],
)
def test_an_older_version(file: str, versions: dict[str, str], without: str) -> None:
    """All tests of a file but slow ones."""
    check = "; ".join(
        f"import {name}; assert {name}.__version__.startswith({version!r}), {name}.__version__"
        for name, version in versions.items()
    )
    options = ["-p", "no:cacheprovider", "-p", "no:xdist", "-rN", "-k", f"not ({without})", str(HERE / file)]
    tests = f"import sys, pytest; sys.exit(pytest.main({options!r}))"
    path = os.pathsep.join([str(OLDER), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-c", f"{check}; {tests}"], capture_output=True, text=True, timeout=400, cwd=HERE.parents[1],
        env=os.environ | {"PYTHONPATH": path, "KERAS_BACKEND": "torch"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert " passed" in done.stdout
