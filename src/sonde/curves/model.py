"""The model of learning curves: the final value of a trial given its curve so far, learned from past trials.

At each step there is one regression of final scores on the scores of the last and of the best value so far (``scores``,
``regression``). No shape of curves is assumed: what a power law says of a curve is learned, as is what it cannot say of
curves that cross, rise again or diverge. The values may be of another metric than the final value.

Trials that were stopped have no final value. Theirs are predicted, from the last step at which any was stopped down to
the first, and take part in the regressions of earlier steps with the variance of the prediction. Without them these
would only see trials that were good enough to go on. Whether a trial was stopped depends on its curve alone, so that
this does not bias the regressions (a monotone pattern of missing data: Little & Rubin 2019, section 7.4).

Trials that diverged take no part: how low a trial ends is asked of those that do not diverge. In one distribution with
the others, an end far above the rest would make one far below it seem likely. A diverging trial has the worst scores.

Symbols: n past trials, m running trials; z (n,) final scores, v (n,) the variances of those that are predictions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import stdtr, stdtrit

from sonde.arrays import Array, Mask
from sonde.curves.aligned import AlignedCurves
from sonde.curves.curve import Curve, diverged_as_inf
from sonde.curves.regression import Prediction, Regression
from sonde.curves.scores import NormalScores

FEWEST = 5  # final values, of trials whose curve reaches the step: the regression has three coefficients and a variance
LEVELS = (np.arange(20) + 0.5) / 20  # of the quantiles from which mean and deviation are computed


class PastTrial(NamedTuple):
    """The curve of a trial that ended, and the value its objective returned: None if it was stopped on its way.

    A value that is not finite is that of a trial that failed or diverged.
    """

    curve: Curve
    final: float | None


class FinalValue(NamedTuple):
    """The predicted final value of a trial: mean and standard deviation."""

    mean: float
    deviation: float


@dataclass(frozen=True)
class _StepModel:
    """The regression at one step, on the scores of each feature."""

    scores: tuple[NormalScores, ...]
    regression: Regression

    @classmethod
    def fitted(cls, features: Array, z: Array, v: Array) -> _StepModel:
        scores = tuple(NormalScores.among(column) for column in features.T)
        return cls(scores, Regression.fitted(_scored(scores, features), z, v))

    def predict(self, features: Array) -> Prediction:
        return self.regression.predict(_scored(self.scores, features))


class CurveModel:
    """The model given past trials; regressions are fitted at the steps that are asked for, and kept."""

    def __init__(self, past: Sequence[PastTrial]) -> None:
        self.aligned = AlignedCurves.of([trial.curve for trial in past])
        self.last_steps = np.array([trial.curve.last_step for trial in past])
        self.complete: Mask = np.array([trial.final is not None for trial in past], dtype=bool)
        ends = diverged_as_inf(np.array([_end(trial) for trial in past], dtype=float))
        self._finite = np.isfinite(ends)
        known = self.complete & self._finite
        self.finals = ends[known]
        self.scores = NormalScores.among(self.finals)
        self._steps: dict[float, _StepModel | None] = {}
        self._z, self._v = np.zeros(len(past)), np.ones(len(past))
        self._z[known], self._v[known] = self.scores(self.finals), 0.0
        self._predict_stopped()

    def predict(self, curve: Curve) -> FinalValue | None:
        """Return the predicted final value of a curve, within the range of known ones; None while too few are known."""
        prediction = self._prediction(curve)
        if prediction is None:
            return None
        ends = self.scores(np.array([self.finals.min(), self.finals.max()]))
        mean = np.clip(prediction.mean, *ends)
        quantiles = self.scores.inverse(mean + prediction.scale * stdtrit(prediction.dof, LEVELS))
        return FinalValue(float(quantiles.mean()), float(quantiles.std()))

    def chance_below(self, curve: Curve, value: float) -> float | None:
        """Return the probability that a curve ends below a value, unless it diverges; None while too few are known."""
        prediction = self._prediction(curve)
        if prediction is None:
            return None
        distance = self.scores(np.array([value])) - prediction.mean
        return float(stdtr(prediction.dof, distance / prediction.scale)[0])

    def _prediction(self, curve: Curve) -> Prediction | None:
        model = self._at(curve.last_step)
        if model is None:
            return None
        return model.predict(np.array([[curve.values[-1], curve.values.min()]]))

    def _predict_stopped(self) -> None:
        """Predict the final scores of stopped trials, later ones first."""
        stopped = ~self.complete & self._finite
        for step in np.unique(self.last_steps[stopped])[::-1].tolist():
            if (model := self._at(step)) is not None:
                here = stopped & (self.last_steps == step)
                prediction = model.predict(self.aligned.at(step)[here])
                self._z[here], self._v[here] = prediction.mean, prediction.scale**2

    def _at(self, step: float) -> _StepModel | None:
        """Return the model at a step, from trials that went on from there; None if too few of them ended."""
        if step not in self._steps:
            self._steps[step] = self._fitted(step)
        return self._steps[step]

    def _fitted(self, step: float) -> _StepModel | None:
        if not len(self.aligned.grid) or not np.isfinite(step):
            return None
        features = self.aligned.at(step)
        used = self._finite & ~np.isnan(features[:, 0]) & (self.complete | (self.last_steps > step))
        if (used & self.complete).sum() < FEWEST:
            return None
        return _StepModel.fitted(features[used], self._z[used], self._v[used])


def _end(trial: PastTrial) -> float:
    """Return the final value of a trial, or the last of its curve if it was stopped; inf if it has neither."""
    if trial.final is not None:
        return trial.final
    return float(trial.curve.values[-1]) if len(trial.curve.values) else np.inf


def _scored(scores: Sequence[NormalScores], features: Array) -> Array:
    return np.stack([each(column) for each, column in zip(scores, features.T, strict=True)], axis=1)
