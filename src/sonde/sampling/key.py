"""Random streams keyed by (seed, trial number): a study gives the same suggestions on one core or many."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Key(NamedTuple):
    """The key of a random stream: the seed of a study and the number of the first trial to suggest."""

    seed: int
    number: int

    def at(self, offset: int) -> Key:
        """Return the key of the trial ``offset`` numbers later."""
        return Key(self.seed, self.number + offset)

    def rng(self, purpose: int = 0) -> np.random.Generator:
        """Return the generator of this key; different purposes give independent streams."""
        return np.random.default_rng([self.seed, self.number, purpose])
