"""Observations for the gradient model: values, and the gradients that agree with them."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from sonde.errors import OddHistory
from sonde.space import Space
from sonde.strategies.bayesian.surrogate import features_of
from sonde.surrogates.gradient.fitting import Observations
from sonde.surrogates.gradient.gradient_check import GradientCheck, check_gradients
from sonde.trials import History


def observations_of(space: Space, history: History) -> Observations:
    """Return the completed trials in feature space; features of a category have no gradient.

    Gradients that contradict the values are left out, with a warning.
    """
    features, numbers = features_of(space), history.completed.numbers
    gradients = np.full((len(numbers), len(features.groups)), np.nan)
    columns = features.groups[features.ordered]
    gradients[:, features.ordered] = history.unit_gradients(numbers)[:, columns]
    hessians = None
    if history.hessians:
        hessians = np.full((*gradients.shape, gradients.shape[1]), np.nan)
        ordered = np.flatnonzero(features.ordered)
        hessians[:, ordered[:, None], ordered] = history.unit_hessians(numbers)[:, columns[:, None], columns]
    x, values = features(history.completed.units), history.values[numbers]
    check = check_gradients(x, values, gradients)
    if check.wrong.any():
        warnings.warn(_warning(check, numbers), OddHistory, stacklevel=2)
    return Observations(x, values, history.noise[numbers], gradients, hessians).trusting(~check.wrong)


def _warning(check: GradientCheck, numbers: NDArray[np.int64]) -> str:
    """Say which gradients contradict the values; the text stays the same while they do, so that it is shown once."""
    if check.factor is not None:
        return (
            f"the values change about {check.factor:.1g} times as much as the gradients say, so the gradients are "
            "not used; check their sign and their units, which are those of the parameters"
        )
    return (
        f"gradients contradict the values around them and are not used, the first that of trial "
        f"{numbers[check.wrong][0]}; close to a kink of the objective that is nothing to worry about"
    )
