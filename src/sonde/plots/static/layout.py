"""The layout of a figure joined with its template, as Plotly joins them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PAPER = "#ffffff"
INK = "#1c2733"


class Layout:
    """What a layout says, or else its template, or else the default."""

    def __init__(self, figure: Mapping[str, Any]) -> None:
        self.own: Mapping[str, Any] = figure.get("layout", {})
        self.template: Mapping[str, Any] = (self.own.get("template") or {}).get("layout", {})

    def get(self, name: str, default: Any = None) -> Any:
        """Return an entry; of a dict, the template's completed by the own."""
        own, base = self.own.get(name), self.template.get(name)
        if isinstance(own, Mapping) or isinstance(base, Mapping):
            return joined(base or {}, own or {})
        return own if own is not None else base if base is not None else default

    def axis(self, name: str) -> dict[str, Any]:
        """Return an axis such as ``xaxis2``."""
        return joined(self.template.get(f"{name[0]}axis", {}), self.own.get(name) or {})

    @property
    def axes(self) -> list[str]:
        """The names of the axes."""
        return [name for name in self.own if name.startswith(("xaxis", "yaxis"))]

    @property
    def ink(self) -> str:
        """The colour of texts."""
        return str(self.get("font", {}).get("color", INK))

    @property
    def soft(self) -> str:
        """The colour of texts of less weight."""
        return str(self.get("annotationdefaults", {}).get("font", {}).get("color", self.ink))

    @property
    def paper(self) -> str:
        """The colour of the background."""
        return str(self.get("paper_bgcolor", PAPER))

    @property
    def size(self) -> float:
        """The size of texts."""
        return float(self.get("font", {}).get("size", 13))

    @property
    def margin(self) -> dict[str, float]:
        """The margins ``l``, ``r``, ``t`` and ``b`` around the axes."""
        return {"l": 64, "r": 24, "t": 72, "b": 56, **self.get("margin", {})}


def joined(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of both, the own ones first; dicts inside are joined, too."""
    result = dict(base)
    for name, entry in own.items():
        below = result.get(name)
        result[name] = joined(below, entry) if isinstance(below, Mapping) and isinstance(entry, Mapping) else entry
    return result


def long_name(short: Any, letter: str) -> str:
    """Return the name of an axis in the layout: ``x2`` is ``xaxis2``."""
    return f"{letter}axis{str(short or letter)[1:]}"
