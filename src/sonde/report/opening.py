"""The beginning of a report: what was searched, how far it got, and what follows from it."""

from __future__ import annotations

from datetime import datetime

from sonde.html import escaped
from sonde.report.content import Content
from sonde.report.markup import plural, when
from sonde.trials import State, Trial

LONG = 60  # characters of a name that is set in smaller type


def opening(content: Content) -> str:
    """Return the title, a summary in sentences, and the numbers that matter."""
    name = content.study.name
    note = f'<p class="note" dir="auto">{escaped(content.study.note)}</p>' if content.study.note else ""
    return (
        f'<p class="kind">Report of a study</p><h1 dir="auto"{" class=long" if len(name) > LONG else ""}>'
        f"{escaped(name)}</h1><p class='lead'>{escaped(' '.join(_sentences(content)))}</p>{note}{_key(content)}"
    )


def _sentences(content: Content) -> list[str]:
    size, objectives = len(content.study.space), content.study.objectives
    goal = objectives.described if objectives.several else f"{objectives.each[0].direction} one value"
    begun = when(datetime.fromtimestamp(content.header.created, content.made.tzinfo)) if content.header.created else ""
    said = [
        f"The goal is to {goal} over {plural(size, 'parameter')}{f'; the study began on {begun}' if begun else ''}."
    ]
    if not content.trials:
        return [*said, "There is no trial yet."]
    said.append(f"There are {plural(len(content.trials), 'trial')}: {_states(content)}.")
    if isinstance(content.best, str):
        said.append(f"{content.best[0].upper()}{content.best[1:]}.")
    elif not objectives.several:
        said.append(_best_sentence(content, content.best))
    return said


def _best_sentence(content: Content, best: Trial) -> str:
    since = len(content.trials) - 1 - best.number
    if best.mean is not None:
        found = f"The model finds trial {best.number} best, with a value of {best.mean:.6g} ± {best.std:.2g}"
    else:
        found = f"The best value is {best.value:.6g}, of trial {best.number}"
    ended = f", which ended on {when(best.finished)}" if best.finished else ""
    return f"{found}{ended}; {plural(since, 'trial')} came after it."


def _states(content: Content) -> str:
    counts = ((content.count(state), state.value) for state in State)
    return ", ".join(f"{count:,} {state}" for count, state in counts if count)


def _key(content: Content) -> str:
    """Return the numbers that matter, each with a line that says more."""
    cells = [_best_cell(content), ("Trials", f"{len(content.trials):,}", _states(content))]
    durations = [trial.duration for trial in content.trials if trial.duration is not None]
    if durations:
        cells.append(
            ("Time in the objective", _span(sum(durations)), f"{_span(sum(durations) / len(durations))} a trial")
        )
    ended = [trial.finished for trial in content.trials if trial.finished]
    started = [trial.started for trial in content.trials if trial.started]
    if ended and started:
        cells.append(("From first to last", _span((max(ended) - min(started)).total_seconds()), when(max(ended))))
    items = "".join(
        f"<div><dt>{escaped(name)}</dt><dd>{escaped(value)}<small>{escaped(more)}</small></dd></div>"
        for name, value, more in cells
    )
    return f'<dl class="key">{items}</dl>'


def _best_cell(content: Content) -> tuple[str, str, str]:
    if isinstance(content.best, str):
        return "Best value", "none", "yet"
    if content.study.objectives.several:
        return "On the front", f"{content.front:,}", "trials that no other one dominates"
    value = content.best.value if content.best.mean is None else content.best.mean
    return "Best value", f"{value:.6g}", f"trial {content.best.number}"


def _span(seconds: float) -> str:
    """Return a length of time in the unit that suits it."""
    for unit, length in (("days", 86_400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0)):
        if seconds >= 2 * length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:.2g} s"
