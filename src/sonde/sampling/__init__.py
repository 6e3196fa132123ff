"""Reproducible random numbers: keyed streams, and the Sobol sequence at any index.

A number depends on the key or index that is asked for, never on what was drawn before or in which process.
"""

from sonde.sampling.key import Key, Stream
from sonde.sampling.sobol import sobol

__all__ = ["Key", "Stream", "sobol"]
