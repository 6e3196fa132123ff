"""The axes of a figure: one pair for every x axis and y axis that traces use together, placed by their domains."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.dates import date2num
from matplotlib.figure import Figure
from matplotlib.transforms import Affine2D, Transform

from sonde.arrays import Array
from sonde.plots.static.layout import Layout, long_name
from sonde.plots.static.ticks import set_ticks
from sonde.plots.static.values import colour, column, plain

PADDING = 0.05  # around the data
WIDE = 0.6  # how wide a character is, as a share of its height
SOLID = ("heatmap", "contour")  # traces that fill their axes


class Frames:
    """The axes by the names that traces give."""

    def __init__(self, figure: Figure, layout: Layout) -> None:
        self.figure, self.layout = figure, layout
        self.margin = layout.margin
        self.pairs: dict[tuple[str, str], Axes] = {}
        self._firsts: dict[str, Axes] = {}  # that own an axis; others share it
        self._categories: dict[str, list[Any]] = {}
        self._kinds: dict[str, str] = {}
        self._solid: set[str] = set()
        self._marked: set[str] = set()  # that have points, which need room
        self._area = Affine2D()

    def of(self, trace: dict[str, Any]) -> Axes:
        """Return the axes of a trace."""
        names = long_name(trace.get("xaxis"), "x"), long_name(trace.get("yaxis"), "y")
        for name in names:
            self._learn_kind(name, trace)
        if trace["type"] in SOLID:
            self._solid.update(names)
        elif "markers" in str(trace.get("mode")):
            self._marked.update(names)
        return self.pair(*names)

    def pair(self, x: str, y: str) -> Axes:
        """Return the axes of an x axis and a y axis."""
        if (x, y) not in self.pairs:
            made = self.figure.add_axes(self._place(x, y), sharex=self._firsts.get(x), sharey=self._firsts.get(y),
                                        label=f"{x} {y}")  # fmt: skip
            made.set_facecolor("none" if self.pairs else colour(self.layout.get("plot_bgcolor", "#ffffff")))
            self.pairs[x, y] = made
            for name, letter in ((x, "x"), (y, "y")):
                if name not in self._firsts:
                    self._firsts[name] = made
                    made.set(**{f"{letter}scale": "log" if self._kind(name) == "log" else "linear"})
        return self.pairs[x, y]

    def numbers(self, trace: dict[str, Any], letter: str, given: Any = None) -> Array:
        """Return the places of a trace's column along an axis: numbers, dates as numbers, categories by their index."""
        name = long_name(trace.get(f"{letter}axis"), letter)
        return self.places(name, column(trace.get(letter) if given is None else given))

    def places(self, name: str, values: Any) -> Array:
        """Return the places of values along an axis."""
        kind = self._kind(name)
        if kind == "category":
            known = self._categories.setdefault(name, list(column(self.layout.axis(name).get("categoryarray"))))
            shown = [self._category(known, value) for value in values]
            return np.array(shown, dtype=float)
        if kind == "date":
            return np.asarray(date2num(np.array(values, dtype="datetime64[us]")), dtype=float)
        return np.asarray(values, dtype=float)

    @staticmethod
    def _category(known: list[Any], value: Any) -> float:
        if value is None or value != value:
            return np.nan
        if value not in known:
            known.append(value)
        return float(known.index(value))

    def pair_of(self, x: str, y: str) -> Axes:
        """Return axes that have these names, or the first with one of them: for what lies on top of the traces."""
        if (x, y) in self.pairs:
            return self.pairs[x, y]
        return self._firsts.get(x) or self._firsts.get(y) or self.pair(x, y)

    def place_of(self, name: str, value: Any, *, exponent: bool) -> float:
        """Return the place of one value along an axis; of a logarithmic one it may be given as its exponent."""
        if self._kind(name) == "log" and exponent:
            return float(10 ** float(value))
        return float(self.places(name, column([value]))[0])

    @property
    def paper(self) -> Transform:
        """The coordinates of the whole area of the axes, as shares of it."""
        return self._area + self.figure.transFigure

    def _learn_kind(self, name: str, trace: dict[str, Any]) -> None:
        values = column(trace.get(name[0]))
        if name not in self._kinds or self._kinds[name] == "linear":
            told = self.layout.axis(name).get("type") or "-"
            found = {"O": "category", "M": "date"}.get(values.dtype.kind, "linear")
            self._kinds[name] = found if told == "-" else told

    def _kind(self, name: str) -> str:
        told = self.layout.axis(name).get("type") or "-"
        return self._kinds.get(name, "linear" if told == "-" else told)

    def _place(self, x: str, y: str) -> tuple[float, float, float, float]:
        """Return left, bottom, width and height as shares of the figure."""
        (left, right), (bottom, top) = self._domain(x), self._domain(y)
        return self.share(left, bottom, right - left, top - bottom)

    def share(self, left: float, bottom: float, width: float, height: float) -> tuple[float, float, float, float]:
        """Return a place in the area of the axes as shares of the whole figure."""
        across, high = self.figure.get_size_inches() * 72
        margin = self.margin
        area_width = max(across - margin["l"] - margin["r"], 10.0)
        area_height = max(high - margin["t"] - margin["b"], 10.0)
        return ((margin["l"] + left * area_width) / across, (margin["b"] + bottom * area_height) / high,
                width * area_width / across, height * area_height / high)  # fmt: skip

    def _domain(self, name: str) -> tuple[float, float]:
        axis = self.layout.axis(name)
        if axis.get("overlaying"):
            return self._domain(long_name(axis["overlaying"], name[0]))
        low, high = axis.get("domain") or (0.0, 1.0)
        return float(low), float(high)

    def place(self) -> None:
        """Place the axes again, after a margin has changed."""
        for (x, y), axes in self.pairs.items():
            axes.set_position(self._place(x, y))
        left, bottom, width, height = self.share(0.0, 0.0, 1.0, 1.0)
        self._area.clear().scale(width, height).translate(left, bottom)

    def finish(self) -> None:
        """Set ranges, ticks, titles and grids, after the traces are drawn."""
        for axes in self.pairs.values():
            axes.set_axisbelow(True)
            axes.spines[:].set_visible(False)
            axes.tick_params(length=0)
        for (x, y), axes in self.pairs.items():
            for name in (x, y):
                if self._firsts[name] is axes:
                    self._set_range(axes, name, self.layout.axis(name))
        for (x, y), axes in self.pairs.items():
            for name, other in ((x, y), (y, x)):
                self._finish(axes, name, overlaid=bool(self.layout.axis(other).get("overlaying")))

    def _finish(self, axes: Axes, name: str, *, overlaid: bool) -> None:
        """Set ticks and look of an axis; one that several pairs share is written at its anchor only."""
        letter, wanted = name[0], self.layout.axis(name)
        axis = getattr(axes, f"{letter}axis")
        if wanted.get("visible") is False or (overlaid and self._owner(name) is not axes):
            axis.set_visible(False)
            return
        set_ticks(axis, wanted, self._kind(name), self._categories.get(name, []))
        self._set_look(axes, axis, wanted, name)
        if self._owner(name) is not axes:
            axis.set_tick_params(labelbottom=False, labelleft=False)
            axis.set_label_text("")

    def _owner(self, name: str) -> Axes:
        """Return the axes at which an axis is written."""
        anchor = str(self.layout.axis(name).get("anchor") or "")
        if anchor and anchor != "free":
            other = long_name(anchor, anchor[0])
            pair = (name, other) if name[0] == "x" else (other, name)
            return self.pairs.get(pair, self._firsts[name])
        return self._firsts[name]

    def _set_look(self, axes: Axes, axis: Any, wanted: dict[str, Any], name: str) -> None:
        letter: Any = name[0]
        size = float(wanted.get("tickfont", {}).get("size", self.layout.size - 1))
        axes.tick_params(axis=letter, labelsize=size, pad=4, labelrotation=self._rotation(axes, wanted, name, size),
                         labelcolor=colour(wanted.get("tickfont", {}).get("color", self.layout.ink)))  # fmt: skip
        if wanted.get("side") in ("top", "right"):
            axis.set_ticks_position(wanted["side"])
            axis.set_label_position(wanted["side"])
        if wanted.get("showgrid") is not False:
            axes.grid(axis=letter, color=colour(wanted.get("gridcolor", "#eeeeee")), linewidth=1)
        title = wanted.get("title") or {}
        font = title.get("font", {})
        axis.set_label_text(plain(title.get("text") or ""), color=colour(font.get("color", self.layout.ink)),
                            fontsize=float(font.get("size", self.layout.size)))  # fmt: skip
        axis.labelpad = float(title.get("standoff", 8)) * 0.6

    def _rotation(self, axes: Axes, wanted: dict[str, Any], name: str, size: float) -> float:
        """Return the angle of the labels: upright where texts below an axis do not fit side by side."""
        if wanted.get("tickangle") is not None:
            return -float(wanted["tickangle"])
        texts = self._categories.get(name) or wanted.get("ticktext") or ()
        if name[0] == "y" or not len(texts):
            return 0.0
        room = float(axes.get_position().width) * float(self.figure.get_size_inches()[0]) * 72 / len(texts)
        return 90.0 if WIDE * size * max(len(plain(text)) for text in texts) > room else 0.0

    def _least(self, name: str) -> float:
        """Return the least value along an axis."""
        own = [axes for names, axes in self.pairs.items() if name in names]
        return min(float(getattr(axes.dataLim, f"interval{name[0]}")[0]) for axes in own)

    def _set_range(self, axes: Axes, name: str, wanted: dict[str, Any]) -> None:
        letter, kind = name[0], self._kind(name)
        told = wanted.get("range")
        setter = getattr(axes, f"set_{letter}lim")
        if told is not None:
            ends = [None if end is None else float(10 ** float(end) if kind == "log" else end) for end in told]
            setter(*ends)
        else:
            padding: Any = {letter: 0.0 if name in self._solid - self._marked else PADDING}
            axes.margins(**padding)
            axes.autoscale_view(scalex=letter == "x", scaley=letter == "y")
            low, high = getattr(axes, f"get_{letter}lim")()
            if wanted.get("rangemode") == "tozero" and kind == "linear":
                setter(0.0 if self._least(name) >= 0 else low, high)
        if wanted.get("autorange") == "reversed":
            setter(*reversed(getattr(axes, f"get_{letter}lim")()))
