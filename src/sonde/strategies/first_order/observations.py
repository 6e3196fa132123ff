"""Results with their gradients as a process sees them: those that contradict the values are left out, and said."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from sonde.errors import OddHistory
from sonde.space import Space
from sonde.strategies.bayesian.model import features_of
from sonde.surrogates.gradient.fitting import Seen
from sonde.surrogates.gradient.gradient_check import Verdict, judge
from sonde.trials import History


def seen_of(space: Space, history: History) -> Seen:
    """Return results as the process sees them: a category has no slope."""
    features, numbers = features_of(space), history.completed.numbers
    wide = np.full((len(numbers), len(features.groups)), np.nan)
    columns = features.groups[features.ordered]
    wide[:, features.ordered] = history.unit_gradients(numbers)[:, columns]
    hessians = None
    if history.hessians:
        hessians = np.full((*wide.shape, wide.shape[1]), np.nan)
        places = np.flatnonzero(features.ordered)
        hessians[:, places[:, None], places] = history.unit_hessians(numbers)[:, columns[:, None], columns]
    x, values = features(history.completed.units), history.values[numbers]
    verdict = judge(x, values, wide)
    if verdict.false.any():
        warnings.warn(_complaint(verdict, numbers), OddHistory, stacklevel=2)
    return Seen(x, values, history.noise[numbers], wide, hessians).trusting(~verdict.false)


def _complaint(verdict: Verdict, numbers: NDArray[np.int64]) -> str:
    """Say which gradients contradict the values; the same words as long as it is the same, so that it is shown once."""
    if verdict.factor is not None:
        return (
            f"the values change about {verdict.factor:.1g} times as much as the gradients say, so the gradients are "
            "not used; check their sign and their units, which are those of the parameters"
        )
    return (
        f"gradients contradict the values around them and are not used, the first that of trial "
        f"{numbers[verdict.false][0]}; close to a kink of the objective that is nothing to worry about"
    )
