"""A real use: the regularisation of every feature of a ridge regression, tuned through exact gradients.

    python -m benchmarks.fobo.regularisation [--full] [--core K]

scikit-learn's diabetes data with all products of two features, 65 in all: 65 penalties on a log scale, the value is the
mean squared error of five-fold cross-validation, in units of the variance, and JAX gives its gradient through the
solve. Contenders: fobo with gradients; without them, at the same number of evaluations, Sonde's gp, Optuna's TPE,
random draws; and the best single penalty for all features, which is what people use.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from benchmarks.fobo.contenders import begin, compare

LOW, HIGH = 1e-3, 1e4
FOLDS = 5


def main() -> None:
    size = begin(__doc__)
    import sonde
    from benchmarks.report import report

    loss, names = error()
    space = sonde.Space({name: sonde.Float(LOW, HIGH, log=True) for name in names})
    rows = compare(loss, space, size)
    single = min(float(loss(dict.fromkeys(names, each)).value) for each in np.geomspace(LOW, HIGH, 60).tolist())
    rows.append(dict.fromkeys(rows[0], f"{single:.4f}") | {"contender": "one penalty for all", "seeds": ""})
    title = f"{len(names)} penalties: cross-validated error / variance, mean ± standard deviation over seeds"
    report("fobo_regularisation" + size.suffix, title, rows)


def error() -> tuple[Callable[[Mapping[str, Any]], Any], list[str]]:
    """Return the objective, with its gradient, and the names of its parameters."""
    import jax.numpy as jnp
    from sklearn.datasets import load_diabetes
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler

    import sonde

    x, y = load_diabetes(return_X_y=True)
    x = StandardScaler().fit_transform(PolynomialFeatures(2, include_bias=False).fit_transform(x))
    y = (y - y.mean()) / y.std()
    fold = np.random.default_rng(0).permutation(len(y)) % FOLDS
    names = [f"penalty{k}" for k in range(x.shape[1])]

    def validated(p: Mapping[str, Any]) -> Any:
        penalties = jnp.stack([p[name] for name in names])
        total = 0.0
        for k in range(FOLDS):
            train, test = fold != k, fold == k
            gram = x[train].T @ x[train] + jnp.diag(penalties)
            weights = jnp.linalg.solve(gram, x[train].T @ y[train])
            total += jnp.sum((x[test] @ weights - y[test]) ** 2)
        return total / len(y)

    return sonde.autograd(validated), names


if __name__ == "__main__":
    main()
