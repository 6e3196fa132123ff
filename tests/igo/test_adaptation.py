"""Adaptation of the sample size and of the step size."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.igo.searches import FAMILIES, calls_until, leadingones, onemax

from sonde.igo import IGO, PBIL
from sonde.igo.preference import centred, weigh
from sonde.igo.search import Adaptation


def test_equations_10_and_12() -> None:
    rng = np.random.default_rng(0)
    adaptation, s, gamma, reference = Adaptation(2, 50, 1.5), np.zeros(4), 0.0, 2.0
    for beta in rng.uniform(0.01, 1, 200):
        whitened, noise = rng.normal(size=4), rng.uniform(0.5, 9)
        adaptation.learn(whitened, beta, noise)
        s = (1 - beta) * s + math.sqrt(beta * (2 - beta)) * whitened / math.sqrt(noise)
        gamma = (1 - beta) ** 2 * gamma + beta * (2 - beta)
        reference = min(max(reference * math.exp(beta * (gamma - s @ s / 1.5)), 2), 50)
        np.testing.assert_allclose(adaptation.s, s, rtol=1e-12, atol=1e-14)
        assert adaptation.gamma == pytest.approx(gamma)
        assert adaptation.reference == pytest.approx(reference)
        assert adaptation.growth == pytest.approx(reference / 2)


def test_gamma_is_the_expected_squared_norm_under_noise() -> None:
    rng, free, norms = np.random.default_rng(0), 5, []
    for _ in range(4000):
        adaptation = Adaptation(2, 2)
        for _ in range(6):
            adaptation.learn(rng.normal(size=free), 0.3, free)
        assert adaptation.s is not None
        norms.append(adaptation.s @ adaptation.s)
    assert np.mean(norms) == pytest.approx(adaptation.gamma, rel=0.05)


def test_a_strong_signal_gives_the_smallest_size_and_noise_the_largest() -> None:
    strong, nothing = Adaptation(2, 64), Adaptation(2, 64)
    for _ in range(200):
        strong.learn(np.full(4, 3.0), 0.2, 4.0)
        nothing.learn(np.zeros(4), 0.2, 4.0)
    assert (strong.reference, nothing.reference) == (2, 64)


@pytest.mark.parametrize("adapt", ["lambda", "epsilon"])
@pytest.mark.parametrize("name", FAMILIES)
def test_a_step_is_algorithm_1(name: str, adapt: str) -> None:
    """Algorithm 1 written out, with G^1/2 of eq. (10) at the theta of the gradient, not at the next one."""
    family, rng = FAMILIES[name], np.random.default_rng(1)
    search, n = IGO(family, adapt=adapt, seed=1), family.free
    s, gamma, reference = np.zeros(len(search.theta)), 0.0, 2.0
    for _ in range(30):
        theta, samples = search.theta, search.ask()
        epsilon = n**-0.5 if adapt == "lambda" else n**-0.5 / (reference / 2)
        assert len(samples) == (round(reference) if adapt == "lambda" else 2)
        losses = rng.integers(4, size=len(samples)).astype(float)
        search.tell(samples, losses)
        weights = weigh(losses, centred(len(losses)))
        if np.ptp(losses) == 0:
            continue
        gradient = family.gradient(theta, samples.astype(float), weights)
        noise = n * np.mean((weights - weights.mean()) ** 2) / len(weights)
        s = (1 - epsilon) * s + math.sqrt(epsilon * (2 - epsilon) / noise) * family.whitened(theta, gradient)
        gamma = (1 - epsilon) ** 2 * gamma + epsilon * (2 - epsilon)
        reference = min(max(reference * math.exp(epsilon * (gamma - s @ s / 1.5)), 2), n)
        saved = search.save()
        np.testing.assert_allclose(search.theta, family.moved(theta, epsilon * gradient, n), rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(saved["s"], s, rtol=1e-9, atol=1e-12)
        assert saved["gamma"] == pytest.approx(gamma)
        assert saved["reference"] == pytest.approx(reference)
    assert reference > 2


def test_the_step_stays_between_its_bounds() -> None:
    search, rng = PBIL(16, adapt="epsilon", seed=0), np.random.default_rng(0)
    steps = []
    for _ in range(3000):
        samples = search.ask()
        assert len(samples) == 2
        search.tell(samples, rng.random(2))
        steps.append(search.step_size)
    assert max(steps) <= 16**-0.5
    assert min(steps) == pytest.approx(2 / 16 * 16**-0.5)


def test_the_sample_size_stays_between_its_bounds() -> None:
    search, rng, sizes = PBIL(16, sample_size=4, largest_sample_size=9, seed=0), np.random.default_rng(0), []
    for _ in range(500):
        samples = search.ask()
        sizes.append(len(samples))
        search.tell(samples, rng.random(len(samples)))
    assert (min(sizes), max(sizes)) == (4, 9)


def test_without_adaptation_both_sizes_are_constant() -> None:
    search, rng = PBIL(16, adapt=None, sample_size=5, step_size=0.1, seed=0), np.random.default_rng(0)
    for _ in range(100):
        search.tell(search.ask(), rng.random(5))
    assert (search.sample_size, search.step_size) == (5, 0.1)
    assert search.save()["s"] is None


def test_a_higher_alpha_gives_more_samples() -> None:
    sizes = []
    for alpha in (1.1, 1.5, 3.0):
        search = PBIL(60, alpha=alpha, seed=0)
        counts = []
        for _ in range(150):
            samples = search.ask()
            counts.append(len(samples))
            search.tell(samples, onemax(samples))
        sizes.append(np.mean(counts))
    assert sizes[0] < sizes[1] < sizes[2]


def sizes_on(objective: Callable[[Any], Any], n: int, seed: int) -> np.ndarray:
    """Return lambda_r after each generation until the optimum is drawn."""
    search, sizes = PBIL(n, seed=seed), []

    def watched(samples: Any) -> Any:
        sizes.append(search.save()["reference"])
        return objective(samples)

    calls_until(search, watched)
    return np.array(sizes)


def test_the_sample_size_is_about_constant_on_onemax() -> None:
    runs = [np.array_split(sizes_on(onemax, 200, seed), 4) for seed in range(10)]
    second, third, last = (np.mean([run[i].mean() for run in runs]) for i in (1, 2, 3))
    assert 4 < second < 15
    assert max(second, third, last) < 1.5 * min(second, third, last)


def test_the_sample_size_grows_on_leadingones() -> None:
    sizes = sizes_on(leadingones, 120, seed=0)
    first, *_, last = (part.mean() for part in np.array_split(sizes, 5))
    assert last > 1.5 * first
