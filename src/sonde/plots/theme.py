"""Colours, symbols and the template of all figures, light and dark.

The colours are those of Okabe and Ito, which colour-blind readers can tell apart. The states of trials differ in
symbol, too.
"""

from __future__ import annotations

from typing import Any

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"

BLUE, ORANGE, GREEN, VERMILLION = "#2a7ab9", "#e69f00", "#009e73", "#d55e00"
SKY, PURPLE, YELLOW, GREY = "#56b4e9", "#cc79a7", "#c9b800", "#8a929b"
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILLION, YELLOW, GREY)

ACCENT = BLUE
STATES = {  # colour and symbol
    "completed": (BLUE, "circle"),
    "failed": (VERMILLION, "x"),
    "stopped": (ORANGE, "triangle-down"),
    "running": (GREEN, "circle-open"),
    "waiting": (GREY, "circle-open"),
    "infeasible": (PURPLE, "diamond"),  # completed, but breaks a measured constraint
    "lost": (GREY, "x-thin-open"),
    "cancelled": (GREY, "line-ew-open"),
}

# From good to bad: light to dark reads the same without colour.
SCALE = ((0.0, "#fde725"), (0.25, "#5ec962"), (0.5, "#21918c"), (0.75, "#3b528b"), (1.0, "#440154"))

_LIGHT = {"ink": "#1c2733", "soft": "#5b6770", "grid": "#e6e9ed", "paper": "#ffffff"}
_DARK = {"ink": "#e6e9ed", "soft": "#9aa5b1", "grid": "#2b333c", "paper": "#14191f"}


def template(*, dark: bool = False) -> dict[str, Any]:
    """Return the layout template of Plotly for a light or dark page."""
    colour = _DARK if dark else _LIGHT
    axis = {
        "gridcolor": colour["grid"], "linecolor": colour["grid"], "zeroline": False, "ticks": "outside", "ticklen": 4,
        "tickcolor": colour["grid"], "tickfont": {"color": colour["soft"]}, "title": {"standoff": 8},
        "automargin": True,
    }  # fmt: skip
    return {
        "layout": {
            "font": {"family": FONT, "size": 13, "color": colour["ink"]},
            "title": {"x": 0, "xanchor": "left", "xref": "container", "pad": {"l": 16}, "font": {"size": 15}},
            "paper_bgcolor": colour["paper"], "plot_bgcolor": colour["paper"],
            "colorway": list(COLOURS), "xaxis": axis, "yaxis": axis,
            "colorscale": {"sequential": [list(stop) for stop in SCALE]},
            "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "bgcolor": "rgba(0,0,0,0)"},
            "hoverlabel": {"bgcolor": colour["paper"], "bordercolor": colour["grid"],
                           "font": {"color": colour["ink"], "family": FONT}},
            "margin": {"l": 64, "r": 24, "t": 72, "b": 56},
            "annotationdefaults": {"font": {"color": colour["soft"], "size": 12}, "showarrow": False},
        }
    }  # fmt: skip
