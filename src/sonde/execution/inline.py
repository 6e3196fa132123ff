"""Runs the objective here and now: closures see and change this process's variables, and a debugger can step in."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any


class Inline:
    """An executor without workers."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        """Run the call before returning."""
        future: Future[Any] = Future()
        future.set_result(function(*arguments))
        return future

    def shutdown(self) -> None:
        """Nothing to stop."""
