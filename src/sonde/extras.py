"""Packages that are not installed with Sonde: whoever needs one says so in a line, at the call that needs it."""

from __future__ import annotations

from importlib.util import find_spec

from sonde.errors import MissingExtra


def require(*packages: str, extra: str) -> None:
    """Raise where one of the packages that come with ``sonde[extra]`` is not installed; none of them is loaded."""
    for package in packages:
        if find_spec(package) is None:
            raise MissingExtra(package, extra)
