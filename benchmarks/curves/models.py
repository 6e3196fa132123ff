"""Real models: the validation error after each step of a training, in under a second a training on one core.

The seed draws the split of the data and what a training draws, so that a configuration has one curve. A classifier that
diverges has the error of chance from there on. Images of MNIST are averaged to 14 x 14.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import sonde

Array = NDArray[np.float64]
Configuration = Mapping[str, Any]
Errors = Callable[[Configuration], Iterator[float]]  # after each step, computed when it is asked for

CHANCE = 0.9  # the error of guessing one of ten classes
TREES = 5  # a step


@dataclass(frozen=True, eq=False)
class Problem:
    """A model to tune, for lower final errors."""

    name: str
    space: sonde.Space
    steps: int
    errors: Errors = field(repr=False)


class Data(NamedTuple):
    """What to train on, and what to measure the error on."""

    x: Array
    y: Array
    held_out_x: Array
    held_out_y: Array


def linear(seed: int) -> Problem:
    """Linear classifiers of handwritten digits by stochastic gradient descent."""
    from sklearn.linear_model import SGDClassifier

    space = sonde.Space(
        alpha=sonde.Float(1e-7, 1e-1, log=True),
        eta0=sonde.Float(1e-4, 10.0, log=True),
        learning_rate=sonde.Categorical(["constant", "invscaling", "optimal"]),
        penalty=sonde.Categorical(["l2", "l1", "elasticnet"]),
        loss=sonde.Categorical(["hinge", "log_loss", "modified_huber"]),
    )

    def errors(params: Configuration) -> Iterator[float]:
        return _by_epochs(SGDClassifier(random_state=np.random.RandomState(seed), **params), _digits(seed))

    return Problem("linear", space, 20, errors)


def perceptron(seed: int) -> Problem:
    """Networks of one hidden layer for handwritten digits."""
    from sklearn.neural_network import MLPClassifier

    space = sonde.Space(
        hidden_layer_sizes=sonde.Int(8, 256, log=True),
        learning_rate_init=sonde.Float(1e-5, 1.0, log=True),
        alpha=sonde.Float(1e-6, 10.0, log=True),
        batch_size=sonde.Int(16, 256, log=True),
    )

    def errors(params: Configuration) -> Iterator[float]:
        return _by_epochs(MLPClassifier(random_state=seed, **params), _digits(seed))

    return Problem("perceptron", space, 20, errors)


def boosting(seed: int) -> Problem:
    """Gradient-boosted trees for Friedman's first function with noise; the error is the root mean square."""
    from sklearn.datasets import make_friedman1
    from sklearn.ensemble import GradientBoostingRegressor

    space = sonde.Space(
        learning_rate=sonde.Float(3e-3, 1.0, log=True),
        max_depth=sonde.Int(1, 8),
        subsample=sonde.Float(0.2, 1.0),
        min_samples_leaf=sonde.Int(1, 50, log=True),
    )
    x, y = make_friedman1(800, noise=1.0, random_state=seed)
    data = _split(x, y, seed)

    def errors(params: Configuration) -> Iterator[float]:
        model = GradientBoostingRegressor(n_estimators=0, warm_start=True, random_state=seed, **params)
        while True:
            model.n_estimators += TREES
            model.fit(data.x, data.y)
            yield float(np.sqrt(np.mean((model.predict(data.held_out_x) - data.held_out_y) ** 2)))

    return Problem("boosting", space, 30, errors)


def network(seed: int) -> Problem:
    """A network of 64 hidden units for 5,000 images of MNIST, by gradient descent with momentum, in JAX."""
    space = sonde.Space(
        learning_rate=sonde.Float(1e-4, 10.0, log=True),
        momentum=sonde.Float(0.0, 0.99),
        weight_decay=sonde.Float(1e-7, 1e-1, log=True),
        scale=sonde.Float(0.01, 10.0, log=True),  # of the initial weights
    )

    def errors(params: Configuration) -> Iterator[float]:
        from benchmarks.curves.network import Setting, train

        return train(Setting(**params), _images(seed), seed)

    return Problem("network", space, 20, errors)


PROBLEMS: dict[str, Callable[[int], Problem]] = {
    each.__name__: each for each in (linear, perceptron, boosting, network)
}


def _by_epochs(model: Any, data: Data) -> Iterator[float]:
    """Train a classifier of scikit-learn for as many epochs as are asked for."""
    while True:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # overflows, which end in the next line
            try:
                model.partial_fit(data.x, data.y, classes=np.arange(10))
            except ValueError:  # weights that are no longer finite
                break
            wrong = model.predict(data.held_out_x) != data.held_out_y
        yield float(np.mean(wrong))
    while True:
        yield CHANCE


@cache
def _digits(seed: int) -> Data:
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    return _split(x / 16, y, seed)


@cache
def _images(seed: int) -> Data:
    from benchmarks.igo.mnist import load

    images, _ = load()
    chosen = np.random.default_rng(seed).permutation(len(images.classes))[:7000]
    pixels = images.pixels[chosen].reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4)).reshape(-1, 196) / 255
    classes = images.classes[chosen]
    return Data(pixels[:5000], classes[:5000], pixels[5000:], classes[5000:])


def _split(x: Array, y: Array, seed: int) -> Data:
    """Return one half to train on, and the other half to measure the error on."""
    order = np.random.default_rng(seed).permutation(len(y))
    training, held_out = np.array_split(order, 2)
    return Data(x[training], y[training], x[held_out], y[held_out])
