from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sonde.surrogates import training
from sonde.surrogates.head import ALPHA, BETA, LOG_2PI, Hyperparameters, regress
from sonde.surrogates.network import ACTIVATIONS, Network
from sonde.surrogates.training import train

Array = NDArray[np.float64]

# Compiling takes longer than all else: the shapes of this file are those of ``test_adaptive`` and ``test_labels`` too.
COUNT, WIDTH = 4, 12
X = np.random.default_rng(0).random((240, 2)) - 0.5
Y = np.sin(6 * X[:, 0]) * np.cos(4 * X[:, 1])
Y = (Y - Y.mean()) / Y.std()
LABELS = np.where(np.sum(X**2, axis=1) < 0.1, 1.0, -1.0)
KINDS = {"squares": "sgd", "logistic": "adam", "evidence": "adam"}
ALL = [np.arange(60)] * COUNT
NOTHING = np.empty((60, 0))


def networks(seed: int = 0, activation: str = "tanh") -> Network:
    return Network.untrained(2, COUNT, np.random.default_rng(seed), activation=activation, width=WIDTH)


def trained(
    loss: str, rows: list[NDArray[np.intp]] = ALL, *, targets: Array | None = None, steps: int = 600, seed: int = 0,
    speed: float = 1.0, x: Array = X,
) -> tuple[Network, list[float]]:  # fmt: skip
    own = LABELS if loss == "logistic" else Y
    rng = np.random.default_rng(seed)
    return train(networks(), x, own if targets is None else targets, rows, steps=steps, rng=rng, loss=loss,
                 optimizer=KINDS[loss], speed=speed)  # fmt: skip


def parts(network: Network, x: Array) -> list[Array]:
    """Each network's basis at x."""
    return np.split(network.basis(x).values, network.count, axis=1)


def misfit(network: Network, targets: Array) -> Array:
    """Mean squared errors on rows that were not seen of ridge regressions on those that were, one for each network."""
    errors = []
    for seen, unseen in zip(parts(network, X[:60]), parts(network, X[60:]), strict=True):
        weights = np.linalg.solve(seen.T @ seen + 1e-3 * np.eye(WIDTH + 1), seen.T @ targets[:60])
        errors.append(np.mean((unseen @ weights - targets[60:]) ** 2))
    return np.array(errors)


def assert_same_weights(one: Network, other: Network) -> None:
    for a, b in zip(one.layers, other.layers, strict=True):
        np.testing.assert_array_equal(a.weights, b.weights)
        np.testing.assert_array_equal(a.biases, b.biases)


# it learns


@pytest.mark.parametrize("loss", KINDS)
def test_losses_go_down(loss: str) -> None:
    network, losses = trained(loss)
    assert len(losses) == 6
    assert losses[-1] < losses[0] - 0.1 * abs(losses[0])
    assert losses[-1] < {"squares": 0.1, "logistic": 0.3, "evidence": 0.0}[loss]
    assert network.layers[0].weights.dtype == float
    assert not np.any(network.layers[0].weights == networks().layers[0].weights)


@pytest.mark.parametrize("loss", ["squares", "evidence"])
def test_the_trained_basis_foretells_better_than_the_random_one(loss: str) -> None:
    after = misfit(trained(loss)[0], Y)
    assert np.all(after < 0.1)
    assert np.mean(after) < 0.5 * np.mean(misfit(networks(), Y))


def test_labels_are_told_apart() -> None:
    assert np.all(misfit(trained("logistic")[0], LABELS) < 0.6 * misfit(networks(), LABELS).mean())


def test_there_is_more_evidence_for_a_basis_trained_on_it() -> None:
    def evidence(network: Network) -> Array:
        regressions = [regress(own, NOTHING, Y[:60], np.ones(60)) for own in parts(network, X[:60])]
        return np.array([each.log_evidence(each.most_probable()) for each in regressions])

    assert np.all(evidence(trained("evidence")[0]) > evidence(networks()) + 20)


# it is what it says


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_jax_and_numpy_have_the_same_basis(activation: str) -> None:
    network = networks(activation=activation)
    for layer in network.layers:
        layer.biases[:] = np.random.default_rng(3).normal(size=layer.biases.shape)
    x = np.broadcast_to(X[:5].astype(np.float32), (COUNT, 5, 2))
    got = training._basis(training._parameters(network), x, ACTIVATIONS[activation])
    np.testing.assert_allclose(got, np.array(parts(network, X[:5])), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("log_alpha", "log_beta"), [(0.0, 3.0), (1.5, 1.0), (-1.0, 4.5)])
def test_the_loss_is_minus_the_evidence_of_the_regression_and_the_prior(log_alpha: float, log_beta: float) -> None:
    """But for the normalisation; rows of weight zero are none."""
    basis = parts(networks(), X[:30])[0]
    parameters = {"alpha": np.float32(log_alpha), "beta": np.float32(log_beta)}
    told = (np.arange(30) < 24).astype(np.float32)
    got = 24 * training._evidence(parameters, basis.astype(np.float32), Y[:30].astype(np.float32), told)
    head = regress(basis[:24], NOTHING[:24], Y[:24], np.ones(24))
    given = Hyperparameters(np.exp(log_alpha), np.exp(log_beta), np.empty(0))
    hyper = 0.5 * ((log_alpha - ALPHA[0]) / ALPHA[1]) ** 2 + 0.5 * ((log_beta - BETA[0]) / BETA[1]) ** 2
    # the loss has a jitter of 1e-4 beside alpha
    assert float(got) == pytest.approx(-head.log_evidence(given) - 12 * LOG_2PI + hyper, abs=0.01)


def test_the_other_losses_are_those_of_the_output() -> None:
    basis = parts(networks(), X[:30])[0]
    output = np.random.default_rng(1).normal(size=WIDTH + 1)
    told = (np.arange(30) < 24).astype(float)
    values = (basis @ output)[:24]
    squares = training._squares({"output": output}, basis, Y[:30], told)
    logistic = training._logistic({"output": output}, basis, LABELS[:30], told)
    assert float(squares) == pytest.approx(np.mean((values - Y[:24]) ** 2), rel=1e-5)
    assert float(logistic) == pytest.approx(np.mean(np.logaddexp(0, -LABELS[:24] * values)), rel=1e-5)


def test_minibatches_are_rows_of_each_networks_own() -> None:
    rows = [np.arange(3), np.arange(100, 200), np.array([7])]
    index, weights = training._minibatches(rows, 64, np.random.default_rng(0))
    assert index.shape == weights.shape == (training.STEPS, 3, 64)
    for k, own in enumerate(rows):
        assert set(index[:, k][weights[:, k] > 0]) == set(own)  # draws from many miss none in a hundred steps
    np.testing.assert_array_equal(weights.sum(axis=-1), np.broadcast_to([3, 64, 1], (training.STEPS, 3)))


@pytest.mark.parametrize("loss", KINDS)
def test_rows_of_one_network_are_no_matter_to_another(loss: str) -> None:
    rows = [np.arange(20), np.arange(60), np.arange(5, 45), np.arange(60)]
    others = [rows[0], np.arange(30, 60), rows[2], np.arange(100, 110)]
    one, two = (trained(loss, each, steps=200)[0] for each in (rows, others))
    for k in (0, 2):
        assert_same_weights(one.members(slice(k, k + 1)), two.members(slice(k, k + 1)))
    for k in (1, 3):
        assert not np.any(one.layers[1].weights[k] == two.layers[1].weights[k])


def test_values_that_were_not_chosen_are_no_matter() -> None:
    x, y = X.copy(), Y.copy()
    x[60:], y[60:] = 1e6, np.nan
    assert_same_weights(trained("evidence", steps=200)[0], trained("evidence", steps=200, x=x, targets=y)[0])


@pytest.mark.parametrize("count", [60, 200])
def test_the_same_seed_gives_the_same_weights(count: int) -> None:
    rows = [np.arange(count)] * COUNT
    (one, first), (same, second), (other, _) = (trained("squares", rows, steps=200, seed=seed) for seed in (1, 1, 2))
    assert first == second
    assert_same_weights(one, same)
    assert (count == 60) == np.array_equal(one.layers[0].weights, other.layers[0].weights)  # 60 rows are not drawn


def test_one_compilation_serves_any_number_of_rows() -> None:
    run: Any = training._compiled("tanh", "squares", "sgd")
    trained("squares", steps=100)
    compiled = run._cache_size()
    for count in (1, 8, 63, 64, 65, 240):
        trained("squares", [np.arange(count)] * COUNT, steps=100)
    assert run._cache_size() == compiled


# it goes astray


def test_values_that_are_no_numbers_of_a_model_leave_the_networks_as_they_were() -> None:
    begun = networks()
    for targets in (1e30 * Y, np.full(len(Y), np.nan)):
        network, losses = train(begun, X, targets, ALL, steps=300, rng=np.random.default_rng(0), optimizer="sgd")
        assert network is begun
        assert not losses[-1] < 10


@pytest.mark.parametrize("loss", KINDS)
def test_no_speed_makes_weights_infinite(loss: str) -> None:
    for speed in (10.0, 1e3, 1e6, 1e12, 1e30):
        network, _ = trained(loss, steps=100, speed=speed)
        assert all(np.all(np.isfinite(each)) for layer in network.layers for each in layer)
        assert np.all(np.isfinite(network.basis(X).values))


def test_training_that_diverges_begins_again_and_slower(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice it does, on the second call; the third time it gets through."""
    seen: list[tuple[float, float]] = []
    answers = iter([0.5, np.nan, 0.4, 1e3, 0.3, 0.2])

    def run(parameters: Any, state: Any, x: Any, targets: Any, weights: Any, rates: Any) -> Any:
        seen.append((float(parameters["output"][0, 0]), float(rates[0])))
        return parameters | {"output": parameters["output"] + 1}, state, next(answers)

    monkeypatch.setattr(training, "_compiled", lambda *_: run)
    begun = networks()
    network, losses = train(begun, X, Y, ALL, steps=200, rng=np.random.default_rng(0))
    assert losses == [0.3, 0.2]
    assert network is not begun
    starts, rates = np.array(seen).reshape(3, 2, 2).transpose(2, 0, 1)
    np.testing.assert_array_equal(starts, [[0, 1]] * 3)  # from the beginning
    assert np.all(rates[1:] < 0.5 * rates[:-1])
    assert np.all(rates[:, 1] < rates[:, 0])


def test_one_core_or_many_train_the_same_networks() -> None:
    code = """
import os, sys
os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[: int(sys.argv[1])]))
import numpy as np
from sonde.surrogates.network import Network
from sonde.surrogates.training import train
rng = np.random.default_rng(0)
x = rng.random((600, 3)) - 0.5
network, _ = train(Network.untrained(3, 4, rng), x, x.sum(axis=1), [np.arange(600)] * 4, steps=100, rng=rng)
print(repr([float(each.sum()) for layer in network.layers for each in layer]))
"""
    printed = {
        subprocess.run([sys.executable, "-c", code, cores], capture_output=True, text=True, check=True).stdout
        for cores in ("1", "64")
    }
    assert len(printed) == 1
