"""Spaces as products of distribution families."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.space.spaces import examples, spaces, units_of
from tests.strategies.runs import bits

from sonde.igo import Bernoulli, Categorical, Gaussian, Product
from sonde.space import Bool, Float, Int, Space
from sonde.space import Categorical as Choice
from sonde.strategies.natural_gradient.families import Families

MIXED = Space(
    x=Float(-1, 1),
    kind=Choice(["a", "b", "c"]),
    on=Bool(),
    n=Int(1, 50),
    way=Choice(list("pqrstuv")),
    size=Int(4, 8, step=4),
    one=Int(3, 3),
    rate=Float(1e-4, 1, log=True),
    other=Choice([1, 2, 3], when={"on": True}),
)


def product_of(space: Space) -> list[object]:
    family = Families(space).family
    assert isinstance(family, Product)
    return list(family.families)


def test_every_parameter_has_its_family() -> None:
    families = Families(MIXED)
    assert families.bits == [2, 5]  # an Int with two values is a bit as well
    assert families.choices == {3: [1, 8], 7: [4]}
    assert families.numbers == [0, 3, 7]
    two, three, seven, numbers = product_of(MIXED)
    assert isinstance(two, Bernoulli)
    assert two.width == 2
    assert isinstance(three, Categorical)
    assert (three.width, three.categories) == (2, 3)
    assert isinstance(seven, Categorical)
    assert (seven.width, seven.categories) == (1, 7)
    assert isinstance(numbers, Gaussian)
    assert numbers.cells.tolist() == [math.inf, 50, math.inf]


def test_free_parameters_add_up() -> None:
    family = Families(MIXED).family
    assert family is not None
    assert family.free == 2 + 2 * 2 + 6 + 2 * 3
    assert Families(bits(2000)).family.free == 2000  # type: ignore[union-attr]


def test_parameters_with_one_value_have_no_family() -> None:
    assert Families(Space(n=Int(3, 3), c=Choice(["only"]), x=Float(0.5, 0.5))).family is None


def test_the_narrowest_cell_counts_on_a_log_scale() -> None:
    gaussian = product_of(Space(n=Int(1, 100, log=True)))[0]
    assert isinstance(gaussian, Gaussian)
    axis = Int(1, 100, log=True).axis
    smallest = 1 / gaussian.cells[0]
    assert smallest <= float(axis.to_unit(100) - axis.to_unit(99)) <= 1.01 * smallest


@pytest.mark.parametrize("high", [3, 10, 1000, 2**39])
def test_every_point_of_a_log_lattice_can_be_drawn(high: int) -> None:
    families = Families(Space(n=Int(1, high, log=True)))
    assert families.family is not None
    drawn = families.family.draw(families.family.start(), np.random.default_rng(0), 5000)
    points = {int(n) for n in families.complete_rows(drawn)[:, 0]}
    assert {1, 2, 3} <= points
    assert points == set(range(1, high + 1)) if high <= 10 else max(points) == high


@examples(80)
@given(st.data())
def test_rows_to_samples_and_back_is_the_identity(data: st.DataObject) -> None:
    space = data.draw(spaces())
    rows = space.codec.decode(np.array(data.draw(units_of(space))))
    families = Families(space)
    if families.family is None:
        return
    samples = families.samples(rows)
    families.family.check(samples)
    back = families.complete_rows(np.where(np.isnan(samples), 0.0, samples))
    active = ~np.isnan(rows)
    for column, axis in enumerate(families.axes):
        here, there = rows[active[:, column], column], back[active[:, column], column]
        if axis.continuous:
            np.testing.assert_allclose(axis.to_unit(there), axis.to_unit(here), atol=1e-9)
        else:
            np.testing.assert_array_equal(there, here)


@examples(80)
@given(st.data())
def test_draws_are_in_the_space(data: st.DataObject) -> None:
    space = data.draw(spaces())
    families = Families(space)
    if families.family is None:
        return
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    complete = families.complete_rows(np.asarray(families.family.draw(families.family.start(), rng, 5), dtype=float))
    assert not np.isnan(complete).any()
    for row in space.codec.deactivate(complete):
        configuration = space.codec.configuration(row)
        assert configuration in space
        np.testing.assert_array_equal(space.row(configuration), row)


def test_inactive_parameters_are_nan_in_samples() -> None:
    rows = np.array(
        [MIXED.row({"x": 0.0, "kind": "c", "on": False, "n": 50, "way": "v", "size": 8, "one": 3, "rate": 1})]
    )
    samples = Families(MIXED).samples(rows)
    assert samples[0, :5].tolist()[:3] == [0.0, 1.0, 2.0]
    assert np.isnan(samples[0, 3])
    assert samples[0, 4] == 6.0
    np.testing.assert_allclose(samples[0, 5:], [0.5, 0.99, 1.0])
