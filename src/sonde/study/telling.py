"""Converts the user's results to outcomes: one told result, or finished trials of other sources."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

from sonde.errors import OptionError
from sonde.space import Space
from sonde.study import checks
from sonde.study.importing import EXTRAS, Importer
from sonde.trials import Evaluation, Outcome, failure, to_outcome
from sonde.trials.trial import pack_row

Finished = tuple[bytes, Outcome, Mapping[str, Any]]


def outcome(space: Space, value: Any, failed: str | None, extras: Mapping[str, Any]) -> Outcome:
    """Return the checked outcome of a value with those extras that are not None, or of a failure."""
    extras = {name: told for name, told in extras.items() if told is not None}
    if failed is not None:
        if not isinstance(failed, str):
            raise OptionError(f"failed= takes the reason, a text such as 'out of memory', got {failed!r}")
        if value is not None or extras:
            raise OptionError("tell takes a value or failed=, not both")
        return failure(failed)
    if value is None:
        raise OptionError("tell needs a value, or failed='why it failed'")
    if isinstance(value, Evaluation):
        if extras:
            raise OptionError(f"an Evaluation has its own {', '.join(extras)}; leave out {', '.join(extras)}")
        return to_outcome(value, space)
    return to_outcome(Evaluation(value, **extras), space)


def imported(space: Space, trials: Iterable[Any]) -> list[Finished]:
    """Return row, outcome and attributes of finished trials; trials without a result are skipped with a warning."""
    if hasattr(trials, "to_dict"):  # a DataFrame
        trials = trials.to_dict("records")
    importer = Importer(space)
    read = [_finished(space, importer, position, entry) for position, entry in enumerate(trials)]
    kept = [one for one in read if one is not None]
    if len(kept) < len(read):
        skipped = f"{len(read) - len(kept)} of {len(read)} trials"
        warnings.warn(
            f"{skipped} have no result (waiting, running, lost or cancelled) and were not added", stacklevel=3
        )
    return kept


def _finished(space: Space, importer: Importer, position: int, entry: Any) -> Finished | None:
    """Return one finished trial; errors name its position."""
    try:
        known = importer.read(entry)
        if known is None:
            return None
        extras = {name: known.get(name) for name in EXTRAS}
        told = outcome(space, known.get("value"), known.get("failed"), extras)
        return pack_row(space.row(known["params"])), told, checks.attributes(known.get("attributes"))
    except ValueError as error:
        raise type(error)(f"trials[{position}]: {error}") from None
