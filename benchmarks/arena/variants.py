"""Sonde's Gaussian process with one part changed, to see what each part is worth: ``sonde:gp/no-region`` and so on."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sonde import GP, Space
from sonde.sampling import Key
from sonde.strategies import Strategy
from sonde.strategies.bayesian.domain import Domain
from sonde.strategies.bayesian.exact_model import ExactModel
from sonde.strategies.bayesian.loop import Loop
from sonde.strategies.bayesian.port import Schedule
from sonde.strategies.bayesian.schedule import TrustRegionSchedule
from sonde.strategies.bayesian.search import Search
from sonde.strategies.sobol import AroundCentre
from sonde.surrogates.exact.warm_starts import FORMS
from sonde.surrogates.gaussian_process.estimates import ModelForm
from sonde.trials import History


def variant(name: str) -> Strategy:
    """Return the strategy of a variant's name."""
    if name not in VARIANTS:
        raise SystemExit(f"variants are {', '.join(VARIANTS)}, got {name!r}")
    return VARIANTS[name]()


class Assembled(Strategy):
    """A strategy of given parts."""

    name = "assembled"

    def __init__(self, schedule: Schedule) -> None:
        self._loop = Loop(schedule, Search(), AroundCentre())

    def suggest(self, space: Space, history: History, count: int, key: Key) -> Any:
        """Return the points of highest acquisition value."""
        return self._loop.suggest(space, history, count, key)

    def explain(self, space: Space, history: History) -> str:
        """Say what it does."""
        return "is a variant of gp"


@dataclass(frozen=True)
class Everywhere(TrustRegionSchedule):
    """The schedule without its trust region."""

    def targets(self, domain: Domain, count: int, key: Key) -> list[Any]:
        """Return the targets with the whole cube as their box."""
        cube = {"low": np.zeros(len(domain.space)), "high": np.ones(len(domain.space))}
        targets = super().targets(domain, count, key)
        widened = {id(each): replace(each, box=replace(each.box, **cube)) for each in targets}
        return [widened[id(each)] for each in targets]


@dataclass(frozen=True)
class NeverElsewhere(TrustRegionSchedule):
    """The schedule that stays around the incumbent when it stalls."""

    def targets(self, domain: Domain, count: int, key: Key) -> list[Any]:
        """Return the trust region for each point: those of trials with even numbers, which never explore."""
        even = key._replace(number=key.number + key.number % 2)
        return super().targets(domain, 1, even) * count


def _with_forms(keep: Callable[[ModelForm], bool]) -> Strategy:
    return Assembled(TrustRegionSchedule(ExactModel("draw", forms=tuple(form for form in FORMS if keep(form)))))


VARIANTS: dict[str, Callable[[], Strategy]] = {
    "map": lambda: GP(hyperparameters="map"),
    "draw": lambda: GP(hyperparameters="draw"),
    "slice": lambda: GP(hyperparameters="slice"),
    "no-log": lambda: _with_forms(lambda form: form.kappa is None),
    "no-quadratic": lambda: _with_forms(lambda form: not form.trend),
    "plain": lambda: _with_forms(lambda form: form.kappa is None and not form.trend),
    "no-region": lambda: Assembled(Everywhere(ExactModel("draw"))),
    "no-elsewhere": lambda: Assembled(NeverElsewhere(ExactModel("draw"))),
    "ucb": lambda: GP(acquisition="ucb"),
}
