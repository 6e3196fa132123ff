"""The compiled searches against those of ``sonde.igo``."""

import numpy as np
import pytest
from benchmarks.igo.compiled import Compiled, draw
from benchmarks.igo.hitting import ALGORITHMS, FUNCTIONS, hit
from scipy.stats import mannwhitneyu


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_step_is_that_of_the_library(name: str, function: str) -> None:
    search = ALGORITHMS[name](23, 1)
    compiled = Compiled(ALGORITHMS[name](23, 1), 1)
    for _ in range(300):
        bits = search.ask()
        losses = FUNCTIONS[function](bits)
        search.tell(bits, losses)
        compiled.tell(bits, losses)
        assert compiled.sample_size == search.sample_size
        np.testing.assert_allclose(compiled.theta, search.theta, rtol=1e-9, atol=1e-12)
        assert compiled.state[0] == pytest.approx(search.save()["reference"], rel=1e-9)


@pytest.mark.parametrize(
    ("name", "function"), [("pbil-lambda", "leadingones"), ("pbil-epsilon", "onemax"), ("cga-n", "leadingones")]
)
def test_it_needs_as_many_calls_as_the_library(name: str, function: str) -> None:
    ours = [Compiled(ALGORITHMS[name](12, 0), seed).hit(function).calls for seed in range(40)]
    theirs = [hit(ALGORITHMS[name](12, seed), FUNCTIONS[function]).calls for seed in range(40)]
    assert mannwhitneyu(ours, theirs).pvalue > 1e-3
    assert 0.5 < np.median(ours) / np.median(theirs) < 2


@pytest.mark.parametrize("n", [1, 2, 7])
def test_bits_are_drawn_with_their_probabilities_and_independently(n: int) -> None:
    theta, bits = np.linspace(0.05, 0.9, n), np.empty((40_000, n), dtype=np.uint8)
    draw(bits, theta, np.random.SeedSequence(3).generate_state(4, np.uint64))
    np.testing.assert_allclose(bits.mean(axis=0), theta, atol=0.012)
    if n > 1:
        between = np.corrcoef(bits.T) - np.eye(n)
        assert np.abs(between).max() < 0.025
    along = np.corrcoef(bits[:-1, 0], bits[1:, 0])[0, 1]
    assert abs(along) < 0.025


def test_a_run_is_stopped_at_its_limit_and_is_the_same_for_the_same_seed() -> None:
    def run(limit: float = np.inf, seed: int = 2) -> tuple[int, bool]:
        return Compiled(ALGORITHMS["cga-n"](12, 0), seed).hit("leadingones", limit)[:2]

    calls, found = run()
    assert found
    assert run() == (calls, True)
    assert run(seed=3) != (calls, True)
    assert run(calls) == (calls, True)
    assert run(calls - 1) == (calls - 1, False)
    assert run(1) == (1, False)
