"""q-ES: how much the outcomes of a pool tell about where the maximum is.

Of m representer points R, p_max is the distribution of the best one: the mean over samples of softmax(y_R / tau) (table
1's integrand). The acquisition is the expected drop of its entropy: H[p_max] now, minus the mean over outcomes of the
pool of H[p_max] after seeing them.

Samples after are samples before, moved by what was seen (Matheron's rule), so only q-by-q matrices are factorised:
y_R | y_X = y_R + G (y_X - y_X'), G = S_RX T^-1, with (y_R, y_X') a joint sample, y_X an outcome, T = S_XX + noise. All
of the belief at X enters through S_RX and S_XX; its mean cancels.

Symbols: A = L_R^-1 S_RX (m, q); C C^T = T - A^T A; joint samples y_R = mu_R + L_R z, y_X = mu_X + A^T z + C u. Indices:
b pools, k outcomes, j samples, m representers, q new points.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from sonde.acquisition.port import Acquisition
from sonde.acquisition.sampling import base_samples, cholesky, cholesky_vjp
from sonde.surrogates.features import Features
from sonde.surrogates.port import Joint, Posterior

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Entropy(Acquisition):
    """Expected drop of the entropy of p_max over ``representers`` (m, d)."""

    posterior: Posterior
    features: Features
    representers: Array
    size: int  # q
    fixed: Array  # (f, d): points under way, whose outcomes will be seen too
    outcomes: int = 8
    samples: int = 32
    seed: int = 0
    temperature: float = 0.05

    def fresh(self, step: int) -> Entropy:
        """Return the same with other base samples, for stochastic ascent."""
        return replace(self, seed=self.seed + 1 + step)

    def values(self, pools: Array) -> Array:
        """Return the expected drop for each pool."""
        return np.concatenate([self._forward(block).value for block in _blocks(pools)])

    def gradients(self, pools: Array) -> tuple[Array, Array]:
        """Return the expected drop and its gradient."""
        pairs = [self._backward(self._forward(block), block) for block in _blocks(pools)]
        return np.concatenate([value for value, _ in pairs]), np.concatenate([slope for _, slope in pairs])

    @cached_property
    def _now(self) -> tuple[Array, Array, Array, float]:
        """Return L_R^-1 (m, m), z (k + j, m), samples y_R (j, m), and the entropy now."""
        belief = self.posterior.joint(self.features(self.representers)[None])
        factor = cholesky(belief.covariance)[0]
        base = base_samples(self.outcomes + self.samples, len(factor), self.seed)
        samples = belief.mean[0] + base[self.outcomes :] @ factor.T
        chances = softmax(samples / self.temperature, axis=-1).mean(axis=0)
        return np.linalg.inv(factor), base, samples, float(_entropy(chances)[0])

    def _forward(self, pools: Array) -> _Forward:
        inverse, base, samples, now = self._now
        m, k = len(inverse), self.outcomes
        still = np.concatenate([self.representers, self.fixed])
        points = np.concatenate([np.broadcast_to(still, (len(pools), *still.shape)), pools], axis=1)
        belief = self.posterior.joint(self.features(points))
        both = belief.covariance[:, :m, m:]  # S_RX
        seen = belief.covariance[:, m:, m:] + self.posterior.noise * np.eye(points.shape[1] - m)  # T
        whitened = inverse @ both  # A
        rest = cholesky(seen - whitened.swapaxes(-1, -2) @ whitened)  # C
        base_rest = base_samples(len(base), seen.shape[-1], self.seed + 7919)
        # y_X - y_X' of outcome k and sample j: A^T (z_k - z_j) + C (u_k - u_j)
        shift_z, shift_u = (each[:k, None] - each[None, k:] for each in (base, base_rest))
        move = np.einsum("kjm,bmq->bkjq", shift_z, whitened) + np.einsum("kju,bqu->bkjq", shift_u, rest)
        inverse_seen: Array = np.linalg.inv(seen).astype(float)
        gain = both @ inverse_seen  # G
        soft = softmax((samples + np.einsum("bkjq,bmq->bkjm", move, gain)) / self.temperature, axis=-1)
        entropy, entropy_slope = _entropy(soft.mean(axis=2))
        value = now - entropy.mean(axis=-1)
        return _Forward(value, belief, whitened, rest, shift_z, shift_u, move, inverse_seen, gain, soft, entropy_slope)

    def _backward(self, forward: _Forward, pools: Array) -> tuple[Array, Array]:
        """Return the value and its gradient: the steps of ``_forward`` from the last to the first."""
        value, belief, whitened, rest, shift_z, shift_u, move, inverse_seen, gain, soft, entropy_slope = forward
        inverse, m = self._now[0], len(self.representers)
        soft_slope = -entropy_slope[:, :, None, :] / (soft.shape[1] * soft.shape[2])
        dot = np.sum(soft * soft_slope, axis=-1, keepdims=True)
        after_slope = soft * (soft_slope - dot) / self.temperature
        gain_slope = np.einsum("bkjm,bkjq->bmq", after_slope, move)
        move_slope = np.einsum("bkjm,bmq->bkjq", after_slope, gain)
        whitened_slope = np.einsum("kjm,bkjq->bmq", shift_z, move_slope)
        rest_slope = cholesky_vjp(rest, np.einsum("bkjq,kju->bqu", move_slope, shift_u))
        whitened_slope -= 2 * whitened @ rest_slope
        covariance_gradient = np.zeros_like(belief.covariance)
        covariance_gradient[:, :m, m:] = gain_slope @ inverse_seen + inverse.T @ whitened_slope
        covariance_gradient[:, m:, m:] = rest_slope - gain.swapaxes(-1, -2) @ gain_slope @ inverse_seen
        pulled = belief.vjp(np.zeros_like(belief.mean), covariance_gradient)
        return value, self.features.vjp(pulled[:, -pools.shape[1] :, :], pools)


class _Forward(NamedTuple):
    """The steps from the belief to the value, in their order."""

    value: Array
    belief: Joint
    whitened: Array
    rest: Array
    shift_z: Array
    shift_u: Array
    move: Array
    inverse_seen: Array
    gain: Array
    soft: Array
    entropy_slope: Array


def _blocks(pools: Array) -> list[Array]:
    """Return the pools a few at a time: each takes O(k j m) memory."""
    return [pools[i : i + 8] for i in range(0, len(pools), 8)]


def _entropy(chances: Array) -> tuple[Array, Array]:
    """Return -sum p log p and its slope in p."""
    logs = np.log(np.maximum(chances, 1e-300))
    return -np.sum(chances * logs, axis=-1), -(logs + 1)
