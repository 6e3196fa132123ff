"""Every integration has an extra, and says so where its library is missing."""

from __future__ import annotations

import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from sonde.errors import MissingExtra

EXTRAS = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]["optional-dependencies"]
MODULES = {"keras": "keras", "lightning": "lightning", "mlflow": "mlflow", "ray": "tune", "sklearn": "sklearn",
           "tensorboard": "tensorboard", "wandb": "wandb", "xgboost": "xgboost"}  # fmt: skip


@pytest.mark.parametrize(("module", "extra"), MODULES.items())
def test_a_missing_library_is_named_with_its_extra(module: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sonde.extras.find_spec", lambda name: None)
    monkeypatch.delitem(sys.modules, f"sonde.integrations.{module}", raising=False)
    with pytest.raises(MissingExtra, match=rf"is not installed; get it with: pip install 'sonde\[{extra}\]'"):
        import_module(f"sonde.integrations.{module}")


def test_every_integration_has_an_extra() -> None:
    assert {*MODULES.values(), "optuna", "lightgbm", "hydra", "torch", "jax"} <= EXTRAS.keys()
