"""Hypothesis strategies for random spaces, and slow, plain answers to compare with."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from hypothesis import assume, settings
from hypothesis import strategies as st

from sonde.errors import SpaceError
from sonde.space import Bool, Categorical, Float, Int, Parameter, Space


def examples(count: int) -> settings:
    """Run ``count`` examples, the same ones every time."""
    return settings(max_examples=count, deadline=None, derandomize=True, database=None)


def relu(x: float) -> float:
    return max(x, 0.0)


JSON_CHOICES: list[Any] = [
    "adam", "", "ünï", 0, 1, 2, -7, 10**20, 1.0, 0.5, 1e-300, math.inf, True, False, None,
    (), (1, 2), (1.0, 3), ("a", (None,)), [], [1, 2], [[64, 32], "x"], {}, {"a": 1}, {"a": [1, (2,)], 3: None},
]  # fmt: skip
CHOICES = [*JSON_CHOICES, relu, math.sin, str, frozenset({1})]

_DECIMALS = st.integers(-1000, 1000)
_EXTREMES = st.floats(-1e300, 1e300, allow_subnormal=False)
_MODEST = st.floats(-1e3, 1e3, allow_subnormal=False)


def _sorted_pair(numbers: st.SearchStrategy[float]) -> st.SearchStrategy[tuple[float, float]]:
    return st.tuples(numbers, numbers).map(lambda pair: (min(pair), max(pair)))


def _written(units: int, digits: int) -> float:
    return float(Decimal(units).scaleb(-digits))


@st.composite
def linear_floats(draw: st.DrawFn) -> Float:
    if draw(st.booleans()):
        return Float(*draw(_sorted_pair(draw(st.sampled_from([_EXTREMES, _MODEST])))))
    low = draw(_MODEST)  # a tiny range, or a single value
    return Float(low, low + abs(low) * draw(st.sampled_from([0.0, 1e-14, 1e-9])))


@st.composite
def log_floats(draw: st.DrawFn) -> Float:
    low, high = draw(_sorted_pair(st.floats(-300, 300)))
    return Float(10.0**low, 10.0**high, log=True)


@st.composite
def lattice_floats(draw: st.DrawFn, most: int = 40) -> Float:
    """Numbers as people write them: low and step with a few decimals, high on the lattice or not."""
    digits, low, step = draw(st.integers(-2, 12)), draw(_DECIMALS), draw(st.integers(1, 50))
    last, beyond = draw(st.integers(0, most - 1)), draw(st.integers(0, step - 1))
    log = low > 0 and draw(st.booleans())
    high = (
        low + last * step + (beyond if last else 0)
    )  # less than a step would leave one value of a range, and is refused
    return Float(_written(low, digits), _written(high, digits), step=_written(step, digits), log=log)


@st.composite
def ints(draw: st.DrawFn, most: int = 2**30) -> Int:
    low = draw(st.one_of(st.integers(-10, 10), st.integers(-(2**45), 2**45)))
    step = draw(st.sampled_from([1, 1, 2, 7, 1000]))
    last, beyond = draw(st.integers(0, most - 1)), draw(st.integers(0, step - 1))
    high = low + last * step + (beyond if last else 0)
    log = low > 0 and high < 2**40 and draw(st.booleans())
    return Int(low, high, step=step, log=log)


def categoricals(choices: list[Any] = CHOICES, most: int = 6) -> st.SearchStrategy[Categorical]:
    kinds = st.lists(st.sampled_from(choices), min_size=1, max_size=most, unique_by=lambda one: (type(one), repr(one)))
    return kinds.map(Categorical)


def parameters(choices: list[Any] = CHOICES) -> st.SearchStrategy[Parameter]:
    return st.one_of(linear_floats(), log_floats(), lattice_floats(), ints(), categoricals(choices), st.just(Bool()))


ANY = parameters()


def small_parameters() -> st.SearchStrategy[Parameter]:
    return st.one_of(lattice_floats(most=4), ints(most=4), categoricals(most=4), st.just(Bool()))


@st.composite
def definitions(draw: st.DrawFn, kinds: st.SearchStrategy[Parameter] = ANY, most: int = 6) -> dict[str, Parameter]:
    """Up to ``most`` parameters, many of them conditional on one or two others, in any order."""
    made: dict[str, Parameter] = {}
    for number in range(draw(st.integers(1, most))):
        parameter = draw(kinds)
        switches = [name for name, own in made.items() if not own.axis.continuous]
        parents = draw(st.lists(st.sampled_from(switches), max_size=2, unique=True)) if switches else []
        when = {parent: draw(_wanted(made[parent])) for parent in parents}
        made[f"p{number}"] = _conditional(parameter, when)
    return {name: made[name] for name in draw(st.permutations(list(made)))}


@st.composite
def spaces(draw: st.DrawFn, kinds: st.SearchStrategy[Parameter] = ANY, most: int = 6) -> Space:
    """A space of such parameters."""
    try:
        return Space(draw(definitions(kinds, most)))
    except SpaceError as error:
        assume("never be active" not in str(error))  # a parameter under conditions that contradict each other
        raise


def finite_spaces(most: int = 5) -> st.SearchStrategy[Space]:
    return spaces(small_parameters(), most)


def _wanted(parent: Parameter) -> st.SearchStrategy[Any]:
    """A value of the parent, or a few of them."""
    one = st.integers(0, int(parent.size) - 1).map(lambda index: parent.value(parent.axis.point(index)))
    return st.one_of(one, st.lists(one, min_size=1, max_size=3))


def _conditional(parameter: Parameter, when: dict[str, Any]) -> Parameter:
    if not when:
        return parameter
    match parameter:
        case Float():
            return Float(parameter.low, parameter.high, log=parameter.log, step=parameter.step, when=when)
        case Int():
            return Int(parameter.low, parameter.high, log=parameter.log, step=parameter.step, when=when)
        case Categorical():
            return Categorical(parameter.choices, when=when)
        case _:
            return Bool(when=when)


def units_of(space: Space, count: int = 8) -> st.SearchStrategy[list[list[float]]]:
    """Points of the unit cube, its faces and corners among them."""
    point = st.lists(st.floats(0.0, 1.0), min_size=len(space), max_size=len(space))
    return st.lists(point, min_size=1, max_size=count)


def is_active(parameters: Space | Mapping[str, Parameter], name: str, numbers: dict[str, float]) -> bool:
    """Whether a parameter is active where all parameters have these numbers, by the words of the documentation."""
    for parent, wanted in (parameters[name].when or {}).items():
        values = [wanted] if wanted in parameters[parent] else wanted
        asked = [parameters[parent].number(value) for value in values]
        if not is_active(parameters, parent, numbers) or numbers[parent] not in asked:
            return False
    return True


def all_rows(parameters: Mapping[str, Parameter]) -> Iterator[tuple[float | None, ...]]:
    """Every row of a finite space (None where inactive), some of them many times: all values of all parameters."""
    for numbers in itertools.product(*map(points, parameters.values())):
        named = dict(zip(parameters, numbers, strict=True))
        yield tuple(number if is_active(parameters, name, named) else None for name, number in named.items())


def points(parameter: Parameter) -> list[float]:
    return [parameter.axis.point(index) for index in range(int(parameter.size))]
