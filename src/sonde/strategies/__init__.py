"""A strategy is a function of history: ``suggest(space, history, count, key)``.

Whatever it remembers is derived from the history and never the only copy. ``port`` is the interface, ``novelty`` keeps
suggestions feasible and distinct, ``registry`` finds a strategy by name, ``auto`` chooses one.

``gp`` goes from a history to a ``belief``, from that to an acquisition (``acquire``), and searches it (``search``,
``pools``) over the space as a ``field``, in the ``region`` where it looks.
"""

from sonde.strategies.port import Strategy
from sonde.strategies.registry import record, resolve_strategy

__all__ = ["Strategy", "record", "resolve_strategy"]
