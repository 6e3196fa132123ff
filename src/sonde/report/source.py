"""What a report reads: what figures read, and what the study says of itself."""

from __future__ import annotations

from typing import Protocol

from sonde.plots import Plots
from sonde.plots.source import Source
from sonde.storage import Storage
from sonde.trials import Trial


class Reported(Source, Protocol):
    """A study as a report sees it."""

    @property
    def storage(self) -> Storage:
        """Where the trials are."""
        ...

    @property
    def plot(self) -> Plots:
        """The figures."""
        ...

    @property
    def note(self) -> str:
        """The note of the study."""
        ...

    @property
    def pareto_front(self) -> list[Trial]:
        """Of several objectives: the trials that no other one dominates."""
        ...

    def best(self) -> Trial:
        """Return the best trial; raise ``NoResult`` before the first one."""
        ...

    def explain(self) -> str:
        """Say which strategy suggests the next trial, and why."""
        ...
