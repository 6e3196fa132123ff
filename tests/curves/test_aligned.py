"""Curves of different steps, on one grid."""

import numpy as np

from sonde.curves.aligned import LONGEST_GRID, AlignedCurves
from sonde.curves.curve import Curve


def test_placed_curves_are_those_interpolated_one_by_one():
    rng = np.random.default_rng(0)
    curves = [Curve.of([]), Curve.of([(7, 1.0)])]
    for _ in range(30):
        steps = rng.choice(20, size=rng.integers(1, 20), replace=False)
        curves.append(Curve.of(zip(steps, rng.standard_normal(len(steps)), strict=True)))
    aligned = AlignedCurves.of(curves)
    np.testing.assert_array_equal(aligned.values, [curve.at(aligned.grid) for curve in curves])
    for curve, best in zip(curves[2:], aligned.best[2:], strict=True):
        assert np.nanmin(best) == curve.values.min()


def test_between_steps_of_the_grid_values_are_linear_and_inf_stays_inf():
    aligned = AlignedCurves.of(
        [Curve.of([(1, 1.0), (2, 3.0)]), Curve.of([(1, 1.0), (2, np.inf)]), Curve.of([(1, 0.0)])]
    )
    np.testing.assert_array_equal(aligned.at(1.5), [[2.0, 1.0], [np.inf, 1.0], [np.nan, np.nan]])
    np.testing.assert_array_equal(aligned.at(1.0)[:, 0], [1.0, 1.0, 0.0])


def test_beyond_every_curve_nothing_is_known():
    aligned = AlignedCurves.of([Curve.of([(1, 1.0), (2, 3.0)])])
    assert np.isnan(aligned.at(3.0)).all()
    assert np.isnan(aligned.at(0.5)).all()


def test_a_grid_has_a_largest_size():
    curves = [Curve.of([(i + 0.01 * j, float(i)) for i in range(100)]) for j in range(5)]
    aligned = AlignedCurves.of(curves)
    assert len(aligned.grid) == LONGEST_GRID
    assert np.isfinite(aligned.at(50.0)[:, 0]).sum() == 5
