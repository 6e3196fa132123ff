"""The strategy ``"dngo"``: Bayesian optimization with a surrogate linear in its basis functions (Snoek et al. 2015)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sonde.acquisition.utilities import Utility
from sonde.errors import OptionError
from sonde.sampling import Key
from sonde.space import Space
from sonde.strategies.bayesian.acquisitions import check_acquisition
from sonde.strategies.bayesian.basis_model import BEST, BasisModel, OnSharedNetworks
from sonde.strategies.bayesian.loop import Loop
from sonde.strategies.bayesian.paper_dngo import PaperDNGO
from sonde.strategies.bayesian.predictions import Predictions
from sonde.strategies.bayesian.schedule import TrustRegionSchedule
from sonde.strategies.bayesian.search import Search
from sonde.strategies.bayesian.several import SeveralObjectives
from sonde.strategies.initial_design import explain_initial_design, first_count
from sonde.strategies.options import one_of
from sonde.strategies.port import Strategy
from sonde.strategies.threads import one_thread
from sonde.surrogates.basis.adaptive import Recipe
from sonde.surrogates.basis.classifier import LINKS
from sonde.surrogates.basis.networks import ACTIVATIONS
from sonde.trials import History

BATCHES = ("greedy", "joint", "thompson")
BASES = ("auto", "networks", "radial")
TRAININGS = ("evidence", "squares")
OPTIMIZERS = ("auto", "soap", "adam", "sgd")
DEVICES = ("cpu", "gpu")


class DNGO(Strategy):
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
        posterior; of several objectives, that of a random trade-off for each batch.
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
        search = Search(check_acquisition(acquisition), one_of(batch, "batch", BATCHES))
        one_of(basis, "basis", BASES)
        one_of(failures, "failures", LINKS)
        recipe = Recipe(
            members=networks, width=width, activation=one_of(activation, "activation", ACTIVATIONS),
            loss=one_of(training, "training", TRAININGS), device=one_of(device, "device", DEVICES),
            optimizer=BEST[device] if one_of(optimizer, "optimizer", OPTIMIZERS) == "auto" else optimizer,
        )  # fmt: skip
        if (device, optimizer) == ("gpu", "soap"):
            raise OptionError('optimizer="soap" trains on the CPU only; use "auto", "adam" or "sgd" with device="gpu"')
        self._assemble(partial(BasisModel, basis, recipe, failures), search)

    def _assemble(self, make: Callable[[], BasisModel], search: Search) -> None:
        self._model, self._search = make(), search
        self._loop = Loop(TrustRegionSchedule(self._model), search)
        self._several = SeveralObjectives(OnSharedNetworks(make), search, self._loop)

    @staticmethod
    def paper(*, failures: str = "noisy") -> PaperDNGO:
        """Return the method of the paper as printed; failures are ``"noisy"`` or ``"noiseless"``."""
        return PaperDNGO(failures=failures)

    def suggest(self, space: Space, history: History, count: int, key: Key) -> NDArray[np.float64]:
        """Return the points of highest acquisition; a missing device is reported before the first trial."""
        self._model.check_device()
        loop = self._several if history.objectives.several else self._loop
        return loop.suggest(space, history, count, key)

    @one_thread()
    def model(self, space: Space, history: History) -> Predictions:
        """Return predictions given all observations, in the units of the values."""
        return self._model.predictions(space, history)

    @one_thread()
    def explain(self, space: Space, history: History) -> str:
        """Describe the surrogate and the acquisition function in use."""
        if not self._loop.ready(space, history):
            return explain_initial_design(first_count(space))
        if history.objectives.several:
            return self._several.explain(history)
        return f"models {self._model.describe(space, history)} and maximises {self._search.acquisition_name}"
