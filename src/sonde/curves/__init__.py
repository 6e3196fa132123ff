"""Learning curves: what the values of a running trial say of its final value, and when to stop it.

``curve`` is the cleaned curve of a trial. ``model`` predicts its final value by a regression (``regression``) on the
ranks (``scores``) of its values among those of past trials at the same step (``aligned``). ``stopping`` stops a trial
when the model leaves it little chance to become the best.
"""

from sonde.curves.curve import Curve
from sonde.curves.model import CurveModel, FinalValue, PastTrial
from sonde.curves.stopping import should_stop

__all__ = ["Curve", "CurveModel", "FinalValue", "PastTrial", "should_stop"]
