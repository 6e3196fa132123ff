"""Finds or creates a study by name, and checks that an existing one has the same settings."""

from __future__ import annotations

from sonde.errors import StudyExists, StudyMismatch, StudyNotFound
from sonde.storage import Storage, StudyHeader


def create_or_find(storage: Storage, wanted: StudyHeader, *, seed_given: bool) -> StudyHeader:
    """Return the study of that name, or create it; another process may create it at the same time."""
    try:
        return _matching(storage.find_study(wanted.name), wanted, seed_given)
    except StudyNotFound:
        pass
    try:
        return storage.create_study(wanted)
    except StudyExists:
        return _matching(storage.find_study(wanted.name), wanted, seed_given)


def _matching(found: StudyHeader, wanted: StudyHeader, seed_given: bool) -> StudyHeader:
    remedy = "use the same settings to resume it, another name (name=, --name), or delete it to start over"
    if found.space != wanted.space:
        raise StudyMismatch(
            f"study {found.name!r} exists with another space; {remedy}.\n"
            f"  stored: {found.space}\n  given:  {wanted.space}"
        )
    for field in ("direction", "seed") if seed_given else ("direction",):
        stored, given = getattr(found, field), getattr(wanted, field)
        if stored != given:
            raise StudyMismatch(f"study {found.name!r} exists with {field}={stored!r}, not {given!r}; {remedy}")
    return found
