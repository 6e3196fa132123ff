"""Algorithm 1 of Nishida et al. (2018): draw samples, rank them, step along the natural gradient, adapt.

PBIL, cGA and UMDA, well-known searches over bits, are special cases.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sonde.arrays import Array
from sonde.errors import OptionError
from sonde.igo.families import Bernoulli, Family, Samples, whole_number
from sonde.igo.preference import Preference, centred, truncation, weigh

ADAPTED = ("lambda", "epsilon", None)
ALPHA = 1.5


@dataclass
class Adaptation:
    """Adapts the sample size, or the step size, to the noise of the natural gradient.

    s accumulates whitened gradients, divided by the norm that pure noise would have; gamma is the expected squared norm
    of s under pure noise. Where |s|^2 is above alpha gamma, the signal is strong and the reference sample size lambda_r
    falls; where it is below, lambda_r grows. lambda_r stays between two bounds.
    """

    smallest: float
    largest: float
    alpha: float = ALPHA
    reference: float = field(init=False)  # lambda_r
    gamma: float = field(default=0.0, init=False)
    s: Array | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.reference = self.smallest

    @property
    def growth(self) -> float:
        """lambda_r as a multiple of the smallest size."""
        return self.reference / self.smallest

    def learn(self, whitened: Array, beta: float, noise: float) -> None:
        """Add a whitened gradient; ``noise`` is its expected squared norm without a signal."""
        keep, take = 1 - beta, beta * (2 - beta)
        fresh = math.sqrt(take / noise) * whitened  # eq. (10), with eq. (11) for the noise
        self.s = fresh if self.s is None else keep * self.s + fresh
        self.gamma = keep**2 * self.gamma + take
        grown = self.reference * math.exp(beta * (self.gamma - float(self.s @ self.s) / self.alpha))  # eq. (12)
        self.reference = min(max(grown, self.smallest), self.largest)


class IGO:
    """Natural-gradient search over any product of families; only the family is required.

    Parameters
    ----------
    family
        ``Bernoulli``, ``Categorical``, ``Gaussian`` or a ``Product`` of them.
    adapt
        ``"lambda"``: the number of samples of a generation grows with the noise of the gradient. ``"epsilon"``: the
        step size shrinks instead, and every generation has ``sample_size`` samples. ``None``: neither.
    seed
        Of the random draws; without it every search differs.
    sample_size
        The smallest number of samples of a generation, default 2.
    largest_sample_size
        The largest number, default n, the number of free parameters.
    step_size
        epsilon, default n^-1/2; with ``adapt="epsilon"`` the largest one.
    alpha
        The signal-to-noise ratio that the adaptation aims at, default 1.5.
    preference
        A function from the size of a generation to weights by rank, best first. Default: positive for the best quarter,
        negative for the worst.
    theta
        The initial parameters; default the most uniform distribution.
    """

    def __init__(
        self,
        family: Family,
        *,
        adapt: str | None = "lambda",
        seed: int | None = None,
        sample_size: int = 2,
        largest_sample_size: int | None = None,
        step_size: float | None = None,
        alpha: float = ALPHA,
        preference: Preference = centred,
        theta: ArrayLike | None = None,
    ) -> None:
        if not isinstance(family, Family):
            raise OptionError(f"family must be a Family such as Bernoulli(10), got {family!r}")
        if adapt not in ADAPTED:
            raise OptionError(f"adapt must be 'lambda', 'epsilon' or None, got {adapt!r}")
        self.family, self.adapt = family, adapt
        least = whole_number("sample_size", sample_size, 2)
        most = max(family.free, least) if largest_sample_size is None else largest_sample_size
        self._largest_step = family.free**-0.5 if step_size is None else _in_unit("step_size", step_size)
        self._adaptation = Adaptation(
            least, _at_least("largest_sample_size", most, least), _at_least("alpha", alpha, 1)
        )
        if not callable(preference):
            raise OptionError(f"preference must be a function: from a generation's size to weights, got {preference!r}")
        self._preference = preference
        self._rng = np.random.default_rng(None if seed is None else whole_number("seed", seed, 0))
        self._theta = family.start() if theta is None else self._checked_theta(theta)

    @property
    def theta(self) -> Array:
        """The parameters of the distribution; read-only."""
        view = self._theta.view()
        view.flags.writeable = False
        return view

    @property
    def sample_size(self) -> int:
        """How many samples the next generation should have."""
        adaptation = self._adaptation
        return round(adaptation.reference if self.adapt == "lambda" else adaptation.smallest)

    @property
    def step_size(self) -> float:
        """epsilon: the length of the next step as a multiple of the natural gradient."""
        return self._largest_step / (self._adaptation.growth if self.adapt == "epsilon" else 1.0)

    @property
    def settled(self) -> bool:
        """Whether the distribution has converged: nearly all probability is on one sample and its neighbours."""
        return self.family.settled(self._theta, self.family.free)

    def ask(self, count: int | None = None) -> Samples:
        """Draw the samples (count, columns) of a generation, or ``count`` samples."""
        count = self.sample_size if count is None else whole_number("count", count, 1)
        return self.family.draw(self._theta, self._rng, count)

    def tell(self, samples: ArrayLike, losses: ArrayLike) -> None:
        """Take a step from samples drawn since the last ``tell``. Lower losses are better; NaN and +inf are failures.

        The samples are one generation: at least two, and not necessarily as many as ``ask`` returned.
        """
        x, y = self._checked(samples, losses)
        by_rank = np.asarray(self._preference(len(y)), dtype=float)
        if by_rank.shape != y.shape:
            raise OptionError(
                f"preference({len(y)}) must be {len(y)} weights, best first, got the shape {by_rank.shape}"
            )
        weights = weigh(y, by_rank)
        if weights.min() == weights.max():  # all losses are equal
            return
        variance = float(weights @ weights) / len(y) - (float(weights.sum()) / len(y)) ** 2
        theta, step_size = self._theta, self.step_size
        gradient = self.family.gradient(theta, x, weights)
        self._theta = self.family.moved(theta, step_size * gradient, self.family.free)
        if self.adapt is not None:  # eq. (10): G(theta) at the theta of the gradient
            noise = self.family.free * variance / len(y)
            self._adaptation.learn(self.family.whitened(theta, gradient), step_size, noise)

    def save(self) -> dict[str, Any]:
        """Return the state as arrays and plain numbers, for ``pickle``, ``torch.save`` and the like."""
        adaptation = self._adaptation
        return {
            "theta": self._theta.copy(),
            "reference": adaptation.reference,
            "gamma": adaptation.gamma,
            "s": None if adaptation.s is None else adaptation.s.copy(),
            "rng": self._rng.bit_generator.state,
        }

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Continue from the state that ``save`` returned in a search with the same settings."""
        missing = {"theta", "reference", "gamma", "s", "rng"} - set(saved)
        if missing:
            raise OptionError(f"this is not what save() returned: {', '.join(sorted(missing))} is missing")
        self._theta = self._read_theta(saved["theta"])  # unchanged: the margins would round it
        adaptation = self._adaptation
        adaptation.reference, adaptation.gamma = float(saved["reference"]), float(saved["gamma"])
        adaptation.s = None if saved["s"] is None else np.array(saved["s"], dtype=float)
        self._rng.bit_generator.state = saved["rng"]

    def _checked(self, samples: ArrayLike, losses: ArrayLike) -> tuple[Samples, Array]:
        try:
            x, y = np.asarray(samples), np.asarray(losses, dtype=float)
            x = x if x.dtype == bool else x.astype(float)
        except (TypeError, ValueError) as error:
            raise OptionError(f"samples and losses must be numbers: {error}") from None
        if x.ndim != 2 or x.shape[1] != self.family.width:
            raise OptionError(f"samples must have the shape (count, {self.family.width}), got {x.shape}")
        if y.shape != (len(x),):
            raise OptionError(f"there must be one loss for each of the {len(x)} samples, got the shape {y.shape}")
        if len(x) < 2:
            raise OptionError("tell() compares samples with each other: give at least two")
        self.family.check(x)
        failed = np.isnan(y)
        if failed.any():
            y = np.where(failed, np.inf, y)
        return x, y

    def _checked_theta(self, theta: ArrayLike) -> Array:
        given = self._read_theta(theta)
        with np.errstate(all="ignore"):
            moved = self.family.moved(given, np.zeros_like(given), self.family.free)
        if not np.isfinite(moved).all():
            raise OptionError(f"theta must have a positive probability in every choice, got {theta!r}")
        return moved

    def _read_theta(self, theta: ArrayLike) -> Array:
        start, given = self.family.start(), np.array(theta, dtype=float)
        if given.shape != start.shape or not np.isfinite(given).all():
            raise OptionError(f"theta must be {len(start)} finite numbers, got an array of the shape {given.shape}")
        return given

    def __repr__(self) -> str:
        name, size = type(self).__name__, self.sample_size
        return (
            f"{name}(free={self.family.free}, adapt={self.adapt!r}, sample_size={size}, step_size={self.step_size:.3g})"
        )


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


def _at_least(name: str, given: Any, least: float) -> Any:
    if isinstance(given, bool) or not isinstance(given, int | float | np.number) or not least <= given:
        raise OptionError(f"{name} must be a number of at least {least}, got {given!r}")
    return given


def _in_unit(name: str, given: Any) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float | np.number) or not 0 < given <= 1:
        raise OptionError(f"{name} must be a number above 0 and at most 1, got {given!r}")
    return float(given)
