"""Colours, symbols and the template of all figures, light and dark.

The colours are those of Okabe and Ito, which colour-blind readers can tell apart. The states of trials differ in
symbol, too.
"""

from __future__ import annotations

from typing import Any

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"

BLUE, ORANGE, GREEN, VERMILION = "#2a7ab9", "#e69f00", "#009e73", "#d55e00"
SKY, PURPLE, YELLOW, GREY = "#56b4e9", "#cc79a7", "#c9b800", "#8a929b"
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILION, YELLOW, GREY)

ACCENT = BLUE
STATES = {  # colour and symbol
    "completed": (BLUE, "circle"),
    "failed": (VERMILION, "x"),
    "stopped": (ORANGE, "triangle-down"),
    "running": (GREEN, "circle-open"),
    "waiting": (GREY, "circle-open"),
    "infeasible": (PURPLE, "diamond"),  # completed, but breaks a measured constraint
    "lost": (GREY, "x-thin-open"),
    "cancelled": (GREY, "line-ew-open"),
}

# From good to bad: light to dark reads the same without colour.
SCALE = ((0.0, "#fde725"), (0.25, "#5ec962"), (0.5, "#21918c"), (0.75, "#3b528b"), (1.0, "#440154"))

# For thin lines, which the darkest colour would hide on a dark page.
LINES = tuple((place / SCALE[-2][0], colour) for place, colour in SCALE[:-1])

# Counts of what lies behind: grey on light and on dark pages.
GREYS = ((0.0, "rgba(138,146,155,0.08)"), (1.0, "rgba(138,146,155,0.9)"))

_LIGHT = {"ink": "#1c2733", "soft": "#5b6770", "grid": "#e6e9ed", "paper": "#ffffff",
          "veil": "rgba(255,255,255,0.7)", "menu": "#1c2733"}  # fmt: skip
_DARK = {
    "ink": "#e6e9ed",
    "soft": "#9aa5b1",
    "grid": "#2b333c",
    "paper": "#14191f",
    "veil": "rgba(20,25,31,0.7)",
    "menu": "#7d8792",
}  # fmt: skip; Plotly's menus are nearly white where one points to them


def template(*, dark: bool = False) -> dict[str, Any]:
    """Return the layout template of Plotly for a light or dark page."""
    colour = _DARK if dark else _LIGHT
    axis = {
        "gridcolor": colour["grid"], "linecolor": colour["grid"], "zeroline": False, "ticks": "outside", "ticklen": 4,
        "tickcolor": colour["grid"], "tickfont": {"color": colour["soft"], "size": 12},
        "title": {"standoff": 8, "font": {"size": 13}},
        "automargin": True,
    }  # fmt: skip
    bar = {"outlinewidth": 0, "thickness": 12, "title": {"font": {"size": 12}}, "tickfont": {"size": 11}}
    return {
        "data": {"heatmap": [{"colorbar": bar}], "contour": [{"colorbar": bar}],
                 "scatter": [{"marker": {"colorbar": bar}}]},
        "layout": {
            "font": {"family": FONT, "size": 13, "color": colour["ink"]},
            "title": {"x": 0, "xanchor": "left", "xref": "container", "pad": {"l": 16, "t": 14}, "font": {"size": 15},
                      "y": 1, "yanchor": "top", "yref": "container",
                      "subtitle": {"font": {"size": 12, "color": colour["soft"]}}},
            "paper_bgcolor": colour["paper"], "plot_bgcolor": colour["paper"],
            "colorway": list(COLOURS), "xaxis": axis, "yaxis": axis,
            "colorscale": {"sequential": [list(stop) for stop in SCALE]},
            "legend": {"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom", "x": 0,
                       "bgcolor": "rgba(0,0,0,0)"},
            "hoverlabel": {"bgcolor": colour["paper"], "bordercolor": colour["grid"],
                           "font": {"color": colour["ink"], "family": FONT}},
            "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": colour["soft"], "activecolor": colour["ink"]},
            "updatemenudefaults": {"bgcolor": colour["paper"], "bordercolor": colour["grid"],
                                   "font": {"color": colour["menu"], "size": 12}},
            "margin": {"l": 64, "r": 24, "t": 84, "b": 56},
            "annotationdefaults": {"font": {"color": colour["soft"], "size": 12}, "showarrow": False,
                                   "bgcolor": colour["veil"], "borderpad": 0},
        }
    }  # fmt: skip
