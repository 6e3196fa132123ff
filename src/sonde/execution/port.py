"""What is asked of an executor and of what it returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol


class Future(Protocol):
    """A result to come."""

    def done(self) -> bool:
        """Whether it has come."""

    def result(self) -> Any:
        """Return it, or raise what went wrong."""


class Executor(Protocol):
    """Runs functions elsewhere."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future:
        """Start a call and return its future."""
