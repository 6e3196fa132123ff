"""The training on a GPU, run on JAX's CPU: the same numbers are asked of it there."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from tests.surrogates.basis.test_losses import FORMS, TOLD, parameters, targets
from tests.surrogates.basis.test_losses import X as ROWS
from tests.surrogates.basis.test_training import ALL, COUNT, LABELS, X, Y, networks

from sonde.surrogates.basis import gpu, training
from sonde.surrogates.basis.gpu import total
from sonde.surrogates.basis.losses import loss_and_gradient

KINDS = [("squares", "sgd"), ("squares", "adam"), ("logistic", "adam"), ("evidence", "adam"), ("evidence", "sgd")]


@pytest.mark.parametrize(("loss", "activation"), FORMS)
def test_gradients_are_those_of_automatic_differentiation(loss: str, activation: str) -> None:
    begun = parameters(activation)
    losses, gradient = loss_and_gradient(begun, activation, loss, ROWS, targets(loss), TOLD)
    with jax.enable_x64(True):
        differentiated = jax.value_and_grad(total, has_aux=True)
        (_, values), gradients = differentiated(begun.arrays, activation, loss, ROWS, targets(loss), TOLD)
    np.testing.assert_allclose(losses, values, rtol=1e-10)
    for ours, theirs in zip(gradient.arrays, gradients, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("activation", ["tanh", "relu+tanh"])
@pytest.mark.parametrize(("loss", "optimizer"), KINDS)
def test_numpy_and_jax_agree_from_the_same_weights_and_minibatches(loss: str, optimizer: str, activation: str) -> None:
    values, rows = (LABELS if loss == "logistic" else Y), [np.arange(200), np.arange(40), *ALL[2:]]
    given = {"steps": 20, "loss": loss, "optimizer": optimizer}
    begun = networks(activation=activation)
    ours, losses = training.train(begun, X, values, rows, rng=np.random.default_rng(1), **given)  # type: ignore[arg-type]
    theirs, their_losses = gpu.train(
        begun, X, values, rows, rng=np.random.default_rng(1), device="cpu", **given  # type: ignore[arg-type]
    )  # fmt: skip
    np.testing.assert_allclose(losses, their_losses, rtol=5e-3, atol=1e-3)
    for one, other, start in zip(ours.layers, theirs.layers, begun.layers, strict=True):
        moved, apart = np.abs(one.weights - start.weights), np.abs(one.weights - other.weights)
        assert apart.mean() < 0.03 * moved.mean()  # rounding may turn the sign of a gradient near zero, and so Adam's
        assert other.weights.dtype == float


def test_many_rows_are_drawn_in_the_same_order() -> None:
    rng = np.random.default_rng(3)
    x = rng.random((1500, 2)) - 0.5
    y = np.sin(5 * x[:, 0]) + x[:, 1]
    rows = [np.arange(1500)] * COUNT
    given = {"steps": 20, "loss": "squares", "optimizer": "adam"}
    ours, _ = training.train(networks(), x, y, rows, rng=np.random.default_rng(1), **given)  # type: ignore[arg-type]
    theirs, _ = gpu.train(networks(), x, y, rows, rng=np.random.default_rng(1), device="cpu", **given)  # type: ignore[arg-type]
    np.testing.assert_allclose(ours.layers[1].weights, theirs.layers[1].weights, atol=2e-3)


def test_mean_losses_of_each_hundred_steps_are_told() -> None:
    given = {"steps": 250, "loss": "evidence", "optimizer": "adam"}
    _, losses = training.train(networks(), X, Y, ALL, rng=np.random.default_rng(1), **given)  # type: ignore[arg-type]
    _, theirs = gpu.train(networks(), X, Y, ALL, rng=np.random.default_rng(1), device="cpu", **given)  # type: ignore[arg-type]
    assert len(theirs) == 3
    np.testing.assert_allclose(losses, theirs, rtol=0.05, atol=0.02)


def test_a_training_that_diverges_is_begun_again_slower() -> None:
    begun = networks()
    network, losses = gpu.train(
        begun, X, Y, ALL, steps=100, rng=np.random.default_rng(0), loss="squares", optimizer="sgd", speed=3000.0,
        device="cpu",
    )  # fmt: skip
    assert network is begun or losses[-1] < 10


def test_values_that_are_no_numbers_leave_the_networks_as_they_were() -> None:
    begun = networks()
    targets = np.where(np.arange(len(Y)) == 5, np.nan, Y)
    network, _ = gpu.train(
        begun, X, targets, ALL, steps=10, rng=np.random.default_rng(0), loss="evidence", device="cpu"
    )
    assert network is begun
