"""The model of ``gp`` with a kernel of the user's: one of ``sonde.kernels``, on some parameters of a space."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from sonde.errors import KernelError, OptionError
from sonde.kernels import Kernel, ValueGradientGram
from sonde.sampling import Key, Stream
from sonde.space import Space
from sonde.strategies.bayesian.exact_model import ANY, DRAWN, DRAWS, EXPLORING, WHOLE, exact_predictions
from sonde.strategies.bayesian.predictions import Predictions
from sonde.strategies.bayesian.surrogate import Surrogate, best_points, best_value, features_of, fit_feasibility
from sonde.surrogates.exact.region import Region
from sonde.surrogates.gaussian_process.estimates import sample
from sonde.surrogates.gaussian_process.posterior import ExactPosterior
from sonde.surrogates.gradient.fitting import Observations
from sonde.surrogates.kernel import evaluation
from sonde.surrogates.kernel.family import DEFAULT, NAMED, Family
from sonde.surrogates.kernel.fitting import KernelFit, KernelFits
from sonde.surrogates.recent import Recent
from sonde.surrogates.refits import REFINED
from sonde.trials import History

CHECKED = 8  # points at which a kernel is checked


class OwnKernel:
    """A kernel of the continuous parameters of a space, or kernels of named ones; others have the default kernel.

    All of them are multiplied. Their parameters are fitted along the history of a study.
    """

    def __init__(self, given: Any) -> None:
        self.given = _checked(given)
        self._fits, self._plain_fits = KernelFits(), KernelFits((None,))
        self._families: Recent[Family] = Recent(4)

    def __str__(self) -> str:
        """The name of the kernel, for an explanation."""
        if isinstance(self.given, str):
            return f"the kernel {self.given}"
        if isinstance(self.given, Kernel):
            return f"your kernel {type(self.given).__name__}"
        return f"your kernels {', '.join(type(kernel).__name__ for kernel in self.given.values())}"

    def family(self, space: Space, *, with_gradients: bool = False) -> Family:
        """Return the kernel for a space, checked at a few points of it."""
        key = f"{space.to_json()} {with_gradients}".encode()
        return self._families.get_or_compute(key, lambda: self._family(space, with_gradients))

    def _family(self, space: Space, with_gradients: bool) -> Family:
        groups = features_of(space).groups
        if isinstance(self.given, str):
            return Family.of([], groups, NAMED[self.given], with_gradients=with_gradients)
        parts = []
        for kernel, names in self._parts(space):
            check(kernel, names, with_gradients=with_gradients)
            columns = [int(np.flatnonzero(groups == space.names.index(name))[0]) for name in names]
            parts.append((kernel, tuple(columns)))
        return Family.of(parts, groups, DEFAULT, with_gradients=with_gradients)

    def _parts(self, space: Space) -> list[tuple[Kernel, tuple[str, ...]]]:
        """Return the kernels, each with the names of its parameters."""
        if isinstance(self.given, Kernel):
            free = tuple(name for name, axis in zip(space.names, space.codec.axes, strict=True) if axis.continuous)
            if not free:
                raise OptionError(
                    "kernel= is of the continuous parameters, and this space has none; name the parameters that it is "
                    f"of, such as kernel={{{space.names[0]!r}: ...}}"
                )
            return [(self.given, free)]
        parts = [(kernel, (key,) if isinstance(key, str) else tuple(key)) for key, kernel in self.given.items()]
        for name in (name for _, names in parts for name in names):
            if name not in space.names:
                raise OptionError(f"kernel= names {name!r}; the parameters of this space are {', '.join(space.names)}")
            if not space.parameters[name].ordered:
                raise OptionError(
                    f"kernel= names {name!r}, whose choices have no order; leave it to the default kernel"
                )
        return parts

    def fit(self, space: Space, observations: Observations, *, with_gradients: bool, plain: bool = False) -> KernelFit:
        """Return the fit to the observations; a ``plain`` one is of the values without a logarithm."""
        family = self.family(space, with_gradients=with_gradients)
        return (self._plain_fits if plain else self._fits).fit(family, observations)


class OwnKernelModel:
    """Exact Gaussian processes on the values under a kernel of the user's; hyperparameters as in ``ExactModel``."""

    def __init__(self, given: Any, hyperparameters: str = "auto") -> None:
        self._kernel = OwnKernel(given)
        self._hyperparameters = "draw" if hyperparameters == "auto" else hyperparameters

    def check(self, space: Space) -> None:
        """Raise if the kernel is wrong, or wrong for this space."""
        self._kernel.family(space)

    def has_regions(self, space: Space, history: History) -> bool:
        """Return that there is one process of all results."""
        return False

    def fit(self, space: Space, history: History, key: Key, region: Region | None) -> Surrogate:
        """Return the Gaussian process of the history; to explore, hyperparameters are drawn in any case."""
        exploring = EXPLORING[self._hyperparameters]
        return self._fit(space, history, exploring if region is None else self._hyperparameters, key)

    def summary(self, space: Space, history: History) -> tuple[Surrogate, str]:
        """Return the surrogate with the most probable parameters, and the name of the kernel."""
        return self._fit(space, history), f"the process has {self._kernel}"

    def predictions(self, space: Space, history: History) -> Predictions:
        """Return the predictions given all values."""
        return exact_predictions(space, history, lambda which: self._fit(space, history, which, plain=True))

    def _fit(
        self, space: Space, history: History, hyperparameters: str = "map", key: Key = ANY, *, plain: bool = False
    ) -> Surrogate:
        features, done = features_of(space), history.completed
        x, values = features(done.units), history.values[done.numbers]
        observations = Observations(x, values, history.noise[done.numbers], np.full(x.shape, np.nan))
        fitted = self._kernel.fit(space, observations, with_gradients=False, plain=plain)
        scale, data = fitted.scaled(observations)
        covariances = [fitted.covariance]
        if hyperparameters in DRAWS and len(done) <= REFINED:
            share = min(1.0, WHOLE / len(done), DRAWN / len(fitted.covariance.theta))
            count, rng = DRAWS[hyperparameters], key.rng(Stream.HYPERPARAMETERS)
            prior = fitted.covariance.family.prior
            thetas = sample(fitted.covariance, prior, data, count=count, rng=rng, share=share)
            covariances = [replace(fitted.covariance, theta=theta) for theta in thetas]
        posteriors = tuple(ExactPosterior.of(each, data.layout.x, data.y, data.known_noise) for each in covariances)
        y, usable = scale(values), history.feasible[done.numbers]
        return Surrogate(
            features, scale, posteriors, y, best=best_value(posteriors[0], x, y, usable),
            incumbents=best_points(done.units, y, usable), feasibility=fit_feasibility(features, history),
        )  # fmt: skip


def _checked(given: Any) -> Any:
    """Return the option if it has one of its forms; raise otherwise."""
    if isinstance(given, Kernel) or (isinstance(given, str) and given in NAMED):
        return given
    if isinstance(given, Mapping) and given and all(isinstance(kernel, Kernel) for kernel in given.values()):
        names = [name for key in given for name in ((key,) if isinstance(key, str) else tuple(key))]
        if len(set(names)) == len(names):
            return dict(given)
        raise OptionError("kernel= names a parameter twice; multiply or add the kernels of one parameter")
    remedy = "; a function of two points goes in sonde.kernels.Function(...)" if callable(given) else ""
    raise OptionError(
        f"kernel must be matern52, {', '.join(NAMED)}, a kernel of sonde.kernels, or a mapping of names of parameters "
        f"to kernels, got {given!r}{remedy}"
    )


def check(kernel: Kernel, names: tuple[str, ...], *, with_gradients: bool = False) -> None:
    """Raise if a kernel is not a covariance function at a few points, or cannot be differentiated there."""
    name, x = type(kernel).__name__, np.random.default_rng(0).random((CHECKED, len(names)))
    if with_gradients:
        ValueGradientGram(kernel, x)  # raises if sample paths have no gradients
    family = Family.of([(kernel, tuple(range(len(names))))], np.arange(len(names)), DEFAULT, with_gradients=False)
    try:
        matrix = evaluation.values(family.at(family.start), x, x)
    except KernelError:
        raise
    except Exception as error:
        raise KernelError(
            f"{name} fails at two points of the {len(names)} parameters {', '.join(names)} (vectors of that length): "
            f"{error}"
        ) from error
    if matrix.shape != (CHECKED, CHECKED):
        raise KernelError(f"{name} must return one number, got an array of shape {matrix.shape[2:]}")
    if not np.all(np.isfinite(matrix)):
        raise KernelError(f"{name} is not finite at points of the unit cube, such as {x[0].round(3).tolist()}")
    lowest = float(np.linalg.eigvalsh((matrix + matrix.T) / 2)[0])
    if not np.allclose(matrix, matrix.T, rtol=1e-6) or lowest < -1e-6 * np.abs(matrix).max():
        raise KernelError(
            f"{name} is not a covariance function: its matrix of {CHECKED} points of the unit cube is "
            f"{'not symmetric' if not np.allclose(matrix, matrix.T, rtol=1e-6) else 'not positive definite'}"
        )
    at = x if with_gradients else x[:0]
    weights = np.ones((CHECKED, CHECKED)), np.ones((CHECKED, *at.shape)), np.ones((*at.shape, *at.shape))
    derivatives = [evaluation.values_vjp(family.at(family.start), x, x, weights[0])]
    derivatives += evaluation.parameter_gradients(family.at(family.start), x, at, weights)
    if not all(np.all(np.isfinite(each)) for each in derivatives):
        raise KernelError(
            f"{name} has a derivative that is not finite at equal points; write it in the squared distance, or add a "
            "tiny number to it before the square root"
        )
