from __future__ import annotations

import numpy as np

from sonde.sampling import Key, sobol

# NumPy 2.4.6
FROZEN_DRAWS = [2065237868, 2231796867, 1429858196]
FROZEN_SOBOL = [[3293268887, 5350257507], [2671646253, 3851282339]]


def test_a_key_gives_the_same_stream_every_time() -> None:
    np.testing.assert_array_equal(Key(3, 5).rng(1).random(8), Key(3, 5).rng(1).random(8))
    np.testing.assert_array_equal(Key(3, 0).at(5).rng().random(8), Key(3, 5).rng().random(8))
    assert Key(3, 5).at(2) == Key(3, 7)


def test_seeds_trials_and_purposes_have_separate_streams() -> None:
    keys = [Key(seed, number) for seed in (0, 1, 5, 2**40, 2**63 - 1) for number in range(20)]
    streams = np.array([key.rng(purpose).random(64) for key in keys for purpose in range(5)])
    assert len(np.unique(streams)) == streams.size
    correlations = np.corrcoef(streams)[np.triu_indices(len(streams), 1)]
    assert abs(correlations.mean()) < 0.01
    assert abs(correlations).max() < 0.7  # 64 numbers: a standard deviation of 1/8
    assert abs(streams.mean() - 0.5) < 0.01


def test_a_stream_does_not_depend_on_what_was_drawn_before() -> None:
    key = Key(1, 2)
    first = key.rng().random()
    key.rng(1).random(1000)
    assert key.rng().random() == first


def test_streams_do_not_change_between_versions() -> None:
    """A study continued by another version of Sonde or NumPy must go on with the same suggestions."""
    np.testing.assert_array_equal(Key(42, 7).rng().integers(0, 2**32, 3), FROZEN_DRAWS)
    np.testing.assert_array_equal(sobol(3, 2, 2, seed=42) * 2**33, FROZEN_SOBOL)
