"""Sonde finds good settings of an expensive black box in few evaluations, with nothing to tune on the tuner.

Everything is imported on first use, so ``import sonde`` takes no time.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sonde.version import __version__

if TYPE_CHECKING:
    from sonde import errors as errors
    from sonde import execution as execution
    from sonde import igo as igo
    from sonde import integrations as integrations
    from sonde import kernels as kernels
    from sonde import plots as plots
    from sonde.api import Result as Result
    from sonde.api import connect as connect
    from sonde.api import delete as delete
    from sonde.api import load as load
    from sonde.api import maximize as maximize
    from sonde.api import minimize as minimize
    from sonde.api import studies as studies
    from sonde.errors import SondeError as SondeError
    from sonde.errors import Stopped as Stopped
    from sonde.integrations.autograd import autograd as autograd
    from sonde.integrations.scipy import scipy_minimize as scipy_minimize
    from sonde.space import Bool as Bool
    from sonde.space import Categorical as Categorical
    from sonde.space import Float as Float
    from sonde.space import Int as Int
    from sonde.space import Space as Space
    from sonde.strategies import Strategy as Strategy
    from sonde.strategies.bayesian.dngo import DNGO as DNGO
    from sonde.strategies.bayesian.gp import GP as GP
    from sonde.strategies.first_order.fobo import FOBO as FOBO
    from sonde.strategies.natural_gradient.igo import IGO as IGO
    from sonde.study import Study as Study
    from sonde.trials import Evaluation as Evaluation
    from sonde.trials import State as State
    from sonde.trials import Trial as Trial

_WHERE = {
    "Bool": "sonde.space",
    "Categorical": "sonde.space",
    "DNGO": "sonde.strategies.bayesian.dngo",
    "Evaluation": "sonde.trials",
    "FOBO": "sonde.strategies.first_order.fobo",
    "Float": "sonde.space",
    "GP": "sonde.strategies.bayesian.gp",
    "IGO": "sonde.strategies.natural_gradient.igo",
    "Int": "sonde.space",
    "Result": "sonde.api",
    "SondeError": "sonde.errors",
    "Space": "sonde.space",
    "State": "sonde.trials",
    "Stopped": "sonde.errors",
    "Strategy": "sonde.strategies",
    "Study": "sonde.study",
    "Trial": "sonde.trials",
    "autograd": "sonde.integrations.autograd",
    "connect": "sonde.api",
    "delete": "sonde.api",
    "load": "sonde.api",
    "maximize": "sonde.api",
    "minimize": "sonde.api",
    "scipy_minimize": "sonde.integrations.scipy",
    "studies": "sonde.api",
}

_PACKAGES = ("errors", "execution", "igo", "integrations", "kernels", "plots")

__all__ = ["__version__", *_WHERE]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"sonde.{name}")
    if name not in _WHERE:
        from sonde.hints import FUNCTIONS, unknown_attribute

        unknown_attribute("module 'sonde'", name, FUNCTIONS)
    value = getattr(import_module(_WHERE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, *_PACKAGES])
