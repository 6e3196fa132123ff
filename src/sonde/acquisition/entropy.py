"""q-ES, entropy search: how much the outcomes of a batch tell about the location of the maximum.

p_max is the distribution of the best of m representer points R: the mean over samples of softmax(y_R / tau) (the
integrand of q-ES in table 1 of Wilson et al. 2017). The acquisition function is the expected decrease of its entropy:
H[p_max] now, minus the mean over outcomes of the batch of H[p_max] after they are observed.

By Matheron's rule, samples of the posterior after the outcomes are samples of the present one plus a correction:
y_R | y_X = y_R + G (y_X - y_X'), G = S_RX T^-1, with (y_R, y_X') a joint sample, y_X an outcome and T = S_XX + noise.
Only q-by-q matrices are factorised. The posterior at X enters through S_RX and S_XX alone; its mean cancels.

Symbols: A = L_R^-1 S_RX (m, q); C C^T = T - A^T A; joint samples y_R = mu_R + L_R z, y_X = mu_X + A^T z + C u. Indices:
b batches, k outcomes, j samples, m representer points, q new points of a batch, f pending points.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import softmax

from sonde.acquisition.port import Acquisition
from sonde.acquisition.sampling import base_samples, cholesky, cholesky_vjp
from sonde.arrays import Array
from sonde.surrogates.features import Features
from sonde.surrogates.port import Joint, Posterior


@dataclass(frozen=True)
class Entropy(Acquisition):
    """The expected decrease of the entropy of p_max over ``representers`` (m, d)."""

    posterior: Posterior
    features: Features
    representers: Array
    size: int  # q
    pending: Array  # (f, d): pending points, whose outcomes will be observed too
    outcomes: int = 8
    samples: int = 32
    seed: int = 0
    temperature: float = 0.05  # tau

    def fresh(self, step: int) -> Entropy:
        return replace(self, seed=self.seed + 1 + step)

    def values(self, batches: Array) -> Array:
        return np.concatenate([self._forward(block).value for block in _blocks(batches)])

    def gradients(self, batches: Array) -> tuple[Array, Array]:
        pairs = [self._backward(self._forward(block), block) for block in _blocks(batches)]
        return np.concatenate([value for value, _ in pairs]), np.concatenate([gradient for _, gradient in pairs])

    @cached_property
    def _now(self) -> tuple[Array, Array, Array, float]:
        """Return L_R^-1 (m, m), z (k + j, m), samples y_R (j, m), and the entropy now."""
        joint = self.posterior.joint(self.features(self.representers)[None])
        factor = cholesky(joint.covariance)[0]
        base = base_samples(self.outcomes + self.samples, len(factor), self.seed)
        samples = joint.mean[0] + base[self.outcomes :] @ factor.T
        p_max = softmax(samples / self.temperature, axis=-1).mean(axis=0)
        return np.linalg.inv(factor), base, samples, float(_entropy(p_max)[0])

    def _forward(self, batches: Array) -> _Forward:
        inverse, base, samples, now = self._now
        m, k = len(inverse), self.outcomes
        constant = np.concatenate([self.representers, self.pending])
        points = np.concatenate([np.broadcast_to(constant, (len(batches), *constant.shape)), batches], axis=1)
        joint = self.posterior.joint(self.features(points))
        cross = joint.covariance[:, :m, m:]  # S_RX
        observed = joint.covariance[:, m:, m:] + self.posterior.noise * np.eye(points.shape[1] - m)  # T
        whitened = inverse @ cross  # A
        rest = cholesky(observed - whitened.swapaxes(-1, -2) @ whitened)  # C
        base_rest = base_samples(len(base), observed.shape[-1], self.seed + 7919)
        # y_X - y_X' of outcome k and sample j: A^T (z_k - z_j) + C (u_k - u_j)
        shift_z, shift_u = (each[:k, None] - each[None, k:] for each in (base, base_rest))
        move = np.einsum("kjm,bmq->bkjq", shift_z, whitened) + np.einsum("kju,bqu->bkjq", shift_u, rest)
        precision: Array = np.linalg.inv(observed).astype(float)  # T^-1
        gain = cross @ precision  # G
        soft = softmax((samples + np.einsum("bkjq,bmq->bkjm", move, gain)) / self.temperature, axis=-1)
        entropy, entropy_gradient = _entropy(soft.mean(axis=2))
        value = now - entropy.mean(axis=-1)
        return _Forward(value, joint, whitened, rest, shift_z, shift_u, move, precision, gain, soft, entropy_gradient)

    def _backward(self, forward: _Forward, batches: Array) -> tuple[Array, Array]:
        """Return the value and its gradient: the steps of ``_forward`` from the last to the first."""
        value, joint, whitened, rest, shift_z, shift_u, move, precision, gain, soft, entropy_gradient = forward
        inverse, m = self._now[0], len(self.representers)
        soft_gradient = -entropy_gradient[:, :, None, :] / (soft.shape[1] * soft.shape[2])
        dot = np.sum(soft * soft_gradient, axis=-1, keepdims=True)
        after_gradient = soft * (soft_gradient - dot) / self.temperature
        gain_gradient = np.einsum("bkjm,bkjq->bmq", after_gradient, move)
        move_gradient = np.einsum("bkjm,bmq->bkjq", after_gradient, gain)
        whitened_gradient = np.einsum("kjm,bkjq->bmq", shift_z, move_gradient)
        rest_gradient = cholesky_vjp(rest, np.einsum("bkjq,kju->bqu", move_gradient, shift_u))
        whitened_gradient -= 2 * whitened @ rest_gradient
        covariance_gradient = np.zeros_like(joint.covariance)
        covariance_gradient[:, :m, m:] = gain_gradient @ precision + inverse.T @ whitened_gradient
        covariance_gradient[:, m:, m:] = rest_gradient - gain.swapaxes(-1, -2) @ gain_gradient @ precision
        gradient = joint.vjp(np.zeros_like(joint.mean), covariance_gradient)
        return value, self.features.vjp(gradient[:, -batches.shape[1] :, :], batches)


class _Forward(NamedTuple):
    """The steps from the posterior to the value, in order."""

    value: Array
    joint: Joint
    whitened: Array
    rest: Array
    shift_z: Array
    shift_u: Array
    move: Array
    precision: Array
    gain: Array
    soft: Array
    entropy_gradient: Array


def _blocks(batches: Array) -> list[Array]:
    """Return the batches, a few at a time: each takes O(k j m) memory."""
    return [batches[i : i + 8] for i in range(0, len(batches), 8)]


def _entropy(p: Array) -> tuple[Array, Array]:
    """Return -sum p log p and its gradient in p."""
    logs = np.log(np.maximum(p, 1e-300))
    return -np.sum(p * logs, axis=-1), -(logs + 1)
