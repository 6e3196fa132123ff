"""The script that a report prints: it runs as it stands, and begins a study like this one at its best configuration."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from sonde.report.source import Reported
from sonde.space import Space
from sonde.space.parameters import Categorical, Float, Int, Parameter

INDENT = " " * 4


def script_of(study: Reported, best: Mapping[str, Any] | None) -> str:
    """Return Python code with the space, the settings of the study and its best configuration."""
    settings = [*_goal(study), f"seed={study.seed}", f"strategy={_strategy(study)!r}"]
    lines = ["import sonde", "", *_space(study.space), "", f"study = sonde.Study(space, {', '.join(settings)})"]
    if best is not None:
        lines += [f"best = {_configuration(study.space, best)}", "study.enqueue(best)"]
    first = "the best configuration of the report" if best is not None else "the first configuration"
    lines += ["trial = study.ask()", f"print(dict(trial))  # {first}: evaluate it, and tell the value", ""]
    return "\n".join(lines)


def _goal(study: Reported) -> list[str]:
    each = study.objectives.each
    if not study.objectives.several:
        return [f"direction={each[0].direction!r}"]
    limits = {one.name: one.threshold for one in each if one.threshold is not None}
    goals = {one.name: one.direction for one in each}
    return [f"objectives={goals!r}", *([f"thresholds={limits!r}"] if limits else [])]


def _strategy(study: Reported) -> str:
    return study.storage.find_study(study.name).strategy


def _space(space: Space) -> list[str]:
    """Return the space as code; where a choice has no code, as JSON."""
    if all(map(_is_literal, space.values())):
        lines = ["space = sonde.Space({", *(f"{INDENT}{name!r}: {_code(own)}," for name, own in space.items()), "})"]
    else:
        lines = ["# some choices are objects, which are known by their labels only", "space = sonde.Space.from_json("]
        lines += [f"{INDENT}{Space(space.parameters).to_json()!r}", ")"]
    for constraint in space.constraints:
        if isinstance(constraint.predicate, str):
            lines.append(f"space = space.where({constraint.predicate!r})")
        else:
            lines.append(f"# a Python function restricts the space, too: space.where({constraint.name!a})")
    return lines


def _code(parameter: Parameter) -> str:
    """Return a parameter as code, without what is the default."""
    parts: list[str] = []
    if isinstance(parameter, Categorical):
        parts = [repr(list(parameter.choices))]
    elif isinstance(parameter, Float | Int):
        parts = [repr(parameter.low), repr(parameter.high)]
        parts += ["log=True"] * parameter.log
        parts += [f"step={parameter.step!r}"] * (parameter.step not in (None, 1))
    parts += [f"when={dict(parameter.when)!r}"] if parameter.when else []
    return f"sonde.{type(parameter).__name__}({', '.join(parts)})"


def _configuration(space: Space, best: Mapping[str, Any]) -> str:
    """Return a configuration as code; a choice that has none is named by its number."""
    entries = (
        f"{name!r}: " + (repr(value) if _is_code(value) else f"space[{name!r}].value({space[name].number(value):g})")
        for name, value in best.items()
    )
    return f"{{{', '.join(entries)}}}"


def _is_code(value: Any) -> bool:
    """Whether the repr of a value is code that gives it again."""
    try:
        return bool(ast.literal_eval(repr(value)) == value)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _is_literal(parameter: Parameter) -> bool:
    """Whether the choices of a parameter, and what its ``when`` names, can be written as code."""
    choices = list(parameter.choices) if isinstance(parameter, Categorical) else []
    return _is_code([choices, dict(parameter.when or {})])
