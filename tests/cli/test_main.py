from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sonde.version import __version__

Cli = Callable[..., Any]

HEAVY = ("jax", "sqlalchemy", "alembic", "numpy", "rich", "sonde.study", "sonde.space", "sonde.storage")


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["--version"]])
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys\n"
        "from sonde.cli.main import main\n"
        "try:\n    main()\nfinally:\n    print('loaded', *sys.modules, file=sys.stderr)\n"
    )
    ended = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    loaded = set(ended.stderr.split())
    assert "click" in loaded
    assert not loaded & set(HEAVY)


@pytest.mark.jax  # where it is hidden, nothing can load it
def test_no_command_loads_jax() -> None:
    code = (
        "import sys\n"
        "from sonde.cli.main import main\n"
        "try:\n    main()\nfinally:\n    assert 'numpy' in sys.modules and 'jax' not in sys.modules\n"
    )
    arguments = ["run", "-n", "2", "-j", "2", "sh", "-c", "echo {x:int:1..9}"]
    subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)


def test_version(cli: Cli) -> None:
    assert cli("--version").out == f"sonde {__version__}\n"


def test_help_lists_every_command(cli: Cli) -> None:
    ended = cli("--help")
    assert ended.code == 0
    for command in ("run", "best", "trials", "studies", "export", "delete"):
        assert f"\n  {command} " in ended.out


@pytest.mark.parametrize("command", ["run", "best", "trials", "studies", "export", "delete"])
def test_every_option_has_a_help_text(cli: Cli, command: str) -> None:
    from sonde.cli.main import app

    options: Any = app.commands[command].params
    assert all(option.help for option in options)
    names = {name for option in options for name in option.opts}
    assert {"--storage", "--json"} <= names
    assert ("--name" in names) == (command != "studies")


def test_run_shows_an_example(cli: Cli) -> None:
    out = cli("run", "--help").out
    assert "sonde run [OPTIONS] -- PROGRAM [ARGUMENTS]..." in out
    assert "--lr '{lr:float:1e-5..1e-1:log}' \\\n" in out


@pytest.mark.parametrize("command", ["best", "trials", "studies", "export", "delete"])
@pytest.mark.parametrize("url", ["sqlite:///none.db", "none.db", "sqlite+pysqlite:///none.db?timeout=5"])
def test_looking_never_creates_a_database(cli: Cli, command: str, url: str) -> None:
    ended = cli(command, "--storage", url)
    assert ended.code == 1
    assert ended.out == ""
    [line] = ended.err.splitlines()
    assert line.startswith("error: there is no database 'none.db'; check --storage")
    assert not list(Path.cwd().iterdir())


def test_a_file_that_is_no_database_is_one_line(cli: Cli) -> None:
    Path("text.db").write_text("hello, this is not a database " * 10)
    ended = cli("best", "--storage", "text.db")
    assert ended.code == 1
    assert len(ended.err.splitlines()) == 1
    assert ended.err.startswith("error: ")


def test_an_unknown_command_is_a_usage_error(cli: Cli) -> None:
    assert cli("tune").code == 2


def test_an_interrupted_command_ends_as_shells_expect(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sonde.cli.show.existing_study", interrupted)
    assert cli("best") == (130, "", "")


def test_a_closed_pipe_is_no_error(study: Any) -> None:
    code = "from sonde.cli.main import main; main()"
    command = f"{sys.executable} -c '{code}' trials --all | head -n 1"
    ended = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    assert ended.stdout.startswith("number")
    assert ended.stderr == ""
