"""One BLAS thread for the linear algebra of a suggestion.

Matrices of a few hundred rows gain nothing from more threads. On a machine whose cores are busy with the objective, two
BLAS threads that waited for each other made a suggestion a hundred times slower. One thread also gives bitwise equal
results on any number of cores.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from threadpoolctl import ThreadpoolController


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit the BLAS libraries of this process to one thread."""
    with _controller().limit(limits=1, user_api="blas"):
        yield


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401  # its BLAS must be loaded before the controller looks for it

    return ThreadpoolController()
