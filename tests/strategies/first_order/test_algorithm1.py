from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import sonde
from sonde.sampling import Key
from sonde.strategies import record, resolve_strategy
from sonde.strategies.first_order.algorithm1 import NEAR, Algorithm1, Model, local_maximum
from sonde.surrogates.gradient.fitting import Observations

Array = NDArray[np.float64]

CUBE = sonde.Space({f"x{i}": sonde.Float(-1, 1) for i in range(3)})
MIXED = sonde.Space(x=sonde.Float(0, 1), n=sonde.Int(1, 5), kind=sonde.Categorical(["a", "b", "c"]))


def quadratic(x: Array) -> tuple[float, Array]:
    return float(np.sum((x - 0.25) ** 2)), 2 * (x - 0.25)


def run(count: int, *, gradients: bool = True, **options: Any) -> sonde.Study:
    study = sonde.Study(CUBE, strategy=sonde.FOBO.paper(**options), seed=0)
    for _ in range(count):
        trial = study.ask()
        value, gradient = quadratic(np.array(list(trial.values())))
        study.tell(trial, value, gradient=gradient if gradients else None)
    return study


def test_gradients_and_the_quadratic_kernel_help_on_a_quadratic() -> None:
    bo, fobo, fobo_q = (run(10, gradients=False), run(10), run(10, quadratic=True))
    assert fobo_q.best_value < 1e-6
    assert fobo.best_value < bo.best_value


def test_a_point_is_a_local_maximum_of_expected_improvement_or_random() -> None:
    study, strategy = run(7), Algorithm1()
    x = CUBE.codec.encode(strategy.suggest(CUBE, study.history, 1, Key(0, 7)))[0] - 0.5
    known = study.history.completed.units - 0.5
    values = study.history.values[:7]
    slopes = study.history.unit_gradients(np.arange(7))
    posterior, best = Model(False).posterior(Observations(known, values, np.full(7, np.nan), slopes))
    found = local_maximum(posterior, best, known[-1], np.ones(3, dtype=bool))
    near = np.linalg.norm(known - found, axis=1).min() < NEAR
    assert near or np.abs(found - x[0]).max() < 1e-9


def test_further_points_of_a_batch_are_random() -> None:
    study = run(6)
    points = np.array([list(trial.values()) for trial in study.ask(4)])
    assert np.linalg.norm(points[:, None] - points, axis=2)[np.triu_indices(4, 1)].min() > 1e-3


def test_it_is_recorded_and_continues_in_another_process(sqlite_url: str) -> None:
    assert record(sonde.FOBO.paper()) == "fobo_paper"
    assert record(sonde.FOBO.paper(quadratic=True)) == "fobo_paper(quadratic=True)"
    assert resolve_strategy("fobo_paper(quadratic=True)").options == {"quadratic": True}
    expected = [dict(trial) for trial in run(8).trials]
    sonde.Study(CUBE, strategy=sonde.FOBO.paper(), seed=0, storage=sqlite_url, name="s").close()
    for params in expected:
        with sonde.load(sqlite_url, "s") as study:
            trial = study.ask()
            assert dict(trial) == params
            study.tell(trial, *quadratic(np.array(list(trial.values())))[:1],
                       gradient=quadratic(np.array(list(trial.values())))[1])  # fmt: skip
            assert "Algorithm 1" in study.explain()


@pytest.mark.filterwarnings("ignore::sonde.errors.OddHistory")
def test_mixed_spaces_failures_and_values_of_any_size() -> None:
    study = sonde.Study(MIXED, strategy=sonde.FOBO.paper(), seed=0)
    for i in range(12):
        trial = study.ask()
        study.tell(trial, float("nan") if i == 3 else trial["n"] * 1e200 + trial["x"])
        assert trial.params in MIXED
