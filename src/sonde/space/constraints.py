"""Known constraints: what the user can tell about a configuration without running it.

``space.where("a + b <= 100")`` takes an expression (arithmetic, comparisons, and/or/not, ``in``, a few functions): it
is stored with the space. ``space.where(lambda p: p["a"] + p["b"] <= 100)`` takes any function: storage keeps its name
only, so a program that continues the study has to pass the space again.

A constraint that mentions a parameter which is inactive does not apply.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import Any

from sonde.errors import SpaceError
from sonde.space.choices import label

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs, "min": min, "max": max, "round": round, "len": len, "sum": sum,
    "sqrt": math.sqrt, "exp": math.exp, "log": math.log, "log2": math.log2, "log10": math.log10,
}  # fmt: skip

_ALLOWED = (
    ast.Expression, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.UAdd, ast.BinOp, ast.Add,
    ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.Compare, ast.Eq, ast.NotEq, ast.Lt, ast.LtE,
    ast.Gt, ast.GtE, ast.In, ast.NotIn, ast.Is, ast.IsNot, ast.IfExp, ast.Call, ast.Name, ast.Load, ast.Constant,
    ast.List, ast.Tuple,
)  # fmt: skip


@dataclass(frozen=True)
class Constraint:
    """A predicate over configurations: an expression, a function, or (read from storage) a function's name."""

    predicate: str | Callable[[Mapping[str, Any]], Any] | None
    name: str

    @classmethod
    def of(cls, predicate: Any, names: tuple[str, ...]) -> Constraint:
        """Check what the user gave against the names of the space."""
        if isinstance(predicate, str):
            constraint = cls(predicate, predicate)
            _check_expression(predicate, names)
            return constraint
        if not callable(predicate):
            raise SpaceError(f"where() takes a function of the parameters or an expression, got {predicate!r}")
        return cls(predicate, label(predicate))

    @property
    def known(self) -> bool:
        """Whether it can be evaluated here."""
        return self.predicate is not None

    def holds(self, configuration: Mapping[str, Any], names: tuple[str, ...]) -> bool:
        """Whether the configuration meets the constraint; ``names`` are all the parameters of the space."""
        if self.predicate is None:
            raise SpaceError(
                f"the study's space has the constraint {self.name}, a Python function, which storage cannot hold; "
                "open the study with sonde.Study(space, ...) and the same space.where(...)"
            )
        try:
            if isinstance(self.predicate, str):
                return bool(eval(_compiled(self.predicate), {"__builtins__": {}}, FUNCTIONS | dict(configuration)))
            return bool(self.predicate(configuration))
        except (KeyError, NameError) as error:
            missing = error.name if isinstance(error, NameError) else next(iter(error.args), None)
            if missing in names and missing not in configuration:
                return True  # about an inactive parameter: does not apply
            raise self._failure(error, configuration) from error
        except Exception as error:
            raise self._failure(error, configuration) from error

    def _failure(self, error: Exception, configuration: Mapping[str, Any]) -> SpaceError:
        return SpaceError(
            f"the constraint {self.name} raised {type(error).__name__}: {error} at {dict(configuration)}; "
            "it must return True or False for every configuration"
        )


@lru_cache(maxsize=256)  # not kept on the constraint: a code object cannot be pickled
def _compiled(text: str) -> CodeType:
    return compile(text, "<where>", "eval")


def _check_expression(text: str, names: tuple[str, ...]) -> None:
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError as error:
        raise SpaceError(f"where({text!r}) is not an expression: {error.msg}") from None
    for node in ast.walk(tree):
        if not isinstance(node, _ALLOWED):
            raise SpaceError(f"where({text!r}) uses {type(node).__name__}; only arithmetic and comparisons are allowed")
        if isinstance(node, ast.Call) and not (isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS):
            raise SpaceError(f"where({text!r}) calls something else than {', '.join(FUNCTIONS)}")
        if isinstance(node, ast.Name) and node.id not in names and node.id not in FUNCTIONS:
            raise SpaceError(f"where({text!r}) names {node.id!r}; the parameters are {', '.join(names)}")
