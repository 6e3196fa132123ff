"""A command with placeholders: the parameters that it defines, and its arguments for one configuration.

``{name:spec}`` defines a parameter and stands for its value, ``{name}`` stands for the value of a parameter defined
elsewhere (in another argument or in a space file), ``{{`` and ``}}`` are literal braces.

An argument with an inactive parameter is left out, and so is the option it belongs to::

    --momentum={m}      left out
    --momentum {m}      both left out
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sonde.cli.placeholder import parameter
from sonde.errors import OptionError

_TOKEN = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_LITERAL = {"{{": "{", "}}": "}"}


@dataclass(frozen=True)
class Reference:
    """A placeholder for a parameter's value."""

    name: str


@dataclass(frozen=True)
class Argument:
    """One argument: a sequence of literal texts and references."""

    pieces: tuple[str | Reference, ...]

    @cached_property
    def names(self) -> frozenset[str]:
        """The parameters it refers to."""
        return frozenset(piece.name for piece in self.pieces if isinstance(piece, Reference))

    @property
    def bare(self) -> bool:
        """Whether it is one reference and nothing else."""
        return len(self.pieces) == 1 and bool(self.names)

    @property
    def option(self) -> bool:
        """Whether it is an option whose value is the next argument; ``--x=1`` has its value, ``--`` wants none."""
        first = self.pieces[0] if self.pieces else ""
        text = "".join(piece for piece in self.pieces if isinstance(piece, str))
        return isinstance(first, str) and first.startswith("-") and "=" not in text and self.pieces != ("--",)

    def render(self, params: Mapping[str, Any]) -> str:
        """Return the argument for a configuration in which all its parameters are active."""
        return "".join(
            argument_text(params[piece.name]) if isinstance(piece, Reference) else piece for piece in self.pieces
        )


@dataclass(frozen=True)
class Template:
    """A command and the parameters that its placeholders define, as data of ``sonde.space.schema``."""

    arguments: tuple[Argument, ...]
    parameters: Mapping[str, dict[str, Any]]

    @property
    def program(self) -> Argument:
        """The first argument."""
        return self.arguments[0]

    @property
    def names(self) -> frozenset[str]:
        """The parameters that any argument refers to."""
        return frozenset().union(*(argument.names for argument in self.arguments))

    def render(self, params: Mapping[str, Any]) -> list[str]:
        """Return the arguments for one configuration."""
        kept: list[str] = []
        before: Argument | None = None
        for argument in self.arguments:
            if argument.names <= params.keys():
                kept.append(argument.render(params))
            elif argument.bare and before is not None and before.option and before.names <= params.keys():
                kept.pop()
            before = argument
        return kept


def parse(command: Sequence[str], known: Collection[str] = (), *, complete: bool = False) -> Template:
    """Read a command; ``known`` are the parameters that a space file or a study defines.

    ``complete``: there can be no others.
    """
    defined: dict[str, dict[str, Any]] = {}
    arguments = tuple(_argument(text, known, defined) for text in command)
    template = Template(arguments, defined)
    for name in sorted(template.names - set(known) - (set() if complete else set(defined))):
        raise OptionError(_unknown(name, list(known) if complete else [*known, *defined], complete))
    return template


def argument_text(value: Any) -> str:
    """Return a value as an argument; a float is written exactly."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _argument(text: str, known: Collection[str], defined: dict[str, dict[str, Any]]) -> Argument:
    pieces: list[str | Reference] = []
    end = 0
    for token in _TOKEN.finditer(text):
        pieces.append(text[end : token.start()])
        end = token.end()
        if token.group() in ("{", "}"):
            raise OptionError(_lone(token.group(), text))
        literal = _LITERAL.get(token.group())
        pieces.append(literal if literal is not None else _reference(token.group(1), known, defined))
    pieces.append(text[end:])
    return Argument(tuple(piece for piece in pieces if piece))


def _reference(inside: str, known: Collection[str], defined: dict[str, dict[str, Any]]) -> Reference:
    name, colon, spec = inside.partition(":")
    if inside in known or not colon:
        return Reference(inside)
    if name in known:
        raise OptionError(f"placeholder {{{inside}}}: {name!r} is defined already; write {{{name}}} here")
    if name in defined:
        raise OptionError(f"placeholder {{{inside}}}: {name!r} is defined twice; write {{{name}}} the second time")
    defined[name] = parameter(name, spec)
    return Reference(name)


def _unknown(name: str, known: Sequence[str], complete: bool) -> str:
    there = f"the parameters are {', '.join(known)}" if known else "there are none"
    may = name.isidentifier() and not complete
    define = f"define it here, e.g. {{{name}:float:0..1}}, or in a --space file, or " if may else ""
    return (
        f"placeholder {{{name}}}: there is no parameter {name!r} ({there}); "
        f"{define}write {{{{{name}}}}} for literal braces"
    )


def _lone(brace: str, text: str) -> str:
    return (
        f"argument {text!r} has a {brace!r} without its partner; a placeholder is written {{name:float:0..1}}, in "
        f"quotes where it holds '|' (the shell's pipe), and a literal brace is written {brace * 2}"
    )
