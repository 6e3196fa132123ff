"""Known constraints: conditions on a configuration that can be checked without running it.

``space.where("a + b <= 100")`` takes an expression (arithmetic, comparisons, and/or/not, ``in``, a few functions). It
is stored with the space, and its evaluation is bounded. ``space.where(lambda p: p["a"] + p["b"] <= 100)`` takes any
function. Storage keeps only its name, so a program that continues the study must pass the space again.

A constraint that mentions an inactive parameter does not apply.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sonde.errors import SpaceError
from sonde.space import expressions
from sonde.space.choices import label


@dataclass(frozen=True)
class Constraint:
    """A predicate over configurations: an expression, a function, or (read from storage) a function's name."""

    predicate: str | Callable[[Mapping[str, Any]], Any] | None
    name: str

    @classmethod
    def of(cls, predicate: Any, names: tuple[str, ...]) -> Constraint:
        """Return the constraint of a predicate; raise ``SpaceError`` for one that cannot be used."""
        if isinstance(predicate, str):
            constraint = cls(predicate, predicate)
            expressions.check(predicate, names)
            return constraint
        if not callable(predicate):
            raise SpaceError(f"where() takes a function of the parameters or an expression, got {predicate!r}")
        return cls(predicate, label(predicate))

    @property
    def known(self) -> bool:
        """Whether it can be evaluated: a function read from storage cannot."""
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
                return bool(expressions.evaluate(self.predicate, configuration))
            return bool(self.predicate(configuration))
        except (KeyError, NameError) as error:
            missing = error.name if isinstance(error, NameError) else next(iter(error.args), None)
            if missing in names and missing not in configuration:
                return True  # about an inactive parameter: does not apply
            raise self._failure(error, configuration) from error
        except expressions.TooLarge as error:
            raise expressions.too_large(self.name, error, configuration) from None
        except Exception as error:
            raise self._failure(error, configuration) from error

    def _failure(self, error: Exception, configuration: Mapping[str, Any]) -> SpaceError:
        return SpaceError(
            f"the constraint {self.name} raised {type(error).__name__}: {error} at {dict(configuration)}; "
            "it must return True or False for every configuration"
        )
