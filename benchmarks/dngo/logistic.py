"""HPOlib's logistic regression on MNIST: the validation error, in percent, of four settings of its training.

Softmax regression from zero weights, by plain gradient descent over minibatches in their order; a partial last batch is
left out, of training and of validation. Loss: mean negative log likelihood + l2_reg |W|^2.

HPOlib counts iterations from the number of batches on (its first epoch is 1), looks at the validation after every
min(batches, 2500) of them and stops when ``patience`` is used up. With batches of 20 and more that is after every
epoch, and what an epoch that is not finished does cannot be seen: so epochs are the loop here, and the question is
asked before each whether it will reach its end. HPOlib classifies with NaN weights too, at an error of 90 percent or
so; here that is no validation, and nothing can follow.

One compiled function serves all settings of a *width*: a batch is a slice of so many rows, of which those that are too
many get no weight. Widths are 32, 48, 64, 96, ..., 2048: few to compile, and at most half as much again to multiply.
The pixels stay bytes until they are used, as the time goes into reading them.

Legend: m rows, 784 pixels; W (10, 784), b (10,); weights stand first so that products run along the rows as stored.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from benchmarks.arena.problems import Variable

RANGES = (  # lrate, l2_reg, batchsize, n_epochs
    Variable("float", 0, 10),
    Variable("float", 0, 1),
    Variable("int", 20, 2000),
    Variable("int", 5, 2000),
)
WIDTHS = tuple(sorted({base << power for base in (32, 48) for power in range(7)} - {48 << 6}))
PATIENCE, PATIENCE_INCREASE, IMPROVEMENT = 5000, 2, 0.995
CLASSES = 10

_dot = partial(jnp.matmul, precision=lax.Precision.HIGHEST)  # a GPU would round to ten bits


class Images(NamedTuple):
    """Rows of pixels, as bytes, and their classes."""

    pixels: Array  # (m, 784)
    classes: Array  # (m,)


class Progress(NamedTuple):
    """Where training stands after some epochs."""

    weights: Array
    bias: Array
    epoch: Array
    patience: Array
    best: Array  # the least share of validation rows that were wrong; inf while there is none


def error(file: Path) -> Callable[[Sequence[float]], float]:
    """Return the objective; inf says that training diverged before its first validation."""
    with np.load(file) as arrays:
        pixels, classes = arrays["x_train"].reshape(-1, 784), arrays["y_train"]
    training, validation = images(pixels[:50000], classes[:50000]), images(pixels[50000:], classes[50000:])

    def evaluate(x: Sequence[float]) -> float:
        lrate, l2_reg, size, epochs = x
        share = float(train(training, validation, lrate, l2_reg, int(size), int(epochs)).best)
        return 100 * round(share, 7)  # what float32 knows

    return evaluate


def images(pixels: np.ndarray, classes: np.ndarray) -> Images:
    """Put rows on the device."""
    return Images(jnp.asarray(pixels, jnp.uint8), jnp.asarray(classes, jnp.int32))


def train(training: Images, validation: Images, lrate: float, l2_reg: float, size: int, epochs: int) -> Progress:
    """Train with batches of a size for some epochs at most."""
    width = next(width for width in WIDTHS if width >= size)
    numbers = np.float32(lrate), np.float32(l2_reg), np.int32(size), np.int32(epochs)
    trained: Progress = _train(training, validation, *numbers, width=width)
    return trained


@partial(jax.jit, static_argnames="width")
def _train(
    training: Images, validation: Images, lrate: Array, l2_reg: Array, size: Array, epochs: Array, *, width: int
) -> Progress:
    batches = len(training.classes) // size
    padded = Images(*(jnp.pad(rows, [(0, width)] + [(0, 0)] * (rows.ndim - 1)) for rows in training))
    share = jnp.where(jnp.arange(width) < size, lrate / size, 0)

    def step(batch: Array, model: tuple[Array, Array]) -> tuple[Array, Array]:
        weights, bias = model
        pixels, classes = (lax.dynamic_slice_in_dim(rows, batch * size, width) for rows in padded)
        x = _floats(pixels)
        truth = classes == jnp.arange(CLASSES)[:, None]
        slope = share * (jax.nn.softmax(_dot(weights, x.T) + bias[:, None], axis=0) - truth)
        return (1 - 2 * lrate * l2_reg) * weights - _dot(slope, x), bias - slope.sum(1)

    def follow(state: Progress) -> Progress:
        weights, bias = lax.fori_loop(0, batches, step, (state.weights, state.bias))
        epoch = state.epoch + 1
        last = (epoch + 1) * batches - 1
        wrong = jnp.where(jnp.isfinite(weights).all(), _wrong(weights, bias, validation, size), jnp.inf)
        longer = jnp.where(wrong < IMPROVEMENT * state.best, PATIENCE_INCREASE * last, 0)
        return Progress(weights, bias, epoch, jnp.maximum(state.patience, longer), jnp.fmin(state.best, wrong))

    def goes_on(state: Progress) -> Array:
        reached = (state.epoch + 2) * batches - 2  # the last iteration that could stop the next epoch short of its end
        return (state.epoch < epochs) & (state.patience > reached) & jnp.isfinite(state.weights).all()

    zeros = jnp.zeros((CLASSES, training.pixels.shape[1]), jnp.float32)
    start = Progress(zeros, zeros[:, 0], jnp.int32(0), jnp.int32(PATIENCE), jnp.float32(jnp.inf))
    return lax.while_loop(goes_on, follow, start)


def _wrong(weights: Array, bias: Array, validation: Images, size: Array) -> Array:
    """Return the share of rows in whole batches whose class is missed."""
    rows = len(validation.classes)
    used = rows // size * size
    missed = jnp.argmax(_dot(weights, _floats(validation.pixels).T) + bias[:, None], axis=0) != validation.classes
    return jnp.sum(missed & (jnp.arange(rows) < used), dtype=jnp.float32) / used


def _floats(pixels: Array) -> Array:
    return pixels.astype(jnp.float32) / 256
