"""Few results in a wide space: the part of it that they span, in which the process is the same.

A covariance that depends on inner products only does not change when the space is turned. Turned so that the first m
axes span n points and their gradients, m <= 2 n, all gradients along the other p - m axes are zero, and independent of
everything else: their covariance is K_c (x) I with K_c the n by n matrix of d k / d(x.y). So what is foretold needs
the m axes alone, and the evidence one more log-determinant, (p - m) log |K_c| (Ament & Gomes 2022, section 3, with
gradients exact and O(n^2 p + (n m)^3) in all). Columns of which no gradients are known, such as a category's, are not
turned: each is an axis.

A point outside of the span is as far from it as its last coordinate says, along an axis on which no result lies.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sonde.surrogates.gradient.fitting import Seen

Array = NDArray[np.float64]

ALIKE = 1e-9  # relative size of a direction that is rounding


@dataclass(frozen=True)
class Subspace:
    """The axes (p, m) that points and gradients span: the last ones are the columns without gradients, one for each."""

    axes: Array
    told: NDArray[np.bool_]  # columns of which gradients have gradients, (p,)

    @classmethod
    def of(cls, seen: Seen) -> Subspace:
        """Return the span of some results; gradients that lack one of the told columns count as not told."""
        told = _told(np.isfinite(seen.gradients))
        lengths = np.linalg.norm(seen.gradients[:, told], axis=1)
        gradients = seen.gradients[np.isfinite(lengths) & (lengths > 0)]
        directions = [
            each[:, told] / max(float(np.abs(each[:, told]).max(initial=0.0)), 1e-300)
            for each in (seen.x, gradients)
            if len(each)
        ]
        left, sizes, _ = np.linalg.svd(np.concatenate(directions).T, full_matrices=False)
        left = left[:, sizes > ALIKE * sizes[0]]
        axes = np.zeros((len(told), left.shape[1] + int(np.sum(~told))))
        axes[told, : left.shape[1]] = left
        axes[np.flatnonzero(~told), np.arange(left.shape[1], axes.shape[1])] = 1.0
        return cls(axes, told)

    @property
    def hidden(self) -> int:
        """How many axes there are besides."""
        return self.axes.shape[0] - self.axes.shape[1]

    def __call__(self, x: Array) -> Array:
        """Return points (k, p) on the axes, and their distances from the span, (k, m + 1)."""
        along = x @ self.axes
        return np.column_stack([along, np.linalg.norm(x - along @ self.axes.T, axis=1)])

    def vjp(self, gradients: Array, x: Array) -> Array:
        """Return gradients (k, p) from gradients (k, m + 1) on the axes at points x (k, p)."""
        outside = x - (x @ self.axes) @ self.axes.T
        distance = np.linalg.norm(outside, axis=1, keepdims=True)
        return np.asarray(gradients[:, :-1] @ self.axes.T + gradients[:, -1:] * outside / np.maximum(distance, 1e-300))

    def reduce(self, seen: Seen) -> Seen:
        """Return the results on the axes; along those of columns without gradients and the last one no slope is told."""
        gradients = np.full((len(seen.x), self.axes.shape[1] + 1), np.nan)
        turned = self.axes.shape[1] - int(np.sum(~self.told))
        gradients[:, :turned] = seen.gradients[:, self.told] @ self.axes[self.told, :turned]
        return Seen(self(seen.x), seen.values, seen.deviations, gradients)


def _told(gradients: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the columns (p,) to turn, given which gradients (n, p) there are: those by which most gradients count."""
    patterns = np.unique(gradients[gradients.any(axis=1)], axis=0)
    if not len(patterns):
        return np.ones(gradients.shape[1], dtype=bool)
    counted = [np.sum(gradients[:, pattern].all(axis=1)) * pattern.sum() for pattern in patterns]
    return np.asarray(patterns[int(np.argmax(counted))])
