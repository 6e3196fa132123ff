"""A network of one hidden layer in JAX, trained by gradient descent with momentum; one compiled epoch for all settings.

Symbols: m images, p pixels, b a batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
from jax import numpy as jnp

if TYPE_CHECKING:
    from benchmarks.curves.models import Data

HIDDEN, CLASSES, BATCH = 64, 10, 50

Weights = list[tuple[Any, Any]]  # a matrix and a bias for each layer


class Setting(NamedTuple):
    """What is tuned."""

    learning_rate: float
    momentum: float
    weight_decay: float
    scale: float  # of the initial weights, in units of those that keep the variance


def train(setting: Setting, data: Data, seed: int) -> Iterator[float]:
    """Yield the share of wrong classes after each epoch."""
    key = jax.random.key(seed)
    x, y, held_out_x, held_out_y = (jnp.asarray(each) for each in data)
    x, held_out_x = x.astype(jnp.float32), held_out_x.astype(jnp.float32)
    traced = Setting(*(jnp.float32(each) for each in setting))  # as numbers, they would be compiled in
    weights = _initial(key, x.shape[1], setting.scale)
    velocity = jax.tree.map(jnp.zeros_like, weights)
    while True:
        key, own = jax.random.split(key)
        weights, velocity = _epoch(weights, velocity, traced, x, y, own)
        yield float(_error(weights, held_out_x, held_out_y))


def _initial(key: Any, pixels: int, scale: float) -> Weights:
    sizes = (pixels, HIDDEN, CLASSES)
    return [
        (scale * jax.random.normal(own, (rows, columns)) * (2 / rows) ** 0.5, jnp.zeros(columns))
        for own, rows, columns in zip(jax.random.split(key), sizes[:-1], sizes[1:], strict=True)
    ]


@jax.jit
def _epoch(weights: Weights, velocity: Weights, setting: Setting, x: Any, y: Any, key: Any) -> tuple[Weights, Weights]:
    batches = jax.random.permutation(key, len(y)).reshape(-1, BATCH)  # (m / b, b)
    (weights, velocity), _ = jax.lax.scan(partial(_step, setting, x, y), (weights, velocity), batches)
    return weights, velocity


def _step(setting: Setting, x: Any, y: Any, state: tuple[Weights, Weights], batch: Any) -> tuple[Any, None]:
    weights, velocity = state
    gradient = jax.grad(_loss)(weights, x[batch], y[batch])

    def faster(v: Any, g: Any, w: Any) -> Any:
        return setting.momentum * v - setting.learning_rate * (g + setting.weight_decay * w)

    velocity = jax.tree.map(faster, velocity, gradient, weights)
    return (jax.tree.map(jnp.add, weights, velocity), velocity), None


def _loss(weights: Weights, x: Any, y: Any) -> Any:
    scores = jax.nn.log_softmax(_scores(weights, x))
    return -jnp.take_along_axis(scores, y[:, None], axis=1).mean()


@jax.jit
def _error(weights: Weights, x: Any, y: Any) -> Any:
    return jnp.mean(jnp.argmax(_scores(weights, x), axis=1) != y)


def _scores(weights: Weights, x: Any) -> Any:
    (first, bias), (second, last_bias) = weights
    return jax.nn.relu(x @ first + bias) @ second + last_bias
