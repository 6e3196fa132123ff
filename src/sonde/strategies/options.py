"""Checks of what a strategy is given."""

from __future__ import annotations

from collections.abc import Collection

from sonde.errors import OptionError


def one_of(given: str, name: str, known: Collection[str]) -> str:
    """Return ``given`` if it is known."""
    if given not in known:
        raise OptionError(f"{name} must be one of {', '.join(known)}, got {given!r}")
    return given
