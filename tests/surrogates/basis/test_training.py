from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sonde.surrogates.basis import training
from sonde.surrogates.basis.losses import Parameters
from sonde.surrogates.basis.networks import Network
from sonde.surrogates.basis.regression import regress
from sonde.surrogates.basis.training import train

Array = NDArray[np.float64]

COUNT, WIDTH = 4, 12
X = np.random.default_rng(0).random((240, 2)) - 0.5
Y = np.sin(6 * X[:, 0]) * np.cos(4 * X[:, 1])
Y = (Y - Y.mean()) / Y.std()
LABELS = np.where(np.sum(X**2, axis=1) < 0.1, 1.0, -1.0)
KINDS = [("squares", "sgd"), ("logistic", "adam"), ("evidence", "adam")]
KINDS += [(loss, "soap") for loss in ("squares", "logistic", "evidence")]
STEPS = {"sgd": 600, "adam": 600, "soap": 200}
ALL = [np.arange(60)] * COUNT
NOTHING = np.empty((60, 0))


def networks(seed: int = 0, activation: str = "tanh") -> Network:
    return Network.untrained(2, COUNT, np.random.default_rng(seed), activation=activation, width=WIDTH)


def trained(
    loss: str, rows: list[NDArray[np.intp]] = ALL, *, targets: Array | None = None, steps: int | None = None,
    seed: int = 0, speed: float = 1.0, x: Array = X, optimizer: str = "soap",
) -> tuple[Network, list[float]]:  # fmt: skip
    own = LABELS if loss == "logistic" else Y
    rng = np.random.default_rng(seed)
    return train(networks(), x, own if targets is None else targets, rows, steps=steps or STEPS[optimizer], rng=rng,
                 loss=loss, optimizer=optimizer, speed=speed)  # fmt: skip


def bases(network: Network, x: Array) -> list[Array]:
    """Each network's basis at x."""
    return np.split(network.basis(x).values, network.count, axis=1)


def validation_errors(network: Network, targets: Array) -> Array:
    """Mean squared errors of ridge regressions on 60 rows, on all other rows, one for each network."""
    errors = []
    for known, unseen in zip(bases(network, X[:60]), bases(network, X[60:]), strict=True):
        weights = np.linalg.solve(known.T @ known + 1e-3 * np.eye(WIDTH + 1), known.T @ targets[:60])
        errors.append(np.mean((unseen @ weights - targets[60:]) ** 2))
    return np.array(errors)


def assert_same_weights(one: Network, other: Network) -> None:
    for a, b in zip(one.layers, other.layers, strict=True):
        np.testing.assert_array_equal(a.weights, b.weights)
        np.testing.assert_array_equal(a.biases, b.biases)


# it reduces the loss


@pytest.mark.parametrize(("loss", "optimizer"), KINDS)
def test_losses_go_down(loss: str, optimizer: str) -> None:
    network, losses = trained(loss, optimizer=optimizer)
    assert len(losses) == STEPS[optimizer] // training.RECORDED
    assert losses[-1] < losses[0] - 0.1 * abs(losses[0])
    assert losses[-1] < {"squares": 0.1, "logistic": 0.3, "evidence": 0.0}[loss]
    assert network.layers[0].weights.dtype == float
    np.testing.assert_array_equal(network.layers[0].weights, network.layers[0].weights.astype(np.float32))
    assert not np.any(network.layers[0].weights == networks().layers[0].weights)


@pytest.mark.parametrize(("loss", "optimizer"), [("evidence", "soap"), ("evidence", "adam"), ("squares", "soap")])
def test_the_trained_basis_predicts_better_than_the_random_one(loss: str, optimizer: str) -> None:
    after = validation_errors(trained(loss, optimizer=optimizer)[0], Y)
    assert np.median(after) < 0.1
    assert np.mean(after) < 0.5 * np.mean(validation_errors(networks(), Y))


@pytest.mark.parametrize(("loss", "steps"), [("squares", 200), ("evidence", 200), ("evidence", 400)])
def test_soap_reaches_a_lower_loss_than_adam_in_as_many_steps(loss: str, steps: int) -> None:
    rows = [np.arange(240)] * COUNT
    reached = {name: trained(loss, rows, steps=steps, optimizer=name)[1][-1] for name in ("soap", "adam")}
    assert reached["soap"] < reached["adam"]


def test_two_hundred_steps_of_soap_match_a_thousand_of_adam() -> None:
    rows = [np.arange(240)] * COUNT
    quick = trained("evidence", rows, steps=200)[1][-1]
    assert quick < trained("evidence", rows, steps=1000, optimizer="adam")[1][-1] + 0.3


def test_a_rotating_eigenbasis_keeps_the_step_size_of_adam(monkeypatch: pytest.MonkeyPatch) -> None:
    """If only the first moment were rotated, it would be divided by a second moment of zero."""
    monkeypatch.setattr(training, "EIGENBASIS_EVERY", 1)
    layers, rng = Parameters.of(networks()).layers, np.random.default_rng(0)
    size = sum(each[0].size for layer in layers for each in layer)
    update = training.OPTIMIZERS["soap"](np.zeros((COUNT, size), np.float32), layers)
    steps = [update(rng.standard_normal((COUNT, size)).astype(np.float32)) for _ in range(40)]
    assert np.max([np.sqrt(np.mean(each**2)) for each in steps]) < 1.5


def test_labels_are_classified() -> None:
    after = validation_errors(trained("logistic", optimizer="adam")[0], LABELS)
    assert np.all(after < 0.6 * validation_errors(networks(), LABELS).mean())


def test_training_on_the_evidence_increases_the_evidence() -> None:
    def evidence(network: Network) -> Array:
        regressions = [regress(own, NOTHING, Y[:60], np.ones(60)) for own in bases(network, X[:60])]
        return np.array([each.log_evidence(each.most_probable()) for each in regressions])

    assert np.all(evidence(trained("evidence")[0]) > evidence(networks()) + 20)


# minibatches and seeds


def test_minibatches_have_the_rows_of_their_network() -> None:
    rows = [np.arange(3), np.arange(100, 200), np.array([7])]
    rng = np.random.default_rng(0)
    drawn = [training.minibatch(rows, 64, rng) for _ in range(100)]
    index, weights = (np.array(each) for each in zip(*drawn, strict=True))
    assert index.shape == weights.shape == (100, 3, 64)
    for k, own in enumerate(rows):
        assert set(index[:, k][weights[:, k] > 0]) == set(own)  # a hundred draws miss no row
        assert set(index[:, k].ravel()) == set(own)  # padding has its own rows too
    np.testing.assert_array_equal(weights.sum(axis=-1), np.broadcast_to([3, 64, 1], (100, 3)))


@pytest.mark.parametrize(("loss", "optimizer"), KINDS)
def test_the_rows_of_one_network_do_not_affect_another(loss: str, optimizer: str) -> None:
    rows = [np.arange(20), np.arange(60), np.arange(5, 45), np.arange(60)]
    # as many in the longest as before: how a product is summed depends on the number of rows in the batch
    others = [rows[0], np.arange(30, 60), rows[2], np.arange(100, 160)]
    one, two = (trained(loss, each, steps=20, optimizer=optimizer)[0] for each in (rows, others))
    for k in (0, 2):
        assert_same_weights(one.members(slice(k, k + 1)), two.members(slice(k, k + 1)))
    for k in (1, 3):
        assert not np.any(one.layers[1].weights[k] == two.layers[1].weights[k])


def test_other_rows_do_not_affect_training() -> None:
    x, y = X.copy(), Y.copy()
    x[60:], y[60:] = 1e6, np.nan
    for optimizer in STEPS:
        one, two = (
            trained("evidence", steps=20, optimizer=optimizer, **given)[0] for given in ({}, {"x": x, "targets": y})
        )
        assert_same_weights(one, two)


@pytest.mark.parametrize("optimizer", ["sgd", "soap"])
@pytest.mark.parametrize("count", [60, 200])
def test_the_same_seed_gives_the_same_weights(count: int, optimizer: str) -> None:
    rows = [np.arange(count)] * COUNT
    (one, first), (same, second), (other, _) = (
        trained("squares", rows, steps=200, seed=seed, optimizer=optimizer) for seed in (1, 1, 2)
    )
    assert first == second
    assert_same_weights(one, same)
    assert (count == 60) == np.array_equal(one.layers[0].weights, other.layers[0].weights)  # 60 rows are not drawn


# divergence


def test_huge_or_nan_values_leave_the_networks_unchanged() -> None:
    initial = networks()
    for targets in (1e30 * Y, np.full(len(Y), np.nan)):
        for loss, optimizer in KINDS:
            network, losses = train(initial, X, targets, ALL, steps=30, rng=np.random.default_rng(0), loss=loss,
                                    optimizer=optimizer)  # fmt: skip
            if loss != "logistic" or np.isnan(targets[0]):
                assert_same_weights(network, initial)
                assert not losses[-1] < 10
            assert np.all(np.isfinite(network.basis(X).values))


@pytest.mark.parametrize(("loss", "optimizer"), KINDS)
def test_no_learning_rate_makes_weights_infinite(loss: str, optimizer: str) -> None:
    for speed in (10.0, 1e3, 1e6, 1e12, 1e30):
        network, _ = trained(loss, steps=100, speed=speed, optimizer=optimizer)
        assert all(np.all(np.isfinite(each)) for layer in network.layers for each in layer)
        assert np.all(np.isfinite(network.basis(X).values))


def test_a_diverging_run_restarts_with_a_smaller_learning_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two runs diverge on the second step; the third succeeds."""
    outputs: list[float] = []
    answers = iter([0.5, np.nan, 0.4, 1e3, 0.3, 0.2])

    def loss(parameters: Parameters, *_: Any) -> tuple[Array, Parameters]:
        outputs.append(float(parameters.output[0, 0]))
        gradient = Parameters.of(networks())
        return np.full(COUNT, next(answers)), gradient._replace(output=gradient.output + 1)

    monkeypatch.setattr(training, "loss_and_gradient", loss)
    initial = networks()
    network, losses = train(initial, X, Y, ALL, steps=2, rng=np.random.default_rng(0), optimizer="adam")
    assert losses == [pytest.approx(0.25)]
    assert network is not initial
    starts = np.array(outputs).reshape(3, 2)
    np.testing.assert_array_equal(starts[:, 0], 0)  # from the initial weights
    assert np.all(starts[:, 1] < 0)
    assert np.all(starts[1:, 1] > 0.5 * starts[:-1, 1])


def test_the_number_of_cores_does_not_change_the_networks() -> None:
    code = """
import os, sys
os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[: int(sys.argv[1])]))
import numpy as np
from sonde.surrogates.basis.networks import Network
from sonde.surrogates.basis.training import train
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
