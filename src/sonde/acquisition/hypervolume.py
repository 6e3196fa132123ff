"""Expected improvement of the hypervolume, the acquisition function of several objectives (see ``sonde.pareto``).

What new outcomes may add to the hypervolume is a union of disjoint boxes (``pareto.boxes``). Objectives are modelled
independently, so in a box the expected addition is a product over objectives of the expected addition to its sides:

E max(0, min(y, high) - low) = EI(low) - EI(high), with EI(t) = E max(0, y - t) (eq. (14) of Yang et al. 2019).

Like the expected improvement in one objective, it underflows far below the front, so its logarithm is used (Ament et
al. 2023). A batch of points is scored by Monte Carlo (Daulton et al. 2020).

Symbols: B batches, K objectives, s fantasies or Monte Carlo samples, N boxes of all fantasies, T distinct thresholds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np
from scipy.special import log_ndtr

from sonde.acquisition.averages import LEAST, average
from sonde.acquisition.closed import log_expected_improvement, log_h, mills
from sonde.acquisition.port import Acquisition
from sonde.acquisition.sampling import base_samples, cholesky, cholesky_vjp
from sonde.arrays import Array, Index
from sonde.pareto.boxes import Boxes
from sonde.surrogates.features import Features
from sonde.surrogates.port import Joint, Marginals, Posterior

NARROW = 1e-4  # a smaller difference of two log EI has lost half of its digits
BLOCK = 2**17  # entries of the largest arrays: a megabyte stays in the processor's cache
LARGEST = 5  # points of a batch: there are 2^q - 1 sets of them


@dataclass(frozen=True)
class ExpectedHypervolumeImprovement(Acquisition):
    """The logarithm of the expected improvement by one point, averaged over fantasies, in closed form.

    A posterior with s fantasies has s means; ``boxes`` are those above the front of each fantasy. ``weights`` (b, K),
    positive, multiply the sides of these boxes: so they may have other units than the models.
    """

    posteriors: tuple[Posterior, ...]  # one for each objective
    features: tuple[Features, ...]
    boxes: tuple[Boxes, ...]  # one for each fantasy
    weights: tuple[Array, ...] = ()  # likewise; ones if empty
    log = True

    def values(self, batches: Array) -> Array:
        predicted = self._predicted(batches)
        return np.concatenate([self._average(predicted, rows)[0] for rows in self._blocks(len(batches))])

    def gradients(self, batches: Array) -> tuple[Array, Array]:
        predicted = self._predicted(batches)
        value = np.empty(len(batches))
        in_mean, in_deviation = (
            [np.empty(each.mean.shape) for each in predicted],
            np.empty((len(predicted), len(value))),
        )
        for rows in self._blocks(len(batches)):
            value[rows], shares = self._average(predicted, rows)
            for k, (sides, moments) in enumerate(zip(self._sides, predicted, strict=True)):
                by_mean, by_deviation = sides.derivatives(*_moments(moments, rows))
                in_mean[k][rows] = np.add.reduceat(shares * by_mean, self._first, axis=1)
                in_deviation[k][rows] = np.sum(shares * by_deviation, axis=1)
        gradient = np.zeros(batches.shape)
        for features, moments, by_mean, by_deviation in zip(
            self.features, predicted, in_mean, in_deviation, strict=True
        ):
            at_features = moments.vjp(by_mean, by_deviation / (2 * np.sqrt(moments.variance)))
            gradient += features.vjp(at_features[:, None, :], batches)
        return value, gradient

    @cached_property
    def _sides(self) -> tuple[_Sides, ...]:
        weights = self.weights or tuple(np.ones(boxes.low.shape) for boxes in self.boxes)
        return tuple(_Sides.of(self.boxes, weights, k) for k in range(len(self.posteriors)))

    @cached_property
    def _first(self) -> Index:
        """The index of the first box of each fantasy, (s,)."""
        counts = [len(boxes.low) for boxes in self.boxes]
        return np.cumsum([0, *counts[:-1]])

    def _predicted(self, batches: Array) -> list[Marginals]:
        pairs = zip(self.posteriors, self.features, strict=True)
        return [posterior.marginals(features(batches[:, 0, :])) for posterior, features in pairs]

    def _blocks(self, count: int) -> Iterator[slice]:
        step = max(BLOCK // len(self._sides[0].low), 1)
        return (slice(start, start + step) for start in range(0, max(count, 1), step))

    def _average(self, predicted: list[Marginals], rows: slice) -> tuple[Array, Array]:
        """Return the values (B,), the sums over all boxes divided by s, and the share of each box in them (B, N)."""
        pairs = zip(self._sides, predicted, strict=True)
        logs = sum((sides.logarithms(*_moments(moments, rows)) for sides, moments in pairs), start=np.zeros(()))
        mean, shares = average(logs, log=True)
        return mean + np.log(logs.shape[1] / len(self.boxes)), shares


@dataclass(frozen=True)
class _Sides:
    """The sides of all boxes along one objective. Boxes share thresholds, and EI is computed once for each."""

    thresholds: Array  # (T,)
    fantasy: Index  # (T,), that of each threshold
    low: Index  # (N,), into the thresholds
    high: Index  # (N,)
    log_weight: Array  # (N,)

    @staticmethod
    def of(boxes: tuple[Boxes, ...], weights: tuple[Array, ...], k: int) -> _Sides:
        """Return those along objective k."""
        fantasy = np.repeat(np.arange(len(boxes)), [len(each.low) for each in boxes])
        ends = np.concatenate([*(each.low[:, k] for each in boxes), *(each.high[:, k] for each in boxes)])
        pairs = np.stack([np.concatenate([fantasy, fantasy]), ends], axis=1)
        distinct, index = np.unique(pairs, axis=0, return_inverse=True)
        low, high = np.reshape(index, (2, -1))
        log_weight = np.log(np.concatenate([each[:, k] for each in weights]))
        return _Sides(distinct[:, 1], distinct[:, 0].astype(np.intp), low, high, log_weight)

    def logarithms(self, mean: Array, deviation: Array) -> Array:
        """Return log(EI(low) - EI(high)) plus log weights (B, N), from means (B, s) and deviations (B, 1)."""
        log_ei = np.log(deviation) + log_h((mean[:, self.fantasy] - self._finite) / deviation)
        log_ei[:, self._infinite] = LEAST
        gap = self._gap(log_ei)
        result = log_ei[:, self.low] + np.log(-np.expm1(-np.maximum(gap, NARROW)))
        narrow = np.nonzero(gap < NARROW)
        if len(narrow[0]):
            width = self.thresholds[self.high] - self.thresholds[self.low]
            result[narrow] = np.log(width[narrow[1]]) + log_ndtr(self._middle(mean, deviation, *narrow))
        return result + self.log_weight

    def derivatives(self, mean: Array, deviation: Array) -> tuple[Array, Array]:
        """Return the derivatives of ``logarithms`` in mean and deviation, (B, N) each."""
        log_ei, *rates = log_expected_improvement(mean[:, self.fantasy], deviation, self._finite)
        log_ei[:, self._infinite] = LEAST
        gap = self._gap(log_ei)
        ratio = np.exp(-np.maximum(gap, NARROW))  # EI(high) / EI(low)
        in_mean, in_deviation = ((rate[:, self.low] - ratio * rate[:, self.high]) / (1 - ratio) for rate in rates)
        narrow = np.nonzero(gap < NARROW)
        if len(narrow[0]):
            z, scale = self._middle(mean, deviation, *narrow), deviation[narrow[0], 0]
            in_mean[narrow], in_deviation[narrow] = mills(z) / scale, -z * mills(z) / scale
        return in_mean, in_deviation

    @cached_property
    def _infinite(self) -> Index:
        return np.flatnonzero(np.isinf(self.thresholds))

    @cached_property
    def _finite(self) -> Array:
        return np.where(np.isinf(self.thresholds), 0.0, self.thresholds)

    def _gap(self, log_ei: Array) -> Array:
        return log_ei[:, self.low] - log_ei[:, self.high]

    def _middle(self, mean: Array, deviation: Array, rows: Index, columns: Index) -> Array:
        """Return z in the middle of narrow sides. There, EI(low) - EI(high) is Phi(z) times the width, by midpoint."""
        low, high = self.low[columns], self.high[columns]
        middle = self.thresholds[low] + (self.thresholds[high] - self.thresholds[low]) / 2
        return (mean[rows, self.fantasy[low]] - middle) / deviation[rows, 0]


def _moments(predicted: Marginals, rows: slice) -> tuple[Array, Array]:
    return predicted.mean[rows], np.sqrt(predicted.variance[rows, None])


@dataclass(frozen=True)
class MonteCarloHypervolumeImprovement(Acquisition):
    """The expected improvement by q points together, and by pending points, which do not move: q-EHVI."""

    posteriors: tuple[Posterior, ...]  # one for each objective
    features: tuple[Features, ...]
    boxes: Boxes
    pending: Array  # (f, d), in the unit cube
    size: int  # q
    samples: int = 128
    seed: int = 0
    weights: Array | None = None  # (b, K), multiply the sides of the boxes; None: ones

    def __post_init__(self) -> None:
        if self.size + len(self.pending) > LARGEST:
            raise ValueError(
                f"a batch of {self.size} new and {len(self.pending)} pending points; "
                f"at most {LARGEST} are scored together, so choose points one by one"
            )

    def fresh(self, step: int) -> MonteCarloHypervolumeImprovement:
        return replace(self, seed=self.seed + 1 + step)

    def values(self, batches: Array) -> Array:
        return np.concatenate([self._forward(block)[0].mean(axis=1) for block in self._blocks(batches)])

    def gradients(self, batches: Array) -> tuple[Array, Array]:
        pairs = [self._backward(block) for block in self._blocks(batches)]
        return np.concatenate([value for value, _ in pairs]), np.concatenate([gradient for _, gradient in pairs])

    def _blocks(self, batches: Array) -> Iterator[Array]:
        step = max(BLOCK // (self.samples * self.boxes.low.size), 1)
        return (batches[start : start + step] for start in range(0, max(len(batches), 1), step))

    def _forward(self, batches: Array) -> tuple[Array, Array, list[tuple[Joint, Array, Array]]]:
        """Return improvements (B, s), gradients in outcomes (B, s, f + q, K), and what outcomes are made of."""
        pending = np.broadcast_to(self.pending, (len(batches), *self.pending.shape))
        points = np.concatenate([pending, batches], axis=1)
        rows = points.shape[1]
        base = np.split(
            base_samples(self.samples, rows * len(self.posteriors), self.seed), len(self.posteriors), axis=1
        )
        joints = [each.joint(features(points)) for each, features in zip(self.posteriors, self.features, strict=True)]
        parts = [(joint, cholesky(joint.covariance), z) for joint, z in zip(joints, base, strict=True)]
        outcomes = [joint.mean[:, None, :] + z @ factor.swapaxes(-1, -2) for joint, factor, z in parts]
        return *_improvement(np.stack(outcomes, axis=-1), self.boxes, self.weights), parts

    def _backward(self, batches: Array) -> tuple[Array, Array]:
        value, outcomes_gradient, parts = self._forward(batches)
        outcomes_gradient /= self.samples
        gradient = np.zeros(batches.shape)
        for k, (joint, factor, z) in enumerate(parts):
            by_outcome = outcomes_gradient[..., k]
            by_covariance = cholesky_vjp(factor, by_outcome.swapaxes(-1, -2) @ z)
            at_features = joint.vjp(by_outcome.sum(axis=1), by_covariance)
            gradient += self.features[k].vjp(at_features[:, len(self.pending) :, :], batches)
        return value.mean(axis=1), gradient


def _improvement(outcomes: Array, boxes: Boxes, weights: Array | None = None) -> tuple[Array, Array]:
    """Return what outcomes (B, s, q, K) add to the hypervolume (B, s), and its gradient, by inclusion and exclusion.

    What all points of a set dominate is below their smallest outcomes (Daulton et al. 2020, eq. (4)).
    """
    value, gradient = np.zeros(outcomes.shape[:2]), np.zeros(outcomes.shape)
    indices = range(outcomes.shape[2])
    for subset in (list(subset) for size in indices for subset in combinations(indices, size + 1)):
        part, sign = outcomes[:, :, subset], (-1) ** (len(subset) + 1)
        smallest = part.min(axis=2, keepdims=True)
        volume, by_smallest = _dominated(smallest, boxes, np.ones(boxes.low.shape) if weights is None else weights)
        value += sign * volume
        own = part == smallest
        gradient[:, :, subset] += sign * own / own.sum(axis=2, keepdims=True) * by_smallest[:, :, None, :]
    return value, gradient


def _dominated(point: Array, boxes: Boxes, weights: Array) -> tuple[Array, Array]:
    """Return the volume of the boxes below points (B, s, 1, K), (B, s), and its gradient (B, s, K)."""
    sides = np.maximum(np.minimum(point, boxes.high) - boxes.low, 0.0) * weights
    moving = np.where((point > boxes.low) & (point < boxes.high), weights, 0.0)
    faces = [moving[..., k] * np.prod(np.delete(sides, k, axis=-1), axis=-1) for k in range(sides.shape[-1])]
    return np.prod(sides, axis=-1).sum(axis=-1), np.stack([face.sum(axis=-1) for face in faces], axis=-1)
