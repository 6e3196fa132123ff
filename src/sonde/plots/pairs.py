"""The two parameters of a map: those that are named, and else the ones that matter most."""

from __future__ import annotations

from collections.abc import Callable

from sonde.errors import OptionError
from sonde.plots.activity import required
from sonde.plots.grids import checked_name, varied
from sonde.space import Space

ONE_ONLY = "a map needs two parameters with more than one value, and this space has fewer; study.plot.slices() shows it"


def checked_pair(space: Space, x: str | None, y: str | None) -> None:
    """Raise ``OptionError`` for wrong names, or for two parameters that are never active together."""
    named = [checked_name(space, name, what) for name, what in ((x, "x="), (y, "y=")) if name is not None]
    if len(named) == 2 and named[0] == named[1]:
        raise OptionError(f"x= and y= are both {x!r}; give two parameters")
    if len(named) == 2 and not together(space, *named):
        raise OptionError(f"{x!r} and {y!r} are never active together; give two that are")


def chosen_pair(space: Space, x: str | None, y: str | None, ranking: Callable[[], list[str]]) -> tuple[str, str]:
    """Return two parameters: those named, and in place of None the first of a ranking that fit."""
    if x is not None and y is not None:
        return x, y
    ranked = [name for name in ranking() if name not in (x, y)]
    if x is None and y is None:
        x = ranked[0]
    own = x if x is not None else str(y)
    other = next((name for name in ranked if name != own and together(space, own, name)), None)
    if other is None:
        raise OptionError(f"no other parameter is active together with {own!r}; study.plot.slices() shows it")
    return (own, other) if x is not None else (other, own)


def has_pairs(space: Space) -> bool:
    """Whether two parameters with more than one value are active together."""
    names = varied(space)
    return any(together(space, names[0], name) for name in names[1:])


def together(space: Space, one: str, other: str) -> bool:
    """Whether two parameters can be active at once."""
    first, second = required(space, one), required(space, other)
    return all(set(first[parent]) & set(second[parent]) for parent in first.keys() & second.keys())
