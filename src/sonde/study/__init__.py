"""A study asks a strategy for trials and stores their results.

``study`` has ask and tell; ``identity`` finds or creates a study; ``asking`` coordinates the processes that ask;
``heartbeat`` renews leases; ``loop`` runs an objective; ``progress`` shows the run; ``best`` chooses the best trial;
``export`` writes tables, ``telling`` reads them. All but ``study`` are below it and import it for its type at most.
"""

from sonde.study.study import Study

__all__ = ["Study"]
