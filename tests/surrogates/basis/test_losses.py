from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.surrogates.models import numeric_gradient

from sonde.surrogates.basis.losses import LOSSES, Parameters, loss_and_gradient
from sonde.surrogates.basis.networks import ACTIVATIONS, Network
from sonde.surrogates.basis.regression import ALPHA, BETA, BOUNDS, LOG_2PI, Hyperparameters, regress

Array = NDArray[np.float64]

COUNT, ROWS, WIDTH = 2, 30, 5
RNG = np.random.default_rng(0)
X = RNG.random((COUNT, ROWS, 3)) - 0.5
Y = RNG.normal(size=(COUNT, ROWS))
WEIGHTS = np.broadcast_to(np.arange(ROWS) < 24, (COUNT, ROWS)).astype(float)
FORMS = [(loss, activation) for loss in LOSSES for activation in ACTIVATIONS]


def parameters(activation: str = "tanh", dtype: Any = float) -> Parameters:
    rng = np.random.default_rng(1)
    network = Network.untrained(3, COUNT, rng, activation=activation, width=WIDTH, biases=0.5)
    output = rng.normal(size=(COUNT, WIDTH + 1)).astype(dtype)
    return Parameters.of(network, dtype)._replace(output=output, alpha=np.array([0.3, -1.0]), beta=np.array([2.0, 4.0]))


def targets(loss: str) -> Array:
    return np.sign(Y) if loss == "logistic" else Y


@pytest.mark.parametrize(("loss", "activation"), FORMS)
def test_gradients_are_those_of_finite_differences(loss: str, activation: str) -> None:
    initial = parameters(activation)
    _, gradient = loss_and_gradient(initial, activation, loss, X, targets(loss), WEIGHTS)
    for i, (array, found) in enumerate(zip(initial.arrays, gradient.arrays, strict=True)):

        def value(at: Array, i: int = i) -> float:
            changed = [at if k == i else each for k, each in enumerate(initial.arrays)]
            return float(
                loss_and_gradient(Parameters.from_arrays(changed), activation, loss, X, targets(loss), WEIGHTS)[0].sum()
            )

        np.testing.assert_allclose(found, numeric_gradient(value, array), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("loss", LOSSES)
def test_single_precision_is_close_to_double(loss: str) -> None:
    ours = loss_and_gradient(parameters(), "tanh", loss, X, targets(loss), WEIGHTS)
    single = [each.astype(np.float32) for each in (X, targets(loss), WEIGHTS)]
    losses, gradient = loss_and_gradient(parameters(dtype=np.float32), "tanh", loss, *single)
    np.testing.assert_allclose(losses, ours[0], rtol=1e-4)
    for single_gradient, exact in zip(gradient.arrays, ours[1].arrays, strict=True):
        np.testing.assert_allclose(single_gradient, exact, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("loss", LOSSES)
def test_rows_of_weight_zero_do_not_count(loss: str) -> None:
    padded = loss_and_gradient(parameters(), "tanh", loss, X, targets(loss), WEIGHTS)
    shorter = loss_and_gradient(parameters(), "tanh", loss, X[:, :24], targets(loss)[:, :24], WEIGHTS[:, :24])
    np.testing.assert_allclose(padded[0], shorter[0], rtol=1e-12)
    for one, other in zip(padded[1].arrays, shorter[1].arrays, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("log_alpha", "log_beta"), [(0.0, 3.0), (1.5, 1.0), (-1.0, 4.5)])
def test_the_evidence_loss_matches_the_regression_and_the_prior(log_alpha: float, log_beta: float) -> None:
    """Up to the normalisation and the jitter of 1e-4 added to alpha."""
    initial = parameters()._replace(alpha=np.full(2, log_alpha), beta=np.full(2, log_beta))
    losses, _ = loss_and_gradient(initial, "tanh", "evidence", X, Y, WEIGHTS)
    network = Network(initial.layers)
    for k in range(COUNT):
        basis = network.members(slice(k, k + 1)).basis(X[k, :24]).values
        regression = regress(basis, np.empty((24, 0)), Y[k, :24], np.ones(24))
        given = Hyperparameters(np.exp(log_alpha), np.exp(log_beta), np.empty(0))
        hyper = 0.5 * ((log_alpha - ALPHA[0]) / ALPHA[1]) ** 2 + 0.5 * ((log_beta - BETA[0]) / BETA[1]) ** 2
        assert 24 * losses[k] == pytest.approx(-regression.log_evidence(given) - 12 * LOG_2PI + hyper, abs=0.02)


def test_precisions_stay_within_bounds() -> None:
    far = parameters()._replace(alpha=np.array([-80.0, 80.0]), beta=np.array([80.0, -80.0]))
    losses, gradient = loss_and_gradient(far, "tanh", "evidence", X, Y, WEIGHTS)
    at_bounds = far._replace(alpha=np.array([-BOUNDS, BOUNDS]), beta=np.array([BOUNDS, -BOUNDS]))
    np.testing.assert_array_equal(losses, loss_and_gradient(at_bounds, "tanh", "evidence", X, Y, WEIGHTS)[0])
    assert not gradient.alpha.any()
    assert not gradient.beta.any()


def test_a_singular_basis_in_single_precision_leaves_the_loss_finite() -> None:
    """The Gram matrix of 4000 equal rows has no Cholesky factor in float32; it is computed in float64."""
    initial = parameters(dtype=np.float32)._replace(alpha=np.full(2, -BOUNDS), beta=np.full(2, BOUNDS))
    layers = [layer._replace(weights=0 * layer.weights + 0.1) for layer in initial.layers]
    x = np.repeat(X[:, :1], 4000, axis=1).astype(np.float32)
    losses, gradient = loss_and_gradient(
        initial._replace(layers=tuple(layers)), "tanh", "evidence", x, np.ones(x.shape[:2], np.float32),
        np.ones(x.shape[:2], np.float32),
    )  # fmt: skip
    assert np.isfinite(losses).all()
    assert all(np.isfinite(each).all() for each in gradient.arrays)


SEVERAL = np.stack([Y, RNG.normal(size=Y.shape), 0.3 * Y], axis=1)  # (M, K, B)


def test_the_evidence_of_several_targets_is_the_mean_of_theirs() -> None:
    together, gradient = loss_and_gradient(parameters(), "tanh", "evidence", X, SEVERAL, WEIGHTS)
    alone = [loss_and_gradient(parameters(), "tanh", "evidence", X, SEVERAL[:, k], WEIGHTS) for k in range(3)]
    np.testing.assert_allclose(together, np.mean([losses for losses, _ in alone], axis=0), rtol=1e-12)
    for i, found in enumerate(gradient.arrays):
        np.testing.assert_allclose(found, np.mean([each.arrays[i] for _, each in alone], axis=0), rtol=1e-9, atol=1e-12)
