"""Which trial is meant, and which process asks: a result is stored under the token drawn when it was asked for.

A number is enough for people at a keyboard. A program has the ``Trial``, which carries its token and its study.
"""

from __future__ import annotations

import os
import warnings
import weakref
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from sonde.errors import OptionError, UnknownTrial
from sonde.space import Space
from sonde.storage import Storage
from sonde.trials import Outcome, Trial, TrialKey, TrialRecord
from sonde.trials.trial import pack_row


def key_of(trial: Trial | int) -> TrialKey:
    """Return which trial is meant: by its token where we have it, by its number where a person gave that."""
    if isinstance(trial, Trial):
        return TrialKey(trial.number, trial.token)
    return TrialKey(number_of(trial))


def number_of(trial: Trial | int) -> int:
    """Return a trial's number, checked."""
    if isinstance(trial, Trial):
        return trial.number
    if isinstance(trial, bool) or not isinstance(trial, int | np.integer):
        raise OptionError(f"expected a Trial or its number, got {trial!r}")
    if not 0 <= trial < 2**31:  # what a database can look for
        raise UnknownTrial(f"there is no trial number {trial}; trials are numbered from 0")
    return int(trial)


def tell(
    storage: Storage, study: str, space: Space, trial: Trial | int, outcome: Outcome, attributes: Mapping[str, Any]
) -> TrialRecord:
    """Record a result; that of a trial whose ask was lost in a crash of the database as a trial of its own."""
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


class _Asks(Protocol):
    def _become_an_asker(self) -> None: ...


_askers: weakref.WeakSet[_Asks] = weakref.WeakSet()


def renewed_in_children(study: _Asks) -> None:
    """Let a study be an asker of its own in every forked child: its trials are its own, and its parent's are not."""
    _askers.add(study)


def _renew() -> None:
    for study in list(_askers):
        study._become_an_asker()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
