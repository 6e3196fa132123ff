"""Adapters to other libraries, without algorithms of their own. Each library is imported at its first use.

``autograd`` is the public function: it makes an objective with gradients from a function written in JAX or PyTorch.
``by_jax`` and ``by_torch`` differentiate; ``derivatives`` is what they share. ``reporting`` is what the callbacks of
training libraries share, ``logged`` what those of experiment trackers do.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_LIBRARIES = (
    "keras", "lightgbm", "lightning", "mlflow", "optuna", "ray", "sklearn", "tensorboard", "wandb", "xgboost",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _LIBRARIES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; there are {', '.join(_LIBRARIES)}")
    return import_module(f"{__name__}.{name}")
