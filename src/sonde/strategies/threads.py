"""One thread for the linear algebra of a suggestion.

Matrices of a few hundred rows gain nothing from more, and lose much where the objective keeps all cores busy: two BLAS
threads that wait for each other on a loaded machine made a suggestion a hundred times slower. One thread also gives
the same bits on any number of cores.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from threadpoolctl import ThreadpoolController


@contextmanager
def one_thread() -> Iterator[None]:
    """Hold the BLAS libraries of this process to one thread."""
    with _controller().limit(limits=1, user_api="blas"):
        yield


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401  # its BLAS must be loaded to be found

    return ThreadpoolController()
