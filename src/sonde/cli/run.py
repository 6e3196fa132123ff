"""``sonde run``: tune any program by its command line."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from sonde.cli import completing, output
from sonde.cli.children import Children, EndedBySignal, ending_on_signals
from sonde.cli.command import CannotStart, Command, check_program, run_programs
from sonde.cli.folder import check_logs, logs_option
from sonde.cli.objectives import declared, objective_option, threshold_option
from sonde.cli.opening import place
from sonde.cli.options import anywhere_option, json_option, study_option, token_option
from sonde.cli.reports import reader, report_option, stopping_option
from sonde.cli.show import show_best
from sonde.cli.space_file import read_space
from sonde.errors import AllFailed, OptionError

if TYPE_CHECKING:
    from sonde.study import Study


class Budget(NamedTuple):
    """How much to run, and when to stop."""

    trials: int | None
    jobs: int
    timeout: float | None
    give_up_after: int | None


# Everything after the program's name belongs to the program, with or without "--".
@click.command(
    context_settings={"allow_interspersed_args": False, "allow_extra_args": True},
    options_metavar="[OPTIONS] -- PROGRAM [ARGUMENTS]...",
)
@click.option(
    "--trials", "-n", metavar="N", type=click.IntRange(min=1), help="How many trials the study has in the end."
)
@click.option("--jobs", "-j", metavar="N", type=click.IntRange(min=1), default=1, help="Programs to run at once.")
@anywhere_option
@token_option
@study_option(default="default", help="Name of the study; an existing one is continued.")
@click.option("--seed", metavar="N", type=click.IntRange(min=0), help="Seed, to get the same suggestions again.")
@click.option(
    "--direction", metavar="<minimize|maximize>", type=click.Choice(["minimize", "maximize"]),
    help="Whether smaller or larger values are better. [default: minimize]",
)  # fmt: skip
@objective_option
@threshold_option
@report_option
@stopping_option
@click.option(
    "--strategy", metavar="NAME", default="auto", shell_complete=completing.strategies,
    help="How the next trials are chosen.",
)  # fmt: skip
@click.option(
    "--timeout", metavar="SECONDS", type=float, help="Seconds after which no new trial starts; running ones finish."
)
@click.option(
    "--trial-timeout", metavar="SECONDS", type=float,
    help="Seconds after which a program is killed; its trial has failed.",
)  # fmt: skip
@click.option(
    "--give-up-after", metavar="N", type=click.IntRange(min=0), default=10,
    help="Stop when N trials in a row fail for the same reason and none has completed; 0: never.",
)  # fmt: skip
@click.option(
    "--space", metavar="FILE", type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="TOML file with parameters and constraints.",
)  # fmt: skip
@logs_option
@json_option
@click.pass_context
def run(
    context: click.Context, trials: int | None, jobs: int, storage: str, name: str, seed: int | None,
    direction: str | None, objectives: tuple[str, ...], thresholds: tuple[str, ...], pattern: str | None,
    stopping: str, strategy: str, timeout: float | None, trial_timeout: float | None, give_up_after: int,
    space: Path | None, logs: Path | None, as_json: bool,
) -> None:  # fmt: skip
    """Tune any program: the last number it prints is the value.

    With several objectives the program prints a number for each, as JSON, on its last line: {"loss": 0.3, "size": 12}.
    So it may tell a gradient, noise and constraints: {"value": 0.3, "gradient": {"lr": -2.0}}.

    With --report, what it prints on its way is its learning curve, and it is ended when that is not worth going on.

    The same command again continues the study. A program that fails, or prints no number, is a failed trial, and the
    study continues. {name} repeats a value, {{ and }} are literal braces. The program finds SONDE_STUDY, SONDE_TRIAL,
    SONDE_PARAMS (JSON) and SONDE_PARAM_lr, one for each parameter, in its environment.

    \b
    Examples:
      sonde run -n 100 -j 4 -- python train.py --lr '{lr:float:1e-5..1e-1:log}' \\
          --layers '{layers:int:1..8}' --drop '{drop:float:0..0.5:step=0.1}' \\
          --opt '{opt:sgd|adam}' --bias '{bias:bool}'
      sonde run -n 30 --space space.toml -- python train.py --lr '{lr}'
    """
    if not context.args:
        raise click.BadParameter("a program is missing; give it after --, e.g. -- python train.py", context)
    named, limits = declared(objectives, thresholds, direction)
    template, known = read_space(context.args, space)
    check_program(template)
    if trials is None and timeout is None and not known.finite:
        raise OptionError("the run has no end; give -n (trials of the study) or --timeout (seconds)")
    from sonde.study import Study, checks
    from sonde.trials.objectives import Objectives

    checks.seconds(timeout, "timeout")  # before a study is created
    checks.seconds(trial_timeout, "trial-timeout")
    Objectives.of(direction, named, limits)
    read, kept = reader(pattern), check_logs(logs)
    study = Study(
        known, direction=direction, storage=place(storage), name=name, seed=seed, strategy=strategy, objectives=named,
        thresholds=limits, stopping=stopping,
    )  # fmt: skip
    with closing(study.storage):
        command = Command(template, name, Children(), trial_timeout, tuple(named or ()), read, kept)
        _run_to_end(study, command, Budget(trials, jobs, timeout, give_up_after or None))
        show_best(study, as_json)


def _run_to_end(study: Study, command: Command, budget: Budget) -> None:
    done, trials = _finished(study), budget.trials
    if trials is not None and done >= trials:
        output.notice(
            f"study {study.name!r} has {output.counted(done)}, all that were asked for; a larger -n continues it"
        )
        return
    try:
        with ending_on_signals(command.children.stop):
            run_programs(
                study, command, command.children, budget.jobs, total_trials=budget.trials, timeout=budget.timeout,
                give_up_after=budget.give_up_after,
            )  # fmt: skip
    except CannotStart as error:
        raise OptionError(f"{error}; correct the command and run it again") from None
    except AllFailed as error:
        remedy = "correct the program and run the same command again, or continue anyway with --give-up-after 0"
        raise AllFailed(error.stopped, remedy, study) from None
    except EndedBySignal as interrupt:
        total = "" if trials is None else f" of {trials}"
        output.notice(f"interrupted after {_finished(study)}{total} trials; the same command continues the study")
        raise click.exceptions.Exit(interrupt.exit_code) from None
    if trials is not None and budget.timeout is None:
        _explain_shortfall(study, trials)


def _explain_shortfall(study: Study, trials: int) -> None:
    """Say why there are fewer trials than asked for."""
    from sonde.trials import State

    done, running = _finished(study), study.history.count(State.RUNNING)
    if running:
        output.notice(
            f"{output.counted(running)} still running in other processes; the same command continues what they leave"
        )
    elif done < trials:
        output.notice(f"there can be no more than {output.counted(done)}: every configuration of the space was tried")


def _finished(study: Study) -> int:
    from sonde.trials.state import ENDED

    return study.history.count(*ENDED)
