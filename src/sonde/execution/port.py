"""The interface of an executor and of its futures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol


class Future(Protocol):
    """The result of a call that may still run."""

    def done(self) -> bool:
        """Whether the call has ended."""

    def result(self) -> Any:
        """Return the result, or raise the call's exception."""


class Executor(Protocol):
    """Runs functions, usually in other processes."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future:
        """Start a call and return its future."""
