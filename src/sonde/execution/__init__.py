"""Executors, which run the objective. The interface is one method, ``submit(function, *arguments)``, whose result has
``done()`` and ``result()``: the pools of ``concurrent.futures``, loky, Dask's ``client.get_executor()`` and many others
have it.

``inline`` runs in this process, ``processes`` in worker processes that may crash, ``task`` is what is submitted.
"""

from sonde.execution.inline import Inline
from sonde.execution.port import Executor, Future
from sonde.execution.processes import Processes
from sonde.execution.task import Report, Task

__all__ = ["Executor", "Future", "Inline", "Processes", "Report", "Task"]
