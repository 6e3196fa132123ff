"""Hyperparameters of a process with gradients: of all results along a growing history, or of some near a point.

``WarmStartedGradientFits`` is as ``chain``: a pure function of the data with warm starts, fits at checkpoints, each from where the
one before ended; what the model is made of, the output scale and the trend (see ``trends``; with a quadratic one it is
the kernel "Q" of Ament & Gomes 2022, section 4.3), is chosen there by evidence. Fits are to as many points as make a
matrix of ``FITTED`` rows; forms are compared on fewer still. Curvatures are not fitted to.

``fit_near`` is for a few points around the best one, at every step: one lengthscale for all parameters, and no noise
unless it is asked for; in a wide space values are in units of what gradients say they change by, which is much more than
they differ. Among points that are farther apart than the ripples of a function, noise explains everything, and a
search that believes it does not follow the slope that it is shown.

Every climb has a start of its own from the gradients: Var(df / dx_c) = -2 f'(0) s / l_c^2, so their mean squares tell the
lengthscales. A climb from smooth functions alone ends where rough ones are taken for noise.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from sonde.surrogates.exact.fitting import first_guess
from sonde.surrogates.gradient.covariance import GradientCovariance
from sonde.surrogates.gradient.gp import GradientPosterior
from sonde.surrogates.gradient.iterative import IterativePosterior
from sonde.surrogates.gradient.marginal_likelihood import Evidence, noise_of
from sonde.surrogates.gradient.observations import ObservationLayout
from sonde.surrogates.gradient.profiles import PROFILES
from sonde.surrogates.gradient.trends import TRENDS
from sonde.surrogates.outputs import KAPPAS, LARGEST, Scale
from sonde.surrogates.priors import Prior, default_prior
from sonde.surrogates.refits import checkpoint

Array = NDArray[np.float64]
Groups = NDArray[np.intp]
Mask = NDArray[np.bool_]

COMPARED, FITTED = 150, 300  # rows of the matrix
KEPT = 64  # fits remembered
STEEP = 1e6  # a slope on the model's scale beyond this is not one to learn from
EXACT = np.log(1e-4)  # what is left of noise where there is none: room for rounding


class Form(NamedTuple):
    """What a model is made of."""

    kappa: float | None  # the output scale, see ``outputs``
    trend: str | None  # the prior of the mean, see ``trends``


SHAPES = (None, *TRENDS)
FORMS = tuple(Form(*each) for each in product(KAPPAS, SHAPES))


class Seen(NamedTuple):
    """Features (n, p), values (n,), lower is better, told deviations (n,), gradients (n, p) and Hessians (n, p, p).

    NaN where nothing was told; no Hessians at all is None.
    """

    x: Array
    values: Array
    deviations: Array
    gradients: Array
    hessians: Array | None = None

    def rows(self, chosen: NDArray[np.intp] | slice) -> Seen:
        """Return some of them."""
        return Seen(*(None if column is None else column[chosen] for column in self))  # type: ignore[arg-type]

    def trusting(self, trusted: Mask) -> Seen:
        """Return them without the derivatives of points (n,) that are not trusted."""
        hessians = None if self.hessians is None else np.where(trusted[:, None, None], self.hessians, np.nan)
        return self._replace(gradients=np.where(trusted[:, None], self.gradients, np.nan), hessians=hessians)

    def thinned(self, rows: int) -> Seen:
        """Return as many of them, evenly chosen and the last one in, as make a matrix of about so many rows."""
        count = min(len(self.values), max(4, int(rows / self.width)))
        return self.rows(np.unique(np.linspace(0, len(self.values) - 1, count).astype(np.intp)))

    @property
    def reach(self) -> float:
        """How much values change over the distance between these points, as their gradients say."""
        largest = float(np.nanmax(np.abs(self.gradients), initial=0.0))
        if not 0 < largest < LARGEST:
            return 0.0
        gradients = np.sqrt(np.nansum((self.gradients / largest) ** 2, axis=1))
        apart = np.sqrt(np.mean(np.sum((self.x - self.x.mean(axis=0)) ** 2, axis=1)))
        return min(float(np.median(gradients) * apart), LARGEST / largest) * largest

    @property
    def width(self) -> float:
        """How many rows of a matrix a point has, on average: its value and its gradients."""
        return 1 + float(np.isfinite(self.gradients).sum()) / len(self.values)

    def digest(self) -> bytes:
        """Return a name of these data."""
        return blake2b(b"".join(column.tobytes() for column in self if column is not None)).digest()


class Observed(NamedTuple):
    """Observations on the model's scale: where, y (N,), told noise variances (n,), mean squares of gradients (p,)."""

    sites: ObservationLayout
    y: Array
    told: Array
    power: Array


def observed(seen: Seen, scale: Scale, *, curvatures: bool = False, hidden: int = 0) -> Observed:
    """Return values, gradients and, where they are asked for, curvatures on the model's scale."""
    slope = scale.slope(seen.values)[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        gradients = slope * seen.gradients
        usable = np.abs(gradients) < STEEP  # not of NaN
    squares = np.sum(np.square(gradients, where=usable, out=np.zeros_like(gradients)), axis=0)
    power = np.maximum(squares / np.maximum(usable.sum(axis=0), 1), 1e-12)
    if hidden:  # turned axes have no units of their own
        told = usable.any(axis=1).sum() * (usable.any(axis=0).sum() + hidden)
        power = np.full_like(power, max(float(squares.sum()) / max(int(told), 1), 1e-12))
    bends, bent = np.empty((3, 0), dtype=np.intp), np.empty(0)
    if curvatures and seen.hessians is not None:
        bends, bent = _curvatures(seen.hessians, slope, gradients, scale.curvature, usable)
    sites = ObservationLayout(seen.x, np.stack(np.nonzero(usable)), bends)
    y = np.concatenate([scale(seen.values), gradients[usable], bent])
    return Observed(sites, y, scale.noise(seen.values, seen.deviations), power)


def _curvatures(
    hessians: Array, slope: Array, gradients: Array, bend: float, usable: Mask
) -> tuple[NDArray[np.intp], Array]:
    """Return places and entries of the upper triangles of Hessians, of points whose gradients are known.

    With t the model's scale, the Hessian of t(f) is t' H + t'' g g^T, and t'' = ``bend`` t'^2.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        bent = slope[:, :, None] * hessians + bend * gradients[:, :, None] * gradients[:, None, :]
        good = (np.abs(bent) < STEEP**2) & usable[:, :, None] & usable[:, None, :]
    good &= np.triu(np.ones(hessians.shape[1:], dtype=bool))
    return np.stack(np.nonzero(good)), bent[good]


@dataclass(frozen=True)
class GradientFit:
    """A covariance and output scale, and their log posterior."""

    covariance: GradientCovariance
    kappa: float | None
    score: float
    least: float = 0.0  # deviation of the output scale

    @property
    def form(self) -> Form:
        """What the model is made of."""
        return Form(self.kappa, self.covariance.shape if self.covariance.quadratic else None)

    def posterior(self, seen: Seen) -> tuple[Scale, GradientPosterior]:
        """Return the output scale of some results, and the belief after them."""
        scale = Scale.of(seen.values, self.kappa, least=self.least)
        smooth = PROFILES[self.covariance.profile].smooth
        data = observed(seen, scale, curvatures=smooth > 1, hidden=self.covariance.hidden)
        return scale, GradientPosterior.after(self.covariance, data.sites, data.y, self._noise(data))

    def posterior_of_many(self, seen: Seen, rows: NDArray[np.intp], few: Seen) -> tuple[Scale, IterativePosterior]:
        """Return the belief after results without Hessians, of which a ``few``, those of rows, make the matrix."""
        scale = Scale.of(seen.values, self.kappa, least=self.least)
        small, data = observed(few, scale), observed(seen, scale)
        posterior = GradientPosterior.after(self.covariance, small.sites, small.y, self._noise(small))
        return scale, IterativePosterior.after(posterior, rows, data.sites, data.y, self._noise(data))

    def _noise(self, data: Observed) -> Array:
        return noise_of(self.covariance, data.sites, data.told, data.power)


@dataclass(frozen=True)
class _Climber:
    """Climbs the log posterior of theta, given data."""

    groups: Groups
    seen: Seen
    profile: str
    near: bool = False  # to one another: one lengthscale for all parameters, and no noise
    hidden: int = 0  # axes along which all gradients are zero, see ``span``
    least: float = 0.0  # deviation of the output scale

    def climb(self, form: Form, start: GradientCovariance | None = None, *, iterations: int) -> GradientFit:
        """Return one form's fit, from ``start``; None starts from what the gradients tell."""
        scale = Scale.of(self.seen.values, form.kappa, least=self.least)
        data = observed(self.seen, scale, hidden=self.hidden)
        evidence = Evidence(*data)
        trended = form.trend is not None
        prior = self._prior(trended)
        size = int(self.groups[-1]) + 1
        free = size if self.near else 1  # how many entries of theta the first free one stands for

        def at(few: Array) -> GradientCovariance:
            theta = np.concatenate([np.full(free, few[0]), few[1:]])
            return GradientCovariance(self.groups, theta, trended, self.profile, form.trend or "quadratic", self.hidden)

        def loss(few: Array) -> tuple[float, Array]:
            covariance = at(few)
            value, gradient = evidence(covariance)
            density, slope = prior.log_density(covariance.theta)
            total = gradient + slope
            return -value - density, -np.concatenate([[total[:free].sum()], total[free:]])

        begin = prior.clip(self._begin(trended, start, data.power))
        found = minimize(
            loss, np.concatenate([[begin[:free].mean()], begin[free:]]), jac=True, method="L-BFGS-B",
            bounds=list(zip(prior.low[free - 1 :], prior.high[free - 1 :], strict=True)),
            options={"maxiter": iterations, "ftol": 1e-6, "gtol": 1e-3},
        )  # fmt: skip
        # a logarithm of the values changes the units of each value and of each slope
        jacobian = float(np.log(np.abs(scale.slope(self.seen.values)))[data.sites.points].sum())
        return GradientFit(at(np.asarray(found.x)), form.kappa, jacobian - float(found.fun), self.least)

    def _prior(self, trended: bool) -> Prior:
        size = int(self.groups[-1]) + 1
        prior = default_prior(size, quadratic=trended, gradients=True)
        if self.hidden:
            location = prior.location.copy()
            location[:size] += 0.5 * np.log(self.hidden + len(self.groups) - 1)
            prior = replace(prior, location=location)
        if not self.near:
            return prior
        high = prior.high.copy()
        high[[size + 1, -1]] = EXACT
        return replace(prior, high=high)

    def _begin(self, trended: bool, start: GradientCovariance | None, power: Array) -> Array:
        """Return where a climb begins: theta of ``start``, with or without what only a trend has."""
        guess = np.append(first_guess(self.groups, quadratic=trended), np.log(1e-4))
        size = int(self.groups[-1]) + 1
        if start is None:
            steep = np.zeros(size)
            np.maximum.at(steep, self.groups, power)
            flat = -2 * float(PROFILES[self.profile].derivatives(np.zeros(()), 1)[1])
            told = steep > 1e-12
            guess[:size][told] = 0.5 * np.log(flat / steep[told])
            return guess
        guess[: size + 2], guess[-1] = start.theta[: size + 2], start.theta[-1]
        if trended and start.quadratic:
            guess[size + 2] = start.theta[size + 2]
        return guess


def smooth_start(groups: Groups, profile: str) -> GradientCovariance:
    """Return where a climb begins that takes the function for a smooth one."""
    return GradientCovariance(groups, np.append(first_guess(groups), np.log(1e-4)), False, profile)


def fit_near(
    groups: Groups, seen: Seen, profile: str, shapes: tuple[str | None, ...], *, hidden: int = 0
) -> GradientFit:
    """Return the best fit to a few points: of every trend from rough functions, without one also from smooth ones.

    A few points cannot tell noise from ripples. Ripples are what a descent must follow, and noise ends it soon.
    """
    climber = _Climber(groups, seen, profile, near=True, hidden=hidden, least=seen.reach if hidden else 0.0)
    fits = [climber.climb(Form(None, shape), iterations=12) for shape in shapes]
    fits.append(climber.climb(Form(None, shapes[0]), smooth_start(groups, profile), iterations=12))
    return max(fits, key=_score)


@dataclass
class WarmStartedGradientFits:
    """Remembers fits by the data they belong to."""

    profile: str = "matern52"
    forms: tuple[Form, ...] = FORMS
    _known: OrderedDict[bytes, GradientFit] = field(default_factory=OrderedDict)

    def fit(self, groups: Groups, seen: Seen) -> GradientFit:
        """Return the fit of a history: that of its last checkpoint; of all of it, before the first one."""
        return self._at(groups, seen, checkpoint(len(seen.values)) or len(seen.values))

    def _at(self, groups: Groups, seen: Seen, count: int) -> GradientFit:
        seen = seen.rows(slice(count))
        key = seen.digest() + groups.tobytes()
        if key not in self._known:
            before = checkpoint(count - 1)
            self._known[key] = self._compared(groups, seen, self._at(groups, seen, before) if before else None)
            while len(self._known) > KEPT:
                self._known.popitem(last=False)
        self._known.move_to_end(key)
        return self._known[key]

    def _compared(self, groups: Groups, seen: Seen, start: GradientFit | None) -> GradientFit:
        """Return the best fit of all forms: a few steps of each, more of the two best ones."""
        few = _Climber(groups, seen.thinned(COMPARED), self.profile)
        many = _Climber(groups, seen.thinned(FITTED), self.profile)
        begin = start.covariance if start else smooth_start(groups, self.profile)
        rough = [few.climb(form, begin, iterations=5) for form in self.forms]
        plain = dict.fromkeys(Form(self.forms[0].kappa, form.trend) for form in self.forms)
        rough += [few.climb(form, iterations=8) for form in plain]  # from what the gradients tell
        fine = [many.climb(each.form, each.covariance, iterations=10) for each in sorted(rough, key=_score)[-2:]]
        return max(fine, key=_score)


def _score(fitted: GradientFit) -> float:
    return fitted.score
