"""Random numbers that depend on what is asked for, never on when or by whom: keys, and the Sobol sequence."""

from sonde.sampling.key import Key
from sonde.sampling.sobol import sobol

__all__ = ["Key", "sobol"]
