"""The method of Snoek et al. (2015) as printed: ``sonde.DNGO.paper()``.

The values of valid trials are modelled by Bayesian linear regression on the last hidden layer of one network (3 x 50
tanh units, squared errors, SGD with momentum, a small L2 penalty) with the quadratic mean function of eq. (9); validity
by Bayesian logistic regression on a network of its own (section 3.2). Every suggestion maximises the integrated
acquisition function (eq. 12) over the whole space, given fantasies of the pending points (section 3.3).

What the paper leaves open, and what is done here:

- Networks are trained after every result, 300 steps on minibatches of 64 (256 beyond 256 results), from random weights
  with the deviations of LeCun et al. (1998) for tanh and random biases. Values are standardized; reported noise is not
  used.
- Ten samples of the hyperparameters, and ten fantasies of the pending points for each. The priors of log alpha, log
  beta and lambda are wide normal distributions; c has deviation 0.25, and the horseshoe of Lambda has scale 0.1.
- The acquisition function is searched as in Snoek et al. (2012), whose approach the paper follows: candidates spread
  over the space and around the best points, and gradient ascents from the best of them.
- The first trials are those of a Sobol sequence.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sonde.arrays import Array
from sonde.errors import OptionError
from sonde.sampling import Key
from sonde.space import Space
from sonde.strategies.bayesian.domain import Domain
from sonde.strategies.bayesian.integrated_improvement import Sampled
from sonde.strategies.bayesian.loop import Loop
from sonde.strategies.bayesian.paper_model import DRAWS, PaperModel, PaperSurrogate
from sonde.strategies.bayesian.point_search import best_point
from sonde.strategies.bayesian.predictions import Predictions
from sonde.strategies.bayesian.schedule import WholeSpaceSchedule
from sonde.strategies.bayesian.search import filled
from sonde.strategies.bayesian.target import Target
from sonde.strategies.initial_design import explain_initial_design, first_count
from sonde.strategies.options import one_of
from sonde.strategies.port import Strategy
from sonde.strategies.threads import one_thread
from sonde.surrogates.basis.classifier import LINKS
from sonde.trials import History


class OneByOne:
    """The search: each point maximises the acquisition function given fantasies of those before it, eq. (11)."""

    def points(self, targets: Sequence[Target | Array], domain: Domain, key: Key) -> Array:
        """Return a point for each target, (q, d); all targets are the same."""
        target, pending, points = targets[0], domain.history.pending.units, list[Array]()
        assert isinstance(target, Target)
        surrogate, room = target.surrogate, len(pending) + len(targets) - 1
        assert isinstance(surrogate, PaperSurrogate)
        sampled = Sampled.of(
            surrogate.features, surrogate.improvement, surrogate.validity, room=room, seed=key.seed
        )  # fmt: skip
        for point in pending:
            sampled = sampled.given(point)
        for offset in range(len(targets)):
            found = best_point(sampled.acquisition(), domain, target.box, key.at(offset))
            if found is None:
                break
            points.append(found)
            domain.take(found)
            if len(points) < len(targets):
                sampled = sampled.given(found)
        return filled(np.reshape(points, (len(points), pending.shape[1])), len(targets), key)


class PaperDNGO(Strategy):
    """The method of Snoek et al. (2015): ``sonde.DNGO.paper()``, for comparison with the paper.

    Parameters
    ----------
    failures
        ``"noisy"``: a configuration may fail once and succeed the next time (a logistic likelihood); ``"noiseless"``:
        it always fails or never (a step function).
    """

    name = "dngo_paper"

    def __init__(self, *, failures: str = "noisy") -> None:
        self._model = PaperModel(one_of(failures, "failures", tuple(LINKS)))
        self._loop = Loop(WholeSpaceSchedule(self._model), OneByOne())

    def suggest(self, space: Space, history: History, count: int, key: Key) -> Array:
        """Return the points of highest integrated acquisition."""
        if history.objectives.several:
            raise OptionError('sonde.DNGO.paper() is for one objective, as the paper; use strategy="dngo" for several')
        return self._loop.suggest(space, history, count, key)

    @one_thread()
    def model(self, space: Space, history: History) -> Predictions:
        """Return predictions given all observations, in the units of the values."""
        return self._model.predictions(space, history)

    def explain(self, space: Space, history: History) -> str:
        """Say what it does."""
        if not self._loop.ready(space, history):
            return explain_initial_design(first_count(space))
        return (
            f"follows Snoek et al. (2015) with {len(history.completed)} values: Bayesian linear regression on the last "
            f"layer of 1 network, and expected improvement averaged over {DRAWS} samples of the hyperparameters"
        )
