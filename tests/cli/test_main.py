from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sonde.cli.commands import COMMANDS
from sonde.cli.main import app
from sonde.version import __version__

Cli = Callable[..., Any]

HEAVY = ("jax", "sqlalchemy", "alembic", "numpy", "rich", "sonde.study", "sonde.space", "sonde.storage")


LOADED = (
    "import sys\n"
    "from sonde.cli.main import main\n"
    "try:\n    main()\nfinally:\n    print('loaded', *sys.modules, file=sys.stderr)\n"
)


def _loaded(*arguments: str) -> set[str]:
    """Return the modules that a command loads."""
    ended = subprocess.run([sys.executable, "-c", LOADED, *arguments], capture_output=True, text=True, check=True)
    return set(ended.stderr.splitlines()[-1].split())


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_loads_nothing_heavy(name: str) -> None:
    assert not _loaded(name, "--help") & set(HEAVY)


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_no_command_is_loaded_for_the_list_of_commands(option: str) -> None:
    loaded = _loaded(option)
    assert "click" in loaded
    assert not loaded & set(HEAVY)
    assert not loaded & {f"sonde.cli.{place.module}" for place in COMMANDS.values()}


@pytest.mark.usefixtures("study")
def test_a_view_of_a_study_loads_its_storage_and_arrays_only() -> None:
    loaded = _loaded("show", "--once")
    assert {"sonde.storage.sql", "sonde.trials", "numpy", "rich"} <= loaded
    heavy = (
        "sonde.study",
        "sonde.strategies",
        "sonde.surrogates",
        "sonde.execution",
        "jax",
        "scipy",
        "plotly",
        "pandas",
    )
    assert not [module for module in loaded if module.startswith(heavy)]


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
    for command in COMMANDS:
        assert f"\n  {command} " in ended.out


@pytest.mark.parametrize("command", ["run", "show", "best", "trials", "studies", "ask", "tell", "export", "delete"])
def test_commands_of_a_study_have_the_common_options(command: str) -> None:
    options: Any = app.get_command(None, command).params
    names = {name for option in options for name in option.opts}
    assert {"--storage", "--json"} <= names
    assert ("--name" in names) == (command != "studies")


def test_run_shows_an_example(cli: Cli) -> None:
    out = cli("run", "--help").out
    assert "sonde run [OPTIONS] -- PROGRAM [ARGUMENTS]..." in out
    assert "--lr '{lr:float:1e-5..1e-1:log}' \\\n" in out


@pytest.mark.parametrize("command", ["show", "best", "trials", "studies", "explain", "ask", "export", "delete"])
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
    assert "No such command 'dashbord'. Did you mean dashboard?" in cli("dashbord").err


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
