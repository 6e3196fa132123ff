"""What figures read: the part of a study that they need."""

from __future__ import annotations

from typing import Any, Protocol

from sonde.space import Space
from sonde.strategies.port import Distributions, Model
from sonde.trials import History, Trial
from sonde.trials.objectives import Objectives
from sonde.trials.times import Times


class Source(Protocol):
    """A study as figures see it."""

    @property
    def space(self) -> Space:
        """The space that is searched."""
        ...

    @property
    def objectives(self) -> Objectives:
        """The objectives."""
        ...

    @property
    def name(self) -> str:
        """The study's name."""
        ...

    @property
    def seed(self) -> int:
        """The study's seed."""
        ...

    @property
    def history(self) -> History:
        """All trials as arrays; quick, also with many trials."""
        ...

    @property
    def trials(self) -> list[Trial]:
        """All trials, with their times, workers, errors and curves."""
        ...

    @property
    def times(self) -> Times:
        """When and where each trial ran, as arrays; quick, also with many trials."""
        ...

    @property
    def learns_distributions(self) -> bool:
        """Whether ``distributions`` returns some."""
        ...

    def distributions(self) -> Distributions | None:
        """Return how the distribution of the strategy has moved; None where it learns none."""
        ...

    def trial(self, number: int) -> Trial:
        """Return one trial."""
        ...

    def model(self, objective: str | None = None) -> Model:
        """Return the surrogate fitted to the results; raise ``NoResult`` before the first one."""
        ...

    def diagnose(self) -> Any:
        """Return the leave-one-out predictions; of several objectives, by name."""
        ...
