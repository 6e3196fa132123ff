from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from typing import Any

import click
import pytest

from sonde.cli.commands import COMMANDS
from sonde.cli.main import app

Cli = Callable[..., Any]


def _commands() -> Iterator[tuple[str, ...]]:
    for name in COMMANDS:
        yield (name,)
        command = app.get_command(None, name)
        if isinstance(command, click.Group):
            yield from ((name, own) for own in command.commands)


def _of(names: tuple[str, ...]) -> click.Command:
    command = app.get_command(None, names[0])
    assert command is not None
    return command.commands[names[1]] if isinstance(command, click.Group) and len(names) > 1 else command


def examples(text: str) -> list[str]:
    """Return the examples of a help text; a line that ends with a backslash goes on."""
    _, found, rest = text.partition("\n  Examples:\n")
    assert found, text
    block = rest.partition("\n\n")[0].replace("\\\n", " ")
    return [line.strip() for line in block.splitlines()]


def _sonde(line: str) -> list[str]:
    """Return the arguments of sonde in a line of a shell, which may have a pipe, or be in a substitution."""
    inside = re.search(r"\$\((.*)\)", line)
    words = shlex.split(inside[1] if inside else line, comments=False)
    words = words[words.index("sonde") + 1 :]
    return words[: words.index(">")] if ">" in words else words


def _parse(command: click.Command, words: list[str]) -> None:
    """Raise for an option that a command does not have; what follows -- is the program's."""
    context = click.Context(command, **command.context_settings)
    _, left, _ = command.make_parser(context).parse_args(list(words))
    own = words[: words.index("--")] if "--" in words else words
    known = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in own if word.startswith("--")} <= known  # sonde tell lets unknown ones pass
    assert not left or "--" in words


@pytest.mark.parametrize("names", list(_commands()), ids="-".join)
def test_every_command_has_examples_that_parse(cli: Cli, names: tuple[str, ...]) -> None:
    shown = cli(*names, "--help").out
    assert all(len(line) <= 80 for line in shown.splitlines())
    found = examples(shown)
    assert found
    for line in found:
        words = _sonde(line)
        assert words[: len(names)] == list(names)
        used = _of(tuple(words[:2]) if words[0] == "token" else tuple(words[:1]))
        given = words[2 if words[0] == "token" else 1 :]
        _parse(used, given)


def test_a_wrong_example_would_be_found() -> None:
    command = _of(("best",))
    with pytest.raises(click.NoSuchOption):
        _parse(command, ["--nome", "cnn"])


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_is_that_of_the_modules(name: str) -> None:
    command = app.get_command(None, name)
    assert command is not None
    assert command.name == name
    assert len(COMMANDS[name].help) <= 68  # one line of 80 columns


def test_the_application_has_examples(cli: Cli) -> None:
    assert examples(cli("--help").out)[0].startswith("sonde run")


@pytest.mark.parametrize("names", [names for names in _commands() if names != ("token",)], ids="-".join)
def test_every_option_has_a_help_text(names: tuple[str, ...]) -> None:
    options = [each for each in _of(names).params if isinstance(each, click.Option)]
    assert all(option.help for option in options)
