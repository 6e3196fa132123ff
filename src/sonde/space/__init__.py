"""A space is a set of named parameters. Each maps its values to a numeric axis, and that to the unit interval.

A *configuration* is a dict of the active parameters. A *row* is its stored form: one float for each parameter, NaN
where inactive. A *unit vector* is the form that strategies search: a point of the unit cube and an activity mask.
``axis`` maps one number, ``parameters`` map values to numbers, ``codec`` maps whole configurations, ``constraints`` are
the known constraints of the user.
"""

from sonde.space.axis import Axis
from sonde.space.codec import Codec
from sonde.space.constraints import Constraint
from sonde.space.parameters import Bool, Categorical, Float, Int, Parameter
from sonde.space.space import Configuration, Space

__all__ = ["Axis", "Bool", "Categorical", "Codec", "Configuration", "Constraint", "Float", "Int", "Parameter", "Space"]
