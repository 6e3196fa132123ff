"""The parts of a report after its opening, each as HTML; one that has nothing to say is empty."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sonde.html import escaped
from sonde.report.content import Content
from sonde.report.drawn import Drawn
from sonde.report.markup import folded, listed, paragraph, plural, scrolled
from sonde.report.reference import reproduction, settings
from sonde.trials import Trial

SHOWN = 20  # rows of the numbers of a figure
COLUMNS = 30  # parameters that a table of trials shows
EXAMPLES = 12  # reasons of failures
SAME = "Reasons that differ in numbers only are one."


def advice(content: Content) -> str:
    """Return the advice as a list."""
    items = "".join(f'<li dir="auto">{escaped(sentence)}</li>' for sentence in content.advice)
    return f'<ul class="advice">{items}</ul>' if items else ""


def best_trials(content: Content) -> str:
    """Return the best trials as a table; of several objectives, trials of the front."""
    if not content.top:
        return ""
    names = list(content.study.space.names)[:COLUMNS]
    several = content.study.objectives.several
    goals = list(content.study.objectives.names) if several else ["value"]
    rows = [
        [trial.number, *_values(trial, goals, several), *(trial.get(name) for name in names)] for trial in content.top
    ]
    shown = scrolled(rows, ["trial", *goals, *names], "Best trials")
    left = len(content.study.space) - len(names)
    more = paragraph(f"{plural(left, 'more parameter')} not shown.", "soft") if left else ""
    said = f"{len(content.top)} of {plural(content.front, 'trial')} that no other one dominates." if several else ""
    return (paragraph(said, "soft") if said else "") + shown + more


def figures(content: Content) -> str:
    """Return a place for each figure, with its numbers; then those that could not be drawn."""
    places = "".join(_figure(each) for each in content.figures if each.figure is not None)
    missing = "".join(
        f"<li><b>{escaped(_title(each.name))}</b>: {escaped(each.reason)}</li>"
        for each in content.figures
        if each.figure is None
    )
    without = "<noscript><p>The figures need JavaScript; their numbers do not.</p></noscript>" if places else ""
    left = f"<h3>Not drawn</h3><ul>{missing}</ul>" if missing else ""
    return without + places + left


def failures(content: Content) -> str:
    """Return why trials failed: each reason with its count, and a trial of it."""
    if not content.failures:
        return ""
    total = sum(len(reason.trials) for reason in content.failures)
    rows = [
        [len(reason.trials), reason.text, reason.trials[0].number, listed(reason.trials[0])]
        for reason in content.failures[:EXAMPLES]
    ]
    head = ["trials", "reason", "first", "its parameters"]
    left = len(content.failures) - len(rows)
    more = paragraph(f"{plural(left, 'more reason')} not shown.", "soft") if left else ""
    said = f"{plural(total, 'trial')} failed, for {plural(len(content.failures), 'reason')}."
    return paragraph(said) + scrolled(rows, head, "Failures by reason") + more + paragraph(SAME, "soft")


def model(content: Content) -> str:
    """Return who suggests and why, and how well the model predicts each result from the others."""
    found = content.diagnosis
    parts = found if isinstance(found, Mapping) else {"": found}
    said = paragraph(f"Configurations are suggested by {content.strategy}.")
    said += "".join(paragraph(f"{name}: {each}" if name else _sentence(str(each))) for name, each in parts.items())
    if isinstance(found, str):
        return said
    return said + paragraph(
        "Each result is predicted from all others. A rank correlation of 1 means that the order is right; 95% of the "
        "results should lie within the 95% interval: fewer, and the model is too sure of itself.", "soft",
    )  # fmt: skip


SECTIONS: dict[str, tuple[str, Callable[[Content], str]]] = {
    "advice": ("Advice", advice),
    "best": ("Best trials", best_trials),
    "figures": ("Figures", figures),
    "failures": ("What failed, and why", failures),
    "model": ("The model", model),
    "settings": ("Settings", settings),
    "reproduce": ("How to reproduce", reproduction),
}


def _values(trial: Trial, goals: list[str], several: bool) -> list[Any]:
    return [trial.value[name] for name in goals] if several else [trial.value]


def _figure(drawn: Drawn) -> str:
    assert drawn.table is not None
    rows = [list(row.values()) for row in drawn.table.select(slice(SHOWN)).rows()]
    note = paragraph(drawn.table.note, "soft") if drawn.table.note else ""
    count = len(drawn.table)
    all_of = f"the first {SHOWN} of {count:,} rows" if count > SHOWN else plural(count, "row")
    numbers = scrolled(rows, drawn.table.names, f"Numbers of {drawn.name}")
    said = escaped(" ".join([f"{drawn.description}.", *([_sentence(drawn.subtitle)] if drawn.subtitle else [])]))
    look = f'class="plot" data-figure="{drawn.name}" role="img" style="height:{drawn.height}px"'
    return (
        f"<figure><h3>{escaped(drawn.title or _title(drawn.name))}</h3>"
        f'<div {look} aria-label="{escaped(drawn.description)}"></div><figcaption dir="auto">{said}</figcaption>'
        f"{folded(f'Numbers: {all_of}', note + numbers)}</figure>"
    )


def _title(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"
