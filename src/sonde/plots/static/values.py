"""Numbers, colours and texts of a figure's dict, as Matplotlib takes them."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

import numpy as np
from matplotlib.colors import LinearSegmentedColormap, to_rgba

from sonde.arrays import Array
from sonde.errors import OptionError

SYMBOLS = {
    "circle": "o", "x": "X", "x-thin": "x", "triangle-up": "^", "triangle-down": "v", "triangle-left": "<",
    "triangle-right": ">", "diamond": "D", "square": "s", "star": "*", "cross": "P", "cross-thin": "+",
    "line-ew": "_", "line-ns": "|", "hexagon": "h", "pentagon": "p",
}  # fmt: skip
STROKES = ("x-thin", "cross-thin", "line-ew", "line-ns")  # symbols without an inside
DASHES = {"solid": "-", "dot": (0, (1, 2)), "dash": (0, (6, 4)), "longdash": (0, (10, 5)), "dashdot": (0, (6, 3, 1, 3))}

_RGB = re.compile(r"rgba?\(([^)]*)\)")
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_TAG = re.compile(r"</?[a-z][^<>]*>", re.IGNORECASE)


def column(given: Any) -> Any:
    """Return a column of a trace as an array: of floats with NaN for None, of dates, or of objects (categories)."""
    if given is None:
        return np.zeros(0)
    if isinstance(given, Mapping) and "bdata" in given:
        flat = np.frombuffer(base64.b64decode(given["bdata"]), dtype=given["dtype"])
        sizes = [int(size) for size in str(given.get("shape", len(flat))).split(",")]
        return flat.astype(float).reshape(sizes)
    if isinstance(given, np.ndarray) and given.dtype.kind in "biuf":
        return given.astype(float)
    items = list(given)
    if any(isinstance(item, list | tuple | np.ndarray) for item in items):
        return np.array([column(item) for item in items])
    if all(item is None or _is_number(item) for item in items):
        return np.array([np.nan if item is None else float(item) for item in items])
    if all(item is None or isinstance(item, date | np.datetime64) for item in items):
        return np.array([_moment(item) for item in items], dtype="datetime64[us]")
    return np.array(items, dtype=object)


def _is_number(item: Any) -> bool:
    return isinstance(item, int | float | np.number) and not isinstance(item, bool)


def _moment(item: Any) -> Any:
    if isinstance(item, datetime) and item.tzinfo is not None:
        return np.datetime64(item.replace(tzinfo=None) - (item.utcoffset() or 0 * item.resolution))
    return np.datetime64("NaT" if item is None else item)


def colour(given: Any, opacity: float = 1.0) -> tuple[float, float, float, float]:
    """Return red, green, blue and opacity of a CSS colour."""
    text = str(given)
    found = _RGB.fullmatch(text.strip())
    if found:
        parts = [float(part) for part in found.group(1).split(",")]
        red, green, blue = (part / 255 for part in parts[:3])
        return red, green, blue, opacity * (parts[3] if len(parts) > 3 else 1.0)
    try:
        red, green, blue, own = to_rgba("none" if text == "transparent" else text)
    except ValueError:
        raise OptionError(
            f"the colour {text!r} of a figure cannot be drawn; give #rrggbb or rgba(r, g, b, a)"
        ) from None
    return red, green, blue, own * opacity


def scale(given: Any, *, reverse: bool = False) -> LinearSegmentedColormap:
    """Return a colour scale of pairs of place and colour."""
    if isinstance(given, str):
        raise OptionError(f"give the colour scale {given!r} as a list of [place, colour]")
    stops = [(float(place), colour(shade)) for place, shade in given]
    if reverse:
        stops = [(1 - place, shade) for place, shade in reversed(stops)]
    return LinearSegmentedColormap.from_list("sonde", stops)


def plain(text: Any) -> str:
    """Return a text without Plotly's markup; line ends stay."""
    return html.unescape(_TAG.sub("", _BREAK.sub("\n", str(text))))


def is_bold(text: Any) -> bool:
    """Whether all of a text is bold."""
    return bool(re.fullmatch(r"<b>.*</b>", str(text), re.DOTALL))


def spread(given: Any, count: int, default: Any) -> list[Any]:
    """Return one entry for each point of what may be a list, an array or a single value."""
    if given is None:
        return [default] * count
    if isinstance(given, Mapping | list | tuple | np.ndarray):
        return list(column(given))
    return [given] * count


def steps(x: Array, y: Array, shape: str) -> tuple[Array, Array]:
    """Return the corners of a line that goes first along x, then along y (``hv``), or the other way round (``vh``)."""
    if shape not in ("hv", "vh") or len(x) < 2:
        return x, y
    twice_x, twice_y = np.repeat(x, 2), np.repeat(y, 2)
    return (twice_x[1:], twice_y[:-1]) if shape == "hv" else (twice_x[:-1], twice_y[1:])
