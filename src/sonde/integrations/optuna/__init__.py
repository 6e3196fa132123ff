"""Sonde in Optuna: a sampler, and studies of either library as studies of the other.

``search_space`` has spaces and distributions, ``mirror`` Optuna's trials as those of a study of Sonde, ``sampler`` the
interface of Optuna, ``studies`` whole studies in both directions.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sonde.extras import require

if TYPE_CHECKING:
    from sonde.integrations.optuna.sampler import SondeSampler as SondeSampler
    from sonde.integrations.optuna.studies import load as load
    from sonde.integrations.optuna.studies import to_optuna as to_optuna

_WHERE = {"SondeSampler": "sampler", "load": "studies", "to_optuna": "studies"}

__all__ = ["SondeSampler", "load", "to_optuna"]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    require("optuna", extra="optuna")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
