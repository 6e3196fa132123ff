"""The searches in pairs, in Pallas's interpreter, against those of ``sonde.igo``."""

import jax
import numpy as np
import pytest
from benchmarks.igo import pairs as module
from benchmarks.igo.hitting import ALGORITHMS, FUNCTIONS, hit
from benchmarks.igo.pairs import NEVER, Pairs, hit_together
from jax import numpy as jnp
from scipy.stats import mannwhitneyu

NAMES = ("cga-n", "cga-root-n", "pbil-epsilon")


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("name", NAMES)
def test_every_step_is_that_of_the_library(name: str, function: str) -> None:
    search = ALGORITHMS[name](23, 1)
    with jax.enable_x64(True):
        pairs = Pairs.of(search, function)
        state, step = pairs.start(0), jax.jit(pairs.step)
        for i in range(300):
            bits = search.ask()
            losses = FUNCTIONS[function](bits)
            search.tell(bits, losses)
            padded = np.ones((2, pairs.padded), dtype=bool)
            padded[:, :23] = bits
            before = int(state.calls)
            state = step(state, *jnp.asarray(padded), jnp.int64(2 * i))
            np.testing.assert_allclose(state.theta[:23], search.theta, rtol=1e-9, atol=1e-12)
            if search.adapt:
                assert float(state.reference) == pytest.approx(search.save()["reference"], rel=1e-9)
            now = NEVER if losses.all() else 2 * i + 1 + int(losses.argmin())
            assert int(state.calls) == (now if before == NEVER else before)


@pytest.mark.parametrize(("name", "function"), [("pbil-epsilon", "onemax"), ("cga-n", "leadingones")])
def test_it_needs_as_many_calls_as_the_library(name: str, function: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK", 500)
    ends = hit_together(ALGORITHMS[name](12, 0), range(60), function, 20_000, interpret=True)
    theirs = [hit(ALGORITHMS[name](12, seed), FUNCTIONS[function]).calls for seed in range(60)]
    assert all(end.found for end in ends)
    assert mannwhitneyu([end.calls for end in ends], theirs).pvalue > 1e-3


def test_bits_are_drawn_with_their_probabilities_and_independently() -> None:
    with jax.enable_x64(True):
        pairs = Pairs.of(ALGORITHMS["cga-n"](7, 0), "onemax")
        theta = np.ones(pairs.padded)
        theta[:7] = np.linspace(0.05, 0.9, 7)
        start = pairs.start(3)._replace(theta=jnp.asarray(theta))

        def draw(state, _):
            state, one, other = pairs.drawn(state)
            return state, jnp.stack([one, other])

        bits = np.asarray(jax.lax.scan(draw, start, length=20_000)[1])
    assert bits[..., 7:].all()
    rows = bits[..., :7].reshape(-1, 7)
    np.testing.assert_allclose(rows.mean(axis=0), theta[:7], atol=0.012)
    assert np.abs(np.corrcoef(rows.T) - np.eye(7)).max() < 0.025
    assert abs(np.corrcoef(rows[:-1, 0], rows[1:, 0])[0, 1]) < 0.025


def test_runs_are_stopped_at_their_limit_and_are_the_same_for_the_same_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(limit: int, seeds: list[int]) -> list[tuple[int, bool]]:
        ends = hit_together(ALGORITHMS["cga-n"](12, 0), seeds, "leadingones", limit, interpret=True)
        return [end[:2] for end in ends]

    monkeypatch.setattr(module, "CHUNK", 64)
    (calls, found), other = run(10_000, [2, 3])
    assert found
    assert run(10_000, [2]) == [(calls, True)]
    assert other != (calls, True)
    assert run(calls, [2]) == [(calls, True)]
    assert run(calls - 1, [2]) == [(calls - 1, False)]
    monkeypatch.setattr(module, "CHUNK", 1000)
    assert run(10_000, [2]) == [(calls, True)]


def test_larger_generations_are_refused() -> None:
    with pytest.raises(ValueError, match="two samples"):
        Pairs.of(ALGORITHMS["pbil-lambda"](12, 0), "onemax")
