from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from tests.space.spaces import examples, is_active, spaces, units_of

from sonde.space import Bool, Categorical, Float, Int, Space

Array = NDArray[np.float64]


@examples(100)
@given(spaces(), st.data())
def test_every_point_of_the_unit_cube_stands_for_a_configuration_of_the_space(
    space: Space, data: st.DataObject
) -> None:
    for row in space.codec.decode(np.array(data.draw(units_of(space)))):
        configuration = space.codec.configuration(row)
        assert configuration in space
        assert np.array_equal(space.row(configuration), row, equal_nan=True)
        assert space.validate(configuration) == configuration


@examples(100)
@given(spaces(), st.data())
def test_activity_is_what_the_conditions_say(space: Space, data: st.DataObject) -> None:
    units = np.array(data.draw(units_of(space)))
    rows = space.codec.decode(units)
    for point, row in zip(units, rows, strict=True):
        complete = [axis.from_unit(unit).item() for axis, unit in zip(space.codec.axes, point, strict=True)]
        numbers = dict(zip(space.names, complete, strict=True))
        expected = [is_active(space, name, numbers) for name in space.names]
        assert (~np.isnan(row)).tolist() == expected
        assert list(space.codec.configuration(row)) == [name for name in space.names if is_active(space, name, numbers)]


@examples(100)
@given(spaces(), st.data())
def test_decode_after_encode_is_the_identity(space: Space, data: st.DataObject) -> None:
    rows = space.codec.decode(np.array(data.draw(units_of(space))))
    units, active = space.codec.encode(rows)
    assert np.all((units >= 0) & (units <= 1))
    assert np.array_equal(active, ~np.isnan(rows))
    assert np.all(units[~active] == 0.5)
    assert_same_rows(space, space.codec.decode(units), rows)


@examples(100)
@given(spaces(), st.data())
def test_projection_is_idempotent(space: Space, data: st.DataObject) -> None:
    units = np.array(data.draw(units_of(space)))
    once, active = space.codec.project(units)
    twice, still = space.codec.project(once)
    assert np.array_equal(active, still)
    lattice = [not axis.continuous for axis in space.codec.axes]
    assert np.array_equal(once[:, lattice], twice[:, lattice])
    assert_same_rows(space, space.codec.decode(once), space.codec.decode(units))


def assert_same_rows(space: Space, left: Array, right: Array) -> None:
    for column, axis in enumerate(space.codec.axes):
        scale = np.abs(right[:, column]) if axis.log else max(abs(axis.low), abs(axis.high))
        tolerance = 1e-12 * scale if axis.continuous else 0.0
        here = ~np.isnan(right[:, column])
        assert np.array_equal(here, ~np.isnan(left[:, column]))
        assert np.all((np.abs(left[:, column] - right[:, column]) <= tolerance)[here])


def test_uniform_draws_are_uniform_over_the_configurations_of_a_lattice() -> None:
    space = Space(n=Int(-1, 2), x=Float(0, 1, step=0.5), c=Categorical(["a", (1, 2), None]), b=Bool())
    rows = space.codec.decode(np.random.default_rng(4).random((40_000, 4)))
    configurations, counts = np.unique(rows, axis=0, return_counts=True)
    assert len(configurations) == space.size == 4 * 3 * 3 * 2
    assert stats.chisquare(counts).pvalue > 1e-3


SMOOTH = Space(
    linear=Float(-3, 5),
    kind=Categorical(["a", "b"]),
    rate=Float(1e-3, 10, log=True),
    on=Bool(),
    idle=Float(0, 1, when={"kind": "b"}),
    n=Int(1, 8),
)
NUMERIC = np.array([0, 2])  # linear and rate


def objective(row: Array) -> float:
    return float(np.sin(row[0]) * np.log(row[2]) + row[2] ** 2 + row[0] ** 3)


def gradient(row: Array) -> Array:
    result = np.full(6, math.nan)
    result[0] = np.cos(row[0]) * np.log(row[2]) + 3 * row[0] ** 2
    result[2] = np.sin(row[0]) / row[2] + 2 * row[2]
    return result


def hessian(row: Array) -> Array:
    result = np.full((6, 6), math.nan)
    result[0, 0] = -np.sin(row[0]) * np.log(row[2]) + 6 * row[0]
    result[2, 2] = -np.sin(row[0]) / row[2] ** 2 + 2
    result[0, 2] = result[2, 0] = np.cos(row[0]) / row[2]
    return result


def on_unit_cube(units: Array) -> float:
    return objective(SMOOTH.codec.decode(units[None])[0])


def differences(function: Callable[[Array], float | Array], units: Array, h: float) -> Array:
    steps = h * np.eye(6)[NUMERIC]
    return np.array([(function(units + step) - function(units - step)) / (2 * h) for step in steps])


def test_derivatives_follow_the_chain_rule_through_linear_and_log_scales() -> None:
    points = np.random.default_rng(5).uniform(0.05, 0.95, (20, 6))
    points[:, 1] = 0.2  # kind is "a": idle is inactive
    rows = SMOOTH.codec.decode(points)
    gradients, hessians = np.array([*map(gradient, rows)]), np.array([*map(hessian, rows)])
    first = SMOOTH.codec.unit_gradients(rows, gradients)
    second = SMOOTH.codec.unit_hessians(rows, gradients, hessians)
    block = np.ix_(NUMERIC, NUMERIC)
    for i, units in enumerate(points):
        np.testing.assert_allclose(first[i, NUMERIC], differences(on_unit_cube, units, 1e-5), rtol=1e-5, atol=1e-5)
        numeric = differences(lambda at: differences(on_unit_cube, at, 1e-4), units, 1e-4)
        np.testing.assert_allclose(second[i][block], numeric, rtol=1e-4, atol=1e-3)
    others = np.setdiff1d(np.arange(6), NUMERIC)
    assert np.isnan(first[:, others]).all()
    assert np.isnan(second[:, others]).all()
    assert np.isnan(second[:, :, others]).all()


def test_derivatives_are_missing_for_categories_and_inactive_parameters_only() -> None:
    rows = SMOOTH.codec.decode(np.array([[0.5, 0.2, 0.5, 0.5, 0.5, 0.5], [0.5, 0.8, 0.5, 0.5, 0.5, 0.5]]))
    inactive, active = [False, True, False, True, True, False], [False, True, False, True, False, False]
    assert np.isnan(SMOOTH.codec.derivatives(rows)).tolist() == [inactive, active]
    assert np.isnan(SMOOTH.codec.second_derivatives(rows)).tolist() == [inactive, active]
    np.testing.assert_allclose(SMOOTH.codec.derivatives(rows)[1, [0, 4, 5]], [8.0, 1.0, 8.0])
    np.testing.assert_allclose(SMOOTH.codec.derivatives(rows)[1, 2], rows[1, 2] * math.log(1e4))
    np.testing.assert_allclose(SMOOTH.codec.second_derivatives(rows)[1, 2], rows[1, 2] * math.log(1e4) ** 2)


def test_a_missing_gradient_leaves_a_hessian_known_where_the_scale_is_linear() -> None:
    rows = SMOOTH.codec.decode(np.full((1, 6), 0.4))
    hessian = SMOOTH.codec.unit_hessians(rows, np.full((1, 6), math.nan), np.ones((1, 6, 6)))[0]
    assert hessian[0, 0] == 64.0
    assert math.isnan(hessian[2, 2])
    np.testing.assert_allclose(hessian[0, 2], 8 * rows[0, 2] * math.log(1e4))


def test_no_rows_at_all() -> None:
    units, active = SMOOTH.codec.encode(np.empty((0, 6)))
    assert units.shape == active.shape == SMOOTH.codec.decode(units).shape == (0, 6)
