"""Two classifiers of scikit-learn with two objectives: cross-validated error, and how large the model is.

Size stands for the seconds of a prediction, which would be noisy: the decimal logarithm of the number of nodes of a
random forest, or of weights of a network. Every value is deterministic, and a configuration is fitted once.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.objectives.variables import Value, Variable, choice

if TYPE_CHECKING:
    from benchmarks.objectives.problems import Measured

Array = NDArray[np.float64]
Stated = tuple[tuple[Variable, ...], "Callable[[Sequence[Value]], Measured]", Array, Array]

FOLDS = 3


def forest(seed: int) -> Stated:
    """Random forests of handwritten digits, from one node a tree to a hundred full trees."""
    from sklearn.datasets import load_digits
    from sklearn.ensemble import RandomForestClassifier

    variables = (
        Variable("n_estimators", "int", 1, 100, log=True),
        Variable("max_depth", "int", 1, 20),
        Variable("max_features", "float", 0.02, 1.0, log=True),
        Variable("min_samples_leaf", "int", 1, 50, log=True),
        choice("criterion", "gini", "entropy"),
    )

    def size(model: Any) -> int:
        return sum(tree.tree_.node_count for tree in model.estimators_)

    def make(options: dict[str, Value]) -> Any:
        return RandomForestClassifier(**options, random_state=seed)

    return variables, _measured(variables, load_digits(return_X_y=True), make, size, seed), _at(0, 0), _at(0.9, 4.5)


def perceptron(seed: int) -> Stated:
    """Networks with two hidden layers for handwritten digits, trained for ten epochs."""
    from sklearn.datasets import load_digits
    from sklearn.neural_network import MLPClassifier

    variables = (
        Variable("first", "int", 2, 128, log=True),
        Variable("second", "int", 2, 128, log=True),
        Variable("alpha", "float", 1e-6, 1.0, log=True),
        Variable("learning_rate_init", "float", 1e-4, 0.3, log=True),
        choice("solver", "adam", "sgd"),
    )

    def size(model: Any) -> int:
        return sum(weights.size for weights in (*model.coefs_, *model.intercepts_))

    def make(options: dict[str, Value]) -> Any:
        layers = options.pop("first"), options.pop("second")
        return MLPClassifier(hidden_layer_sizes=layers, max_iter=10, random_state=seed, **options)

    x, y = load_digits(return_X_y=True)
    return variables, _measured(variables, (x / 16, y), make, size, seed), _at(0, 2), _at(0.9, 4.5)


def _at(error: float, size: float) -> Array:
    return np.array([error, size], dtype=np.float64)


def _measured(
    variables: tuple[Variable, ...], data: tuple[Array, Array], make: Callable[[dict[str, Value]], Any],
    size: Callable[[Any], int], seed: int,
) -> Callable[[Sequence[Value]], Measured]:  # fmt: skip
    from sklearn.model_selection import StratifiedKFold

    x, y = data
    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(x, y))
    names = [variable.name for variable in variables]

    @cache
    def fitted(point: tuple[Value, ...]) -> tuple[float, float]:
        errors, sizes = [], []
        for train, held_out in folds:
            model = make(dict(zip(names, point, strict=True)))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # ten epochs are too few to converge, and diverging is a result
                try:
                    model.fit(x[train], y[train])
                except ValueError:  # weights that are no longer finite
                    return 0.9, 4.5
            errors.append(float(np.mean(model.predict(x[held_out]) != y[held_out])))
            sizes.append(size(model))
        return float(np.mean(errors)), float(np.log10(np.mean(sizes)))

    return lambda point: (np.array(fitted(tuple(point))), np.empty(0))
