"""Reports become a curve whatever the order in which they come."""

import numpy as np

from sonde.curves import Curve


def test_reports_out_of_order_and_late_are_sorted():
    curve = Curve.of([(3, 0.3), (1, 0.1), (2, 0.2)])
    assert curve.steps.tolist() == [1, 2, 3]
    assert curve.values.tolist() == [0.1, 0.2, 0.3]


def test_of_two_reports_at_a_step_the_last_counts():
    assert Curve.of([(1, 0.5), (2, 0.4), (1, 0.7)]).values.tolist() == [0.7, 0.4]


def test_what_is_not_finite_is_worse_than_any_value():
    curve = Curve.of([(1, np.nan), (2, -np.inf), (3, np.inf), (4, 1.0), (np.nan, 0.0)])
    assert curve.values.tolist() == [np.inf, np.inf, np.inf, 1.0]
    assert curve.last_step == 4


def test_no_reports_are_an_empty_curve():
    curve = Curve.of([])
    assert curve.last_step == -np.inf
    assert np.isnan(curve.at(np.array([1.0]))).all()


def test_between_reports_a_curve_is_linear_and_unknown_outside():
    curve = Curve.of([(1, 1.0), (3, 2.0), (4, np.inf)])
    at = curve.at(np.array([0.0, 1.0, 2.0, 3.0, 3.5, 4.0, 5.0]))
    np.testing.assert_array_equal(at, [np.nan, 1.0, 1.5, 2.0, np.inf, np.inf, np.nan])
