"""Optional packages: a call that needs one raises ``MissingExtra`` with the install command."""

from __future__ import annotations

from importlib.util import find_spec

from sonde.errors import MissingExtra


def require(*packages: str, extra: str) -> None:
    """Raise ``MissingExtra`` if a package of ``sonde[extra]`` is not installed; import none of them."""
    for package in packages:
        if find_spec(package) is None:
            raise MissingExtra(package, extra)
