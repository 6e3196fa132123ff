"""A study asks a strategy for trials, hands them out, and keeps what is told.

``study`` is ask and tell; ``resuming`` finds or creates it; ``asking`` takes turns with other processes;
``heartbeat`` keeps leases alive; ``loop`` runs an objective; ``progress`` shows it; ``export`` writes tables.
"""

from sonde.study.study import Study

__all__ = ["Study"]
