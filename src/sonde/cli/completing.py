"""What the shell completes: names of studies, parameters, objectives, strategies and figures, and states.

A completion reads what is there and says nothing of what is not: no error, no warning, and no new database.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from sonde.cli.opening import existing_storage, is_service, only_study

if TYPE_CHECKING:
    from sonde.storage import Storage, StudyHeader

Complete = Callable[[click.Context, click.Parameter, str], list[str]]

# Written here, because a shell waits for what would have to be loaded.
STATES = ("waiting", "running", "completed", "failed", "stopped", "lost", "cancelled")
STRATEGIES = ("auto", "gp", "dngo", "fobo", "igo", "sobol", "random")

_PATIENCE = 1.0  # seconds for a service that does not answer
_UNSET = "sqlite:///sonde.db"  # the default of --storage


def _quiet(function: Callable[[click.Context], list[str]]) -> Complete:
    """Return a completion of the words that a function returns; none if it fails, for whatever reason."""

    @wraps(function)
    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
        try:
            with redirect_stderr(io.StringIO()):  # warnings, and what a service that is away makes a log say
                words = function(context)
        except Exception:  # of a database, a service, or a study that is damaged: the shell is no place for it
            return []
        return [word for word in words if word.startswith(incomplete) and word.isprintable()]

    return complete


@_quiet
def studies(context: click.Context) -> list[str]:
    """Complete the name of a study."""
    with _storage(context) as storage:
        return [summary.header.name for summary in storage.studies()]


def _parameters(context: click.Context) -> list[str]:
    return list(json.loads(_header(context).space)["parameters"])


def _objectives(context: click.Context) -> list[str]:
    from sonde.trials.objectives import Objectives

    return list(Objectives.from_text(_header(context).direction).names)


@_quiet
def parameters(context: click.Context) -> list[str]:
    """Complete NAME=VALUE with the parameters of the study."""
    return [f"{name}=" for name in _parameters(context)]


@_quiet
def parameter_names(context: click.Context) -> list[str]:
    """Complete the name of a parameter."""
    return _parameters(context)


@_quiet
def _placeholders(context: click.Context) -> list[str]:
    return [f"{{{name}}}" for name in _parameters(context)]


def program(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
    """Complete a placeholder with the parameters of the study; all else of a program is a file."""
    from click.shell_completion import CompletionItem

    if incomplete.startswith("{"):
        return [CompletionItem(word) for word in _placeholders(context, parameter, incomplete)]
    return [CompletionItem(incomplete, type="file")]


@_quiet
def objectives(context: click.Context) -> list[str]:
    """Complete NAME=VALUE with the objectives of the study."""
    return [f"{name}=" for name in _objectives(context)]


@_quiet
def objective_names(context: click.Context) -> list[str]:
    """Complete the name of an objective."""
    return _objectives(context)


@_quiet
def states(context: click.Context) -> list[str]:
    """Complete the state of a trial."""
    return list(STATES)


@_quiet
def strategies(context: click.Context) -> list[str]:
    """Complete the name of a strategy."""
    return list(STRATEGIES)


@_quiet
def figures(context: click.Context) -> list[str]:
    """Complete the name of a figure."""
    from sonde.plots.plots import FIGURES

    return list(FIGURES)


@contextmanager
def _storage(context: click.Context) -> Iterator[Storage]:
    """Open the storage of a command line; its options are in the context."""
    given = context.params.get("storage") or context.params.get("url")
    url = given if isinstance(given, str) else _UNSET
    options = {"patience": _PATIENCE} if is_service(url) else {}
    with context.scope(cleanup=False), existing_storage(url, **options) as storage:
        yield storage


def _header(context: click.Context) -> StudyHeader:
    with _storage(context) as storage:
        given = context.params.get("name")
        return storage.find_study(given if isinstance(given, str) else only_study(storage))
