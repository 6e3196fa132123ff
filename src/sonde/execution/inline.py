"""Runs the objective in this process: it sees and changes the variables here, and a debugger can step into it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any


class Inline:
    """An executor that runs each call in this process."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        """Run the call before returning."""
        future: Future[Any] = Future()
        future.set_result(function(*arguments))
        return future

    def shutdown(self) -> None:
        """Do nothing: there are no workers."""
