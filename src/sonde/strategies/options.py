"""Checks of the options of a strategy."""

from __future__ import annotations

from collections.abc import Collection

from sonde.errors import OptionError


def one_of(given: str, name: str, known: Collection[str]) -> str:
    """Return the option ``given`` if it is one of the ``known`` values; raise otherwise."""
    if given not in known:
        raise OptionError(f"{name} must be one of {', '.join(known)}, got {given!r}")
    return given
