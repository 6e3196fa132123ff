"""Normal scores depend on ranks alone."""

import numpy as np

from sonde.curves.scores import NormalScores


def test_scores_do_not_change_under_increasing_transformations():
    values = np.random.default_rng(0).standard_normal(50)
    scores = NormalScores.among(values)(values)
    np.testing.assert_array_equal(NormalScores.among(np.exp(30 * values))(np.exp(30 * values)), scores)


def test_equal_values_have_the_middle_score():
    np.testing.assert_allclose(NormalScores.among(np.ones(7))(np.ones(3)), 0.0, atol=1e-15)


def test_the_inverse_gives_known_values_back_and_stays_within_them():
    values = np.array([1.0, 2.0, 5.0, np.inf])
    scores = NormalScores.among(values)
    np.testing.assert_allclose(scores.inverse(scores(values)), [1.0, 2.0, 5.0, 5.0])
    np.testing.assert_array_equal(scores.inverse(np.array([-9.0, 9.0])), [1.0, 5.0])
