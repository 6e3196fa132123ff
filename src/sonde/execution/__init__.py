"""Executors, which run the objective. The interface is one method, ``submit(function, *arguments)``, whose result has
``done()`` and ``result()``: the pools of ``concurrent.futures``, loky, submitit and many others have it.

``Inline`` runs in this process, ``Processes`` in worker processes that may crash, ``DaskExecutor`` and ``RayExecutor``
on clusters; a ``Task`` is what is submitted.
"""

from typing import TYPE_CHECKING, Any

from sonde.execution.port import Executor, Future, Inline, adapted
from sonde.execution.processes import Processes
from sonde.execution.ray import RayExecutor
from sonde.execution.task import Report, Task
from sonde.extras import require

if TYPE_CHECKING:
    from sonde.execution.dask import DaskExecutor

__all__ = ["DaskExecutor", "Executor", "Future", "Inline", "Processes", "RayExecutor", "Report", "Task", "adapted"]


def __getattr__(name: str) -> Any:
    """Load Dask on first use."""
    if name != "DaskExecutor":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    require("distributed", extra="dask")
    from sonde.execution.dask import DaskExecutor

    return DaskExecutor
