"""Well-known searches over bits as special cases of ``IGO``: PBIL, cGA, UMDA."""

from __future__ import annotations

from typing import Any

from sonde.errors import OptionError
from sonde.igo.families import Bernoulli, whole_number
from sonde.igo.preference import truncation
from sonde.igo.search import IGO


class PBIL(IGO):
    """Parameterless PBIL over n bits: PBIL-lambda, or PBIL-epsilon with ``adapt="epsilon"``.

    ``theta`` has the probability of each bit to be one. Samples are booleans. Further settings are those of ``IGO``.
    """

    def __init__(self, n: int, adapt: str | None = "lambda", *, seed: int | None = None, **settings: Any) -> None:
        super().__init__(Bernoulli(n), adapt=adapt, seed=seed, **settings)


def cga(n: int, *, step_size: float | None = None, seed: int | None = None) -> PBIL:
    """Return the compact genetic algorithm: two samples, a step of 1/n towards the better one."""
    default = 1 / whole_number("the number of bits", n, 1)
    return PBIL(n, adapt=None, step_size=default if step_size is None else step_size, seed=seed)


def umda(n: int, sample_size: int, selected: int, *, seed: int | None = None) -> PBIL:
    """Return the univariate marginal distribution algorithm: theta becomes the mean of the best samples."""
    if whole_number("selected", selected, 1) > sample_size:
        raise OptionError(f"selected must be at most the {sample_size} samples, got {selected}")
    return PBIL(n, adapt=None, sample_size=sample_size, step_size=1.0, preference=truncation(selected), seed=seed)
