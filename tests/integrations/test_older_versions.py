"""The libraries of integrations in an older version, which `make test` installs beside the newest."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
OLDER = Path(sys.prefix) / "older"


def test_optuna_4() -> None:
    """Optuna's own tests of that version, and ours; but for the slow one with several processes."""
    version = "import optuna; assert optuna.__version__.startswith('4.'), optuna.__version__"
    tests = f"import sys, pytest; sys.exit(pytest.main({arguments()!r}))"
    path = os.pathsep.join([str(OLDER), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-c", f"{version}; {tests}"], capture_output=True, text=True, timeout=400, cwd=HERE.parents[1],
        env=os.environ | {"PYTHONPATH": path},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert " passed" in done.stdout


def arguments() -> list[str]:
    return [
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "-rN",
        "-k",
        "not processes",
        str(HERE / "test_optuna_sampler.py"),
    ]
