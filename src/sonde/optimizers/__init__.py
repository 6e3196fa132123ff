"""Optimizers that maximize a function on a box, from many starts at once.

A function takes points (B, D) and returns values (B,) with gradients (B, D). One call for many starts costs little more
than for one, because the model behind it works in matrix products. ``bfgs`` and ``adam`` follow gradients, ``direct``
divides rectangles, ``starts`` chooses the starting points.

Symbols: B starts, D coordinates (q points of a batch times d parameters).
"""

from sonde.optimizers.adam import adam
from sonde.optimizers.bfgs import bfgs
from sonde.optimizers.direct import direct
from sonde.optimizers.starts import choose_starts

__all__ = ["adam", "bfgs", "choose_starts", "direct"]
