"""The strategy ``"dngo"``: Bayesian optimization with a surrogate linear in its basis functions (Snoek et al. 2015).

Up to 256 trials the surrogate is the exact Gaussian process. Beyond, it is Bayesian linear regression on the last
hidden layers of networks or on radial basis functions, whichever predicts held-out observations better.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sonde.acquisition.utilities import Utility
from sonde.errors import OptionError
from sonde.extras import require
from sonde.sampling import Key, Stream
from sonde.space import Space
from sonde.strategies.bayesian.acquisitions import check_acquisition
from sonde.strategies.bayesian.gp import fit_surrogate as fit_exact_surrogate
from sonde.strategies.bayesian.loop import Bayesian
from sonde.strategies.bayesian.model import Surrogate, best_points, best_value, features_of, measured_constraints
from sonde.strategies.bayesian.predictions import Predictions
from sonde.strategies.initial_design import first_count
from sonde.strategies.options import one_of
from sonde.strategies.threads import one_thread
from sonde.surrogates.basis.adaptive import PAPER, AdaptiveBasis, Recipe
from sonde.surrogates.basis.classifier import LINKS, FailureClassifier
from sonde.surrogates.basis.classifier import RECIPE as FAILURES
from sonde.surrogates.basis.data import Table
from sonde.surrogates.basis.networks import ACTIVATIONS
from sonde.surrogates.basis.radial import RadialBasis
from sonde.surrogates.basis.radial import score as radial_score
from sonde.surrogates.exact.feasibility import Feasibility, PassProbability, combine, learn_constraint, learn_success
from sonde.surrogates.exact.warm_starts import PLAIN_FORMS, Fit, WarmStartedFits
from sonde.surrogates.exact.warm_starts import Data as Values
from sonde.surrogates.features import Features
from sonde.surrogates.outputs import Scale, steady_scale
from sonde.surrogates.port import Posterior
from sonde.surrogates.refits import checkpoint, octave
from sonde.trials import History

Array = NDArray[np.float64]

BATCHES = ("greedy", "joint", "thompson")
BASES = ("auto", "networks", "radial")
TRAININGS = ("evidence", "squares")
OPTIMIZERS = ("auto", "soap", "adam", "sgd")
DEVICES = ("cpu", "gpu")
BEST = {"cpu": "soap", "gpu": "adam"}  # optimizer="auto": steps are cheap on a GPU, the eigenvectors of SOAP are not
EXACT_UP_TO = 256  # trials; beyond, the basis is the one that predicts held-out observations better
COVARIANCE_ROWS = 128  # observations that fit the covariance of the radial basis and the scale of the values
CLIP = 30.0  # standardised values are clipped to +-CLIP


class Observations(NamedTuple):
    """The n observations of a history, and all finished trials with those that failed, both in order of arrival."""

    numbers: NDArray[np.int64]  # trial numbers, (n,)
    units: Array  # points of the unit cube, (n, d)
    values: Array
    deviations: Array  # reported standard deviations of the noise
    feasible: NDArray[np.bool_]  # meets the measured constraints
    fitted: int  # observations up to the last checkpoint
    finished: Array  # points of completed and failed trials
    succeeded: NDArray[np.bool_]
    finished_fitted: int  # finished trials up to the last checkpoint


class DNGO(Bayesian):
    """Bayesian optimization at a cost linear in the number of observations: linear regression on basis functions.

    The defaults, ``strategy="dngo"``, need no tuning.

    Parameters
    ----------
    basis
        ``"networks"``: the last hidden layers of several networks; ``"radial"``: radial basis functions centred on
        observations; ``"auto"`` (default): radial up to 256 trials, then whichever predicts held-out observations
        better.
    networks
        Number of networks, by default 3; the paper has 1.
    activation
        Activation of the hidden layers: ``"tanh"``, ``"relu"``, or ``"relu+tanh"``.
    width
        Number of units of each of the three hidden layers.
    training
        The loss: negative log marginal likelihood (``"evidence"``) or squared errors (``"squares"``).
    optimizer
        ``"soap"``: a short run of Adam in the eigenbasis of the gradient covariances; or long runs of ``"adam"`` or of
        ``"sgd"`` with momentum. ``"auto"`` (default): ``"soap"`` on the CPU, ``"adam"`` on a GPU.
    device
        Where the networks are trained: ``"cpu"`` (default), or ``"gpu"``, which needs ``pip install 'sonde[jax]'`` and
        a JAX that sees a GPU. The two round differently, so the study records the device.
    failures
        ``"noisy"``: a configuration may fail once and succeed the next time; ``"noiseless"``: it always fails or never.
    batch
        ``"greedy"`` and ``"joint"`` as in ``sonde.GP``; ``"thompson"``: each point maximises a function drawn from the
        posterior.
    acquisition
        The acquisition function, as in ``sonde.GP``.
    """

    name = "dngo"

    def __init__(
        self, basis: str = "auto", *, networks: int = 3, activation: str = "tanh", width: int = 50,
        training: str = "evidence", optimizer: str = "auto", device: str = "cpu", failures: str = "noisy",
        batch: str = "greedy", acquisition: str | Utility | Callable[..., Any] = "log_ei",
    ) -> None:  # fmt: skip
        for value, name, most in ((networks, "networks", 64), (width, "width", 1024)):
            if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
                raise OptionError(f"{name} must be a whole number from 1 to {most}, got {value!r}")
        self.acquisition = check_acquisition(acquisition)
        self.basis = one_of(basis, "basis", BASES)
        self.batch = one_of(batch, "batch", BATCHES)
        self.failures = one_of(failures, "failures", LINKS)
        recipe = Recipe(
            members=networks, width=width, activation=one_of(activation, "activation", ACTIVATIONS),
            loss=one_of(training, "training", TRAININGS), device=one_of(device, "device", DEVICES),
            optimizer=BEST[device] if one_of(optimizer, "optimizer", OPTIMIZERS) == "auto" else optimizer,
        )  # fmt: skip
        if (device, optimizer) == ("gpu", "soap"):
            raise OptionError('optimizer="soap" trains on the CPU only; use "auto", "adam" or "sgd" with device="gpu"')
        self._prepare(recipe)

    def _prepare(self, recipe: Recipe) -> None:
        failures = replace(FAILURES, device=recipe.device, optimizer=BEST[recipe.device])
        self._networks, self._radial = AdaptiveBasis(recipe), RadialBasis()
        self._classifier = FailureClassifier(LINKS[self.failures], AdaptiveBasis(failures))
        self._fits = WarmStartedFits(fitted=COVARIANCE_ROWS)
        self._plain_fits = WarmStartedFits(PLAIN_FORMS, fitted=COVARIANCE_ROWS)
        self._choices: dict[bytes, bool] = {}

    @classmethod
    def paper(cls) -> DNGO:
        """Return the method of the paper: one network, SGD, a quadratic mean function, ten hyperparameter samples."""
        strategy = cls("networks")
        strategy._prepare(PAPER)
        return strategy

    def suggest(self, space: Space, history: History, count: int, key: Key) -> Array:
        """Return the points of highest acquisition; a missing device is reported before the first trial."""
        self._check_device()
        return super().suggest(space, history, count, key)

    def _check_device(self) -> None:
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

    def fit_surrogate(self, space: Space, history: History, key: Key, *, far: bool = False) -> Surrogate:
        """Return the surrogate given a history with enough observations."""
        observations = self._observations(history)
        if self.basis != "networks" and len(observations.finished) <= EXACT_UP_TO:
            return fit_exact_surrogate(space, history, self._fits, hyperparameters="draw", key=key)
        return self._fit_surrogate(space, history, observations, self._fits, key.rng(Stream.HYPERPARAMETERS))

    def _observations(self, history: History) -> Observations:
        """Return the observations of a history, and use its cache for trained networks."""
        self._check_device()
        self._networks.cache = self._classifier.basis.cache = history.cache
        return _observations(history)

    def _fit_surrogate(
        self, space: Space, history: History, observations: Observations, fits: WarmStartedFits,
        rng: np.random.Generator,
    ) -> Surrogate:  # fmt: skip
        """Return the surrogate on networks or radial basis functions."""
        plain = features_of(space)
        fit, scale = self._fitted(plain, observations, fits)
        table, networks = self._table(plain, fit, scale, observations)
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
        fit = fits.fit(features, data, follow=False)
        return fit, steady_scale(observations.values, len(data.values), fit.kappa)

    def _table(self, plain: Features, fit: Fit, scale: Scale, observations: Observations) -> tuple[Table, bool]:
        """Return the standardised observations, and whether the basis is networks."""
        y = np.clip(scale(observations.values), -CLIP, CLIP)
        noise = scale.noise(observations.values, observations.deviations)
        first = Table(observations.units[: observations.fitted], y[: observations.fitted], noise[: observations.fitted])
        networks = {"networks": True, "radial": False}.get(self.basis)
        if networks is None and observations.fitted <= EXACT_UP_TO:  # most trials failed
            networks = False
        if networks is None:
            name = first.digest()
            if name not in self._choices:
                by_networks = self._networks.network(first._replace(x=plain(first.x)), observations.fitted).score
                by_radial = radial_score(fit.covariance, first._replace(x=fit.features(first.x)))
                self._choices = {name: by_networks > by_radial}
            networks = self._choices[name]
        return Table((plain if networks else fit.features)(observations.units), y, noise), networks

    def _feasibility(self, features: Features, history: History, observations: Observations) -> Feasibility | None:
        """Return the models of failures and of measured constraints; None if there are neither."""
        few = len(observations.finished) <= EXACT_UP_TO
        conditions = []
        for rows, levels in measured_constraints(history, observations.numbers).values():
            conditions.append(learn_constraint(features, *_thinned(observations.units[rows], levels)))
        if not observations.succeeded.all():
            if few:
                conditions.append(learn_success(features, observations.finished, observations.succeeded))
            else:
                labels = np.where(observations.succeeded, 1.0, -1.0)
                x = features(observations.finished)
                latent, link = self._classifier.learn(x, labels, observations.finished_fitted)
                conditions.append(PassProbability(latent, features, link.slope, link.offset, link.extra))
        return combine(conditions)

    @one_thread()
    def model(self, space: Space, history: History) -> Predictions:
        """Return predictions given all observations, in the units of the values."""
        observations = self._observations(history)
        surrogate = self._fit_surrogate(space, history, observations, self._plain_fits, np.random.default_rng(0))

        def leave_one_out() -> tuple[Array, Array]:
            plain = features_of(space)
            fit, scale = self._fitted(plain, observations, self._plain_fits)
            table, networks = self._table(plain, fit, scale, observations)
            if networks:
                return self._networks.leave_one_out(table, observations.fitted)
            return self._radial.leave_one_out(fit.covariance, table, observations.fitted)

        def averaged() -> Surrogate:
            if self.basis == "networks" or len(observations.finished) > EXACT_UP_TO:
                return surrogate
            return fit_exact_surrogate(space, history, self._plain_fits, hyperparameters="slice")

        return Predictions(space, surrogate, observations.numbers, leave_one_out, averaged)

    @one_thread()
    def explain(self, space: Space, history: History) -> str:
        """Describe the surrogate and the acquisition function in use."""
        if not self.ready(space, history):
            return f"spreads the first {first_count(space)} configurations evenly: too few results to fit a model"
        observations = self._observations(history)
        few = self.basis != "networks" and len(observations.finished) <= EXACT_UP_TO
        networks = False
        if not few:
            plain = features_of(space)
            networks = self._table(plain, *self._fitted(plain, observations, self._fits), observations)[1]
        count = self._networks.recipe.members
        kind = f"the last layers of {count} network{'s' * (count > 1)}" if networks else "radial basis functions"
        name = self.acquisition if isinstance(self.acquisition, str) else "a custom utility"
        return f"models {len(observations.values)} values by Bayesian linear regression on {kind} and maximises {name}"


def _observations(history: History) -> Observations:
    """Return the observations of a history."""
    arrivals, done = history.arrivals, history.completed
    succeeded = np.isin(arrivals, done.numbers)
    numbers = arrivals[succeeded]
    first = checkpoint(len(arrivals)) or len(arrivals)
    units = history.units[arrivals]
    return Observations(
        numbers, units[succeeded], history.values[numbers], history.noise[numbers], history.violations[numbers] <= 0,
        int(succeeded[:first].sum()), units, succeeded, first,
    )  # fmt: skip


def _thinned(units: Array, levels: Array) -> tuple[Array, Array]:
    """Return at most 512 rows for the exact model of a constraint: the last 256 and 256 evenly spaced others."""
    if len(levels) <= 2 * EXACT_UP_TO:
        return units, levels
    evenly = np.linspace(0, len(levels) - EXACT_UP_TO - 1, EXACT_UP_TO).astype(int)
    rows = np.concatenate([evenly, np.arange(len(levels) - EXACT_UP_TO, len(levels))])
    return units[rows], levels[rows]
