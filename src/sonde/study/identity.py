"""Identifies studies by name, trials by token or number, and gives forked processes identities of their own.

People may give the number of a trial. Programs pass the ``Trial``, which has its token and its study.
"""

from __future__ import annotations

import os
import warnings
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.errors import OptionError, StudyExists, StudyMismatch, StudyNotFound, UnknownTrial
from sonde.space import Space
from sonde.storage import Storage, StudyHeader
from sonde.trials import Outcome, Trial, TrialKey, TrialRecord
from sonde.trials.trial import pack_row

if TYPE_CHECKING:
    from sonde.study.study import Study


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
            raise StudyMismatch(f"study {found.name!r} exists with {_different(field, stored, given)}; {remedy}")
    return found


def _different(field: str, stored: object, given: object) -> str:
    several = field == "direction" and "{" in f"{stored}{given}"
    return f"objectives={stored}, not {given}" if several else f"{field}={stored!r}, not {given!r}"


def key_of(trial: Trial | int) -> TrialKey:
    """Return the key of a trial: with the token of a ``Trial``, or with a number only."""
    if isinstance(trial, Trial):
        return TrialKey(trial.number, trial.token)
    return TrialKey(number_of(trial))


def number_of(trial: Trial | int) -> int:
    """Return a trial's number, checked."""
    if isinstance(trial, Trial):
        return trial.number
    if isinstance(trial, bool) or not isinstance(trial, int | np.integer):
        raise OptionError(f"expected a Trial or its number, got {trial!r}")
    if not 0 <= trial < 2**31:  # the range of the database column
        raise UnknownTrial(f"there is no trial number {trial}; trials are numbered from 0")
    return int(trial)


def tell(
    storage: Storage, study: str, space: Space, trial: Trial | int, outcome: Outcome, attributes: Mapping[str, Any]
) -> TrialRecord:
    """Record a result. If a crash of the database lost the ask, store it as a new trial."""
    try:
        return storage.tell(study, key_of(trial), outcome, attributes)
    except UnknownTrial:
        if not isinstance(trial, Trial) or trial.token is None:
            raise
    if trial.study not in (None, study):
        raise OptionError(
            f"trial {trial.number} belongs to another study; tell it there, or add its result here with add_trials"
        )
    row = pack_row(space.codec.row(trial.params))
    record = storage.tell(study, key_of(trial), outcome, attributes, row=row)
    warnings.warn(
        f"the database does not know trial {trial.number} of this process: it crashed after that trial was asked "
        f"for. Its configuration and its result are stored as trial {record.number}",
        stacklevel=4,
    )
    return record


_askers: weakref.WeakSet[Study] = weakref.WeakSet()


def renewed_in_children(study: Study) -> None:
    """Give a study a new asker in every forked child, so that it does not renew its parent's leases."""
    _askers.add(study)


def _renew() -> None:
    for study in list(_askers):
        study._become_an_asker()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
