"""The strategy ``"dngo"``: networks' basis functions under Bayesian linear regression (Snoek et al. 2015)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sonde.acquisition.utilities import Utility
from sonde.errors import OptionError
from sonde.extras import require
from sonde.sampling import Key
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
BEST = {"cpu": "soap", "gpu": "adam"}  # optimizers: steps are cheap on a GPU, eigenvectors are not
FEW = 256  # up to so many results radial units on all of them are the basis; beyond, what foretells better
THIN = 128  # values to which the covariance is fitted: it serves the scale and the radial units, not the networks
TALLEST = 30.0  # deviations beyond which a value is not told from another
_DRAW = 12  # purpose of the key's stream


class Results(NamedTuple):
    """The results in the order in which they came."""

    numbers: NDArray[np.int64]  # of completed trials
    units: Array
    values: Array
    deviations: Array
    usable: NDArray[np.bool_]
    learned: int  # how many of them came up to the last checkpoint
    tried: Array  # units of completed and failed trials
    worked: NDArray[np.bool_]
    tried_learned: int


class DNGO(Bayesian):
    """Models the values by basis functions under Bayesian linear regression: linear in the number of results.

    The bare name ``"dngo"`` chooses well by itself; every option is for those who want to choose.

    Parameters
    ----------
    basis
        ``"networks"``: the last hidden layers of several networks; ``"radial"``: units that sit on results; ``"auto"``
        (default): radial up to 256 results, then whichever foretells results better that it has not seen.
    networks
        How many networks, 3 unless told; 1 is the paper's.
    activation
        Of the hidden layers: ``"tanh"``, ``"relu"``, or ``"relu+tanh"``.
    width
        Units of each of the three hidden layers.
    training
        On the marginal likelihood (``"evidence"``) or on squared errors (``"squares"``).
    optimizer
        ``"soap"``: a short run of Adam along the eigenvectors of the gradients' products; or long runs of ``"adam"`` or
        ``"sgd"`` with momentum. ``"auto"`` (default): ``"soap"``, but on a GPU ``"adam"``.
    device
        What trains the networks: ``"cpu"`` (default), or ``"gpu"``, which needs ``pip install 'sonde[jax]'`` and a JAX
        that sees a GPU. Two devices round differently, so the study records it.
    failures
        ``"noisy"``: the border of what works is blurred; ``"noiseless"``: the same configuration always fails or never.
    batch
        ``"greedy"`` and ``"joint"`` as in ``sonde.GP``; ``"thompson"``: each point is the best one of a function drawn
        from the belief.
    acquisition
        As in ``sonde.GP``.
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
        self._labels = FailureClassifier(LINKS[self.failures], AdaptiveBasis(failures))
        self._chain, self._plain = WarmStartedFits(fitted=THIN), WarmStartedFits(PLAIN_FORMS, fitted=THIN)
        self._choices: dict[bytes, bool] = {}

    @classmethod
    def paper(cls) -> DNGO:
        """Return the form of the paper: one network, stochastic gradients, a quadratic mean, ten draws."""
        strategy = cls("networks")
        strategy._prepare(PAPER)
        return strategy

    def suggest(self, space: Space, history: History, count: int, key: Key) -> Array:
        """Return the points of highest acquisition; what the device needs is looked for before the first trial."""
        self._check_device()
        return super().suggest(space, history, count, key)

    def _check_device(self) -> None:
        """Raise where networks could not be trained."""
        if self._networks.recipe.device == "cpu":
            return
        require("jax", extra="jax")
        from sonde.surrogates.basis import gpu

        if not gpu.visible():
            raise OptionError(
                'DNGO(device="gpu") needs a GPU, and JAX sees none; install the JAX of your GPU, e.g. '
                "pip install 'jax[cuda13]', or take strategy=\"dngo\", which needs neither"
            )

    def fit_surrogate(self, space: Space, history: History, key: Key, *, far: bool = False) -> Surrogate:
        """Return the belief after a history with results to learn from."""
        results = self._results(history)
        if self.basis != "networks" and len(results.tried) <= FEW:
            return fit_exact_surrogate(space, history, self._chain, hyperparameters="draw", key=key)
        return self._fit_surrogate(space, history, results, self._chain, key.rng(_DRAW))

    def _results(self, history: History) -> Results:
        """Return the results of a history, and let networks be kept where it keeps things."""
        self._check_device()
        self._networks.cache = self._labels.basis.cache = history.cache
        return _results(history)

    def _fit_surrogate(
        self, space: Space, history: History, results: Results, chain: WarmStartedFits, rng: np.random.Generator
    ) -> Surrogate:
        plain = features_of(space)
        fit, scale = self._fitted(plain, results, chain)
        table, networks = self._table(plain, fit, scale, results)
        posteriors: tuple[Posterior, ...]
        if networks:
            posteriors, features = self._networks.learn(table, results.learned, rng), plain
        else:
            posteriors, features = (self._radial.learn(fit.covariance, table, results.learned),), fit.features
        return Surrogate(
            features, scale, posteriors, table.y,
            best=best_value(posteriors[0], table.x, table.y, results.usable),
            incumbents=best_points(results.units, table.y, results.usable),
            feasibility=self._feasibility(plain, history, results),
        )  # fmt: skip

    def _fitted(self, features: Features, results: Results, chain: WarmStartedFits) -> tuple[Fit, Scale]:
        """Return the covariance of the first results, and the scale of the values.

        Both are those of the last doubling, so that networks trained then are trained on what they are asked now.
        """
        first = max(2, octave(results.learned))
        data = Values(results.units, results.values, results.deviations).first(first)
        fit = chain.fit(features, data, follow=False)
        return fit, steady_scale(results.values, len(data.values), fit.kappa)

    def _table(self, plain: Features, fit: Fit, scale: Scale, results: Results) -> tuple[Table, bool]:
        """Return the results as the basis takes them, and whether that is networks."""
        y = np.clip(scale(results.values), -TALLEST, TALLEST)
        noise = scale.noise(results.values, results.deviations)
        first = Table(results.units[: results.learned], y[: results.learned], noise[: results.learned])
        networks = {"networks": True, "radial": False}.get(self.basis)
        if networks is None and results.learned <= FEW:  # nearly all failed
            networks = False
        if networks is None:
            name = first.digest()
            if name not in self._choices:
                ahead = self._networks.network(first._replace(x=plain(first.x)), results.learned).score
                behind = radial_score(fit.covariance, first._replace(x=fit.features(first.x)))
                self._choices = {name: ahead > behind}
            networks = self._choices[name]
        return Table((plain if networks else fit.features)(results.units), y, noise), networks

    def _feasibility(self, features: Features, history: History, results: Results) -> Feasibility | None:
        few = len(results.tried) <= FEW
        conditions = []
        for rows, levels in measured_constraints(history, results.numbers).values():
            conditions.append(learn_constraint(features, *_thinned(results.units[rows], levels)))
        if not results.worked.all():
            if few:
                conditions.append(learn_success(features, results.tried, results.worked))
            else:
                labels = np.where(results.worked, 1.0, -1.0)
                latent, link = self._labels.learn(features(results.tried), labels, results.tried_learned)
                conditions.append(PassProbability(latent, features, link.slope, link.offset, link.extra))
        return combine(conditions)

    @one_thread()
    def model(self, space: Space, history: History) -> Predictions:
        """Return the belief after the results so far, on the values' own scale."""
        results = self._results(history)
        belief = self._fit_surrogate(space, history, results, self._plain, np.random.default_rng(0))

        def left_out() -> tuple[Array, Array]:
            plain = features_of(space)
            fit, scale = self._fitted(plain, results, self._plain)
            table, networks = self._table(plain, fit, scale, results)
            if networks:
                return self._networks.leave_one_out(table, results.learned)
            return self._radial.leave_one_out(fit.covariance, table, results.learned)

        def averaged() -> Surrogate:
            if self.basis == "networks" or len(results.tried) > FEW:
                return belief
            return fit_exact_surrogate(space, history, self._plain, hyperparameters="slice")

        return Predictions(space, belief, results.numbers, left_out, averaged)

    @one_thread()
    def explain(self, space: Space, history: History) -> str:
        """Say what it does."""
        if not self.ready(space, history):
            return f"spreads the first {first_count(space)} configurations evenly, for want of results to learn from"
        results = self._results(history)
        few = self.basis != "networks" and len(results.tried) <= FEW
        networks = False
        if not few:
            plain = features_of(space)
            networks = self._table(plain, *self._fitted(plain, results, self._chain), results)[1]
        count = self._networks.recipe.members
        kind = f"the last layers of {count} network{'s' * (count > 1)}" if networks else "radial units on results"
        name = self.acquisition if isinstance(self.acquisition, str) else "a utility of yours"
        return f"models {len(results.values)} values by Bayesian regression on {kind} and maximises {name}"


def _results(history: History) -> Results:
    arrivals, done = history.arrivals, history.completed
    worked = np.isin(arrivals, done.numbers)
    numbers = arrivals[worked]
    first = checkpoint(len(arrivals)) or len(arrivals)
    units = history.units[arrivals]
    return Results(
        numbers, units[worked], history.values[numbers], history.noise[numbers], history.violations[numbers] <= 0,
        int(worked[:first].sum()), units, worked, first,
    )  # fmt: skip


def _thinned(units: Array, levels: Array) -> tuple[Array, Array]:
    """Return at most as many rows as an exact model of a constraint takes, the last ones and evenly chosen others."""
    if len(levels) <= 2 * FEW:
        return units, levels
    evenly = np.linspace(0, len(levels) - FEW - 1, FEW).astype(int)
    rows = np.concatenate([evenly, np.arange(len(levels) - FEW, len(levels))])
    return units[rows], levels[rows]
