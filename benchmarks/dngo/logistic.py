"""HPOlib's logistic regression on MNIST: the validation error, in percent, of four settings of its training.

Softmax regression from zero weights, by plain gradient descent over minibatches in their order; a partial last batch is
left out, of training and of validation. Loss: mean negative log likelihood + l2_reg |W|^2.

HPOlib counts iterations from the number of batches on (its first epoch is 1), validates after every min(batches, 2500)
iterations and stops when ``patience`` is exhausted. With batches of 20 and more it validates after every epoch, and an
unfinished epoch has no effect on the result. So the loop here is over epochs, and an epoch starts only if it will be
finished. HPOlib classifies with NaN weights too, at an error of about 90 percent; here NaN weights end the training.

An epoch is one compiled function over blocks of at most 100 rows: a block stays in the cache between the product that
classifies it and the product that learns from it, and OpenBLAS is at its best with small matrices. Pixels stay bytes
until they are used, and those that no row of the training uses are left out: their weights would stay zero.

Legend: m rows, p pixels; weights (10, p), bias (10,).
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numba import njit

from benchmarks.arena.problems import Variable

RANGES = (  # lrate, l2_reg, batchsize, n_epochs
    Variable("float", 0, 10),
    Variable("float", 0, 1),
    Variable("int", 20, 2000),
    Variable("int", 5, 2000),
)
PATIENCE, PATIENCE_INCREASE, IMPROVEMENT = 5000, 2, 0.995
CLASSES, BLOCK = 10, 100

f32 = np.float32
_sums = {"reassoc", "contract"}  # of the liberties with floats only these: NaN and inf must stay what they are


class Images(NamedTuple):
    """Rows of pixels, as bytes, and their classes."""

    pixels: np.ndarray  # (m, p)
    classes: np.ndarray  # (m,)


def error(file: Path) -> Callable[[Sequence[float]], float]:
    """Return the objective; inf says that training diverged before its first validation."""
    with np.load(file) as arrays:
        pixels, classes = arrays["x_train"].reshape(-1, 784), arrays["y_train"].astype(np.int64)
    pixels = np.ascontiguousarray(pixels[:, pixels[:50000].any(0)])
    training, validation = Images(pixels[:50000], classes[:50000]), Images(pixels[50000:], classes[50000:])

    def evaluate(x: Sequence[float]) -> float:
        lrate, l2_reg, size, epochs = x
        return 100 * round(train(training, validation, lrate, l2_reg, int(size), int(epochs)), 7)

    return evaluate


def train(training: Images, validation: Images, lrate: float, l2_reg: float, size: int, epochs: int) -> float:
    """Train with batches of a size for some epochs at most; return the least share of the validation that was wrong."""
    batches = len(training.classes) // size
    weights, bias = np.zeros((CLASSES, training.pixels.shape[1]), f32), np.zeros(CLASSES, f32)
    patience, best = PATIENCE, np.inf
    for epoch in range(1, epochs + 1):
        if patience <= (epoch + 1) * batches - 2:  # the last iteration that could stop this epoch short of its end
            break
        _follow(*training, weights, bias, f32(lrate), f32(l2_reg), size)
        if not np.isfinite(weights).all():
            break
        wrong = _wrong(*validation, weights, bias, size)
        if wrong < IMPROVEMENT * best:
            patience = max(patience, PATIENCE_INCREASE * ((epoch + 1) * batches - 1))
        best = min(best, wrong)
    return best


@njit
def _follow(
    pixels: np.ndarray, classes: np.ndarray, weights: np.ndarray, bias: np.ndarray, lrate: f32, l2_reg: f32, size: int
) -> None:
    """Step once for every whole batch."""
    x, scores, total, part = _room(weights)
    bias_total = np.empty_like(bias)
    decay, rate = f32(1) - f32(2) * lrate * l2_reg, lrate / f32(size)
    for first in range(0, len(classes) // size * size, size):
        total[:], bias_total[:] = 0, 0
        for start in range(first, first + size, BLOCK):
            m = min(BLOCK, first + size - start)
            rows, gradients = x[:m], scores[: CLASSES * m].reshape(CLASSES, m)
            _classify(pixels[start : start + m], weights, rows, gradients)
            _gradients(gradients, bias, classes[start : start + m], bias_total)
            np.dot(gradients, rows, part)
            total += part
        _step(weights, total, decay, rate)
        _step(bias.reshape(-1, 1), bias_total.reshape(-1, 1), f32(1), rate)


@njit
def _wrong(pixels: np.ndarray, classes: np.ndarray, weights: np.ndarray, bias: np.ndarray, size: int) -> float:
    """Return the share of rows in whole batches whose class is missed."""
    x, room, _, _ = _room(weights)
    used, missed = len(classes) // size * size, 0
    for start in range(0, used, BLOCK):
        m = min(BLOCK, used - start)
        scores = room[: CLASSES * m].reshape(CLASSES, m)
        _classify(pixels[start : start + m], weights, x[:m], scores)
        for row in range(m):
            missed += np.argmax(scores[:, row] + bias) != classes[start + row]
    return missed / used


@njit
def _room(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return a block's rows, its scores, and two gradients."""
    x = np.empty((BLOCK, weights.shape[1]), weights.dtype)
    return x, np.empty(CLASSES * BLOCK, weights.dtype), np.empty_like(weights), np.empty_like(weights)


@njit(fastmath=_sums)
def _classify(pixels: np.ndarray, weights: np.ndarray, x: np.ndarray, scores: np.ndarray) -> None:
    """Put the pixels into x, as floats, and their products with the weights into scores."""
    for row in range(pixels.shape[0]):
        for pixel in range(pixels.shape[1]):
            x[row, pixel] = f32(pixels[row, pixel]) / f32(256)
    np.dot(weights, x.T, scores)


@njit(fastmath=_sums)
def _gradients(scores: np.ndarray, bias: np.ndarray, classes: np.ndarray, bias_total: np.ndarray) -> None:
    """Turn scores into probabilities less the truth, and add them up for the bias."""
    for row in range(scores.shape[1]):
        top = scores[0, row] + bias[0]
        for c in range(CLASSES):
            scores[c, row] += bias[c]
            top = max(top, scores[c, row])
        mass = f32(0)
        for c in range(CLASSES):
            scores[c, row] = np.exp(scores[c, row] - top)
            mass += scores[c, row]
        for c in range(CLASSES):
            scores[c, row] /= mass
        scores[classes[row], row] -= f32(1)
        for c in range(CLASSES):
            bias_total[c] += scores[c, row]


@njit(fastmath=_sums)
def _step(weights: np.ndarray, gradient: np.ndarray, decay: f32, rate: f32) -> None:
    for c in range(weights.shape[0]):
        for pixel in range(weights.shape[1]):
            weights[c, pixel] = decay * weights[c, pixel] - rate * gradient[c, pixel]
