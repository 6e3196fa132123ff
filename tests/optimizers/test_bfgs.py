from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import minimize
from tests.optimizers.functions import Function, quadratic, rosenbrock
from tests.space.spaces import examples

from sonde.optimizers import bfgs
from sonde.optimizers.curvature import DenseInverse, PairInverse, initial

ZEROS, ONES = np.zeros(5), np.ones(5)


def by_scipy(function: Function, start: np.ndarray, low: np.ndarray, high: np.ndarray) -> float:
    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = function(x[None])
        return -float(value[0]), -gradient[0]

    options = {"maxiter": 1000, "ftol": 1e-15, "gtol": 1e-9}
    bounds = list(zip(low, high, strict=True))
    return -float(minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options).fun)


@examples(25)
@example(dimension=2, seed=142, condition=1000.0)  # steps that repeatedly end a little before a bound
@given(dimension=st.integers(1, 8), seed=st.integers(0, 999), condition=st.sampled_from([1.0, 30.0, 1000.0]))
def test_quadratics_on_a_box_as_by_scipy(dimension: int, seed: int, condition: float) -> None:
    function, _, _ = quadratic(dimension, seed, condition)
    low, high = np.zeros(dimension), np.ones(dimension)
    starts = np.random.default_rng(seed).random((4, dimension))
    x, values = bfgs(function, starts, low, high, calls=300, tolerance=1e-12)
    expected = by_scipy(function, starts[0], low, high)
    assert np.all((x >= low) & (x <= high))
    np.testing.assert_allclose(values, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(values, function(x)[0], rtol=1e-12)


def test_bounds_are_active_in_those_quadratics() -> None:
    """Otherwise the test above would not test bounds."""
    active = 0
    for seed in range(10):
        function, _, _ = quadratic(5, seed)
        x, _ = bfgs(function, np.full((1, 5), 0.5), ZEROS, ONES, calls=300, tolerance=1e-12)
        active += np.sum((x == 0) | (x == 1))
    assert active > 10


@pytest.mark.parametrize("dimension", [2, 5])
def test_rosenbrock_as_by_scipy(dimension: int) -> None:
    starts = np.random.default_rng(0).uniform(-1.5, 1.5, (6, dimension))
    low, high = np.full(dimension, -2.0), np.full(dimension, 2.0)
    _, values = bfgs(rosenbrock, starts, low, high, calls=500, tolerance=1e-14)
    expected = [by_scipy(rosenbrock, start, low, high) for start in starts]
    assert max(values) == pytest.approx(max(expected), abs=1e-6)
    maxima = [0.0, -3.930839434]  # from four dimensions on there is a second one
    for reached in (values, expected):
        assert np.all(np.min(np.abs(np.subtract.outer(reached, maxima)), axis=1) < 1e-6)


def test_rosenbrock_with_a_bound_in_its_valley() -> None:
    low, high = np.array([-2.0, -2.0]), np.array([0.5, 2.0])
    starts = np.random.default_rng(0).uniform(low, high, (6, 2))
    x, values = bfgs(rosenbrock, starts, low, high, calls=500, tolerance=1e-14)
    np.testing.assert_allclose(values, -0.25, atol=1e-6)
    np.testing.assert_allclose(x, np.broadcast_to([0.5, 0.25], x.shape), atol=1e-3)


def test_the_inverse_hessian_is_that_of_the_textbook() -> None:
    """BFGS updates of an inverse Hessian that begins with s.y / y.y of the first pair, for two starts at once."""
    _, matrix, _ = quadratic(6, 0)
    rng = np.random.default_rng(0)
    found, expected = initial(2, 6), None
    for s in rng.normal(size=(9, 6)):
        y = matrix @ s
        found = found.updated(np.array([s, 0 * s]), np.array([y, 0 * y]))
        left = np.eye(6) - np.outer(s, y) / (s @ y)
        start = s @ y / (y @ y) * np.eye(6) if expected is None else expected
        expected = left @ start @ left.T + np.outer(s, s) / (s @ y)
        np.testing.assert_allclose(found.inverse[0], expected, rtol=1e-9, atol=1e-12)
    assert found.curved.tolist() == [True, False]
    assert not found.inverse[1].any()


def test_it_takes_about_as_many_calls_as_scipy() -> None:
    ours, theirs = 0, 0
    low, high = np.zeros(6), np.ones(6)
    for seed in range(8):
        function, _, _ = quadratic(6, seed, 300.0)
        start = np.random.default_rng(seed).random((1, 6))
        calls: list[float] = []

        def counted(x: np.ndarray, function: Function = function, calls: list[float] = calls) -> tuple:  # type: ignore[type-arg]
            value, gradient = function(x)
            calls.append(float(value[0]))
            return value, gradient

        best = by_scipy(counted, start[0], low, high)
        theirs += len(calls)
        calls.clear()
        bfgs(counted, start, low, high, calls=500, tolerance=1e-14)
        ours += int(np.argmax(np.array(calls) > best - 1e-6 * (abs(best) + 1))) + 1
    assert ours < 2.5 * theirs


def test_few_calls_come_close_to_the_maximum() -> None:
    """The default number of calls, as the search of an acquisition function uses it."""
    function, _, _ = quadratic(5, 3)
    starts = np.random.default_rng(0).random((8, 5))
    _, values = bfgs(function, starts, ZEROS, ONES)
    best = by_scipy(function, starts[0], ZEROS, ONES)
    before, _ = function(starts)
    assert np.all(best - values < 1e-3 * (best - before))


def test_a_linear_function_ends_in_its_corner() -> None:
    gradient = np.array([1.0, -2.0, 1e-6, 3.0, -1e6])

    def function(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return x @ gradient, np.broadcast_to(gradient, x.shape)

    x, _ = bfgs(function, np.full((3, 5), 0.5), ZEROS, ONES, tolerance=0.0)
    np.testing.assert_array_equal(x, np.broadcast_to(gradient > 0, x.shape))


def test_coordinates_of_zero_width_stay() -> None:
    """Each start has its own bounds: discrete and inactive coordinates do not move."""
    function, _, _ = quadratic(5, 1)
    starts = np.random.default_rng(0).random((6, 5))
    held = np.random.default_rng(1).random((6, 5)) < 0.4
    held[0], held[1] = True, False
    low, high = np.where(held, starts, 0.0), np.where(held, starts, 1.0)
    x, values = bfgs(function, starts, low, high, calls=300, tolerance=1e-12)
    np.testing.assert_array_equal(x[held], starts[held])
    np.testing.assert_array_equal(x[0], starts[0])
    for i in range(6):
        free = ~held[i]
        if not free.any():
            continue

        def rest(part: np.ndarray, i: int = i, free: np.ndarray = free) -> tuple[np.ndarray, np.ndarray]:
            whole = np.repeat(starts[i : i + 1], len(part), axis=0)
            whole[:, free] = part
            value, gradient = function(whole)
            return value, gradient[:, free]

        expected = by_scipy(rest, starts[i, free], np.zeros(free.sum()), np.ones(free.sum()))
        assert values[i] == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_starts_outside_of_the_box_are_clipped() -> None:
    function, _, _ = quadratic(5, 2)
    x, _ = bfgs(function, np.full((2, 5), 7.0), ZEROS, ONES)
    assert np.all((x >= 0) & (x <= 1))


@pytest.mark.parametrize("bad", [np.nan, -np.inf, np.inf])
def test_a_start_without_a_finite_value_does_not_affect_others(bad: float) -> None:
    function, _, _ = quadratic(5, 4)

    def partly_broken(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value, gradient = function(x)
        broken = x[:, 0] > 0.95
        return np.where(broken, bad, value), np.where(broken[:, None], np.nan, gradient)

    starts = np.random.default_rng(0).random((5, 5)) * 0.9
    clean = np.delete(starts, 2, axis=0)
    starts[2, 0] = 0.99
    x, values = bfgs(partly_broken, starts, ZEROS, ONES)
    alone_x, alone_values = bfgs(partly_broken, clean, ZEROS, ONES)
    np.testing.assert_allclose(np.delete(x, 2, axis=0), alone_x, rtol=1e-9)
    np.testing.assert_allclose(np.delete(values, 2), alone_values, rtol=1e-9)
    np.testing.assert_array_equal(x[2], starts[2])
    assert np.all(np.isfinite(np.delete(values, 2)))


def test_a_nan_start_does_not_affect_others() -> None:
    function, _, _ = quadratic(5, 4)
    starts = np.random.default_rng(0).random((3, 5))
    starts[1] = np.nan
    x, values = bfgs(function, starts, ZEROS, ONES)
    assert np.all(np.isfinite(x[[0, 2]]))
    assert np.all(values[[0, 2]] >= function(starts[[0, 2]])[0])


def test_steps_to_infinite_values_are_rejected() -> None:
    def cliff(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value = np.where(x[:, 0] < 0.6, x[:, 0], -np.inf)
        return value, np.ones_like(x)

    x, values = bfgs(cliff, np.array([[0.1], [0.59]]), np.zeros(1), np.ones(1))
    assert np.all(np.isfinite(values))
    assert np.all(x < 0.6)
    assert x[0] > 0.3


def test_a_start_with_a_nan_gradient_stays() -> None:
    def partly_nan(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return -np.sum((x - 0.5) ** 2, axis=1), np.where(x[:, :1] > 0.7, np.nan, -2 * (x - 0.5))

    x, values = bfgs(partly_nan, np.array([[0.9, 0.9], [0.1, 0.2]]), np.zeros(2), np.ones(2))
    np.testing.assert_array_equal(x[0], [0.9, 0.9])
    np.testing.assert_allclose(x[1], [0.5, 0.5], atol=1e-3)
    assert np.all(np.isfinite(values))


@examples(25)
@given(seed=st.integers(0, 999))
def test_no_start_ends_lower_than_it_began(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rates, shifts = rng.normal(scale=8, size=(2, 3))

    def multimodal(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.sum(np.sin(rates * x + shifts), axis=1), rates * np.cos(rates * x + shifts)

    starts = rng.random((5, 3))
    x, values = bfgs(multimodal, starts, np.zeros(3), np.ones(3))
    assert np.all(values >= multimodal(starts)[0])
    np.testing.assert_allclose(values, multimodal(x)[0], rtol=1e-12)


def test_starts_are_independent() -> None:
    function, _, _ = quadratic(5, 6)
    starts = np.random.default_rng(0).random((4, 5))
    together, _ = bfgs(function, starts, ZEROS, ONES)
    for i in range(4):
        alone, _ = bfgs(function, starts[i : i + 1], ZEROS, ONES)
        np.testing.assert_allclose(alone[0], together[i], rtol=1e-7, atol=1e-9)


def test_converged_starts_are_not_evaluated_again() -> None:
    function, _, centre = quadratic(5, 6)
    sizes = []

    def counted(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        sizes.append(len(x))
        return function(x)

    inside = np.clip(centre, 0.1, 0.9)
    bfgs(counted, np.stack([inside, np.zeros(5)]), np.minimum(inside, 0.0), np.ones(5), calls=1000)
    assert len(sizes) < 200
    assert sizes[-1] == 1


@pytest.mark.parametrize("tiny", [1e-10, 1e-200])
def test_functions_of_tiny_values_are_maximized(tiny: float) -> None:
    """An acquisition function may be tiny everywhere."""
    function, _, _ = quadratic(3, 5, condition=3.0)

    def small(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value, gradient = function(x)
        return tiny * value, tiny * gradient

    starts = np.full((1, 3), 0.5)
    _, values = bfgs(small, starts, np.zeros(3), np.ones(3), tolerance=0.0, calls=200)
    expected = by_scipy(function, starts[0], np.zeros(3), np.ones(3))
    assert values[0] / tiny == pytest.approx(expected, rel=1e-4, abs=1e-4)


def test_arguments_are_not_changed() -> None:
    function, _, _ = quadratic(5, 6)
    arrays = np.full((2, 5), 0.4), ZEROS.copy(), ONES.copy()
    before = [each.copy() for each in arrays]
    bfgs(function, *arrays)
    for one, other in zip(before, arrays, strict=True):
        np.testing.assert_array_equal(one, other)


def test_arrays_of_the_function_are_not_changed() -> None:
    function, _, _ = quadratic(5, 6)
    given, returned = [], []

    def remembering(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        pair = function(x)
        given.append((x, x.copy()))
        returned.append((pair, tuple(each.copy() for each in pair)))
        return pair

    bfgs(remembering, np.full((2, 5), 0.4), ZEROS, ONES)
    for now, then in given:
        np.testing.assert_array_equal(now, then)
    for now, then in returned:
        np.testing.assert_array_equal(now[0], then[0])
        np.testing.assert_array_equal(now[1], then[1])


def test_pairs_and_dense_matrix_give_the_same_products() -> None:
    """Also where a start cannot use a step, and for a subset of the starts."""
    rng = np.random.default_rng(1)
    dense, pairs = (
        DenseInverse(np.zeros((3, 7, 7)), np.zeros(3, dtype=bool)),
        PairInverse((), (), (), np.zeros(3), np.zeros(3, bool)),
    )
    _, matrix, _ = quadratic(7, 0)
    for number in range(12):
        step = rng.normal(size=(3, 7)) * (np.arange(3) != number % 4)[:, None]
        dense, pairs = (one.updated(step, step @ matrix) for one in (dense, pairs))
    kept = np.array([True, False, True])
    vectors = rng.normal(size=(2, 7))
    np.testing.assert_array_equal(dense.rows(kept).curved, pairs.rows(kept).curved)
    np.testing.assert_allclose(pairs.rows(kept).times(vectors), dense.rows(kept).times(vectors), rtol=1e-9, atol=1e-12)


def test_with_hundreds_of_coordinates_the_dense_matrix_is_not_stored() -> None:
    width = 600
    assert isinstance(initial(4, width), PairInverse)
    function, _, _ = quadratic(width, 0, 30.0)
    starts = np.random.default_rng(0).random((2, width))
    _, values = bfgs(function, starts, np.zeros(width), np.ones(width), calls=300, tolerance=1e-12)
    expected = by_scipy(function, starts[0], np.zeros(width), np.ones(width))
    np.testing.assert_allclose(values, expected, rtol=1e-5, atol=1e-6)
