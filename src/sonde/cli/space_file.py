"""The space of ``sonde run``: a TOML file, placeholders, or both together; ``sonde ask`` takes a file alone.

The file has the layout of ``sonde.space.schema``::

    where = ["layers * width <= 4096"]

    [parameters.model]
    type = "categorical"
    choices = ["mlp", "svm"]

    [parameters.layers]
    type = "int"
    low = 1
    high = 8
    when = { model = "mlp" }
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sonde.cli.template import Template, parse
from sonde.errors import OptionError, SpaceError

if TYPE_CHECKING:
    from sonde.space import Space


def read_space(command: Sequence[str], file: Path | None) -> tuple[Template, Space]:
    """Return the command's template and the space of all parameters, those of the file first."""
    data = {} if file is None else _load(file)
    in_file = data.get("parameters", {})
    template = parse(command, list(in_file))
    if not in_file and not template.parameters:
        raise OptionError(
            "the command has no parameters to tune; write a placeholder where a value goes, e.g. "
            "--lr {lr:float:1e-5..1e-1:log}, or give a --space file"
        )
    from sonde.space import Space

    space = Space.from_data(data | {"parameters": {**in_file, **template.parameters}})
    _check_program(template, space)
    return template, space


def space_in(file: Path) -> Space:
    """Return the space of a file."""
    data = _load(file)
    if not data.get("parameters"):
        raise SpaceError(f"{file} has no parameters; a parameter is a table [parameters.NAME]")
    from sonde.space import Space

    return Space.from_data(data)


def _load(file: Path) -> dict[str, Any]:
    """Return what a file holds; its parameters are tables."""
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise OptionError(f"{file} is not a TOML file: {error}") from None
    except OSError as error:
        raise OptionError(f"cannot read {file}: {error.strerror}") from None
    unknown = sorted(set(data) - {"version", "parameters", "where"})
    if unknown:
        raise SpaceError(f"{file} has 'parameters' and 'where', not {unknown[0]!r}; a parameter is [parameters.NAME]")
    if not isinstance(data.get("parameters", {}), Mapping):
        raise SpaceError(f"{file}: 'parameters' must hold a table for each parameter, e.g. [parameters.lr]")
    return data


def _check_program(template: Template, space: Space) -> None:
    """Refuse a program name that depends on a conditional parameter."""
    for name in sorted(template.program.names):
        if space[name].when:
            raise OptionError(f"the program itself depends on {name!r}, which is not always active; remove its 'when'")
