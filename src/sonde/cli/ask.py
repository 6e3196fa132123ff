"""``sonde ask``: trials for programs that Sonde does not start; ``sonde tell`` takes their results."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from sonde.cli import output
from sonde.cli.completing import strategies
from sonde.cli.objectives import declared, objective_option, threshold_option
from sonde.cli.opening import existing_study, place
from sonde.cli.options import anywhere_option, json_option, name_option, token_option
from sonde.cli.space_file import space_in
from sonde.errors import OptionError

if TYPE_CHECKING:
    from sonde.study import Study
    from sonde.trials import Trial

_DEFAULT_NAME = "default"  # of a new study


class New(NamedTuple):
    """The settings of a new study."""

    space: Path | None
    direction: str | None
    objectives: tuple[str, ...]
    thresholds: tuple[str, ...]
    seed: int | None
    strategy: str | None


@click.command
@click.option("--count", "-n", metavar="COUNT", type=click.IntRange(1, 10_000), help="How many, chosen jointly.")
@click.option(
    "--lease", metavar="<SECONDS|none>", default="none",
    help="Seconds after which a trial without a result is given to another; none: it waits for ever.",
)  # fmt: skip
@anywhere_option
@token_option
@name_option
@click.option(
    "--space", metavar="FILE", type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="TOML file with parameters and constraints: make the study if it is not there.",
)  # fmt: skip
@click.option(
    "--direction", metavar="<minimize|maximize>", type=click.Choice(["minimize", "maximize"]),
    help="Of a new study: whether smaller or larger values are better. [default: minimize]",
)  # fmt: skip
@objective_option
@threshold_option
@click.option("--seed", metavar="N", type=click.IntRange(min=0), help="Seed of a new study.")
@click.option(
    "--strategy", metavar="NAME", shell_complete=strategies,
    help="Of a new study: how the next trials are chosen. [default: auto]",
)  # fmt: skip
@json_option
def ask(
    count: int | None, lease: str, storage: str, name: str | None, space: Path | None, direction: str | None,
    objectives: tuple[str, ...], thresholds: tuple[str, ...], seed: int | None, strategy: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Ask for trials, to run them by hand or by other programs; sonde tell takes their results.

    It prints number, token and parameters of each. With --json and without -n it is one object, else a list.

    \b
    Examples:
      sonde ask --space space.toml --direction maximize
      sonde ask -n 4 --json
      sonde ask --lease 3600 --storage http://host:8080 --name cnn
    """
    seconds = _seconds(lease)
    new = New(space, direction, objectives, thresholds, seed, strategy)
    with _study(storage, name, new) as study:
        if study.paused:
            output.notice(f"study {study.name!r} is paused; this waits until: sonde resume")
        trials = study.ask(count or 1, lease=seconds)
        if as_json:
            documents = [_document(trial, study) for trial in trials]
            output.print_json(documents if count else documents[0])
        else:
            _print(trials, study)


@contextmanager
def _study(storage: str, name: str | None, new: New) -> Iterator[Study]:
    """Open the study, or make it from a space file."""
    objectives, thresholds = declared(new.objectives, new.thresholds, new.direction)
    if new.space is None:
        for option in ("direction", "objectives", "seed", "strategy"):
            if getattr(new, option) not in (None, ()):
                shown = option.removesuffix("s")
                raise OptionError(f"--{shown} is for a new study, which needs --space, too; leave it out to open one")
        with existing_study(storage, name, suggests=True) as found:
            yield found
        return
    space = space_in(new.space)
    from sonde.study import Study

    made = Study(
        space, direction=new.direction, storage=place(storage), name=name or _DEFAULT_NAME, seed=new.seed,
        strategy=new.strategy or "auto", objectives=objectives, thresholds=thresholds,
    )  # fmt: skip
    with closing(made):
        yield made


def _seconds(lease: str) -> float | None:
    if lease == "none":
        return None
    try:
        seconds = float(lease)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds <= 1e9:
        raise OptionError(f"--lease must be a positive number of seconds, or none, got {lease!r}")
    return seconds


def _document(trial: Trial, study: Study) -> dict[str, Any]:
    from sonde.study.export import configuration

    params = configuration(trial.params, study.space)
    return {"study": study.name, "number": trial.number, "token": trial.token, "params": params}


def _print(trials: Sequence[Trial], study: Study) -> None:
    """Print one column for each parameter if that fits the terminal, else one column for all."""
    names = study.space.names
    first = [[str(trial.number), trial.token or ""] for trial in trials]
    wide = [
        [*left, *(output.exact(trial.params.get(name)) for name in names)]
        for left, trial in zip(first, trials, strict=True)
    ]
    packed = ["  ".join(f"{name}={output.exact(value)}" for name, value in trial.items()) for trial in trials]
    output.print_narrowest(
        output.make_table(("number", "token", *names), wide),
        output.make_table(
            ("number", "token", "parameters"), [[*left, text] for left, text in zip(first, packed, strict=True)]
        ),
    )
