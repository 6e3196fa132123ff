from __future__ import annotations

import numpy as np
import pytest
from tests.surrogates.models import numeric_gradient

from sonde.surrogates.basis.networks import ACTIVATIONS, Network

FORMS = [(activation, quadratic) for activation in ACTIVATIONS for quadratic in (False, True)]
X = np.random.default_rng(1).random((5, 3)) - 0.5


def networks(count: int = 2, *, activation: str = "tanh", quadratic: bool = False, seed: int = 0) -> Network:
    """Random networks of 3 inputs with random biases; untrained networks have zero biases."""
    rng = np.random.default_rng(seed)
    network = Network.untrained(3, count, rng, activation=activation, width=6, quadratic=quadratic)
    for layer in network.layers:
        layer.biases[:] = 0.3 * rng.standard_normal(layer.biases.shape)
    return network


@pytest.mark.parametrize(("activation", "quadratic"), FORMS)
def test_the_vjp_matches_finite_differences(activation: str, quadratic: bool) -> None:
    network = networks(activation=activation, quadratic=quadratic)
    basis = network.basis(X)
    gradients = np.random.default_rng(2).normal(size=basis.values.shape)
    expected = numeric_gradient(lambda at: float(np.sum(gradients * network.basis(at).values)), X)
    assert np.abs(expected).max() > 1
    np.testing.assert_allclose(basis.vjp(gradients), expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(("activation", "quadratic"), FORMS)
def test_the_basis_is_the_last_layer_of_each_network_and_a_constant(activation: str, quadratic: bool) -> None:
    network = networks(activation=activation, quadratic=quadratic)
    values = network.basis(X).values
    assert values.shape == (5, network.count * network.units + 6 * quadratic)
    for k in range(network.count):
        for row, x in zip(values, X, strict=True):
            out = np.sqrt(12) * x
            for kind, layer in zip(ACTIVATIONS[activation], network.layers, strict=True):
                raw = out @ layer.weights[k] + layer.biases[k, 0]
                out = np.tanh(raw) if kind == "tanh" else np.maximum(raw, 0)
            np.testing.assert_allclose(row[k * 7 : (k + 1) * 7], [*out, 1.0], rtol=1e-12)
    if quadratic:
        np.testing.assert_array_equal(values[:, 14:], np.hstack([X, X**2]))


@pytest.mark.parametrize(("activation", "quadratic"), FORMS)
def test_stacked_networks_do_not_interact(activation: str, quadratic: bool) -> None:
    both = networks(4, activation=activation, quadratic=quadratic)
    values, at = both.basis(X), 0
    gradients = np.random.default_rng(3).normal(size=(5, 4 * 7 + 6 * quadratic))
    expected = np.zeros_like(X)
    for k in range(4):
        alone = both.members(slice(k, k + 1)).basis(X)
        np.testing.assert_allclose(values.values[:, at : at + 7], alone.values[:, :7], rtol=1e-12)
        own = np.zeros_like(alone.values)
        own[:, :7] = gradients[:, at : at + 7]
        expected += alone.vjp(own)
        at += 7
    if quadratic:
        expected += gradients[:, 28:31] + 2 * X * gradients[:, 31:]
    np.testing.assert_allclose(values.vjp(gradients), expected, rtol=1e-10, atol=1e-12)


def test_members_are_networks_of_the_same_form() -> None:
    network = networks(3, activation="relu+tanh", quadratic=True)
    last = network.members(slice(2, None))
    assert (last.count, last.units, last.activation, last.quadratic) == (1, 7, "relu+tanh", True)
    for one, other in zip(network.layers, last.layers, strict=True):
        np.testing.assert_array_equal(one.weights[2:], other.weights)
        np.testing.assert_array_equal(one.biases[2:], other.biases)
    assert network.members(slice(1, 1)).count == 0


@pytest.mark.parametrize("quadratic", [False, True])
def test_no_points_have_an_empty_basis_and_empty_gradients(quadratic: bool) -> None:
    basis = networks(quadratic=quadratic).basis(np.empty((0, 3)))
    assert basis.values.shape == (0, 14 + 6 * quadratic)
    assert basis.vjp(np.empty(basis.values.shape)).shape == (0, 3)


def test_points_are_not_modified() -> None:
    x, network = X.copy(), networks(quadratic=True)
    basis = network.basis(x)
    before = basis.values.copy()
    basis.vjp(np.ones(basis.values.shape))
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(basis.values, before)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("inputs", [1, 10, 100])
def test_random_networks_neither_fade_nor_saturate(activation: str, inputs: int) -> None:
    rng = np.random.default_rng(0)
    network = Network.untrained(inputs, 20, rng, activation=activation)
    last = network.hidden(rng.random((200, inputs)) - 0.5)[-1]
    size = np.sqrt(np.mean(last**2))
    assert 0.3 < size < (0.9 if "tanh" in activation else 3.0)


def test_random_networks_differ_and_are_seeded() -> None:
    one, same, other = (networks(seed=seed).basis(X).values for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, same)
    assert not np.any(one[:, :6] == other[:, :6])
    assert not np.any(one[:, :6] == one[:, 7:13])
