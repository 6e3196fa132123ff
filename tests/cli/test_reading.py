from __future__ import annotations

import math

import pytest

from sonde.cli.reading import last_number

FOUND = [
    ("0.31", 0.31),
    ("0.31\n", 0.31),
    ("1\n2\n3\n", 3),
    ("loss=0.31", 0.31),
    ("loss: 0.31", 0.31),
    ("acc:0.9", 0.9),
    ("95%", 95),
    ("1e-5", 1e-5),
    ("1E+5", 1e5),
    ("-0.5", -0.5),
    ("loss=-.5e3", -500),
    ("+7", 7),
    ("5.", 5),
    ("the loss is 0.31.", 0.31),
    ("step 3...", 3),
    ("(0.31)", 0.31),
    ("[0.1, 0.2]", 0.2),
    ('{"loss": 0.25}', 0.25),
    ("0.1,0.2", 0.2),
    ("10/20", 20),
    ("0.9 +/- 0.1", 0.9),
    ("0.9±1e-3", 0.9),
    ("95 ± 2 %", 95),
    ("0.5 after 3.2s", 0.5),
    ("0.5 in epoch10", 0.5),
    ("0.5 10epochs", 0.5),
    ("0.5 for resnet-50", 0.5),
    ("0.5 with 10-fold", 0.5),
    ("0.5 by version 1.2.3", 0.5),
    ("0.5 from 127.0.0.1", 0.5),
    ("0.5 on 2024-01-05", 0.5),
    ("0.5 at 12:30:05", 0.5),
    ("0.5 [00:12<00:00, 8.3it/s]", 0.5),
    ("0.5 x_1 _2 0x1F 1_000", 0.5),
    ("0.5 3.txt", 0.5),
    ("0.5 1e5x 1e-", 0.5),
    ("0.5 5µs", 0.5),
    ("\x1b[1;32m0.31\x1b[0m", 0.31),
    ("0.25\r\n", 0.25),
    ("1e999", math.inf),
    ("0.5 inf", math.inf),
    ("0.5\nloss=-Infinity", -math.inf),
]
NOT_FOUND = ["", "\n", "done", "3.2s", "epoch10", "v1.2.3", "banana", "info", "nano", "inf2", "...", "-", "e5"]


@pytest.mark.parametrize(("text", "value"), FOUND, ids=[repr(text) for text, _ in FOUND])
def test_the_last_number(text: str, value: float) -> None:
    assert last_number(text) == value


@pytest.mark.parametrize("text", NOT_FOUND, ids=repr)
def test_no_number(text: str) -> None:
    assert last_number(text) is None


@pytest.mark.parametrize("text", ["nan", "0.5 NaN", "loss=nan", "-nan"])
def test_nan_counts(text: str) -> None:
    number = last_number(text)
    assert number is not None
    assert math.isnan(number)
