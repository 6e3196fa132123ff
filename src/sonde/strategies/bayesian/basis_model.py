"""The model of ``dngo``: Bayesian linear regression on basis functions (Snoek et al. 2015).

Up to 256 trials the surrogate is the exact Gaussian process. Beyond, it is Bayesian linear regression on the last
hidden layers of networks or on radial basis functions, whichever predicts held-out observations better.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sonde.arrays import Array, Integers, Mask
from sonde.errors import OptionError
from sonde.extras import require
from sonde.sampling import Key, Stream
from sonde.space import Space
from sonde.strategies.bayesian.exact_model import fit_exact
from sonde.strategies.bayesian.predictions import Predictions
from sonde.strategies.bayesian.surrogate import Surrogate, best_points, best_value, features_of, measured_constraints
from sonde.surrogates.basis.adaptive import AdaptiveBasis, Recipe
from sonde.surrogates.basis.classifier import LINKS, FailureClassifier
from sonde.surrogates.basis.classifier import RECIPE as FAILURES
from sonde.surrogates.basis.data import Table
from sonde.surrogates.basis.radial import RadialBasis
from sonde.surrogates.basis.radial import score as radial_score
from sonde.surrogates.exact.feasibility import Feasibility, PassProbability, combine, learn_constraint, learn_success
from sonde.surrogates.exact.region import Region
from sonde.surrogates.exact.warm_starts import PLAIN_FORMS, Fit, WarmStartedFits
from sonde.surrogates.exact.warm_starts import Data as Values
from sonde.surrogates.features import Features
from sonde.surrogates.outputs import Scale, steady_scale
from sonde.surrogates.port import Posterior
from sonde.surrogates.refits import checkpoint, octave
from sonde.trials import History

BEST = {"cpu": "soap", "gpu": "adam"}  # optimizer="auto": steps are cheap on a GPU, the eigenvectors of SOAP are not
EXACT_UP_TO = 256  # trials; beyond, the basis is the one that predicts held-out observations better
COVARIANCE_ROWS = 128  # observations that fit the covariance of the radial basis and the scale of the values
CLIP = 30.0  # standardised values are clipped to +-CLIP


class Observations(NamedTuple):
    """The n observations of a history, and all finished trials with those that failed, both in order of arrival."""

    numbers: Integers  # trial numbers, (n,)
    units: Array  # points of the unit cube, (n, d)
    values: Array
    deviations: Array  # reported standard deviations of the noise
    feasible: Mask  # meets the measured constraints
    fitted: int  # observations up to the last checkpoint
    finished: Array  # points of completed and failed trials
    succeeded: Mask
    finished_fitted: int  # finished trials up to the last checkpoint


class BasisModel:
    """Bayesian linear regression on networks or radial basis functions, with a classifier of failures."""

    def __init__(self, basis: str, recipe: Recipe, failures: str, *, sharing: BasisModel | None = None) -> None:
        self._arguments = basis, recipe, failures
        self._basis, self._failures = basis, failures
        self._networks, self._radial = AdaptiveBasis(recipe), RadialBasis()
        classifier = replace(FAILURES, device=recipe.device, optimizer=BEST[recipe.device])
        self._classifier = FailureClassifier(LINKS[failures], AdaptiveBasis(classifier))
        if sharing is not None:
            self._networks, self._classifier = sharing._networks, sharing._classifier
        self._fits = WarmStartedFits(fitted=COVARIANCE_ROWS)
        self._plain_fits = WarmStartedFits(PLAIN_FORMS, fitted=COVARIANCE_ROWS)
        self._choices: dict[bytes, bool] = {}

    def check_device(self) -> None:
        """Raise an error if networks cannot be trained on the chosen device."""
        if self._networks.recipe.device == "cpu":
            return
        require("jax", extra="jax")
        from sonde.surrogates.basis import gpu

        if not gpu.visible():
            raise OptionError(
                'DNGO(device="gpu") needs a GPU, and JAX sees none; install the JAX of your GPU, e.g. '
                "pip install 'jax[cuda13]', or use strategy=\"dngo\", which needs neither"
            )

    def has_regions(self, space: Space, history: History) -> bool:
        """Return that there is one surrogate of all results."""
        return False

    def fit(
        self, space: Space, history: History, key: Key, region: Region | None, targets: Array | None = None
    ) -> Surrogate:
        """Return the surrogate of the history, the same for any region; networks are trained on the targets."""
        observations = self._observations(history)
        if self._is_exact(observations):
            return fit_exact(space, history, self._fits, hyperparameters="draw", key=key, failures=self._failures)
        rng = key.rng(Stream.HYPERPARAMETERS)
        return self._fit_basis(space, history, observations, self._fits, rng, targets)

    def another(self) -> BasisModel:
        """Return a model of another objective, on the same networks and with the same classifier of failures."""
        return BasisModel(*self._arguments, sharing=self)

    def standardised(self, space: Space, history: History) -> Array | None:
        """Return the standardised values (n,) of the observations; None if their networks cannot be shared."""
        observations = self._observations(history)
        if self._is_exact(observations) or self._networks.recipe.loss != "evidence":
            return None
        return _clipped(observations, self._fitted(features_of(space), observations, self._fits)[1])

    def predictions(self, space: Space, history: History) -> Predictions:
        """Return the predictions given all observations, in the units of the values."""
        observations = self._observations(history)
        surrogate = self._fit_basis(space, history, observations, self._plain_fits, np.random.default_rng(0))

        def leave_one_out() -> tuple[Array, Array]:
            plain = features_of(space)
            fit, scale = self._fitted(plain, observations, self._plain_fits)
            table, networks = self._table(plain, fit, scale, observations)
            if networks:
                return self._networks.leave_one_out(table, observations.fitted)
            return self._radial.leave_one_out(fit.covariance, table, observations.fitted)

        def averaged() -> Surrogate:
            if not self._is_exact(observations):
                return surrogate
            return fit_exact(space, history, self._plain_fits, hyperparameters="slice", failures=self._failures)

        return Predictions(space, surrogate, observations.numbers, leave_one_out, averaged)

    def describe(self, space: Space, history: History) -> str:
        """Say how many values are modelled, and on which basis functions."""
        observations, networks = self._observations(history), False
        if not self._is_exact(observations):
            plain = features_of(space)
            networks = self._table(plain, *self._fitted(plain, observations, self._fits), observations)[1]
        count = self._networks.recipe.members
        kind = f"the last layers of {count} network{'s' * (count > 1)}" if networks else "radial basis functions"
        return f"{len(observations.values)} values by Bayesian linear regression on {kind}"

    def _observations(self, history: History) -> Observations:
        """Return the observations of a history, and use its cache for trained networks."""
        self.check_device()
        self._networks.cache = self._classifier.basis.cache = history.cache
        return _observations(history)

    def _is_exact(self, observations: Observations) -> bool:
        """Whether there are so few trials that the surrogate is the exact Gaussian process."""
        return self._basis != "networks" and len(observations.finished) <= EXACT_UP_TO

    def _fit_basis(
        self, space: Space, history: History, observations: Observations, fits: WarmStartedFits,
        rng: np.random.Generator, targets: Array | None = None,
    ) -> Surrogate:  # fmt: skip
        """Return the surrogate on networks or radial basis functions."""
        plain = features_of(space)
        fit, scale = self._fitted(plain, observations, fits)
        table, networks = self._table(plain, fit, scale, observations, targets)
        posteriors: tuple[Posterior, ...]
        if networks:
            posteriors, features = self._networks.learn(table, observations.fitted, rng), plain
        else:
            posteriors, features = (self._radial.learn(fit.covariance, table, observations.fitted),), fit.features
        return Surrogate(
            features, scale, posteriors, table.y,
            best=best_value(posteriors[0], table.x, table.y, observations.feasible),
            incumbents=best_points(observations.units, table.y, observations.feasible),
            feasibility=self._feasibility(plain, history, observations),
        )  # fmt: skip

    def _fitted(self, features: Features, observations: Observations, fits: WarmStartedFits) -> tuple[Fit, Scale]:
        """Return the covariance function and the scale of the values.

        Both are fitted at the last doubling and then fixed, so that the networks' training data do not change.
        """
        first = max(2, octave(observations.fitted))
        data = Values(observations.units, observations.values, observations.deviations).first(first)
        fit = fits.fit(features, data, refine=False)
        return fit, steady_scale(observations.values, len(data.values), fit.kappa)

    def _table(
        self, plain: Features, fit: Fit, scale: Scale, observations: Observations, targets: Array | None = None
    ) -> tuple[Table, bool]:
        """Return the standardised observations, and whether the basis is networks."""
        noise = scale.noise(observations.values, observations.deviations)
        table = Table(observations.units, _clipped(observations, scale), noise, targets)
        first = table.rows(slice(observations.fitted))
        networks = {"networks": True, "radial": False}.get(self._basis)
        if networks is None and observations.fitted <= EXACT_UP_TO:  # most trials failed
            networks = False
        if networks is None:
            name = first.digest()
            if name not in self._choices:
                by_networks = self._networks.network(first._replace(x=plain(first.x)), observations.fitted).score
                by_radial = radial_score(fit.covariance, first._replace(x=fit.features(first.x)))
                self._choices = {name: by_networks > by_radial}
            networks = self._choices[name]
        return table._replace(x=(plain if networks else fit.features)(observations.units)), networks

    def _feasibility(self, features: Features, history: History, observations: Observations) -> Feasibility | None:
        """Return the models of failures and of measured constraints; None if there are neither."""
        few = self._basis != "networks" and len(observations.finished) <= EXACT_UP_TO
        conditions = []
        for rows, levels in measured_constraints(history, observations.numbers).values():
            conditions.append(learn_constraint(features, *_thinned(observations.units[rows], levels)))
        if not observations.succeeded.all():
            if few:
                conditions.append(
                    learn_success(features, observations.finished, observations.succeeded, self._failures)
                )
            else:
                labels = np.where(observations.succeeded, 1.0, -1.0)
                x = features(observations.finished)
                latent, link = self._classifier.learn(x, labels, observations.finished_fitted)
                conditions.append(PassProbability(latent, features, link.slope, link.offset, link.extra))
        return combine(conditions)


class OnSharedNetworks:
    """Fits the surrogates of several objectives: a regression of each on networks that are trained on all of them."""

    def __init__(self, make: Callable[[], BasisModel]) -> None:
        self._models = [make()]

    def fit_each(self, space: Space, histories: Sequence[History], key: Key) -> list[Surrogate]:
        """Return the surrogate of each history."""
        self._models += [self._models[0].another() for _ in histories[len(self._models) :]]
        pairs = list(zip(self._models, histories, strict=False))
        columns = [model.standardised(space, own) for model, own in pairs]
        known = [column for column in columns if column is not None]
        targets = np.stack(known, axis=1) if len(known) == len(columns) else None
        return [model.fit(space, own, key, None, targets) for model, own in pairs]


def _clipped(observations: Observations, scale: Scale) -> Array:
    """Return the standardised values."""
    return np.clip(scale(observations.values), -CLIP, CLIP)


def _observations(history: History) -> Observations:
    """Return the observations of a history."""
    arrivals, done = history.arrivals, history.completed
    succeeded = np.isin(arrivals, done.numbers)
    numbers = arrivals[succeeded]
    first = checkpoint(len(arrivals)) or len(arrivals)
    units = history.units[arrivals]
    return Observations(
        numbers, units[succeeded], history.values[numbers], history.noise[numbers], history.feasible[numbers],
        int(succeeded[:first].sum()), units, succeeded, first,
    )  # fmt: skip


def _thinned(units: Array, levels: Array) -> tuple[Array, Array]:
    """Return at most 512 rows for the exact model of a constraint: the last 256 and 256 evenly spaced others."""
    if len(levels) <= 2 * EXACT_UP_TO:
        return units, levels
    evenly = np.linspace(0, len(levels) - EXACT_UP_TO - 1, EXACT_UP_TO).astype(int)
    rows = np.concatenate([evenly, np.arange(len(levels) - EXACT_UP_TO, len(levels))])
    return units[rows], levels[rows]
