"""MNIST's digits: 60000 to train on, 10000 to test."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.dngo.problems import data

CLASSES = 10


class Images(NamedTuple):
    """Rows of pixels, as bytes, and their classes."""

    pixels: Any  # (m, p) uint8, of NumPy or JAX
    classes: Any  # (m,) int32


def load(file: Path | None = None) -> tuple[Images, Images]:
    """Return the training and the test images."""
    with np.load(data("mnist", "mnist.npz") if file is None else file) as arrays:
        training, test = (
            Images(arrays[f"x_{part}"].reshape(-1, 784), arrays[f"y_{part}"].astype(np.int32))
            for part in ("train", "test")
        )
    return training, test
