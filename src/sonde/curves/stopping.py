"""When to stop a running trial: when a new one is far more likely to become the best.

A new trial ends below n past ones with probability 1 / (n + 1), if it is like them. A running one is stopped when,
given its curve, that probability has fallen to a small share of this. Where curves tell nothing it does not fall, and
nothing is stopped. The less of a trial is left, the less there is to save, and the smaller is the share.

A few trials run to their end whatever their curves, so that the model also learns from those it would stop.
"""

from __future__ import annotations

import numpy as np

from sonde.curves.curve import Curve
from sonde.curves.model import CurveModel
from sonde.sampling import Key, Stream

HOPELESS = 0.1  # of the probability for a new trial: about what the best one may lose to stopping at the first step
KEPT = 0.1  # of all steps, for trials that run to their end whatever their curves


def should_stop(model: CurveModel, curve: Curve, key: Key) -> bool:
    """Return whether to stop a running trial; ``key`` is of its number, and chooses those that run to their end."""
    if not len(model.finals):
        return False
    chance = model.chance_below(curve, float(model.finals.min()))
    if chance is None or runs_to_end(model, key):
        return False
    of_a_new_one = 1 / (len(model.complete) + 1)
    return chance < HOPELESS * of_a_new_one * max(1 - curve.last_step / full_length(model), 0.0)


def runs_to_end(model: CurveModel, key: Key) -> bool:
    """Return whether the trial of a key is one that runs to its end whatever its curve.

    That is so with the probability at which such trials take the share ``KEPT`` of the steps of past ones.
    """
    lengths = model.last_steps[np.isfinite(model.last_steps)]
    return bool(key.rng(Stream.CURVES).random() < KEPT * lengths.mean() / full_length(model))


def full_length(model: CurveModel) -> float:
    """Return the last step of the longest curve of a trial that ran to its end."""
    return float(model.last_steps[model.complete].max())
