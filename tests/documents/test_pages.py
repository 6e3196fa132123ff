"""Every page is a program: its Python and shell blocks run as printed, one after the other, in an empty folder.

A block that begins with the name of a file (``# train.py``) is that file. ``before/<page>.py`` has what a reader brings
along, such as an objective; ``after/<page>.py`` has assertions on what the blocks have computed. Both are optional.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.documents.shell import check_sonde, is_checked

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
BLOCK = re.compile(r"^```(\S*)\n(?:# (\S+\.\w+)\n)?(.*?)^```$", re.DOTALL | re.MULTILINE)
NEEDS_JAX = re.compile(r"\bjnp?\.|import jax|sonde\.kernels|sonde import kernels")
QUOTED = re.compile(r"python -m benchmarks\.[^`\x22\n#]+|(?<=`)(?:make|pip install|sonde) [^`\n]+(?=`)")


def program(page: Path) -> str:
    """Return the page as one program, whose comments say where each block stands; an empty one if it has no blocks."""
    text, steps = page.read_text(encoding="utf-8"), []
    for found in BLOCK.finditer(text):
        language, file, body = found.groups()
        if file:
            step = f"Path({file!r}).write_text({body!r})"
        elif language in ("console", "sh"):
            step = f"bash({body!r})"
        else:
            step = body if language == "python" else ""
        steps += [f"# line {text.count(chr(10), 0, found.start()) + 1} of {page.name}\n{step}"] * bool(step)
    around = [HERE / folder / f"{page.stem.lower()}.py" for folder in ("before", "after")]
    before, after = (path.read_text(encoding="utf-8") if path.exists() else "" for path in around)
    imports = "from pathlib import Path\nfrom shell import bash\n"
    return "\n".join([imports, before, *steps, after]) if steps else ""


@pytest.mark.usefixtures("compiled_as_for_users")
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.stem, marks=[pytest.mark.jax] * bool(NEEDS_JAX.search(text)))
        for page, text in ((page, program(page)) for page in PAGES)
        if text
    ],
)
def test_every_block_runs_as_printed(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(HERE), prepend=os.pathsep)  # for shell.py
    script = tmp_path / "page.py"
    script.write_text(program(page), encoding="utf-8")
    done = subprocess.run([sys.executable, script.name], cwd=tmp_path, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr[-3000:]


def test_no_command_stands_in_a_block_that_does_not_run() -> None:
    for page in PAGES:
        for language, file, body in BLOCK.findall(page.read_text(encoding="utf-8")):
            assert language in ("python", "console", "sh", "toml", "")
            assert file or language != "toml", page  # a file is used by the next command, or in after/
            assert language or not re.search(r"^(\$ )?(make|pip|python|sonde) ", body, re.MULTILINE), page


def test_commands_in_sentences_exist() -> None:
    for page in [*PAGES, *(ROOT / "benchmarks").rglob("*.py")]:
        for command in QUOTED.findall(page.read_text(encoding="utf-8")):
            if not is_checked(command):
                check_sonde(command)


@pytest.mark.parametrize(
    "command",
    ["make tset", "pip install 'sonde[gpu]'", "python -m benchmarks.fairness --shrot", "sonde best --nmae first"],
)
def test_a_wrong_command_is_found(command: str) -> None:
    with pytest.raises(AssertionError):
        is_checked(command) or check_sonde(command)


def test_what_stands_around_pages_belongs_to_one() -> None:
    around = {path.stem for folder in ("before", "after") for path in (HERE / folder).glob("*.py")}
    assert around <= {page.stem.lower() for page in PAGES if program(page)}


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
