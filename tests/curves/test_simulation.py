"""The simulated trainings of the benchmark."""

import numpy as np
import pytest
from benchmarks.curves.problems import POINTS, SYNTHETIC, TRIALS, curves_of
from benchmarks.curves.simulation import simulate


class StopsAfter:
    def __init__(self, steps):
        self.steps, self.ended = steps, []

    def start(self, number):
        pass

    def stops(self, number, curve):
        return len(curve) >= self.steps

    def end(self, number, curve, *, complete):
        self.ended.append((number, len(curve), complete))


@pytest.mark.parametrize("workers", [1, 8])
def test_without_stopping_the_budget_is_spent_on_whole_trials(workers):
    method = StopsAfter(POINTS)
    run = simulate(curves_of("noisy"), method, budget=40 * POINTS, workers=workers, seed=0)
    assert run.stopped == 0
    assert all(complete and steps == POINTS for _, steps, complete in method.ended)
    assert len(method.ended) <= 40 <= run.started <= 40 + workers
    assert run.best[-1] == run.best_after(40 * POINTS)


def test_the_order_is_that_of_the_seed_whatever_is_stopped():
    few, many = (
        simulate(curves_of("noisy"), StopsAfter(steps), budget=1000, workers=1, seed=3) for steps in (POINTS, 1)
    )
    assert few.best_after(POINTS) == np.random.default_rng(3).permutation(curves_of("noisy"))[0, -1]
    assert many.started == TRIALS
    assert many.best_stopped
    assert many.best_after(1000) == np.inf


@pytest.mark.parametrize("name", SYNTHETIC)
def test_synthetic_curves_end_at_finite_values_for_most(name):
    curves = curves_of(name)
    assert curves.shape == (TRIALS, POINTS)
    assert np.isfinite(curves[:, -1]).mean() > 0.5
