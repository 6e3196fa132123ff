"""A Plotly figure as a static picture, drawn by Matplotlib: no browser is needed.

``values`` reads numbers, colours and texts of a figure's dict; ``layout`` joins its layout with the template.
``frames`` makes the axes and ``ticks`` their labels. ``marks``, ``bars`` and ``surfaces`` draw traces, each with a
``brush``; ``notes`` has the texts around them. ``picture`` puts it together. One pixel of Plotly is one point of
Matplotlib.
"""

from sonde.plots.static.picture import save as save
