"""A space is a set of named parameters, each a value set over one numeric axis of the unit interval.

A *configuration* is a dict of the active parameters. The codec sees it as a *row* (one float a parameter, NaN
where inactive: the form that is stored) and as a *unit vector* (a point of the unit cube plus an activity mask:
the form that strategies search). ``axis`` maps one number, ``parameters`` give numbers their meaning, ``codec``
does whole configurations, ``constraints`` are what the user knows to be impossible.
"""

from sonde.space.axis import Axis
from sonde.space.codec import Codec
from sonde.space.constraints import Constraint
from sonde.space.parameters import Bool, Categorical, Float, Int, Parameter
from sonde.space.space import Configuration, Space

__all__ = [
    "Axis",
    "Bool",
    "Categorical",
    "Codec",
    "Configuration",
    "Constraint",
    "Float",
    "Int",
    "Parameter",
    "Space",
]
