"""The figures of a study by name: ``study.plot.history()``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from sonde.extras import require
from sonde.plots.source import Source


class Plots:
    """The figures of a study. Each call returns a Plotly figure; with ``data=True`` the numbers as a ``Table``."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._kept: tuple[Any, Any] = (None, None)  # what the last table is of, and the table

    def names(self, *, everything: bool = False) -> dict[str, str]:
        """Return the names of the figures that this study can have, or of all, each with what it shows."""
        return {
            name: shown
            for name, shown in descriptions().items()
            if everything or APPLIES.get(name, _always)(self._source)
        }

    def history(self, *, objective: str | None = None, log: bool | None = None, data: bool = False) -> Any:
        """Every trial's value, and the best so far.

        The axis of values is logarithmic where that helps, or as ``log`` says. Of several objectives it is the
        hypervolume of the Pareto front, or one ``objective``.
        """
        return self._shown("history", data, {"objective": objective}, {"objective": objective, "log": log})

    def parallel(
        self, *, parameters: Sequence[str] | None = None, objective: str | None = None, data: bool = False
    ) -> Any:
        """Each trial as a line through its parameters to its value.

        ``parameters`` chooses some of them and their order; ``objective`` is the one that colours the lines.
        """
        options = {"parameters": parameters, "objective": objective}
        return self._shown("parallel", data, options, {"objective": objective})

    def front(self, *, objectives: Sequence[str] | None = None, model: bool | None = None, data: bool = False) -> Any:
        """The Pareto front of several objectives.

        ``objectives`` are two of them, where there are more. ``model`` says whether to show the model's mean and
        standard deviation of the front; the default is yes for up to a thousand results.
        """
        return self._shown("front", data, {"objectives": objectives, "model": model}, {})

    def curves(self, *, log: bool | None = None, data: bool = False) -> Any:
        """Learning curves, and where trials were stopped."""
        return self._shown("curves", data, {}, {"log": log})

    def timeline(self, *, data: bool = False) -> Any:
        """What each worker did when: trials from start to finish."""
        return self._shown("timeline", data, {}, {})

    def seconds(self, *, data: bool = False) -> Any:
        """Seconds per suggestion, and those of the objective."""
        return self._shown("seconds", data, {}, {})

    def distribution(self, *, data: bool = False) -> Any:
        """How the distribution of the strategy igo moved over its generations."""
        return self._shown("distribution", data, {}, {})

    def compare(self, *others: Any, objective: str | None = None, log: bool | None = None, data: bool = False) -> Any:
        """The best so far of several studies.

        Of several objectives it is the hypervolume from one reference point, or one ``objective``.
        """
        return compare([self._source, *others], objective=objective, log=log, data=data)

    def slices(
        self, *, parameters: Sequence[str] | None = None, at: Mapping[str, Any] | None = None,
        objective: str | None = None, data: bool = False,
    ) -> Any:  # fmt: skip
        """The model along each parameter, with its uncertainty.

        The other parameters are those of the best trial, of another one that a menu chooses, or of ``at``: a
        configuration or a part of one.
        """
        options = {"parameters": parameters, "at": at, "objective": objective}
        return self._shown("slices", data, options, {"objective": objective})

    def contours(
        self, *, x: str | None = None, y: str | None = None, at: Mapping[str, Any] | None = None,
        objective: str | None = None, data: bool = False,
    ) -> Any:  # fmt: skip
        """The model over two parameters, with its uncertainty.

        ``x`` and ``y`` name them; the default is the two that matter most. The others are as in ``slices``.
        """
        options = {"x": x, "y": y, "at": at, "objective": objective}
        return self._shown("contours", data, options, {"objective": objective})

    def importance(self, *, pairs: int = 6, objective: str | None = None, data: bool = False) -> Any:
        """How much each parameter matters, alone and together with others.

        ``pairs`` is how many interactions of two parameters are measured.
        """
        options = {"pairs": pairs, "objective": objective}
        return self._shown("importance", data, options, {"objective": objective})

    def predictions(self, *, objective: str | None = None, log: bool | None = None, data: bool = False) -> Any:
        """Each result as predicted from the others, and whether the intervals hold."""
        return self._shown("predictions", data, {"objective": objective}, {"objective": objective, "log": log})

    def feasibility(
        self, *, x: str | None = None, y: str | None = None, at: Mapping[str, Any] | None = None, data: bool = False
    ) -> Any:
        """The probability that a trial works, over two parameters.

        ``x`` and ``y`` name them; the default is the two that matter most for failures. The others are as in
        ``slices``.
        """
        return self._shown("feasibility", data, {"x": x, "y": y, "at": at}, {})

    def planar(
        self, *, x: str | None = None, y: str | None = None, bins: int | None = None, objective: str | None = None,
        data: bool = False,
    ) -> Any:  # fmt: skip
        """How many trials had which value over time, as a planar histogram.

        With ``x`` and ``y``: how many trials were in each cell of two parameters, and the mean of their values.
        """
        options = {"x": x, "y": y, "bins": bins, "objective": objective}
        return self._shown("planar", data, options, {"objective": objective})

    def _shown(self, name: str, data: bool, options: dict[str, Any], drawing: dict[str, Any]) -> Any:
        """Return the table of a figure, or the figure; options of the table, and of its drawing.

        A figure that follows its own table does not compute it again.
        """
        require("plotly", extra="plots")
        part = import_module(f"sonde.plots.{name}")
        what, (last, kept) = (name, repr(options), self._source.history.revision), self._kept
        table = kept if last == what and not data else part.table(self._source, **options)
        self._kept = (what, table) if data else (None, None)
        return table if data else part.figure(table, self._source, **drawing)


FIGURES = (
    "history", "slices", "contours", "importance", "parallel", "predictions", "feasibility", "planar", "front",
    "curves", "timeline", "seconds", "distribution", "compare",
)  # fmt: skip


def compare(
    studies: Sequence[Source], *, objective: str | None = None, log: bool | None = None, data: bool = False
) -> Any:
    """Return a figure, or the table, of the best so far of several studies, by their names."""
    require("plotly", extra="plots")
    from sonde.plots import comparison

    table = comparison.table(studies, objective)
    return table if data else comparison.figure(table, studies[0], objective, log=log)


def _always(_: Source) -> bool:
    return True


# figures that only some studies can have
APPLIES: dict[str, Callable[[Source], bool]] = {
    "contours": lambda source: len(source.space) > 1,
    "feasibility": lambda source: bool(len(source.history.failed) or not source.history.feasible.all()),
    "front": lambda source: source.objectives.several,
    "curves": lambda source: bool(source.history.curves),
    "distribution": lambda source: source.learns_distributions,
    "compare": lambda _: False,  # needs other studies
}


def descriptions() -> dict[str, str]:
    """Return the names of all figures, each with what it shows."""
    return {name: str(getattr(Plots, name).__doc__).splitlines()[0].rstrip(".") for name in FIGURES}
