from __future__ import annotations

import argparse
from pathlib import Path

import jax
import numpy as np
import pytest
from benchmarks.igo.curves import draw
from benchmarks.igo.mnist import Images
from benchmarks.igo.networks import Activations, Layers, Network, shuffled
from benchmarks.igo.structure import (
    EXPERIMENTS,
    Crew,
    Fixed,
    OneMask,
    Trial,
    TwoMasks,
    crews,
    looks,
    rate_at,
    run,
    train,
)
from benchmarks.records import read

from sonde.igo import PBIL

PIXELS = 12
METHODS = ["PBIL-lambda", "PBIL-epsilon"]


def images(count: int, seed: int) -> Images:
    """Return images that are bright where their class is."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(10, size=count).astype(np.int32)
    pixels = rng.integers(0, 60, (count, PIXELS)).astype(np.uint8)
    pixels[np.arange(count), classes] += 190
    return Images(pixels, classes)


DATA = images(640, 0), images(100, 1)


def weights(network: Network) -> dict[str, np.ndarray]:
    return network.start(np.random.default_rng(1))


def test_a_layer_is_skipped_exactly_or_added() -> None:
    network = Layers(4, 5, PIXELS)
    w, x = weights(network), np.random.default_rng(0).random((7, PIXELS), dtype=np.float32)
    mask = np.array([True, False, True])
    state = np.maximum(x @ w["first"], 0)
    for k in np.flatnonzero(mask):
        state = state + np.maximum(state @ w["hidden"][k], 0)
    given = network.logits(w, mask, x)
    np.testing.assert_allclose(given, state @ w["last"], rtol=1e-4, atol=1e-5)
    w["hidden"] = w["hidden"].copy()
    w["hidden"][1] = np.inf  # what is skipped may be anything
    np.testing.assert_array_equal(network.logits(w, mask, x), given)
    assert network.bits == 3


def test_units_are_tanh_or_relu_as_their_bits_say() -> None:
    network = Activations(3, 5, PIXELS)
    w, x = weights(network), np.random.default_rng(0).random((7, PIXELS), dtype=np.float32)
    mask = np.random.default_rng(1).random(network.bits) < 0.5
    state, matrices = x, [w["first"], *w["hidden"]]
    for matrix, kinds in zip(matrices, mask.reshape(3, 5), strict=True):
        state = np.where(kinds, np.maximum(state @ matrix, 0), np.tanh(state @ matrix))
    np.testing.assert_allclose(network.logits(w, mask, x), state @ w["last"], rtol=1e-4, atol=1e-5)
    assert network.bits == 15


@pytest.mark.parametrize("network", [Layers(4, 8, PIXELS), Activations(2, 8, PIXELS)])
def test_training_lowers_loss_and_error_and_a_seed_decides_it(network: Network) -> None:
    first, again = (crews(network, DATA, ["PBIL-epsilon"], 2) for _ in range(2))
    for together in (first, again):
        train(together, 120, 0.05, [1, 120])
    for trial, same in zip(first[0].trials, again[0].trials, strict=True):
        assert trial.loss[-1] < 0.7 * trial.loss[0]
        assert trial.error[-1] < trial.error[0]
        assert (trial.loss, trial.error) == (same.loss, same.error)


def test_a_trial_does_not_depend_on_its_place_in_a_crew() -> None:
    network, ones = Activations(2, 8, PIXELS), np.ones(16, dtype=bool)
    there, back = (Crew(network, DATA, [Trial("ReLU", t, Fixed(ones)) for t in order]) for order in ((0, 1), (1, 0)))
    for crew in (there, back):
        train([crew], 5, 0.05, [5])
    losses = [trial.loss[-1] for trial in there.trials]
    assert losses == pytest.approx([trial.loss[-1] for trial in reversed(back.trials)], rel=1e-5)
    assert losses[0] != pytest.approx(losses[1], rel=1e-2)


def test_lambda_moves_after_a_generation_and_epsilon_after_every_pair() -> None:
    pairs, singles = TwoMasks(PBIL(9, "epsilon", seed=0)), OneMask(PBIL(9, "lambda", seed=0))
    drawn = pairs.draw()
    pairs.tell(np.array([1.0, 2.0]))
    one = singles.draw()
    singles.tell(np.array([1.0]))
    assert np.all(singles.search.theta == 0.5)
    two = singles.draw()
    singles.tell(np.array([2.0]))
    np.testing.assert_array_equal(np.concatenate([one, two]), drawn)
    np.testing.assert_array_equal(singles.search.theta, pairs.search.theta)
    assert np.any(singles.search.theta != 0.5)


def test_an_order_has_every_image_once_and_changes_with_epoch_and_trial() -> None:
    keys = jax.random.split(jax.random.key(0), 2)
    orders = np.stack([shuffled(keys, 50, epoch) for epoch in (0, 1)]).reshape(4, 50)
    assert all(sorted(order) == list(range(50)) for order in orders.tolist())
    assert len({tuple(order) for order in orders.tolist()}) == 4


def test_looks_end_with_the_last_step_and_the_rate_falls_twice() -> None:
    assert looks(1000, 40)[0] == 1
    assert {250, 500, 750, 1000} <= set(looks(1000, 40))
    assert 30 <= len(looks(30_000, 40)) <= 40
    assert looks(5, 5)[-1] == 5
    rates = [rate_at(done, 8, 1.0) for done in range(8)]
    assert rates == pytest.approx([1] * 4 + [0.1] * 2 + [0.01] * 2)


@pytest.mark.parametrize("seconds", [None, 11.0])
def test_a_run_writes_its_rows_its_table_and_its_picture(tmp_path: Path, seconds: float | None) -> None:
    options = argparse.Namespace(
        iterations=5, seconds=seconds, trials=2, points=3, methods=METHODS, learning_rate=0.05, precision="float32"
    )
    file = tmp_path / "igo_activations.csv"
    run(Activations(2, 8, PIXELS), DATA, file, options)
    draw(file, EXPERIMENTS["activations"].title, EXPERIMENTS["activations"].paper)
    rows = read(file)
    assert {(row["method"], int(row["trial"])) for row in rows} == {(name, t) for name in METHODS for t in (0, 1)}
    assert all(len(row["error"].split()) == len(row["after"].split()) for row in rows)
    assert rows[0]["after"].split()[-1] == "5"
    assert [row["method"] for row in read(tmp_path / "igo_activations_summary.csv")] == METHODS
    assert (tmp_path / "igo_activations.png").stat().st_size > 0
