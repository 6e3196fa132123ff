"""The acquisition function of Snoek et al. (2015): integrated, constrained expected improvement, with pending points.

a(x) is the average over K hyperparameter samples and s fantasies of EI(x) P(c = 1 | x) (section 3.3 and eq. 12). EI is
that of an observed value, whose variance includes the noise (eq. 5), over the best observed value. A pending point has
a validity c for each sample and an outcome y for each fantasy, drawn from the predictions given the pending points
before it. c is added to the labels; where c = 1, y is added to the values. The logarithm of a is maximised, which has
the same maxima.

Symbols: B batches of one point, p features, D basis functions, K hyperparameter samples, s fantasies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import log_ndtr

from sonde.acquisition.averages import average
from sonde.acquisition.closed import log_expected_improvement, mills
from sonde.acquisition.port import Acquisition
from sonde.acquisition.sampling import base_samples
from sonde.arrays import Array, Mask
from sonde.sampling import Key, Stream
from sonde.surrogates.basis.classifier import Laplace, Link
from sonde.surrogates.basis.networks import Network
from sonde.surrogates.basis.posterior import LinearPosterior
from sonde.surrogates.basis.single_network import Stack, latent, with_label
from sonde.surrogates.features import Features

FANTASIES = 10  # for each hyperparameter sample

Logs = tuple[Array, Callable[[Array], Array]]  # values (B, K, s or 1), and gradients in them to gradients (B, p)


@dataclass(frozen=True)
class Improvement:
    """The values: a posterior for each sample, and the best observed value in each sample and fantasy, (K, s)."""

    posteriors: tuple[LinearPosterior, ...]
    best: Array

    @classmethod
    def of(cls, posteriors: Sequence[LinearPosterior], best: float) -> Improvement:
        """Return the values without pending points."""
        return cls(tuple(posteriors), np.full((len(posteriors), 1), best))

    def given(self, x: Array, valid: Mask, base: Array) -> Improvement:
        """Return the values after a pending point with features (p,), where it is valid (K,); base samples (K, s)."""
        more = base.shape[1] // self.best.shape[1]  # the first pending point brings the fantasies
        posteriors, best = [], np.repeat(self.best, more, axis=1)
        for k, (own, before) in enumerate(zip(base, self.posteriors, strict=True)):
            posterior = replace(before, mean=np.repeat(before.mean, more, axis=1))
            if valid[k]:
                at = posterior.marginals(x[None])
                outcomes = at.mean[0] + np.sqrt(at.variance + posterior.noise) * own
                posterior = posterior.condition(x[None], outcomes[None])
                best[k] = np.maximum(best[k], outcomes)
            posteriors.append(posterior)
        return Improvement(tuple(posteriors), best)

    def logarithm(self) -> Callable[[Array], Logs]:
        """Return log EI as a function of features (B, p)."""
        stack = Stack.of(self.posteriors)
        noise = np.array([each.noise for each in self.posteriors])

        def log_improvement(x: Array) -> Logs:
            mean, variance, vjp = stack.marginals(x)
            deviation = np.sqrt(variance + noise)
            value, by_mean, by_deviation = log_expected_improvement(mean, deviation[..., None], self.best)
            return value, lambda by: vjp(by * by_mean, np.sum(by * by_deviation, axis=-1) / (2 * deviation))

        return log_improvement


@dataclass(frozen=True)
class Validity:
    """The labels: output weights of the classifier for each sample, and the link from its latent function to P."""

    network: Network
    weights: tuple[Laplace, ...]
    link: Link

    def given(self, x: Array, valid: Mask) -> Validity:
        """Return the labels after a pending point with features (p,) that is valid or not, (K,)."""
        pairs = zip(self.weights, np.where(valid, 1.0, -1.0), strict=True)
        basis = self.network.basis(x[None]).values[0]
        return Validity(self.network, tuple(with_label(own, basis, float(label)) for own, label in pairs), self.link)

    def logarithm(self) -> Callable[[Array], Logs]:
        """Return log P(c = 1) as a function of features (B, p)."""
        stack, link = Stack.of([latent(self.network, own) for own in self.weights]), self.link

        def log_probability(x: Array) -> Logs:
            mean, variance, vjp = stack.marginals(x)
            width = np.sqrt(link.extra + link.slope**2 * variance)[..., None]
            z = (link.slope * mean + link.offset) / width

            def back(by: Array) -> Array:
                by_z = by * mills(z)
                return vjp(by_z * link.slope / width, (-0.5 * by_z * z * link.slope**2 / width**2)[..., 0])

            return log_ndtr(z), back

        return log_probability

    def of_units(self, features: Features) -> Callable[[Array], tuple[Array, Array]]:
        """Return log P(c = 1), averaged over the samples, and its gradients as a function of points (m, d)."""
        acquisition = IntegratedImprovement(features, (self.logarithm(),))

        def log_probability(units: Array) -> tuple[Array, Array]:
            values, gradients = acquisition.gradients(units[:, None])
            return values, gradients[:, 0]

        return log_probability


@dataclass(frozen=True)
class IntegratedImprovement(Acquisition):
    """The logarithm of the average of the product of its factors, eq. (12)."""

    features: Features
    factors: tuple[Callable[[Array], Logs], ...]
    log = True

    def values(self, batches: Array) -> Array:
        """Return the values (B,) of batches (B, 1, d)."""
        logs = [factor(self.features(batches[:, 0]))[0] for factor in self.factors]
        return _mean(sum(logs))[0]  # type: ignore[arg-type]

    def gradients(self, batches: Array) -> tuple[Array, Array]:
        """Return the values (B,) and their gradients (B, 1, d)."""
        units = batches[:, 0]
        parts = [factor(self.features(units)) for factor in self.factors]
        values, shares = _mean(sum(logs for logs, _ in parts))  # type: ignore[arg-type]
        by_features = sum(vjp(_summed(shares, logs.shape)) for logs, vjp in parts)
        return values, self.features.vjp(by_features, units)[:, None]  # type: ignore[arg-type]


def _mean(logs: Array) -> tuple[Array, Array]:
    """Return the logarithm of the mean over samples and fantasies (B,), and the share of each, (B, K, s)."""
    values, shares = average(logs.reshape(len(logs), -1), log=True)
    return values, shares.reshape(logs.shape)


def _summed(shares: Array, shape: tuple[int, ...]) -> Array:
    """Return shares (B, K, s) summed over fantasies where a factor is the same in all of them."""
    return shares if shares.shape == shape else shares.sum(axis=-1, keepdims=True)


@dataclass(frozen=True)
class Sampled:
    """The samples, given fantasies of pending points."""

    features: Features
    improvement: Improvement | None  # None: no trial is valid
    validity: Validity | None  # None: no trial is invalid
    base: Array  # normal samples for each pending point, (points, K, s)
    uniforms: Array  # for its validity, (points, K)
    used: int = 0

    @classmethod
    def of(
        cls, features: Features, improvement: Improvement | None, validity: Validity | None, *, room: int, seed: int
    ) -> Sampled:
        """Return the samples without pending points, and with room for so many."""
        samples = improvement.posteriors if improvement else validity.weights if validity else ()
        shape = room, len(samples), FANTASIES
        base = base_samples(FANTASIES, room * len(samples), seed).T.reshape(shape) if room else np.empty(shape)
        uniforms = Key(seed, 0).rng(Stream.PENDING_FAILURES).random(shape[:2])
        return cls(features, improvement, validity, base, uniforms)

    def given(self, point: Array) -> Sampled:
        """Return the samples after fantasies of one more pending point (d,)."""
        x, uniforms = self.features(point), self.uniforms[self.used]
        valid, validity, improvement = np.ones(len(uniforms), dtype=bool), self.validity, self.improvement
        if validity is not None:
            valid = uniforms < np.exp(validity.logarithm()(x[None])[0][0, :, 0])
            validity = validity.given(x, valid)
        if improvement is not None:
            improvement = improvement.given(x, valid, self.base[self.used])
        return replace(self, improvement=improvement, validity=validity, used=self.used + 1)

    def acquisition(self) -> IntegratedImprovement:
        """Return the acquisition function: P(c = 1) alone while no trial is valid."""
        factors = [part.logarithm() for part in (self.improvement, self.validity) if part is not None]
        return IntegratedImprovement(self.features, tuple(factors))
