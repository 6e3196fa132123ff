"""The reason of a failure in one line."""

from __future__ import annotations

import traceback
from collections.abc import Callable

import jax
import pytest

import sonde
from sonde.trials.outcome import describe, failure
from sonde.trials.reason import one_line


def plain() -> None:
    raise ValueError("too wide")


def of_many_lines() -> None:
    raise ValueError("shapes differ\n  left: (3,)\n  right: (4,)\nuse reshape")


def that_begins_on_the_next_line() -> None:
    raise RuntimeError("CUDA error:\nout of memory\nsee the manual")


def without_words() -> None:
    raise KeyboardInterrupt


def with_notes() -> None:
    error = TypeError("no")
    error.add_note("For simplicity, internal frames were removed.")
    error.add_note('  File "look.py", in here')
    raise error


def chained() -> None:
    try:
        plain()
    except ValueError as error:
        raise OSError("disk full\nmore") from error


def syntax() -> None:
    exec("x = (1 +\n")


def recursion() -> None:
    recursion()


def group() -> None:
    raise ExceptionGroup("two things", [ValueError("one"), TypeError("two")])


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no")

    __repr__ = __str__

    def __reduce__(self) -> str:
        raise TypeError("cannot be pickled")


def mute() -> None:
    raise Mute


def traced() -> None:
    jax.jit(lambda x: x if x > 0 else -x)(1.0)


@pytest.mark.parametrize(
    ("raises", "said"),
    [
        (plain, "ValueError: too wide"),
        (of_many_lines, "ValueError: shapes differ"),
        (that_begins_on_the_next_line, "RuntimeError: CUDA error: out of memory"),
        (without_words, "KeyboardInterrupt"),
        (with_notes, "TypeError: no"),
        (chained, "OSError: disk full"),
        (syntax, "SyntaxError: '(' was never closed"),
        (recursion, "RecursionError: maximum recursion depth exceeded"),
        (group, "ExceptionGroup: two things (2 sub-exceptions)"),
        (mute, "Mute: <exception str() failed>"),
        (
            traced,
            "jax.errors.TracerBoolConversionError: Attempted boolean conversion of traced array with shape bool[].",
        ),
    ],
)
def test_the_line_of_the_exception_is_found(raises: Callable[[], None], said: str) -> None:
    try:
        raises()
    except BaseException as error:
        text = "".join(traceback.format_exception(error))
    assert one_line(text).removeprefix("tests.trials.test_reason.") == said
    assert one_line(f"exit code 1\n{text}").removeprefix("exit code 1: ").endswith(said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ""),
        ("the value is nan", "the value is nan"),
        ("exit code 3\nsome words\nout of memory", "exit code 3: out of memory"),
        ('  File "a.py", line 1, in f\n    g()\nValueError: cut off above', "ValueError: cut off above"),
        ("Traceback (most recent call last):", "Traceback (most recent call last):"),
        ("Traceback (most recent call last):\n  nothing", "Traceback (most recent call last):: nothing"),
    ],
)
def test_other_texts(text: str, said: str) -> None:
    assert one_line(text) == said


def test_the_last_reason_is_said_where_nothing_has_worked() -> None:
    study = sonde.Study(sonde.Space(x=sonde.Float(0, 1)), seed=0)
    study.optimize(lambda trial: traced(), 1, progress=False)
    with pytest.raises(
        sonde.errors.NoResult, match=r"the last one failed: jax.errors.TracerBoolConversionError: Attempted"
    ):
        _ = study.best_trial


@pytest.mark.parametrize("workers", [1, 2])
def test_an_exception_whose_str_fails_is_a_failed_trial_with_its_type(workers: int) -> None:
    study = sonde.Study(sonde.Space(x=sonde.Float(0, 1)), seed=0)

    def objective(trial: sonde.Trial) -> float:
        class Mute(Exception):
            def __str__(self) -> str:
                raise RuntimeError("no")

            def __reduce__(self) -> str:
                raise TypeError("cannot be pickled")

        raise Mute

    study.optimize(objective, 2, workers=workers, progress=False)
    assert ["Mute" in str(trial.error) for trial in study.trials] == [True, True]


def test_describe() -> None:
    assert describe(ValueError("no")) == "ValueError: no"
    assert describe(ValueError()) == "ValueError"
    assert describe(Mute()) == "Mute: (its message cannot be read)"
    assert failure(Mute()).error == "Mute: (its message cannot be read)"
