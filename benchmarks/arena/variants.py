"""Sonde's Gaussian process with one part changed, to see what each part is worth: ``sonde:gp/no-region`` and so on."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any


def variant(name: str) -> Any:
    """Return the strategy of a variant's name."""
    if name not in VARIANTS:
        raise SystemExit(f"variants are {', '.join(VARIANTS)}, got {name!r}")
    return VARIANTS[name]()


def _gp(**options: Any) -> Any:
    from sonde import GP

    return GP(**options)


def _with_forms(keep: Callable[[Any], bool]) -> Any:
    from sonde.surrogates.exact.warm_starts import FORMS, WarmStartedFits

    strategy = _gp()
    strategy._chain = WarmStartedFits(tuple(form for form in FORMS if keep(form)))
    return strategy


def _everywhere() -> Any:
    """Return the strategy without its trust region."""
    import numpy as np

    strategy = _gp()
    aim_of = strategy._target_of

    def aim(space: Any, history: Any, field: Any, side: float, far: bool, key: Any) -> Any:
        made = aim_of(space, history, field, side, far, key)
        made.box = replace(made.box, low=np.zeros(len(space)), high=np.ones(len(space)))
        return made

    strategy._target_of = aim
    return strategy


def _never_elsewhere() -> Any:
    """Return the strategy that stays around the best point when it stalls."""
    strategy = _gp()
    aim_of = strategy._target_of
    strategy._target_of = lambda space, history, field, side, far, key: aim_of(space, history, field, side, False, key)
    return strategy


VARIANTS: dict[str, Callable[[], Any]] = {
    "map": lambda: _gp(hyperparameters="map"),
    "draw": lambda: _gp(hyperparameters="draw"),
    "slice": lambda: _gp(hyperparameters="slice"),
    "no-log": lambda: _with_forms(lambda form: form.kappa is None),
    "no-quadratic": lambda: _with_forms(lambda form: not form.quadratic),
    "plain": lambda: _with_forms(lambda form: form.kappa is None and not form.quadratic),
    "no-region": _everywhere,
    "no-elsewhere": _never_elsewhere,
    "ucb": lambda: _gp(acquisition="ucb"),
}
