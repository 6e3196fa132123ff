from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.space.spaces import examples
from tests.surrogates.models import MIXED, covariance_of, numeric_gradient, units_of

from sonde.space import Categorical, Float, Space
from sonde.surrogates.features import Features


def test_numeric_parameters_are_centred() -> None:
    units = units_of(Features((0, 0, 0)), 5)
    np.testing.assert_array_equal(Features((0, 0, 0))(units), units - 0.5)
    np.testing.assert_array_equal(Features((0, 4))(np.array([[0.0, 0.1], [1.0, 0.1]]))[:, 0], [-0.5, 0.5])


@examples(25)
@given(choices=st.lists(st.integers(1, 6), min_size=1, max_size=5), data=st.data())
def test_squared_distances_count_differing_categories(choices: list[int], data: st.DataObject) -> None:
    features = Features(tuple(choices))
    one, other = (np.array([data.draw(st.integers(0, count - 1)) for count in choices]) for _ in range(2))
    x = features((np.stack([one, other]) + 0.5) / choices)
    assert np.sum((x[0] - x[1]) ** 2) == pytest.approx(np.sum(one != other), abs=1e-15)
    for k in range(len(choices)):
        own = features.groups == k
        assert np.sum((x[0, own] - x[1, own]) ** 2) == pytest.approx(float(one[k] != other[k]), abs=1e-15)


def test_distances_of_very_many_choices_are_close_to_one() -> None:
    features = Features((10_000, 0))
    assert len(features.groups) == 257
    units = np.stack([(np.arange(300) * 33 + 0.5) / 10_000, np.zeros(300)], axis=1)
    x = features(units)
    squares = np.sum((x[:, None] - x[None]) ** 2, axis=-1)
    apart = squares[~np.eye(300, dtype=bool)]
    assert np.all(np.abs(apart - 1) < 0.35)
    assert np.std(apart) < 0.08
    np.testing.assert_array_equal(np.diagonal(squares), 0)
    np.testing.assert_array_equal(features(units + np.array([4e-5, 0.0])), x)  # any unit of an interval is its category


def test_any_unit_of_an_interval_is_its_category() -> None:
    features = Features((3,))
    x = features(np.array([[0.0], [0.33], [0.34], [0.66], [0.67], [1.0]]))
    np.testing.assert_array_equal(x.argmax(axis=1), [0, 0, 1, 1, 2, 2])


def test_columns_belong_to_parameters() -> None:
    np.testing.assert_array_equal(MIXED.groups, [0, 1, 1, 1, 2, 3])
    np.testing.assert_array_equal(MIXED.ordered, [True, False, False, False, True, False])
    assert MIXED(units_of(MIXED, (2, 3))).shape == (2, 3, 6)


@pytest.mark.parametrize("warp", [(), (0.3, 0.0, -0.7, 0.0, -0.4, 0.0, 0.5, 0.0)], ids=["plain", "warped"])
def test_vjp_gives_gradients_of_numeric_parameters_only(warp: tuple[float, ...]) -> None:
    features = replace(MIXED, warp=warp)
    units = units_of(MIXED, (2, 3))
    weights = np.random.default_rng(0).normal(size=(2, 3, 6))
    result = features.vjp(weights * np.cos(features(units)), units)
    expected = numeric_gradient(lambda at: float(np.sum(weights * np.sin(features(at)))), units)
    np.testing.assert_allclose(result, expected, atol=1e-7)
    assert np.all(result[..., [1, 3]] == 0)
    assert np.all(result[..., [0, 2]] != 0)


def test_a_warp_keeps_order_ends_and_categories() -> None:
    warped = Features((0, 3), warp=(-1.5, 9.0, 1.0, 9.0))
    units = np.stack([np.linspace(0, 1, 50), np.full(50, 0.5)], axis=1)
    x = warped(units)
    assert np.all(np.diff(x[:, 0]) >= 0)
    np.testing.assert_allclose(x[[0, -1], 0], [-0.5, 0.5], atol=0.15)
    np.testing.assert_array_equal(x[:, 1:], Features((0, 3))(units)[:, 1:])
    assert np.all(np.isfinite(warped.vjp(np.ones_like(x), units)))
    same = Features((0, 3), warp=(0.0, 0.0, 0.0, 0.0))
    np.testing.assert_allclose(same(units), Features((0, 3))(units), atol=2e-6)


def test_an_inactive_parameter_does_not_matter_among_configurations_without_it() -> None:
    space = Space(
        kind=Categorical(["a", "b", "c"]), x=Float(0, 1),
        deep=Float(0, 1, when={"kind": "b"}), way=Categorical(["u", "v", "w"], when={"kind": "b"}),
    )  # fmt: skip
    features = Features((3, 0, 0, 3))
    without = [{"kind": kind, "x": x} for kind, x in [("a", 0.1), ("c", 0.8), ("a", 0.5)]]
    with_it = {"kind": "b", "x": 0.3, "deep": 0.9, "way": "u"}
    units, active = space.codec.encode(np.array([space.row(each) for each in [*without, with_it]]))
    assert not active[:3, 2:].any()
    x = features(units)
    inactive = np.isin(features.groups, [2, 3])
    np.testing.assert_array_equal(x[:3, inactive], np.broadcast_to(x[0, inactive], (3, inactive.sum())))

    covariance = covariance_of(features)
    other = replace(
        covariance, theta=covariance.theta + np.array([0, 0, 0.7, -0.4, 0, 0])
    )  # other length scales of the inactive parameters
    one, two = covariance.cross(x, x).values, other.cross(x, x).values
    np.testing.assert_allclose(one[:3, :3], two[:3, :3], rtol=1e-14)
    assert np.all(np.abs(one[3, :3] - two[3, :3]) > 1e-3)


def test_features_around_an_origin_are_differences_in_units_of_the_side() -> None:
    plain, origin = Features((0, 3, 0)), (0.2, 0.5, 0.9)
    local = Features((0, 3, 0), origin=origin, side=0.1)
    units = np.array([[0.3, 0.1, 0.9], list(origin)])
    sides = np.where(plain.ordered, 0.1, 1.0)
    np.testing.assert_allclose(local(units), (plain(units) - plain(np.array(origin))) / sides)
    np.testing.assert_allclose(local(units)[1], 0.0)
    gradients = np.ones((2, len(plain.groups)))
    np.testing.assert_allclose(local.vjp(gradients, units)[:, [0, 2]], 10 * plain.vjp(gradients, units)[:, [0, 2]])
