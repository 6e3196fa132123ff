"""Search spaces: distributions of Optuna as parameters and back, and conditions found in the trials.

Objectives of Optuna declare as they run, so nothing says why a trial lacks a parameter. It is found in the trials: a
parameter is conditional on another one if exactly the trials where that has certain values have it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import FrozenTrial, TrialState

from sonde.errors import SpaceError
from sonde.space import Bool, Categorical, Float, Int, Parameter, Space

COMPLETE = (TrialState.COMPLETE, TrialState.PRUNED)  # trials that have asked for all their parameters


def found(trials: Sequence[FrozenTrial]) -> dict[str, BaseDistribution]:
    """Return the parameters of the complete trials by name; not those whose range has changed, or of one value."""
    spaces = [trial.distributions for trial in trials if trial.state in COMPLETE]
    known: dict[str, BaseDistribution] = {}
    changed = set()
    for space in spaces:
        changed |= {name for name, own in space.items() if known.setdefault(name, own) != own}
    return {name: known[name] for name in sorted(known) if name not in changed and not known[name].single()}


def space_of(
    search_space: Mapping[str, BaseDistribution], trials: Sequence[FrozenTrial], declared: Space | None = None
) -> Space:
    """Return the space of distributions: the declared parameters, or with the conditions found in the trials.

    A parameter that some trials lack for no reason that is found is left out: it is sampled independently.
    """
    if declared is not None and set(search_space) == set(declared.names):
        return declared
    own = {name: parameter(given) for name, given in search_space.items()}
    conditions = _conditions([trial.params for trial in trials if trial.state in COMPLETE], own)
    return Space({name: replace(own[name], when=when) for name, when in conditions.items()})


def parameter(given: BaseDistribution) -> Any:
    """Return the parameter of a distribution."""
    return Space({"parameter": given})["parameter"]


def distributions(space: Space) -> dict[str, BaseDistribution]:
    """Return the distributions of a space's parameters."""
    return {name: distribution(own, name) for name, own in space.items()}


def distribution(own: Parameter, name: str = "") -> BaseDistribution:
    """Return the distribution of a parameter."""
    if isinstance(own, Float | Int):
        if own.log and own.step not in (None, 1):
            raise SpaceError(f"parameter {name!r}: Optuna has no logarithmic scale with a step; leave out one of them")
        if isinstance(own, Float):
            return FloatDistribution(own.low, own.high, log=own.log, step=own.step)
        return IntDistribution(own.low, own.high, log=own.log, step=own.step)
    if isinstance(own, Bool):
        return CategoricalDistribution([False, True])
    assert isinstance(own, Categorical)
    return CategoricalDistribution(own.choices)


def _conditions(
    configurations: Sequence[Mapping[str, Any]], own: Mapping[str, Parameter]
) -> dict[str, dict[str, Any] | None]:
    """Return ``when`` for each parameter, None for one that every trial has; without those that cannot be explained."""
    present = {name: sum(name in each for each in configurations) for name in own}
    always = [name for name in own if present[name] in (0, len(configurations))]
    when: dict[str, dict[str, Any] | None] = dict.fromkeys(always)
    for name in sorted(set(own) - set(always), key=lambda each: -present[each]):
        parents = [each for each in when if present[each] > present[name] and not isinstance(own[each], Float)]
        reasons = (_reason(configurations, name, parent) for parent in parents)
        reason = next((each for each in reasons if each), None)
        if reason is not None:
            when[name] = reason
    return {name: when[name] for name in own if name in when}


def _reason(configurations: Sequence[Mapping[str, Any]], name: str, parent: str) -> dict[str, Any] | None:
    """Return the condition on a parent that holds for exactly the trials that have a parameter; None if none does."""
    having = [each for each in configurations if name in each]
    if any(parent not in each for each in having):
        return None
    values: list[Any] = []
    for each in having:
        if not any(_same(each[parent], value) for value in values):
            values.append(each[parent])
    lacking = (each[parent] for each in configurations if name not in each and parent in each)
    if any(_same(value, known) for value in lacking for known in values):
        return None
    return {parent: values}


def _same(one: Any, other: Any) -> bool:
    """Whether two choices are the same: True is not 1."""
    return type(one) is type(other) and one == other
