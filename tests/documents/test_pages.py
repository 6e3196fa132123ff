"""Every Python block of every page runs as printed, one after the other, after the preamble of its page.

A preamble, ``preambles/<page>.py``, has what a reader brings along: an objective, a study with results. It is optional.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PREAMBLES = Path(__file__).with_name("preambles")
# a block that begins with the name of a file, "# train.py", is that file, and not run here
BLOCK = re.compile(r"^```python\n(?!# \S+\.py\n)(.*?)^```$", re.DOTALL | re.MULTILINE)
NEEDS_JAX = re.compile(r"\bjnp?\.|import jax|sonde\.kernels|sonde import kernels")


def program(page: Path) -> str:
    """Return the page as one program: the preamble, then all blocks, each of which says where it stands."""
    text, preamble = page.read_text(encoding="utf-8"), PREAMBLES / f"{page.stem.lower()}.py"
    parts = [preamble.read_text(encoding="utf-8")] if preamble.exists() else []
    for found in BLOCK.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        parts.append(f"# line {line + 1} of {page.name}\n{found.group(1)}")
    return "\n".join(parts)


PAGES = [page for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))) if BLOCK.search(page.read_text())]


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.stem, marks=[pytest.mark.jax] * bool(NEEDS_JAX.search(program(page))))
        for page in PAGES
    ],
)
def test_every_block_runs_as_printed(page: Path, tmp_path: Path) -> None:
    script = tmp_path / "page.py"
    script.write_text(program(page), encoding="utf-8")
    done = subprocess.run([sys.executable, script.name], cwd=tmp_path, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr[-3000:]


def test_pages_and_preambles_belong_together() -> None:
    assert {path.stem for path in PREAMBLES.glob("*.py")} <= {page.stem.lower() for page in PAGES}
    assert len(PAGES) > 8
