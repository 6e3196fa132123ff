"""The commands ``best``, ``trials`` and ``studies``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from sonde.cli import completing, output
from sonde.cli.front import show_front, show_preferred
from sonde.cli.objectives import weights_in, weights_option
from sonde.cli.opening import existing_storage, existing_study
from sonde.cli.options import anywhere_option, json_option, name_option, token_option
from sonde.cli.template import argument_text
from sonde.errors import OptionError
from sonde.text import printable

if TYPE_CHECKING:
    from sonde.storage import StudySummary
    from sonde.study import Study
    from sonde.trials import Trial
    from sonde.trials.objectives import Objectives


@click.command
@anywhere_option
@token_option
@name_option
@weights_option
@json_option
def best(storage: str, name: str | None, weights: str | None, as_json: bool) -> None:
    """Show the best trial of a study; of several objectives, the Pareto front.

    \b
    Examples:
      sonde best
      sonde best --name cnn --json
      sonde best --weights loss=2,latency=1
    """
    preference = None if weights is None else weights_in(weights)
    with existing_study(storage, name) as study:
        if preference is None:
            show_best(study, as_json)
        else:
            show_preferred(study, preference, as_json)


@click.command
@anywhere_option
@token_option
@name_option
@click.option(
    "--state", metavar="STATE", multiple=True, shell_complete=completing.states,
    help="Only trials in this state, e.g. failed; may be repeated.",
)  # fmt: skip
@click.option("--last", metavar="N", type=click.IntRange(min=1), default=20, help="How many to show, the newest ones.")
@click.option("--all", "everything", is_flag=True, help="Show all trials.")
@json_option
def trials(storage: str, name: str | None, state: tuple[str, ...], last: int, everything: bool, as_json: bool) -> None:
    """List the trials of a study with their values and parameters.

    \b
    Examples:
      sonde trials
      sonde trials --state failed --all
      sonde trials --last 5 --json
    """
    with existing_study(storage, name) as study:
        found = _in_state(study.trials, state)
        shown = found if everything else found[-last:]
        if as_json:
            from sonde.study.export import document

            output.print_json([document(trial) for trial in shown])
            return
        _print_trials(shown, study)
        if len(shown) < len(found):
            output.notice(f"the last {len(shown)} of {output.counted(len(found))}; --all shows all")


@click.command
@anywhere_option
@token_option
@json_option
def studies(storage: str, as_json: bool) -> None:
    """List the studies of a storage.

    \b
    Examples:
      sonde studies
      sonde studies --storage http://host:8080 --json
    """
    with existing_storage(storage) as opened:
        found = opened.studies()
    if as_json:
        output.print_json([_study_document(summary) for summary in found])
        return
    rows = [
        (summary.header.name, _objectives(summary).described, _counts(summary), output.short(summary.best),
         f"{_created(summary).astimezone():%Y-%m-%d %H:%M}")
        for summary in found
    ]  # fmt: skip
    output.print_table(("name", "direction", "trials", "best", "created"), rows)


def show_best(study: Study, as_json: bool) -> None:
    """Print the best trial, or the Pareto front; raise ``NoResult`` with the latest reason if all have failed."""
    if study.objectives.several:
        show_front(study, as_json)
        return
    document = best_document(study)
    if as_json:
        output.print_json(document)
        return
    counted = output.counted_ends(document)
    click.echo(f"{printable(study.name)}: the best of {counted} is trial {document['best_trial']}")
    raw = f" (posterior mean; {document['observed_value']!r} observed)" if document["by"] == "model" else ""
    rows = [("value", f"{document['best_value']!r}{raw}")]
    rows += [(name, argument_text(value)) for name, value in document["best_params"].items()]
    output.print_table(("", ""), rows)


def best_document(study: Study) -> dict[str, Any]:
    """Return the best trial and the counts as JSON-able data."""
    from sonde.study.best import best_value
    from sonde.study.export import document

    best = study.best_trial
    trial = document(best)
    return {
        "study": study.name,
        "best_value": best_value(best),
        "observed_value": trial["value"],
        "by": "observed" if best.mean is None else "model",
        "best_params": trial["params"],
        "best_trial": trial["number"],
        **output.counts(study),
    }


def _in_state(found: list[Trial], states: Sequence[str]) -> list[Trial]:
    from sonde.trials import State

    for state in states:
        if state not in list(State):
            raise OptionError(f"--state must be one of {', '.join(State)}, got {state!r}")
    return [trial for trial in found if not states or trial.state in states]


def _print_trials(shown: Sequence[Trial], study: Study) -> None:
    """Print one column for each parameter if that fits the terminal, else one column for all."""
    names, several = study.space.names, study.objectives.names if study.objectives.several else ()
    first = ("number", "state", *(several or ["value"]))
    error = ("error",) if any(trial.error for trial in shown) else ()
    cells = [_cells(trial, several) for trial in shown]
    wide = [[*left, *_columns(trial, names)] for left, trial in zip(cells, shown, strict=True)]
    narrow = [[*left, _packed(trial)] for left, trial in zip(cells, shown, strict=True)]
    output.print_narrowest(
        output.make_table((*first, *names, *error), wide), output.make_table((*first, "parameters"), narrow)
    )


def _cells(trial: Trial, several: Sequence[str]) -> list[str]:
    """Return number, state and value, or the values of several objectives, as text; a predicted value has a ~."""
    values = [(trial.value or {}).get(name) for name in several] if several else [trial.value]
    texts = [output.short(value) for value in values] if trial.mean is None else [f"~{output.short(trial.mean)}"]
    return [str(trial.number), str(trial.state), *texts]


def _columns(trial: Trial, names: Sequence[str]) -> list[str]:
    params = [output.short(trial.params.get(name)) for name in names]
    return [*params, _reason(trial.error)] if trial.error else params


def _packed(trial: Trial) -> str:
    pairs = [f"{name}={output.short(value)}" for name, value in trial.items()]
    return "  ".join([*pairs, f"({_reason(trial.error)})"] if trial.error else pairs)


def _reason(error: str) -> str:
    from sonde.trials.reason import one_line

    return one_line(error)


def _objectives(summary: StudySummary) -> Objectives:
    from sonde.trials.objectives import Objectives

    return Objectives.from_text(summary.header.direction)


def _counts(summary: StudySummary) -> str:
    return ", ".join(f"{count} {state}" for state, count in summary.counts.items() if count) or "none"


def _created(summary: StudySummary) -> datetime:
    return datetime.fromtimestamp(summary.header.created, UTC)


def _study_document(summary: StudySummary) -> dict[str, Any]:
    header, goal = summary.header, _objectives(summary)
    several = {"objectives": {one.name: one.direction for one in goal.each}} if goal.several else {}
    return {
        "name": header.name,
        "direction": None if several else header.direction,
        **several,
        "strategy": header.strategy,
        "seed": header.seed,
        "counts": {str(state): count for state, count in summary.counts.items()},
        "best": summary.best,
        "created": _created(summary).isoformat(),
    }
