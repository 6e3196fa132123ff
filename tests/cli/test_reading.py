from __future__ import annotations

import math
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonde.cli.results import last_number

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


# The definition, with ordinary quantifiers: right, and quadratic on a long run of digits.
NOISE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\b\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?\b|(?:±|\+/?-)\s*[\d.]+(?:e[+-]?\d+)?", re.IGNORECASE
)
NUMBER = re.compile(
    r"(?<![\w.+-])[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|(?ai:nan|inf(?:inity)?))(?!\w|\.\w|[+-]\w)", re.IGNORECASE
)
PIECES = ["1", "23", ".", "+", "-", "e", "E", "nan", "inf", "infinity", "x", "_", " ", "\n", ":", "12:30", ":05", "±",
          "+/-", "%", "/", "(", ",", "\x1b[", "m", "\x1b[0m", "é", "٣", "²"]  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join) | st.text(max_size=8))
def test_the_search_finds_what_the_definition_does(text: str) -> None:
    found = NUMBER.findall(NOISE.sub(" ", text))
    assert repr(last_number(text)) == repr(float(found[-1]) if found else None)


@pytest.mark.parametrize(
    "piece",
    ["1", "1.", ".1", "+-", "1e", "1e5", "-1e-", "1:", "12:30:05.", "\x1b[", "\x1b[0", "\x1b[0/", "± ", "+-1", "+-.",
     "inf", "nan", "1 ", "1.-", "\N{ARABIC-INDIC DIGIT ONE}"],
)  # fmt: skip
@pytest.mark.parametrize("end", ["x", "", " ", "e", ".x"])
def test_the_search_takes_time_in_proportion_to_the_text(piece: str, end: str) -> None:
    text = "0.5 " + piece * (65_536 // len(piece)) + end
    start = time.process_time()
    last_number(text)
    assert time.process_time() - start < 5


def test_a_letter_that_only_resembles_i_makes_no_infinity() -> None:
    assert last_number("0.5 \N{LATIN SMALL LETTER DOTLESS I}nf") == 0.5
