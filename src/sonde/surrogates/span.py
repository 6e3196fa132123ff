"""Few results in a wide space: the part of it that they span, in which the process is the same.

A covariance that depends on inner products only does not change when the space is turned. Turned so that the first m
axes span n points and their gradients, m <= 2 n, all slopes along the other p - m axes are zero, and independent of
everything else: their covariance is K_c (x) I with K_c the n by n matrix of d k / d(x.y). So what is foretold needs
the m axes alone, and the evidence one more log-determinant, (p - m) log |K_c| (Ament & Gomes 2022, section 3, with
gradients exact and O(n^2 p + (n m)^3) in all).

A point outside of the span is as far from it as its last coordinate says, along an axis on which no result lies.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sonde.surrogates.slope_fitting import Seen

Array = NDArray[np.float64]

ALIKE = 1e-9  # relative size of a direction that is rounding


@dataclass(frozen=True)
class Span:
    """The axes (p, m) that points and gradients span."""

    axes: Array

    @classmethod
    def of(cls, seen: Seen) -> Span:
        """Return the span of some results; gradients that are not whole count as not told."""
        lengths = np.linalg.norm(seen.gradients, axis=1)
        gradients = seen.gradients[np.isfinite(lengths) & (lengths > 0)]
        directions = [
            each / max(float(np.abs(each).max(initial=0.0)), 1e-300) for each in (seen.x, gradients) if len(each)
        ]
        left, sizes, _ = np.linalg.svd(np.concatenate(directions).T, full_matrices=False)
        return cls(left[:, sizes > ALIKE * sizes[0]])

    @property
    def hidden(self) -> int:
        """How many axes there are besides."""
        return self.axes.shape[0] - self.axes.shape[1]

    def __call__(self, x: Array) -> Array:
        """Return points (k, p) on the axes, and their distances from the span, (k, m + 1)."""
        along = x @ self.axes
        return np.column_stack([along, np.linalg.norm(x - along @ self.axes.T, axis=1)])

    def pull(self, slopes: Array, x: Array) -> Array:
        """Return slopes (k, p) from slopes (k, m + 1) on the axes at points x (k, p)."""
        outside = x - (x @ self.axes) @ self.axes.T
        distance = np.linalg.norm(outside, axis=1, keepdims=True)
        return np.asarray(slopes[:, :-1] @ self.axes.T + slopes[:, -1:] * outside / np.maximum(distance, 1e-300))

    def reduce(self, seen: Seen) -> Seen:
        """Return the results on the axes; along the last one no slope is told."""
        gradients = np.column_stack([seen.gradients @ self.axes, np.full(len(seen.x), np.nan)])
        return Seen(self(seen.x), seen.values, seen.deviations, gradients)
