from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.space.spaces import examples, ints, lattice_floats, linear_floats, log_floats, parameters

from sonde.space import Axis, Bool, Categorical, Float, Int, Parameter


@examples(300)
@given(st.one_of(linear_floats(), log_floats()), st.data())
def test_continuous_numbers_come_back_to_twelve_digits(parameter: Float, data: st.DataObject) -> None:
    axis = parameter.axis
    numbers = np.array(data.draw(st.lists(st.floats(axis.low, axis.high), min_size=1, max_size=10)))
    units = axis.to_unit(numbers)
    assert np.all((units >= 0) & (units <= 1))
    scale = numbers if axis.log else max(abs(axis.low), abs(axis.high))
    assert np.all(np.abs(axis.from_unit(units) - numbers) <= 1e-12 * scale)


@examples(300)
@given(st.one_of(lattice_floats(), ints()), st.data())
def test_lattice_points_come_back_exactly_and_lie_inside_the_unit_interval(
    parameter: Parameter, data: st.DataObject
) -> None:
    axis = parameter.axis
    index = data.draw(st.lists(st.integers(0, int(axis.size) - 1), min_size=1, max_size=10))
    numbers = [axis.point(position) for position in index]
    units = axis.to_unit(numbers)
    assert np.all((units > 0) & (units < 1))
    assert axis.from_unit(units).tolist() == numbers
    assert axis.project(numbers).tolist() == numbers
    assert [axis.nearest(number) for number in numbers] == numbers


@examples(200)
@given(parameters(), st.lists(st.floats(0.0, 1.0), min_size=1, max_size=20))
def test_every_unit_stands_for_a_number_of_the_axis(parameter: Parameter, units: list[float]) -> None:
    numbers = parameter.axis.from_unit(units)
    assert all(parameter.axis.contains(number) for number in numbers.tolist())
    assert np.array_equal(parameter.axis.project(numbers), numbers)


@pytest.mark.parametrize("axis", [Axis(1.0, 8.0), Axis(1.0, 8.0, log=True), Axis(1.0, 8.0, True, 1.0), Axis(2.0, 2.0)])
def test_the_unit_interval_goes_from_end_to_end_in_order(axis: Axis) -> None:
    numbers = axis.from_unit(np.linspace(0, 1, 1001))
    np.testing.assert_allclose(numbers[[0, -1]], [axis.low, axis.high], rtol=1e-14)
    assert np.all(np.diff(numbers) >= 0)


@pytest.mark.parametrize(
    ("axis", "points"),
    [
        (Axis(0.0, 1.0, step=0.1), [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]),
        (Axis(0.1, 0.75, step=0.2), [0.1, 0.3, 0.5, 0.7]),
        (Axis(-0.3, 0.3, step=0.1), [-0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3]),
        (Axis(1e-22, 5e-22, step=1e-22), [1e-22, 2e-22, 3e-22, 4e-22, 5e-22]),
        (Axis(7e14 + 0.1, 7e14 + 1.1, step=0.5), [700000000000000.1, 700000000000000.6, 700000000000001.1]),
        (Axis(0.7, 3.7, step=1.0, log=True), [0.7, 1.7, 2.7, 3.7]),
        (Axis(5.0, 5.0), [5.0]),
        (Axis(0.1, 0.1, log=True), [0.1]),
        (Axis(-0.0, 2.0, step=1.0), [0.0, 1.0, 2.0]),
    ],
)
def test_lattice_points_are_the_decimals_that_the_user_wrote(axis: Axis, points: list[float]) -> None:
    assert axis.size == len(points)
    assert [axis.point(index) for index in range(len(points))] == points
    assert axis.from_unit(axis.to_unit(points)).tolist() == points


@examples(300)
@given(lattice_floats(), st.data())
def test_no_lattice_point_is_minus_zero_and_both_ways_to_it_agree(parameter: Float, data: st.DataObject) -> None:
    axis = parameter.axis
    numbers = [axis.point(index) for index in range(int(axis.size))]
    projected = axis.project(np.array(numbers) + data.draw(st.floats(-0.4, 0.4)) * (parameter.step or 0))
    assert projected.tobytes() == np.array(numbers).tobytes()
    assert all(math.copysign(1.0, number) > 0 for number in numbers if number == 0)


def test_tiny_lattices_beyond_exact_powers_of_ten_agree_too() -> None:
    axis = Axis(1e-30, 1e-29, step=1e-30)
    numbers = [axis.point(index) for index in range(10)]
    assert axis.from_unit((np.arange(10) + 0.5) / 10).tolist() == numbers
    assert all(axis.contains(number) for number in (3e-30, 7e-30, 1e-29, *numbers))


@pytest.mark.parametrize(
    ("axis", "inside", "outside"),
    [
        (Axis(0.0, 1.0), [0.0, 0.5, 1.0], [-1e-9, 1.1, math.nan, math.inf, -math.inf]),
        (Axis(0.0, 1.0, step=0.1), [0.3, 0.1 + 0.2, 1.0], [0.35, 1.1, -0.1, math.nan, math.inf, -math.inf, 1e308]),
        (Axis(0.0, 1.0, step=0.3), [0.9], [1.0]),
        (Axis(-1e308, 0.0, step=1e307), [-1e307], [1.7e308]),
        (Axis(0.0, 1.0, step=1e-5), [0.00001], [1e308, -1e308]),
        (Axis(4.0, 4.0), [4.0], [4.1, 3.0, math.nan]),
    ],
)
def test_contains(axis: Axis, inside: list[float], outside: list[float]) -> None:
    assert [axis.contains(number) for number in inside] == [True] * len(inside)
    assert [axis.contains(number) for number in outside] == [False] * len(outside)


@pytest.mark.parametrize(
    "parameter",
    [
        Int(3, 9), Int(-7, 7, step=2), Int(10**12, 10**12 + 4), Int(0, 9, step=4), Float(0.1, 0.7, step=0.1),
        Float(-1.0, 1.0, step=0.75), Categorical(list("abcde")), Bool(),
    ],
)  # fmt: skip
def test_lattice_points_have_intervals_of_equal_length(parameter: Parameter) -> None:
    size = int(parameter.size)
    grid = (np.arange(1000 * size) + 0.5) / (1000 * size)
    _, counts = np.unique(parameter.axis.from_unit(grid), return_counts=True)
    assert counts.tolist() == [1000] * size
    drawn = np.unique(parameter.axis.from_unit(np.random.default_rng(1).random(20_000)), return_counts=True)[1]
    assert stats.chisquare(drawn).pvalue > 1e-3


@pytest.mark.parametrize("parameter", [Int(1, 12, log=True), Int(5, 50, log=True, step=5), Int(1, 9, log=True, step=4)])
def test_draws_of_a_log_lattice_are_log_uniform(parameter: Int) -> None:
    points = np.array([parameter.axis.point(index) for index in range(int(parameter.size))])
    edges = np.array([*(points - parameter.step / 2), points[-1] + parameter.step / 2])
    edges[0] = max(edges[0], points[0] / 2)  # a step larger than low leaves the lower edge positive
    shares = np.diff(np.log(edges)) / np.log(edges[-1] / edges[0])
    numbers, counts = np.unique(parameter.axis.from_unit(np.random.default_rng(2).random(50_000)), return_counts=True)
    assert numbers.tolist() == points.tolist()
    assert stats.chisquare(counts, 50_000 * shares).pvalue > 1e-3


def test_draws_of_a_log_range_are_log_uniform() -> None:
    numbers = Axis(1e-5, 10.0, log=True).from_unit(np.random.default_rng(3).random(20_000))
    assert stats.kstest(np.log10(numbers), stats.uniform(-5, 6).cdf).pvalue > 1e-3


@pytest.mark.parametrize(
    "axis", [Axis(-3.0, 5.0), Axis(1e-4, 10.0, log=True), Axis(1.0, 8.0, step=1.0), Axis(2.0, 64.0, True, 1.0)]
)
def test_derivatives_of_the_scale(axis: Axis) -> None:
    numbers = np.linspace(axis.low, axis.high, 7)[1:-1]
    h = 1e-4 * numbers  # du/dx and d2u/dx2 by differences; x' = 1 / u', x'' = -u'' / u'^3
    below, here, above = axis.to_unit(numbers - h), axis.to_unit(numbers), axis.to_unit(numbers + h)
    first, second = (above - below) / (2 * h), (above - 2 * here + below) / h**2
    np.testing.assert_allclose(axis.derivative(numbers), 1 / first, rtol=1e-6)
    np.testing.assert_allclose(
        axis.second_derivative(numbers), -second / first**3, rtol=1e-4, atol=1e-4 * axis.width**2
    )


@pytest.mark.parametrize(
    ("axis", "size"),
    [
        (Axis(0.0, 1.0), math.inf), (Axis(1.0, 1.0), 1), (Axis(0.1, 0.3, step=0.1), 3), (Axis(0.0, 0.99, step=0.1), 10),
        (Axis(0.0, 1.0, step=5.0), 1), (Axis(1e-300, 1e-300, log=True), 1),
    ],
)  # fmt: skip
def test_size(axis: Axis, size: float) -> None:
    assert axis.size == size
    assert axis.continuous == (size == math.inf)


@pytest.mark.parametrize(
    "arguments",
    [
        {"low": 1e10, "high": math.nextafter(1e10, math.inf), "log": True},
        {"low": 5e-324, "high": 1e-323},
        {"low": 1.0, "high": 1.7976931348623157e308, "log": True},
        {"low": -8e307, "high": 8e307},
        {"low": 1e300, "high": 1e300},
        {"low": 1e-310, "high": 1e-310, "log": True},
    ],
)
def test_ranges_at_the_ends_of_floating_point(arguments: dict[str, Any]) -> None:
    axis = Float(**arguments).axis
    ends = np.array([axis.low, axis.high])
    np.testing.assert_allclose(axis.from_unit(axis.to_unit(ends)), ends, rtol=1e-12)
    assert all(axis.contains(number) for number in axis.from_unit(np.linspace(0, 1, 9)).tolist())


def test_the_ends_of_a_log_range_are_the_bounds() -> None:
    axis = Axis(1e-5, 8.0, log=True)
    assert axis.from_unit([0.0, 1.0]).tolist() == [1e-5, 8.0]
