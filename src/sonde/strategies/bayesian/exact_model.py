"""The model of ``gp``: an exact Gaussian process on the values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sonde.arrays import Array
from sonde.sampling import Key, Stream
from sonde.space import Space
from sonde.strategies.bayesian.predictions import Predictions
from sonde.strategies.bayesian.surrogate import Surrogate, best_points, best_value, features_of, fit_feasibility
from sonde.surrogates.exact.region import Region, fit_region
from sonde.surrogates.exact.warm_starts import FORMS, PLAIN_FORMS, Data, WarmStartedFits
from sonde.surrogates.gaussian_process.estimates import ModelForm, prior_of, sample
from sonde.surrogates.gaussian_process.marginal_likelihood import Evidence
from sonde.surrogates.gaussian_process.posterior import ExactPosterior
from sonde.surrogates.outputs import Scale
from sonde.surrogates.refits import REFINED
from sonde.trials import History

# hyperparameters, and those of global exploration
EXPLORING = {"auto": "draw", "map": "draw", "draw": "draw", "slice": "slice"}
DRAWS = {"draw": 1, "slice": 10}  # how many hyperparameters are drawn
WHOLE = 100  # up to so many values a draw is of all hyperparameters; beyond, where it is dearer, of a share of them
DRAWN = 16  # and of at most so many
ANY = Key(0, 0)


class ExactModel:
    """Gaussian processes whose hyperparameters are drawn (``"draw"``), most probable (``"map"``) or ``"slice"``.

    ``"auto"`` is ``"draw"`` for a surrogate of the whole space.
    """

    def __init__(self, hyperparameters: str = "auto", forms: tuple[ModelForm, ...] = FORMS) -> None:
        self._hyperparameters = hyperparameters
        self._fits = WarmStartedFits(forms)
        # predictions are of the values themselves, also of those far from the best ones
        self._plain_fits = WarmStartedFits(PLAIN_FORMS)

    def check(self, space: Space) -> None:
        """Do nothing: the kernel fits any space."""

    def has_regions(self, space: Space, history: History) -> bool:
        """Whether a trust region gets a model of its own.

        It does with ``"auto"`` where all parameters are continuous. A model of the region alone is so sure of itself
        that it would fail more often, and has no warp for a parameter that should have been declared logarithmic.
        """
        done = history.completed
        usual = bool(history.feasible[done.numbers].all()) and not len(history.failed)
        continuous = all(axis.continuous for axis in space.codec.axes)
        return self._hyperparameters == "auto" and continuous and usual and not self._warped(space, history)

    def _warped(self, space: Space, history: History) -> bool:
        """Whether the marginal likelihood asks for a warp of the parameters.

        A warp has two parameters for each, and needs more results than that.
        """
        done = history.completed
        if len(done) <= 2 * len(space):
            return False
        data = Data(done.units, history.values[done.numbers], history.noise[done.numbers])
        return bool(self._fits.fit(features_of(space), data, refine=False).features.warp)

    def fit(self, space: Space, history: History, key: Key, region: Region | None) -> Surrogate:
        """Return the Gaussian process of a region, or of the history; to explore, hyperparameters are drawn."""
        if region is not None and self.has_regions(space, history):
            return self._fit_region(space, history, region)
        hyperparameters = self._hyperparameters
        if region is None or hyperparameters == "auto":
            hyperparameters = EXPLORING[hyperparameters]
        return fit_exact(space, history, self._fits, hyperparameters=hyperparameters, key=key)

    def _fit_region(self, space: Space, history: History, region: Region) -> Surrogate:
        plain, done = features_of(space), history.completed
        fitted = fit_region(plain, region, done.units, history.values[done.numbers], history.noise[done.numbers])
        usable, x = history.feasible[done.numbers][fitted.rows], fitted.posterior.x
        return Surrogate(
            fitted.features, fitted.scale, (fitted.posterior,), fitted.y,
            best=best_value(fitted.posterior, x, fitted.y, usable),
            incumbents=best_points(done.units[fitted.rows], fitted.y, usable),
            feasibility=fit_feasibility(plain, history),
        )  # fmt: skip

    def most_probable(self, space: Space, history: History) -> tuple[Surrogate, Array]:
        """Return the surrogate with the most probable hyperparameters, and the log length scales (d,) of those."""
        surrogate = fit_exact(space, history, self._fits)
        return surrogate, _exact(surrogate).covariance.theta[: len(space)]

    def summary(self, space: Space, history: History) -> tuple[Surrogate, str]:
        """Return the surrogate with the most probable hyperparameters, and what they say."""
        surrogate, lengths = self.most_probable(space, history)
        names = [space.names[k] for k in np.argsort(lengths, kind="stable")[:3]]
        return surrogate, f"the values depend most on {', '.join(names)}"

    def predictions(self, space: Space, history: History) -> Predictions:
        """Return the predictions given all values."""
        return exact_predictions(
            space, history, lambda which: fit_exact(space, history, self._plain_fits, hyperparameters=which)
        )


def exact_predictions(space: Space, history: History, fit: Callable[[str], Surrogate]) -> Predictions:
    """Return the predictions of exact posteriors; ``fit`` makes a surrogate with hyperparameters of some kind."""
    surrogate = fit("map")
    return Predictions(
        space, surrogate, history.completed.numbers, lambda: _exact(surrogate).leave_one_out(surrogate.values),
        lambda: fit("slice"),
    )  # fmt: skip


def _exact(surrogate: Surrogate) -> ExactPosterior:
    posterior = surrogate.posteriors[0]
    assert isinstance(posterior, ExactPosterior)
    return posterior


def fit_exact(
    space: Space, history: History, fits: WarmStartedFits, *, hyperparameters: str = "map", key: Key = ANY,
    failures: str = "noisy",
) -> Surrogate:  # fmt: skip
    """Return the Gaussian process of a history with at least one completed trial."""
    plain, done = features_of(space), history.completed
    values, deviations = history.values[done.numbers], history.noise[done.numbers]
    draw = hyperparameters in DRAWS and len(done) <= REFINED  # beyond, the posterior is narrow and a draw is dear
    fitted = fits.fit(plain, Data(done.units, values, deviations), refine=not draw)
    scale, features = Scale.of(values, fitted.kappa), fitted.features
    x, y, noise = features(done.units), scale(values), scale.noise(values, deviations)
    covariances = [fitted.covariance]
    if draw:
        share = min(1.0, WHOLE / len(y), DRAWN / len(fitted.covariance.theta))
        count, rng = DRAWS[hyperparameters], key.rng(Stream.HYPERPARAMETERS)
        evidence, prior = Evidence.of_values(x, y, noise), prior_of(fitted.covariance)
        thetas = sample(fitted.covariance, prior, evidence, count=count, rng=rng, share=share)
        covariances = [replace(fitted.covariance, theta=theta) for theta in thetas]
    posteriors = tuple(ExactPosterior.of(each, x, y, noise) for each in covariances)
    usable = history.feasible[done.numbers]
    return Surrogate(
        features, scale, posteriors, y, best=best_value(posteriors[0], x, y, usable),
        incumbents=best_points(done.units, y, usable), feasibility=fit_feasibility(plain, history, failures),
    )  # fmt: skip
