"""The interface of an executor and of its futures, and the simplest executor."""

from __future__ import annotations

import concurrent.futures
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


class Inline:
    """Runs each call in this process: it sees and changes the variables here, and a debugger can step into it."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> concurrent.futures.Future[Any]:
        """Run the call before returning."""
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        future.set_result(function(*arguments))
        return future

    def shutdown(self) -> None:
        """Do nothing: there are no workers."""
