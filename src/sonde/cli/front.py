"""What ``sonde best`` and ``sonde run`` show of several objectives: the Pareto front, or one trial for a preference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from sonde.cli import output
from sonde.cli.template import argument_text
from sonde.errors import NoResult, OptionError
from sonde.text import printable

if TYPE_CHECKING:
    from sonde.study import Study


def show_front(study: Study, as_json: bool) -> None:
    """Print the trials that no other one dominates, sorted by the first objective, the best first."""
    document = front_document(study)
    if as_json:
        output.print_json(document)
        return
    found, objectives, names = document["front"], study.objectives.names, study.space.names
    click.echo(f"{printable(study.name)}: the Pareto front has {len(found)} of {output.counted_ends(document)}")
    first = [[str(one["number"]), *(output.short(one["value"][name]) for name in objectives)] for one in found]
    columns = [[output.short(one["params"].get(name)) for name in names] for one in found]
    packed = ["  ".join(f"{name}={output.short(value)}" for name, value in one["params"].items()) for one in found]
    header = ("number", *objectives)
    output.print_narrowest(
        output.make_table((*header, *names), [[*left, *right] for left, right in zip(first, columns, strict=True)]),
        output.make_table((*header, "parameters"), [[*left, right] for left, right in zip(first, packed, strict=True)]),
    )


def show_preferred(study: Study, weights: Mapping[str, float], as_json: bool) -> None:
    """Print the trial of the front for a preference."""
    document = preferred_document(study, weights)
    if as_json:
        output.print_json(document)
        return
    weighted = ", ".join(f"{name} {weight:g}" for name, weight in weights.items())
    number = document["best_trial"]
    ends = output.counted_ends(document)
    click.echo(f"{printable(study.name)}: the best of {ends} with weights {weighted} is trial {number}")
    rows = [(name, repr(value)) for name, value in document["best_values"].items()]
    rows += [(name, argument_text(value)) for name, value in document["best_params"].items()]
    output.print_table(("", ""), rows)


def front_document(study: Study) -> dict[str, Any]:
    """Return the front, its hypervolume with the reference point, and the counts as JSON-able data."""
    from sonde.study.export import document
    from sonde.study.front import reference_of

    goal = study.objectives.each[0]
    found = sorted(study.pareto_front, key=lambda trial: goal.sign * trial.value[goal.name])
    if not found:
        counts = output.counts(study)
        completed = output.counted(counts["trials"] - counts["failed"] - counts["stopped"])
        raise NoResult(f"study {study.name!r} has no Pareto front yet: of {completed} none meets its constraints")
    documents = [document(trial) for trial in found]
    reference = -study.objectives.signs * reference_of(study.history)
    return {
        "study": study.name,
        "objectives": study.directions,
        "front": [{name: one[name] for name in ("number", "value", "params")} for one in documents],
        "hypervolume": study.hypervolume(),
        "reference": dict(zip(study.objectives.names, reference.tolist(), strict=True)),
        **output.counts(study),
    }


def preferred_document(study: Study, weights: Mapping[str, float]) -> dict[str, Any]:
    """Return the trial of the front for a preference, and the counts, as JSON-able data."""
    from sonde.study.export import document

    if not study.objectives.several:
        raise OptionError(f"--weights is for several objectives, and study {study.name!r} has one; leave it out")
    trial = document(study.best(weights=weights))
    return {
        "study": study.name,
        "weights": dict(weights),
        "best_values": trial["value"],
        "best_params": trial["params"],
        "best_trial": trial["number"],
        **output.counts(study),
    }
