"""The two networks whose structure is a mask of bits, and the steps that train many of them in parallel.

A *network* says what a mask means; its weights are a dictionary of arrays. A *learner* is one set of weights with its
velocity. Everything is written for one learner; ``step``, ``test_errors``, ``untrained`` and ``shuffled`` take all
learners at once, stacked along the first axis.

A step is that of eq. (13): the mean gradient over the learner's masks on one mini-batch, clipped to the network's
greatest norm, plus weight decay of all weights and biases, with Nesterov's momentum in the form of Sutskever et al.
(2013).

Legend: b images of a mini-batch, p pixels, n bits, k masks of a step, h hidden layers of u units; first (p, u), hidden
(h - 1, u, u), last (u, 10), and their biases.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from benchmarks.igo.mnist import CLASSES, Images

Array: TypeAlias = jax.Array
Weights: TypeAlias = dict[str, Array]

BATCH, MOMENTUM, DECAY = 64, 0.9, 1e-4


@dataclass(frozen=True)
class Network(ABC):
    """Fully connected hidden layers of equal width."""

    depth: int
    width: int
    pixels: int = 784
    gain: float = 2.0

    @property
    @abstractmethod
    def bits(self) -> int:
        """How long a mask is."""

    @property
    def greatest_norm(self) -> float:
        """The norm to which the gradient of the loss is clipped."""
        return math.inf

    @abstractmethod
    def logits(self, weights: Weights, mask: Array, x: Array) -> Array:
        """Return the scores (b, 10) of images (b, p) with a mask (n,)."""

    def start(self, rng: np.random.Generator) -> dict[str, NDArray[np.float32]]:
        """Return weights of variance gain / inputs, 2 as He et al. (2015) draw them, 1 as LeCun; and biases of zero."""
        shapes = {
            "first": (self.pixels, self.width),
            "hidden": (self.depth - 1, self.width, self.width),
            "last": (self.width, CLASSES),
        }
        weights = {}
        for name, shape in shapes.items():
            scale = np.float32(math.sqrt(self.gain / shape[-2]))
            weights[name] = scale * rng.standard_normal(shape, dtype=np.float32)
            weights[f"{name} bias"] = np.zeros((*shape[:-2], shape[-1]), dtype=np.float32)
        return weights


class Layers(Network):
    """A bit for each hidden layer after the first: whether it is added to what came before, or skipped."""

    @property
    def bits(self) -> int:
        """One less than there are hidden layers."""
        return self.depth - 1

    @property
    def greatest_norm(self) -> float:
        """That of the paper: sums of many layers grow."""
        return 2.0

    def logits(self, weights: Weights, mask: Array, x: Array) -> Array:
        """Return the scores, with X_{k+2} = X_{k+1} + m_k H_{k+1}(X_{k+1})."""

        def layer(x: Array, own: tuple[Array, Array, Array]) -> tuple[Array, None]:
            matrix, bias, used = own
            return jnp.where(used, x + jax.nn.relu(x @ matrix + bias), x), None

        x = jax.nn.relu(x @ weights["first"] + weights["first bias"])
        x, _ = jax.lax.scan(layer, x, (weights["hidden"], weights["hidden bias"], mask), unroll=unrolled())
        return x @ weights["last"] + weights["last bias"]


class Activations(Network):
    """A bit for each hidden unit: tanh (0) or ReLU (1)."""

    @property
    def bits(self) -> int:
        """As many as units."""
        return self.depth * self.width

    def logits(self, weights: Weights, mask: Array, x: Array) -> Array:
        """Return the scores; the mask's bits are in the order of layers."""

        def layer(x: Array, own: tuple[Array, Array, Array]) -> tuple[Array, None]:
            matrix, bias, kinds = own
            return mixed(x @ matrix + bias, kinds), None

        kinds = mask.reshape(self.depth, self.width)
        x = mixed(x @ weights["first"] + weights["first bias"], kinds[0])
        x, _ = jax.lax.scan(layer, x, (weights["hidden"], weights["hidden bias"], kinds[1:]), unroll=unrolled())
        return x @ weights["last"] + weights["last bias"]


def unrolled() -> bool:
    """Whether to unroll the loop over layers: on a GPU, where every iteration of a loop costs a launch."""
    return jax.default_backend() != "cpu"


def mixed(x: Array, kinds: Array) -> Array:
    """Return ReLU of the units whose bit is set, and tanh of the others."""
    return jnp.where(kinds, jax.nn.relu(x), jnp.tanh(x))


class Learner(NamedTuple):
    """Weights and velocity of one network."""

    weights: Weights
    velocity: Weights


def loss(network: Network, weights: Weights, mask: Array, x: Array, classes: Array) -> Array:
    """Return the mean cross entropy."""
    scores = jax.nn.log_softmax(network.logits(weights, mask, x))
    return -jnp.take_along_axis(scores, classes[:, None], axis=1).mean()


def _stepped(
    network: Network, images: Images, learner: Learner, rows: Array, masks: Array, rate: Array
) -> tuple[Learner, Array]:
    x, classes = scaled(images.pixels[rows]), images.classes[rows]

    def mean(weights: Weights) -> tuple[Array, Array]:
        losses = jax.vmap(lambda mask: loss(network, weights, mask, x, classes))(masks)
        return losses.mean(), losses

    gradient, losses = jax.grad(mean, has_aux=True)(learner.weights)  # eq. (13)
    norm = jnp.sqrt(sum(jnp.sum(part**2) for part in gradient.values()))
    cut = jnp.minimum(1.0, network.greatest_norm / norm)
    weights, velocity = {}, {}
    for name, weight in learner.weights.items():
        move = rate * (cut * gradient[name] + DECAY * weight)
        velocity[name] = MOMENTUM * learner.velocity[name] - move
        weights[name] = weight + MOMENTUM * velocity[name] - move
    return Learner(weights, velocity), losses


@partial(jax.jit, static_argnums=0, donate_argnums=2)
def step(
    network: Network, images: Images, learners: Learner, orders: Array, place: Array, masks: Array, rate: Array
) -> tuple[Learner, Array]:
    """Return the learners after a step on the mini-batch at a place of their orders, and the losses (learners, k)."""
    rows = jax.lax.dynamic_slice_in_dim(orders, place * BATCH, BATCH, axis=1)
    return jax.vmap(lambda *own: _stepped(network, images, *own, rate))(learners, rows, masks)


@partial(jax.jit, static_argnums=0)
def test_errors(network: Network, images: Images, weights: Weights, masks: Array) -> Array:
    """Return the percentage of errors of each learner with its mask, one learner after the other."""

    def error(own: tuple[Weights, Array]) -> Array:
        scores = network.logits(*own, scaled(images.pixels))
        return 100 * jnp.mean(scores.argmax(axis=1) != images.classes)

    return jax.lax.map(error, (weights, masks))


def untrained(network: Network, seeds: Sequence[int]) -> Learner:
    """Return a learner for each seed; equal seeds have equal weights."""
    drawn = {seed: network.start(np.random.default_rng(seed)) for seed in set(seeds)}
    weights = {name: jnp.asarray(np.stack([drawn[seed][name] for seed in seeds])) for name in drawn[seeds[0]]}
    return Learner(weights, jax.tree.map(jnp.zeros_like, weights))


@partial(jax.jit, static_argnums=1)
def shuffled(keys: Array, count: int, epoch: int) -> Array:
    """Return the order (learners, count) in which each learner sees the images in an epoch, drawn from its key."""
    return jax.vmap(lambda key: jax.random.permutation(jax.random.fold_in(key, epoch), count))(keys)


def scaled(pixels: Array) -> Array:
    """Return bytes as numbers from 0 to 1."""
    return pixels.astype(jnp.float32) / 255
