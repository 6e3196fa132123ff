"""Figures of a study: each is a table of numbers, and a Plotly figure drawn from that table alone.

``source`` is what figures read, ``table`` holds the numbers, and a file for each figure has ``table`` and ``figure``.
``figure`` is the class of all figures, which ``static`` draws without a browser. ``plots`` lists them: ``study.plot``.
"""

from sonde.plots.plots import Plots as Plots
from sonde.plots.plots import compare as compare
from sonde.plots.source import Source as Source
from sonde.plots.table import Table as Table
