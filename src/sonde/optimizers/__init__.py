"""Maximisers of a function on a box, of many starts at once.

A function takes points (B, D) and returns values (B,) with gradients (B, D); one call for many starts costs little more
than for one, because the model behind it works in matrix products. ``bfgs`` and ``adam`` climb, ``direct`` divides
rectangles, ``starts`` chooses where to begin.
"""

from sonde.optimizers.adam import adam
from sonde.optimizers.bfgs import bfgs
from sonde.optimizers.direct import direct
from sonde.optimizers.starts import choose_starts

__all__ = ["adam", "bfgs", "choose_starts", "direct"]
