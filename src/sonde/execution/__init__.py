"""Executors, which run the objective. The interface is one method, ``submit(function, *arguments)``, whose result has
``done()`` and ``result()``: the pools of ``concurrent.futures``, loky, Dask's ``client.get_executor()`` and many others
have it.

``Inline`` runs in this process, ``Processes`` in worker processes that may crash; a ``Task`` is what is submitted.
"""

from sonde.execution.port import Executor, Future, Inline
from sonde.execution.processes import Processes
from sonde.execution.task import Report, Task

__all__ = ["Executor", "Future", "Inline", "Processes", "Report", "Task"]
