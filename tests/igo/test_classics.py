"""PBIL, cGA and UMDA: equal to their published forms; the adaptive PBIL needs fewer calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.igo.searches import calls_until, leadingones, onemax

from sonde.errors import OptionError
from sonde.igo import PBIL, cga, umda

BOTH = pytest.mark.parametrize("objective", [onemax, leadingones])


@BOTH
@pytest.mark.parametrize("step_size", [None, 0.2])
@pytest.mark.parametrize("n", [4, 25])
def test_cga_equals_its_published_form(n: int, step_size: float | None, objective: Callable[[Any], Any]) -> None:
    """Harik et al. 1999: where two samples differ, p moves by a step towards the better one."""
    search, p = cga(n, step_size=step_size, seed=0), np.full(n, 0.5)
    step, differed = 1 / n if step_size is None else step_size, 0
    for _ in range(400):
        a, b = samples = search.ask()
        losses = objective(samples)
        search.tell(samples, losses)
        winner, loser = (a, b) if losses[0] < losses[1] else (b, a)
        if losses[0] != losses[1]:
            differed += 1
            for i in range(n):
                if winner[i] != loser[i]:
                    p[i] += step if winner[i] else -step
            p = np.clip(p, 1 / n, 1 - 1 / n)
        np.testing.assert_allclose(search.theta, p, rtol=0, atol=1e-13)
    assert differed > 50
    assert search.sample_size == 2


@pytest.mark.parametrize(("sample_size", "selected"), [(10, 3), (20, 10), (7, 1)])
def test_umda_takes_the_mean_of_the_selected(sample_size: int, selected: int) -> None:
    search, rng = umda(8, sample_size, selected, seed=0), np.random.default_rng(0)
    for _ in range(30):
        samples = search.ask()
        assert samples.shape == (sample_size, 8)
        losses = rng.permutation(sample_size).astype(float)
        search.tell(samples, losses)
        mean = samples[np.argsort(losses)[:selected]].mean(axis=0)
        np.testing.assert_allclose(search.theta, np.clip(mean, 1 / 8, 7 / 8), rtol=0, atol=1e-14)


def test_umda_averages_over_ties() -> None:
    search = umda(3, 4, 2, seed=0)
    samples = np.array([[1, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 0]])
    search.tell(samples, [0.0, 1.0, 1.0, 2.0])  # the second rank is shared
    np.testing.assert_allclose(search.theta, [0.75, 0.75, 1 / 4])


@pytest.mark.parametrize("selected", [0, -1, 5, 2.5, True])
def test_umda_selects_some_of_its_samples(selected: Any) -> None:
    with pytest.raises(OptionError, match="selected"):
        umda(3, 4, selected)


def test_pbil_has_the_papers_defaults() -> None:
    search = PBIL(100)
    assert (search.adapt, search.sample_size, search.step_size) == ("lambda", 2, 0.1)
    assert search.theta.tolist() == [0.5] * 100
    assert search.ask().dtype == bool
    assert cga(100).step_size == 0.01


@pytest.mark.parametrize(("objective", "n", "runs"), [(onemax, 50, 40), (leadingones, 30, 10)])
def test_adapting_the_sample_size_beats_cga_at_either_step_size(
    objective: Callable[[Any], Any], n: int, runs: int
) -> None:
    """By a quarter on OneMax, by half on LeadingOnes: the smaller difference takes more runs to show."""
    seeds = range(runs)
    ours = np.median([calls_until(PBIL(n, seed=seed), objective) for seed in seeds])
    for step_size in (1 / n, n**-0.5):
        theirs = [calls_until(cga(n, step_size=step_size, seed=seed), objective, ours + 1) for seed in seeds]
        assert np.median(theirs) > ours


@BOTH
def test_adapting_the_step_size_solves_both(objective: Callable[[Any], Any]) -> None:
    assert all(calls_until(PBIL(20, adapt="epsilon", seed=seed), objective, 20_000) < 20_000 for seed in range(5))


@pytest.mark.parametrize("n", [0, -1, 2.0, "x", True])
def test_the_number_of_bits_of_cga_is_checked(n: Any) -> None:
    with pytest.raises(OptionError, match="the number of bits must be a whole number of at least 1"):
        cga(n)


@pytest.mark.parametrize("seed", [-1, 0.5, "x", True])
def test_a_seed_is_a_whole_number(seed: Any) -> None:
    with pytest.raises(OptionError, match="seed must be a whole number of at least 0"):
        PBIL(5, seed=seed)
