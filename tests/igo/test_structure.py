"""Structure: groups of bits for a training loop."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from sonde.errors import OptionError
from sonde.igo import Structure

SHAPES = {"layers": 4, "units": (3, 5)}


def test_masks_have_their_shapes() -> None:
    structure = Structure(SHAPES, seed=0)
    masks = structure.draw()
    assert {name: mask.shape for name, mask in masks.items()} == {"layers": (2, 4), "units": (2, 3, 5)}
    assert all(mask.dtype == bool for mask in masks.values())
    assert {name: each.shape for name, each in structure.theta.items()} == {"layers": (4,), "units": (3, 5)}


def test_groups_are_split_in_their_order() -> None:
    structure = Structure(SHAPES, seed=0)
    masks = structure.draw()
    structure.tell([0.0, 1.0])
    moved = np.concatenate([np.ravel(each) for each in structure.theta.values()])
    np.testing.assert_array_equal(moved, structure.search.theta)
    for name, mask in masks.items():
        np.testing.assert_array_equal(np.sign(structure.theta[name] - 0.5), mask[0].astype(float) - mask[1])


def test_a_group_may_be_a_single_bit() -> None:
    structure = Structure({"layers": 4, "gate": ()}, seed=0)
    assert structure.draw()["gate"].shape == (2,)
    assert structure.theta["gate"].shape == structure.likeliest()["gate"].shape == ()


def learned(adapt: str | None, steps: int = 600) -> Structure:
    """A structure that learns ones in ``layers`` and zeros in ``units``."""
    structure, rng = Structure({"layers": 4, "units": (2, 3)}, adapt, seed=0), np.random.default_rng(0)
    for _ in range(steps):
        masks = structure.draw()
        losses = (
            masks["units"].sum(axis=(1, 2)) - masks["layers"].sum(axis=1) + 0.3 * rng.normal(size=len(masks["units"]))
        )
        structure.tell(losses)
    return structure


@pytest.mark.parametrize("adapt", ["epsilon", "lambda"])
def test_it_learns_a_noisy_structure(adapt: str) -> None:
    best = learned(adapt).likeliest()
    assert best["layers"].all()
    assert not best["units"].any()
    assert best["units"].shape == (2, 3)
    assert best["units"].dtype == bool


def test_epsilon_draws_two_masks_and_lambda_a_sample_size() -> None:
    structure = learned("epsilon", 50)
    assert structure.draw()["layers"].shape == (2, 4)
    assert structure.search.step_size < 10**-0.5
    many = learned("lambda", 50)
    assert len(many.draw()["layers"]) == many.search.sample_size


def test_a_probability_of_one_half_counts_as_used() -> None:
    assert Structure({"layers": 3}).likeliest()["layers"].all()


def test_every_tell_needs_a_draw_before_it() -> None:
    structure = Structure({"layers": 3}, seed=0)
    message = r"^tell\(\) needs masks: call draw\(\) first, once for every tell\(\)$"
    with pytest.raises(OptionError, match=message):
        structure.tell([1.0, 2.0])
    structure.draw()
    structure.tell([1.0, 2.0])
    with pytest.raises(OptionError, match=message):
        structure.tell([1.0, 2.0])


def test_losses_belong_to_the_masks_drawn_last() -> None:
    structure = Structure({"layers": 12}, seed=0)
    first, last = structure.draw()["layers"], structure.draw()["layers"]
    assert not np.array_equal(first, last)
    structure.tell([0.0, 1.0])
    np.testing.assert_array_equal(np.sign(structure.theta["layers"] - 0.5), last[0].astype(float) - last[1])


def test_wrong_losses_can_be_told_again() -> None:
    structure = Structure({"layers": 12}, seed=0)
    structure.draw()
    with pytest.raises(OptionError, match="one loss for each of the 2 samples"):
        structure.tell([1.0])
    structure.tell([0.0, 1.0])
    assert (structure.theta["layers"] != 0.5).any()


def test_a_restored_structure_continues_exactly() -> None:
    whole = learned("epsilon", 40)
    other = Structure({"layers": 4, "units": (2, 3)}, seed=9)
    other.draw()
    other.restore(pickle.loads(pickle.dumps(whole.save())))
    with pytest.raises(OptionError, match="needs masks"):
        other.tell([1.0, 2.0])
    for _ in range(20):
        masks, same = whole.draw(), other.draw()
        np.testing.assert_equal(masks, same)
        whole.tell([1.0, 2.0])
        other.tell([1.0, 2.0])
    np.testing.assert_equal(whole.theta, other.theta)


@pytest.mark.parametrize("shapes", [{}, {"a": 0}, {"a": 3, "b": (2, 0)}])
def test_empty_groups_are_refused(shapes: dict[str, Any]) -> None:
    with pytest.raises(OptionError) as raised:
        Structure(shapes)
    assert str(raised.value) == f"shapes must name at least one group with at least one bit each, got {shapes!r}"


@pytest.mark.parametrize("shape", [-1, (-1, -2), 2.0, (2.5, 2)])
def test_shapes_must_be_positive_whole_numbers(shape: Any) -> None:
    with pytest.raises(OptionError):
        Structure({"a": shape})


def test_numpy_integers_are_shapes() -> None:
    assert Structure({"a": np.int64(3)}).draw()["a"].shape == (2, 3)  # type: ignore[dict-item]


def test_settings_reach_the_search() -> None:
    structure = Structure({"a": 9}, None, seed=0, step_size=0.25, sample_size=3)
    assert (structure.search.step_size, len(structure.draw()["a"])) == (0.25, 3)
    with pytest.raises(OptionError, match="alpha must be"):
        Structure({"a": 9}, alpha=0)


@pytest.mark.parametrize("shapes", [5, None, [3, 4]])
def test_shapes_must_be_a_mapping(shapes: Any) -> None:
    with pytest.raises(OptionError, match="shapes must be a dict such as"):
        Structure(shapes)
