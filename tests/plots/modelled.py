"""Studies whose trials are already there, for figures of the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import sonde

Function = Callable[[Mapping[str, Any]], Any]


def study_of(
    space: sonde.Space, function: Function, count: int, *, strategy: str = "gp", **options: Any
) -> sonde.Study:
    """Return a study with trials at points of a fixed random sequence; the function returns a value, or a result."""
    study = sonde.Study(space, strategy=strategy, seed=1, **options)
    rng = np.random.default_rng(5)
    rows = space.codec.decode(rng.random((4 * count + 4, len(space))))
    rows = rows[space.feasible_rows(rows)][:count]
    trials = []
    for row in rows:
        params = space.codec.configuration(row)
        result = function(params)
        trials.append({"params": params, **(result if isinstance(result, dict) else {"value": result})})
    if trials:
        study.add_trials(trials)
    return study


def bowl(params: Mapping[str, Any]) -> float:
    """Return (x - 0.3)^2 + y."""
    return float((params["x"] - 0.3) ** 2 + params["y"])


PLANE = sonde.Space(x=sonde.Float(0, 1), y=sonde.Float(0, 1))

MIXED = sonde.Space(
    rate=sonde.Float(1e-4, 1, log=True), layers=sonde.Int(1, 5), method=sonde.Categorical(["adam", "sgd"]),
    momentum=sonde.Float(0, 1, when={"method": "sgd"}),
)  # fmt: skip


def mixed(params: Mapping[str, Any]) -> float:
    """Return a function of all parameters of ``MIXED``."""
    value = 0.2 * (np.log10(params["rate"]) + 2) ** 2 + 0.1 * (params["layers"] - 3) ** 2
    return float(value + (params["momentum"] if params["method"] == "sgd" else 0.3))
