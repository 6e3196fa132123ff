"""From what the user tells to outcomes: one result, or finished trials from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sonde.errors import OptionError
from sonde.space import Space
from sonde.study import checks
from sonde.trials import Evaluation, Outcome, failure, judge
from sonde.trials.trial import pack_row

EXTRAS = ("gradient", "hessian", "noise", "constraints")


def outcome(space: Space, value: Any, failed: str | None, extras: Mapping[str, Any]) -> Outcome:
    """Return the checked outcome of a value with what else is known, or of a failure."""
    if failed is not None:
        if value is not None or extras:
            raise OptionError("tell takes a value or failed=, not both")
        return failure(failed)
    if value is None:
        raise OptionError("tell needs a value, or failed='why it failed'")
    if isinstance(value, Evaluation):
        if extras:
            raise OptionError(f"the Evaluation holds everything; leave out {', '.join(extras)}")
        return judge(value, space)
    return judge(Evaluation(value, **extras), space)


def finished(space: Space, position: int, entry: Any) -> tuple[bytes, Outcome, Mapping[str, Any]]:
    """Return row, outcome and attributes of a trial from elsewhere; errors name its position."""
    known = {"params", "value", "failed", "attributes", *EXTRAS}
    if not isinstance(entry, Mapping) or "params" not in entry or set(entry) - known:
        raise OptionError(f"trials[{position}] must be a dict with params and value (or failed), got {entry!r}")
    extras = {name: entry[name] for name in EXTRAS if name in entry}
    try:
        told = outcome(space, entry.get("value"), entry.get("failed"), extras)
        return pack_row(space.row(entry["params"])), told, checks.attributes(entry.get("attributes"))
    except ValueError as error:
        raise type(error)(f"trials[{position}]: {error}") from None
