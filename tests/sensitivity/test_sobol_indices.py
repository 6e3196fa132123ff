"""Sobol' indices against functions whose indices are known in closed form."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest

from sonde.arrays import Array
from sonde.sensitivity.sobol_indices import Design, Effects, effects, interactions, picked, resampled, variances

A, B = 7.0, 0.1  # of Ishigami's function


def ishigami(u: Array) -> Array:
    x = np.pi * (2 * u - 1)
    return np.sin(x[:, 0]) + A * np.sin(x[:, 1]) ** 2 + B * x[:, 2] ** 4 * np.sin(x[:, 0])


def ishigami_indices() -> tuple[list[float], list[float], list[float]]:
    """Return its main effects, total effects, and interactions of (0, 1), (0, 2), (1, 2)."""
    first, second = 0.5 * (1 + B * np.pi**4 / 5) ** 2, A**2 / 8
    both = B**2 * np.pi**8 * (1 / 18 - 1 / 50)
    whole = first + second + both
    main = [first / whole, second / whole, 0.0]
    return main, [main[0] + both / whole, main[1], both / whole], [0.0, both / whole, 0.0]


def g_function(a: Array) -> tuple[Callable[[Array], Array], Array, Array]:
    """Return Sobol's g-function with its main and total effects."""
    parts = 1 / (3 * (1 + a) ** 2)
    whole = np.prod(1 + parts) - 1
    total = parts * np.array([np.prod(np.delete(1 + parts, i)) for i in range(len(a))])
    return lambda u: np.prod((np.abs(4 * u - 2) + a) / (1 + a), axis=1), parts / whole, total / whole


def measured(function: Callable[[Array], Array], dimension: int, count: int = 4096) -> tuple[Effects, Array]:
    design, columns = Design(count, dimension, seed=3), range(dimension)
    pairs = list(combinations(columns, 2))
    single, double = design.single(columns), design.double(pairs)
    values = np.stack([function(points) for points in single])[..., None]
    both = np.array([function(points) for points in double]).reshape(len(pairs), count, 1)
    whole = variances(values)
    return effects(values, whole), interactions(values, both, pairs, whole)


def test_the_indices_of_ishigami_are_those_of_the_closed_form() -> None:
    found, pairs = measured(ishigami, 3)
    main, total, joint = ishigami_indices()
    assert found.main[:, 0] == pytest.approx(main, abs=0.01)
    assert found.total[:, 0] == pytest.approx(total, abs=0.01)
    assert pairs[:, 0] == pytest.approx(joint, abs=0.01)


def test_the_indices_of_the_g_function_are_those_of_the_closed_form() -> None:
    function, main, total = g_function(np.array([0.0, 1.0, 4.5, 9.0]))
    found, _ = measured(function, 4)
    assert found.main[:, 0] == pytest.approx(main, abs=0.02)
    assert found.total[:, 0] == pytest.approx(total, abs=0.02)


def test_an_additive_function_with_one_interaction_has_only_that_one() -> None:
    def function(u: Array) -> Array:
        x = u - 0.5
        return x[:, 0] + 2 * x[:, 1] + 6 * x[:, 1] * x[:, 2]

    whole = 1 / 12 + 4 / 12 + 36 / 144
    found, pairs = measured(function, 4)
    assert found.main[:, 0] == pytest.approx([1 / 12 / whole, 4 / 12 / whole, 0, 0], abs=0.01)
    assert pairs[:, 0] == pytest.approx([0, 0, 0, 36 / 144 / whole, 0, 0], abs=0.01)
    assert found.total[3, 0] == 0.0


def test_a_constant_function_has_no_shares() -> None:
    found, pairs = measured(lambda u: np.ones(len(u)), 2, 16)
    assert np.isnan(found.main).all()
    assert np.isnan(found.total).all()
    assert np.isnan(pairs).all()


def test_the_bootstrap_covers_the_known_index() -> None:
    design = Design(256, 3, seed=1)
    values = np.stack([ishigami(points) for points in design.single(range(3))])[..., None]
    rows = resampled(256, 200, np.random.default_rng(0))
    again = picked(np.repeat(values, 200, axis=2), rows)
    total = effects(again, variances(again)).total
    low, high = np.quantile(total, [0.005, 0.995], axis=1)
    expected = np.array(ishigami_indices()[1])
    assert np.all(low < expected)
    assert np.all(expected < high)
    assert np.all(high - low > 0.02)
