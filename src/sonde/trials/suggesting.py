"""``trial.suggest_float`` and the like: the declared value, where name and range are those of the space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sonde.errors import NotDeclared

if TYPE_CHECKING:
    from sonde.trials.trial import Trial


def suggested(trial: Trial, name: str, asked: tuple[Any, ...], choices: Sequence[Any] | None = None) -> Any:
    """Return the value of a parameter, or raise ``NotDeclared``, which ends the run, where the space has another."""
    declared: Mapping[str, tuple[Any, ...]] = trial.declared or {}
    if name not in declared:
        raise NotDeclared(
            f"the space has no parameter {name!r}, which the objective asks for: Sonde searches a space that is "
            f"declared before the run; declare it, {_example(name, asked, choices)}. For objectives that declare as "
            "they run there is Optuna with strategies of Sonde: sonde.integrations.optuna.SondeSampler"
        )
    own = declared[name]
    agree = own == asked if choices is None else own[0] in ("Categorical", "Bool") and trial[name] in choices
    if not agree:
        raise NotDeclared(
            f"the objective asks for {_example(name, asked, choices)}, but the space declares {name}="
            f"{_written(own)}; let both agree, or write trial[{name!r}]"
        )
    return trial[name]


def _example(name: str, asked: tuple[Any, ...], choices: Sequence[Any] | None) -> str:
    return f"{name}={_written(asked) if choices is None else f'Categorical({list(choices)!r})'}"


def _written(declared: tuple[Any, ...]) -> str:
    """Return a parameter as a person would write it."""
    kind, *numbers = declared
    if not numbers:
        return f"{kind}()" if kind == "Bool" else f"{kind}([...])"
    low, high, log, step = numbers
    scale = ", log=True" if log else ""
    lattice = "" if step is None or (kind == "Int" and step == 1) else f", step={step!r}"
    return f"{kind}({low!r}, {high!r}{scale}{lattice})"
