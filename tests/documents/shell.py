"""The shell commands of a page: run by bash, or checked where they cannot run in a test.

Three kinds are checked only: ``make`` (its targets exist), ``pip install`` (the extras of Sonde exist) and
``python -m benchmarks.NAME`` (the module has the options). A command whose printed output begins with "interrupted"
gets a Ctrl-C once it has started a program. All others run to their end.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

from sonde.cli.main import app

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent  # where python and sonde are those of the tests
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n?((?:(?!\$ ).*\n)*)", re.MULTILINE)  # and its output


def bash(block: str) -> None:
    """Run a block: one command a line, or, as in a terminal, commands after ``$`` and what they print."""
    if not block.startswith("$ "):
        block = re.sub(r"^(?=.)", "$ ", block, flags=re.MULTILINE)
    for command, output in COMMAND.findall(block):
        if not is_checked(command):
            run(command, interrupted=output.startswith("interrupted"))


def run(command: str, interrupted: bool = False) -> None:
    """Run a command to its end, or interrupt it once it has started a program."""
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    heard = "exec env --default-signal=INT"  # a shell's background jobs, and so its tests, ignore Ctrl-C
    with subprocess.Popen(
        ["bash", "-c", f"{heard} {command}" if interrupted else command],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment,
    ) as process:  # fmt: skip
        if interrupted:
            threads = Path(f"/proc/{process.pid}/task")
            while process.poll() is None and not any(each.read_text() for each in threads.glob("*/children")):
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
        said = process.communicate()[0]
    assert process.returncode == (130 if interrupted else 0), f"{command}\n{said}"


def is_checked(command: str) -> bool:
    """Whether a command is checked instead of run; an AssertionError says what is wrong with it."""
    match shlex.split(command, comments=True):
        case ["make", *targets]:
            known = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
            assert set(targets) <= set(known), f"make has {known}"
        case ["pip", "install", *packages]:
            project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
            for extras in re.findall(r"\bsonde\[(.*?)\]", " ".join(packages)):
                assert set(extras.split(",")) <= project["optional-dependencies"].keys(), f"there is no extra {extras}"
        case ["python", "-m", module, *words] if module.startswith("benchmarks."):
            source = source_of(module)
            for option in (word.strip("[]") for word in words if re.match(r"\[?-", word)):  # [--full] is optional
                assert f'"{option}"' in source, f"{module} has no option {option}"
        case _:
            return False
    return True


def source_of(module: str, known: frozenset[str] = frozenset()) -> str:
    """Return the text of a benchmark and of those it imports: their libraries need not be installed."""
    path = ROOT.joinpath(*module.split("."))
    files = path / "__main__.py", path / "__init__.py", path.with_suffix(".py")
    text = next(file for file in files if file.exists()).read_text("utf-8")
    imported = set(re.findall(r"^from (benchmarks\.\S+) import", text, re.MULTILINE)) - known
    return "\n".join([text, *(source_of(each, known | imported) for each in sorted(imported))])


def check_sonde(command: str) -> None:
    """Check that the command line has a command and its options."""
    name, *words = shlex.split(command)[1:]
    words = words[: words.index("--")] if "--" in words else words  # what follows is the program's
    known = {option for parameter in app.get_command(None, name).params for option in parameter.opts}
    assert {word for word in words if word.startswith("-")} <= known, f"sonde {name} has {sorted(known)}"
