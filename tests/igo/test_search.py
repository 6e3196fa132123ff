"""The search: invariances, save and restore, losses without an order, bad input."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import time
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.igo.searches import FAMILIES, assert_same_state, onemax, play, state_of
from tests.space.spaces import examples

from sonde.errors import OptionError
from sonde.igo import IGO, PBIL, Bernoulli, Categorical, Family, Gaussian, Product, umda

EACH = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
ADAPTED = pytest.mark.parametrize("adapt", ["lambda", "epsilon", None])


def linear_loss(samples: np.ndarray) -> np.ndarray:
    """A linear loss that falls with every column."""
    return -(samples * np.arange(1.0, samples.shape[1] + 1)).sum(axis=1)


# invariance


@EACH
@ADAPTED
@pytest.mark.parametrize("increasing", [np.exp, lambda y: y**3 - 1e6, lambda y: 1e-9 * y, np.arctan])
def test_increasing_transformations_of_the_loss_change_nothing(
    family: Family, adapt: str | None, increasing: Any
) -> None:
    searches = [IGO(family, adapt=adapt, seed=4) for _ in range(2)]
    plain, transformed = play(searches[0], linear_loss, 40), play(searches[1], lambda x: increasing(linear_loss(x)), 40)
    np.testing.assert_array_equal(plain, transformed)
    assert_same_state(*searches)


def told_both(one: IGO, other: IGO, mirror: Any, generations: int = 60) -> None:
    """Tell one search its samples, and another one the transformed samples with the same losses."""
    rng = np.random.default_rng(0)
    for _ in range(generations):
        samples = one.ask()
        losses = np.round(linear_loss(samples) + rng.normal(size=len(samples)), 1)
        one.tell(samples, losses)
        other.tell(mirror(samples), losses)
        assert other.sample_size == one.sample_size
        assert other.step_size == pytest.approx(one.step_size, rel=1e-9)


@ADAPTED
def test_invariance_to_flipped_bits(adapt: str | None) -> None:
    flips = np.array([True, False, True, True, False, False])
    one, other = (PBIL(6, adapt, seed=0) for _ in range(2))
    told_both(one, other, lambda bits: bits ^ flips)
    np.testing.assert_allclose(other.theta, np.where(flips, 1 - one.theta, one.theta), atol=1e-12)
    assert np.abs(one.theta - 0.5).max() > 0.1


@ADAPTED
def test_invariance_to_permuted_bits(adapt: str | None) -> None:
    order = np.array([3, 0, 5, 1, 4, 2])
    one, other = (PBIL(6, adapt, seed=0) for _ in range(2))
    told_both(one, other, lambda bits: bits[:, order])
    np.testing.assert_allclose(other.theta, one.theta[order], atol=1e-12)


@ADAPTED
def test_invariance_to_relabelled_categories(adapt: str | None) -> None:
    labels = np.array([[2, 0, 3, 1], [0, 1, 2, 3], [3, 2, 1, 0]])
    one, other = (IGO(Categorical(3, 4), adapt=adapt, seed=0) for _ in range(2))
    told_both(one, other, lambda samples: labels[np.arange(3), samples.astype(int)])
    relabelled = np.take_along_axis(other.theta.reshape(3, 4), labels, axis=1)
    np.testing.assert_allclose(relabelled, one.theta.reshape(3, 4), atol=1e-12)


@ADAPTED
def test_invariance_to_mirrored_numbers(adapt: str | None) -> None:
    one, other = (IGO(Gaussian([np.inf, 8]), adapt=adapt, seed=0) for _ in range(2))
    told_both(one, other, lambda samples: 1 - samples)
    np.testing.assert_allclose(other.theta, np.concatenate([1 - one.theta[:2], one.theta[2:]]), atol=1e-9)


def test_two_categories_are_equivalent_to_a_bit() -> None:
    one, other = PBIL(5, seed=0), IGO(Categorical(5, 2), seed=0)
    told_both(one, other, lambda bits: bits.astype(float))
    np.testing.assert_allclose(other.theta.reshape(5, 2)[:, 1], one.theta, atol=1e-12)


def test_a_product_of_two_bernoullis_is_equivalent_to_one() -> None:
    one, other = IGO(Bernoulli(5), seed=0), IGO(Product([Bernoulli(2), Bernoulli(3)]), seed=1)
    told_both(one, other, lambda bits: bits.astype(float))
    np.testing.assert_allclose(other.theta, one.theta, atol=1e-14)


def test_the_order_of_samples_does_not_count() -> None:
    one, other = PBIL(6, seed=0), PBIL(6, seed=0)
    for _ in range(40):
        samples = one.ask()
        losses, order = onemax(samples), np.random.default_rng(len(samples)).permutation(len(samples))
        one.tell(samples, losses)
        other.tell(samples[order], losses[order])
    np.testing.assert_allclose(one.theta, other.theta, atol=1e-12)


def test_the_negative_loss_moves_theta_the_other_way() -> None:
    down, up = PBIL(20, seed=0), PBIL(20, seed=0)
    play(down, lambda bits: bits.sum(axis=1, dtype=float), 300)
    play(up, lambda bits: -bits.sum(axis=1, dtype=float), 300)
    assert down.theta.mean() < 0.1
    assert up.theta.mean() > 0.9


# save and restore


@EACH
@ADAPTED
@pytest.mark.parametrize("pickled", [False, True])
def test_a_restored_search_continues_exactly(family: Family, adapt: str | None, pickled: bool) -> None:
    whole = IGO(family, adapt=adapt, seed=1)
    for generations in (0, 1, 7, 30):
        play(whole, linear_loss, generations)
        saved = whole.save()
        resumed = IGO(family, adapt=adapt, seed=99)
        resumed.restore(pickle.loads(pickle.dumps(saved)) if pickled else saved)
        assert_same_state(whole, resumed)
        went_on = copy.deepcopy(whole)
        np.testing.assert_array_equal(play(went_on, linear_loss, 20), play(resumed, linear_loss, 20))
        assert_same_state(went_on, resumed)


def test_a_saved_state_is_not_modified() -> None:
    search = PBIL(6, seed=0)
    play(search, onemax, 5)
    saved = search.save()
    kept = copy.deepcopy(saved)
    play(search, onemax, 5)
    other = PBIL(6)
    other.restore(saved)
    play(other, onemax, 5)
    np.testing.assert_equal(saved, kept)


def test_wrong_states_are_refused() -> None:
    search = PBIL(6, seed=0)
    saved = search.save()
    with pytest.raises(OptionError, match=r"^this is not what save\(\) returned: rng, theta is missing$"):
        search.restore({key: value for key, value in saved.items() if key not in ("rng", "theta")})
    with pytest.raises(OptionError, match=r"^theta must be 6 finite numbers, got an array of the shape \(7,\)$"):
        search.restore(PBIL(7).save())


def test_equal_seeds_give_equal_searches() -> None:
    np.testing.assert_array_equal(play(PBIL(9, seed=5), onemax, 30), play(PBIL(9, seed=5), onemax, 30))
    assert not np.array_equal(PBIL(50, seed=5).ask(), PBIL(50, seed=6).ask())
    assert not np.array_equal(PBIL(50).ask(), PBIL(50).ask())


def test_theta_is_read_only() -> None:
    search = PBIL(4, seed=0)
    before = search.theta
    with pytest.raises(ValueError, match="read-only"):
        before[0] = 0.9
    play(search, onemax, 3)
    assert before.tolist() == [0.5] * 4


def test_the_initial_theta_can_be_given() -> None:
    given = np.array([0.0, 0.3, 1.0, 0.5, 0.6])
    search = PBIL(5, theta=given)
    np.testing.assert_allclose(search.theta, [0.2, 0.3, 0.8, 0.5, 0.6])
    given[:] = 0.5
    assert search.theta[1] == 0.3


def test_generations_of_any_size_can_be_told() -> None:
    """More samples than a generation has, or samples that the search did not draw."""
    search = PBIL(4, seed=0)
    search.tell(search.ask(7), np.arange(7.0))
    search.tell([[1, 1, 1, 1], [0, 0, 0, 0]], [0.0, 1.0])
    assert (search.theta > 0.5).any()
    assert search.ask(1).shape == (1, 4)


def test_repr() -> None:
    assert repr(PBIL(100)) == "PBIL(free=100, adapt='lambda', sample_size=2, step_size=0.1)"


# losses without an order


@EACH
def test_a_constant_loss_changes_nothing(family: Family) -> None:
    search = IGO(family, seed=0)
    play(search, linear_loss, 5)
    before = copy.deepcopy(search)
    for count in range(2, 60):  # the weights of 19 samples do not sum to zero exactly
        for loss in (0.0, -7.5, np.inf, -np.inf, np.nan):
            search.tell(search.ask(count), np.full(count, loss))
        assert_same_state(search, before)


def test_a_constant_loss_changes_nothing_for_uncentred_weights() -> None:
    for count, selected in ((4, 2), (7, 6), (8, 6), (30, 11)):
        search = umda(5, count, selected, seed=0)
        search.tell(search.ask(), np.ones(count))
        assert search.theta.tolist() == [0.5] * 5


@EACH
def test_failures_rank_last(family: Family) -> None:
    failed, infinite, large = (IGO(family, seed=0) for _ in range(3))
    for search, worst in ((failed, np.nan), (infinite, np.inf), (large, 1e9)):
        for _ in range(20):
            samples = search.ask(6)
            losses = linear_loss(samples)
            losses[[1, 4]] = worst
            search.tell(samples, losses)
    assert_same_state(failed, infinite)
    assert_same_state(failed, large)


@pytest.mark.parametrize("losses", [[np.inf, -np.inf, 0.0], [1.7e308, 1.6e308, 1.5e308], [np.nan, np.inf, -np.inf]])
def test_extreme_losses_are_ordered_without_a_warning(losses: list[float]) -> None:
    search, samples = PBIL(3, seed=0), np.eye(3, dtype=bool)
    search.tell(samples, losses)
    best, worst = np.argmin(np.nan_to_num(losses, nan=np.inf)), np.argmax(np.nan_to_num(losses, nan=np.inf))
    assert search.theta[best] > 0.5 > search.theta[worst]


@examples(60)
@given(losses=st.lists(st.floats(width=16), min_size=2, max_size=12), seed=st.integers(0, 9))
def test_any_losses_leave_a_valid_state(losses: list[float], seed: int) -> None:
    search = PBIL(7, seed=seed)
    samples = search.ask(len(losses))
    search.tell(samples, losses)
    assert ((search.theta >= 1 / 7) & (search.theta <= 1 - 1 / 7)).all()
    assert all(np.isfinite(value).all() for value in state_of(search).values() if value is not None)


# bad input


@pytest.mark.parametrize(("settings", "message"), [
    ({"adapt": "step"}, "adapt must be 'lambda', 'epsilon' or None, got 'step'"),
    ({"sample_size": 1}, "sample_size must be a whole number of at least 2, got 1"),
    ({"sample_size": "two"}, "sample_size must be a whole number of at least 2, got 'two'"),
    ({"sample_size": True}, "sample_size must be a whole number of at least 2, got True"),
    ({"sample_size": np.nan}, "sample_size must be a whole number of at least 2, got nan"),
    ({"sample_size": 4, "largest_sample_size": 3}, "largest_sample_size must be a number of at least 4, got 3"),
    ({"alpha": 0.9}, "alpha must be a number of at least 1, got 0.9"),
    ({"step_size": 0}, "step_size must be a number above 0 and at most 1, got 0"),
    ({"step_size": 1.5}, "step_size must be a number above 0 and at most 1, got 1.5"),
    ({"step_size": np.nan}, "step_size must be a number above 0 and at most 1, got nan"),
    ({"step_size": "1"}, "step_size must be a number above 0 and at most 1, got '1'"),
    ({"preference": 3}, "preference must be a function: from a generation's size to weights, got 3"),
    ({"theta": [0.5]}, "theta must be 3 finite numbers, got an array of the shape (1,)"),
    ({"theta": [0.5, np.nan, 0.5]}, "theta must be 3 finite numbers, got an array of the shape (3,)"),
])  # fmt: skip
def test_wrong_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError) as raised:
        IGO(Bernoulli(3), **settings)
    assert str(raised.value) == message


def test_a_wrong_family_is_refused() -> None:
    with pytest.raises(OptionError, match=r"^family must be a Family such as Bernoulli\(10\), got 10$"):
        IGO(10)  # type: ignore[arg-type]


@pytest.mark.parametrize(("samples", "losses", "message"), [
    ([[0, 1], [1, 0]], [1, 2], "samples must have the shape (count, 3), got (2, 2)"),
    ([0, 1, 0], [1], "samples must have the shape (count, 3), got (3,)"),
    ([[0, 1, 0], [1, 0, 1]], [1], "there must be one loss for each of the 2 samples, got the shape (1,)"),
    ([[0, 1, 0], [1, 0, 1]], [[1], [2]], "there must be one loss for each of the 2 samples, got the shape (2, 1)"),
    ([[0, 1, 0], [1, 0, 1]], 3.0, "there must be one loss for each of the 2 samples, got the shape ()"),
    ([[0, 1, 0]], [1], "tell() compares samples with each other: give at least two"),
    (np.empty((0, 3)), [], "tell() compares samples with each other: give at least two"),
])  # fmt: skip
def test_wrong_samples_and_losses_are_refused(samples: Any, losses: Any, message: str) -> None:
    search = PBIL(3, seed=0)
    with pytest.raises(OptionError) as raised:
        search.tell(samples, losses)
    assert str(raised.value) == message
    assert search.theta.tolist() == [0.5] * 3


@pytest.mark.parametrize(("samples", "losses"), [("abc", [1, 2]), ([[0, 1, 0], [1, 0, 1]], "abc"), (None, None)])
def test_samples_and_losses_must_be_numbers(samples: Any, losses: Any) -> None:
    with pytest.raises(OptionError, match=r"^sample"):
        PBIL(3, seed=0).tell(samples, losses)


@pytest.mark.parametrize("weights", [[1.0], [[1.0], [0.0]], 1.0])
def test_a_preference_has_a_weight_for_every_sample(weights: Any) -> None:
    search = IGO(Bernoulli(3), preference=lambda size: weights)
    with pytest.raises(OptionError, match=r"^preference\(2\) must be 2 weights, best first, got "):
        search.tell(search.ask(2), [1.0, 2.0])


@pytest.mark.parametrize("count", [0, -1, "3", True, 2.5, np.nan])
def test_a_wrong_count_is_refused(count: Any) -> None:
    with pytest.raises(OptionError, match="count must be a "):
        PBIL(3).ask(count)


@pytest.mark.parametrize("theta", [[0.0, 0.0, 0.0], [-1.0, -1.0, -5.0]])
def test_an_initial_theta_needs_a_positive_probability_in_each_choice(theta: list[float]) -> None:
    with pytest.raises(OptionError, match="theta"):
        IGO(Categorical(1, 3), theta=theta)


def test_arguments_are_not_modified() -> None:
    search, rng = PBIL(3, seed=0), np.random.default_rng(0)
    samples, losses = search.ask(5).astype(float), rng.random(5)
    samples[0, 0], losses[2] = np.nan, np.nan
    kept = samples.copy(), losses.copy()
    search.tell(samples, losses)
    np.testing.assert_equal((samples, losses), kept)


# sizes


@pytest.mark.parametrize("n", [1, 2, 3])
@ADAPTED
def test_fewer_than_four_bits(n: int, adapt: str | None) -> None:
    search = PBIL(n, adapt, seed=0)
    play(search, onemax, 100)
    np.testing.assert_allclose(search.theta, 0.75)
    assert search.sample_size <= max(n, 2)


@pytest.mark.parametrize("size", [2, 10, 50])
def test_memory_is_linear(size: int) -> None:
    n = 100_000
    search = PBIL(n, sample_size=size, seed=0)
    tracemalloc.start()
    samples = search.ask()
    search.tell(samples, onemax(samples))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert samples.shape == (size, n)
    assert peak < 20 * n * size + 80 * n  # ten arrays of the size of theta


def test_a_step_of_many_bits_takes_microseconds() -> None:
    search, losses, times = PBIL(3072, adapt="epsilon", seed=0), np.array([1.0, 2.0]), []
    for _ in range(500):
        started = time.perf_counter()
        search.tell(search.ask(), losses)
        times.append(time.perf_counter() - started)
    assert np.median(times) < 400e-6


@pytest.mark.jax  # where it is hidden, nothing can load it
def test_only_numpy_is_imported() -> None:
    program = "import sonde.igo, sys; print(*({'jax', 'scipy', 'torch', 'sqlalchemy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.split() == []
