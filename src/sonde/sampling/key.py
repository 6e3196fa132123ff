"""Random streams keyed by (seed, trial number): a study gives the same suggestions on one core or many."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np


class Stream(IntEnum):
    """The random streams of a key: each purpose has its own, and all of them are independent."""

    UNIFORM = 0  # points of the strategy ``random``
    BEYOND_SOBOL = 1  # coordinates beyond the dimensions of the Sobol sequence
    SCRAMBLE = 2  # of the Sobol sequence
    REDRAW = 3  # in place of a suggestion that was tried before
    PICK = 4  # of what is left of a finite space
    CANDIDATES = 5  # of an acquisition function's maximum
    ASCENT_STARTS = 6
    BATCHES = 8  # candidates of a joint search
    BATCH_STARTS = 9
    REPRESENTERS = 11  # of entropy search
    HYPERPARAMETERS = 12
    LOCAL_STARTS = 13  # of local searches
    THOMPSON = 14
    NEIGHBOURS = 15  # of a point chosen for a large batch
    PENDING_FAILURES = 16  # whether pending points will fail
    GENERATION = 21  # samples of the natural gradient
    EXTRA_SAMPLES = 22
    SWEEP = 23  # order of the moves of a bit-flip search
    PERTURBATION = 24
    INACTIVE = 25  # values of inactive parameters
    CHOICE = 26  # between the distribution and the local search
    ANY_CONFIGURATION = 27
    WEIGHTS = 28  # of a scalarisation of several objectives
    CURVES = 29  # which trials run to their end whatever their learning curves


class Key(NamedTuple):
    """The key of a random stream: the seed of a study and the number of the first trial to suggest."""

    seed: int
    number: int

    def at(self, offset: int) -> Key:
        """Return the key of the trial ``offset`` numbers later."""
        return Key(self.seed, self.number + offset)

    def rng(self, stream: int = Stream.UNIFORM) -> np.random.Generator:
        """Return the generator of a stream; streams are independent of each other."""
        return np.random.default_rng([self.seed, self.number, stream])
