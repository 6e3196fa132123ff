"""The JAX training, run on JAX's CPU and compared with the NumPy training."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from tests.surrogates.basis.test_losses import FORMS, SEVERAL, WEIGHTS, parameters, targets
from tests.surrogates.basis.test_losses import X as ROWS
from tests.surrogates.basis.test_training import ALL, COUNT, LABELS, X, Y, networks

from sonde.surrogates.basis import gpu, training
from sonde.surrogates.basis.gpu import total_loss
from sonde.surrogates.basis.losses import loss_and_gradient
from sonde.surrogates.basis.networks import Network

KINDS = [("squares", "sgd"), ("squares", "adam"), ("logistic", "adam"), ("evidence", "adam"), ("evidence", "sgd")]


@pytest.mark.parametrize(("loss", "activation"), FORMS)
def test_gradients_match_automatic_differentiation(loss: str, activation: str) -> None:
    initial = parameters(activation)
    losses, gradient = loss_and_gradient(initial, activation, loss, ROWS, targets(loss), WEIGHTS)
    with jax.enable_x64(True):
        differentiated = jax.value_and_grad(total_loss, has_aux=True)
        (_, values), gradients = differentiated(initial.arrays, activation, loss, ROWS, targets(loss), WEIGHTS)
    np.testing.assert_allclose(losses, values, rtol=1e-10)
    for ours, theirs in zip(gradient.arrays, gradients, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("activation", ["tanh", "relu+tanh"])
@pytest.mark.parametrize(("loss", "optimizer"), KINDS)
def test_numpy_and_jax_agree_from_the_same_weights_and_minibatches(loss: str, optimizer: str, activation: str) -> None:
    values, rows = (LABELS if loss == "logistic" else Y), [np.arange(200), np.arange(40), *ALL[2:]]
    given = {"steps": 20, "loss": loss, "optimizer": optimizer}
    initial = networks(activation=activation)
    ours, losses = training.train(initial, X, values, rows, rng=np.random.default_rng(1), **given)  # type: ignore[arg-type]
    theirs, their_losses = gpu.train(
        initial, X, values, rows, rng=np.random.default_rng(1), device="cpu", **given  # type: ignore[arg-type]
    )  # fmt: skip
    np.testing.assert_allclose(losses, their_losses, rtol=5e-3, atol=1e-3)
    for one, other, start in zip(ours.layers, theirs.layers, initial.layers, strict=True):
        moved, apart = np.abs(one.weights - start.weights), np.abs(one.weights - other.weights)
        assert (
            apart.mean() < 0.03 * moved.mean()
        )  # rounding may change the sign of a gradient near zero, and so of Adam's step
        assert other.weights.dtype == float


def test_several_targets_are_those_of_numpy() -> None:
    initial = parameters()
    losses, gradient = loss_and_gradient(initial, "tanh", "evidence", ROWS, SEVERAL, WEIGHTS)
    with jax.enable_x64(True):
        differentiated = jax.value_and_grad(total_loss, has_aux=True)
        given = initial.arrays, "tanh", "evidence", ROWS, np.moveaxis(SEVERAL, 1, -1), WEIGHTS
        (_, values), gradients = differentiated(*given)
    np.testing.assert_allclose(losses, values, rtol=1e-10)
    for ours, theirs in zip(gradient.arrays, gradients, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-10)
    values, rng = np.stack([Y, np.roll(Y, 7)], axis=1), np.random.default_rng
    numpy, _ = training.train(networks(), X, values, ALL, rng=rng(1), steps=20, loss="evidence", optimizer="adam")
    other, _ = gpu.train(networks(), X, values, ALL, rng=rng(1), steps=20, loss="evidence", device="cpu")
    np.testing.assert_allclose(numpy.layers[0].weights, other.layers[0].weights, atol=0.02)


def test_many_rows_are_drawn_in_the_same_order() -> None:
    rng = np.random.default_rng(3)
    x = rng.random((1500, 2)) - 0.5
    y = np.sin(5 * x[:, 0]) + x[:, 1]
    rows = [np.arange(1500)] * COUNT
    given = {"steps": 20, "loss": "squares", "optimizer": "adam"}
    ours, _ = training.train(networks(), x, y, rows, rng=np.random.default_rng(1), **given)  # type: ignore[arg-type]
    theirs, _ = gpu.train(networks(), x, y, rows, rng=np.random.default_rng(1), device="cpu", **given)  # type: ignore[arg-type]
    np.testing.assert_allclose(ours.layers[1].weights, theirs.layers[1].weights, atol=2e-3)


def test_mean_losses_of_each_hundred_steps_are_returned() -> None:
    given = {"steps": 250, "loss": "evidence", "optimizer": "adam"}
    _, losses = training.train(networks(), X, Y, ALL, rng=np.random.default_rng(1), **given)  # type: ignore[arg-type]
    _, theirs = gpu.train(networks(), X, Y, ALL, rng=np.random.default_rng(1), device="cpu", **given)  # type: ignore[arg-type]
    assert len(theirs) == 3
    np.testing.assert_allclose(losses, theirs, rtol=0.05, atol=0.02)


def test_a_diverging_run_restarts_with_a_smaller_learning_rate() -> None:
    def trained(speed: float) -> tuple[Network, list[float]]:
        return gpu.train(
            initial, X, Y, ALL, steps=100, rng=np.random.default_rng(0), loss="squares", optimizer="sgd", speed=speed,
            device="cpu",
        )  # fmt: skip

    initial = networks()
    (restarted, losses), (slow, same), (_, slower) = (trained(20 * training.RESTART_FACTOR**k) for k in range(3))
    assert losses == same != slower  # diverged once, and then went on as the slow one
    assert losses[-1] < 1
    for one, other in zip(restarted.layers, slow.layers, strict=True):
        np.testing.assert_array_equal(one.weights, other.weights)
    assert trained(3000)[0] is initial  # it diverged every time


def test_nan_values_leave_the_networks_unchanged() -> None:
    initial = networks()
    targets = np.where(np.arange(len(Y)) == 5, np.nan, Y)
    network, _ = gpu.train(
        initial, X, targets, ALL, steps=10, rng=np.random.default_rng(0), loss="evidence", device="cpu"
    )
    assert network is initial
