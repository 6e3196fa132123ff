"""What a notebook shows of a study: goal, counts, the best so far as numbers and as a line, and who suggests next.

Nothing is fitted for it, so that it is there at once at any size.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sonde.html import card
from sonde.strategies import Strategy
from sonde.study.best import chosen_way
from sonde.study.drawing import small
from sonde.study.front import front
from sonde.trials import History, State

if TYPE_CHECKING:
    from sonde.study.reading import StudyReader

PARAMETERS = 12  # of the best trial that are shown


def card_of(study: StudyReader, strategy: Strategy) -> str:
    """Return a study as HTML; one that cannot be read says why."""
    try:
        history = study.history
        return card(f"Study {study.name!r}", _facts(study, history, strategy), small(history))
    except Exception as error:  # a damaged database must not raise where something is only shown
        return card(f"Study {study.name!r}", [("cannot be read", f"{type(error).__name__}: {error}")])


def counted(history: History) -> str:
    """Return how many trials there are in each state, as text."""
    counts = ((history.count(state), state.value) for state in State)
    states = ", ".join(f"{count:,} {state}" for count, state in counts if count)
    return f"{len(history):,} ({states})" if states else "none yet"


def _facts(study: StudyReader, history: History, strategy: Strategy) -> Iterator[tuple[str, Any]]:
    number = len(study.space)
    yield "goal", f"{history.objectives.described} over {number} parameter{'s' * (number != 1)}"
    yield "trials", counted(history)
    if history.objectives.several:
        yield "front", f"{len(front(history)):,} trials that no other one dominates"
    else:
        yield from _best(study, history)
    yield "suggests", strategy.chosen(study.space, history)
    if study.note:
        yield "note", study.note


def _best(study: StudyReader, history: History) -> Iterator[tuple[str, Any]]:
    number = history.best()
    if number is None:
        return
    noisy = " (values are noisy; study.best_trial asks the model)" if chosen_way(history, None) == "model" else ""
    yield "best", f"{history.sign * history.values[number]:.6g} in trial {number}{noisy}"
    best = study.trial(number)
    for name in list(best)[:PARAMETERS]:
        yield f"\u2003{name}", best[name]
    if len(best) > PARAMETERS:
        yield "\u2003\u2026", f"and {len(best) - PARAMETERS:,} more"
