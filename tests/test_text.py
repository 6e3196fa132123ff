from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.text import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, ünïcode 漢字 👩‍🔬 [/foo] a\xa0b", None),
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("\x9b31m\x7f\x00", r"\x9b31m\x7f\x00"),
        ("a\u202eb\u2066c\u200fd\u2028e", r"a\u202eb\u2066c\u200fd\u2028e"),
        ("\ud800", r"\ud800"),
        ("a\tb\nc\rd", r"a\tb\nc\rd"),
    ],
)
def test_what_steers_a_terminal_is_escaped_and_nothing_else(text: str, shown: str | None) -> None:
    assert printable(text) == (text if shown is None else shown)


def test_lines_stay_lines_and_a_carriage_return_alone_does_not_overwrite_one() -> None:
    assert printable("a\tb\r\nc\nd\re\x1b", lines=True) == "a\tb\r\nc\nd\\re\\x1b"


@given(st.text(st.characters()))
def test_every_text_can_be_written_after(text: str) -> None:
    shown = printable(text)
    shown.encode()
    assert not any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in shown)
    assert printable(shown) == shown
