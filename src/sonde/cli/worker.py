"""``sonde worker``: run the trials of a study on this machine."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from sonde.cli import completing, output
from sonde.cli.children import Children, EndedBySignal, ending_on_signals
from sonde.cli.command import CannotStart, Command, check_program, run_programs
from sonde.cli.folder import check_logs, logs_option
from sonde.cli.opening import existing_storage, is_service
from sonde.cli.options import Seconds, name_option, token_option
from sonde.cli.reports import reader, report_option, stopping_option
from sonde.cli.spool import Kept, Spool, spool_option
from sonde.cli.template import parse
from sonde.errors import AllFailed, OptionError

if TYPE_CHECKING:
    from sonde.storage import Storage
    from sonde.study import Study
    from sonde.trials import Trial

_AT_THE_END = 5.0  # seconds for a service that is away when a signal ends the worker


class Budget(NamedTuple):
    """How much to run, and when to stop."""

    trials: int | None
    jobs: int
    give_up_after: int | None


@click.command(options_metavar="URL [OPTIONS] -- PROGRAM [ARGUMENTS]...")
@click.argument("url", metavar="")
@click.argument("program", metavar="", nargs=-1, type=click.UNPROCESSED, shell_complete=completing.program)
@name_option
@token_option
@click.option("--jobs", "-j", metavar="N", type=click.IntRange(min=1), default=1, help="Programs to run at once.")
@click.option(
    "--trials", "-n", metavar="N", type=click.IntRange(min=1), help="How many trials this worker runs at most."
)
@click.option(
    "--idle", metavar="SECONDS", type=Seconds(min=0, min_open=True),
    help="End after so many seconds without a trial, or without an answer of the service.",
)  # fmt: skip
@report_option
@stopping_option
@click.option(
    "--trial-timeout", metavar="SECONDS", type=Seconds(min=0, min_open=True),
    help="Seconds after which a program is killed; its trial has failed.",
)  # fmt: skip
@click.option(
    "--give-up-after", metavar="N", type=click.IntRange(min=0), default=10,
    help="Stop when N trials in a row fail for the same reason and the study has no completed one; 0: never.",
)  # fmt: skip
@logs_option
@spool_option
def worker(
    url: str, program: tuple[str, ...], name: str | None, jobs: int, trials: int | None, idle: float | None,
    pattern: str | None, stopping: str, trial_timeout: float | None, give_up_after: int, logs: Path | None, spool: Path,
) -> None:  # fmt: skip
    """Run the trials of a study on this machine.

    URL is the address of a service (sonde serve), or a database. The study must be there: its parameters are the
    placeholders. The program tells its result as for sonde run. The token is in SONDE_TOKEN.

    While the service is away the worker waits. SIGTERM and Ctrl-C give running trials back.

    \b
    Examples:
      sonde worker http://host:8080 --name cnn -- python train.py --lr {lr}
      sonde worker runs.db --name cnn -j 2 -n 100 -- python train.py --lr {lr}
    """
    if not program:
        raise click.UsageError("a program is missing; give it after --, e.g. -- python train.py --lr {lr}")
    options = {"patience": idle or math.inf, "idle": idle or math.inf}
    with existing_storage(url, **(options if is_service(url) else {})) as storage:
        from sonde.study import Study

        study = Study.load(storage, name, stopping=stopping)
        template = parse(program, study.space.names, complete=True)
        check_program(template)
        objectives = study.objectives.names if study.objectives.several else ()
        command = Command(
            template, study.name, Children(), trial_timeout, objectives, reader(pattern), check_logs(logs)
        )
        kept = Spool(spool, study)
        if delivered := kept.deliver():
            output.notice(f"told {output.counted(delivered)} of an earlier worker")
        _work(study, command, kept, Budget(trials, jobs, give_up_after or None))


def _work(study: Study, command: Command, spool: Spool, budget: Budget) -> None:
    """Run trials until there are no more, or a signal comes."""
    done: list[int] = []

    def told(_: Study, trial: Trial) -> None:
        spool.drop(trial)
        done.append(trial.number)

    until: dict[str, Any] = {"timeout": math.inf} if budget.trials is None else {"n_trials": budget.trials}
    try:
        with ending_on_signals(command.children.stop, lambda: _hurry(study.storage)):
            run_programs(
                study, Kept(command, spool), command.children, budget.jobs, callbacks=[told],
                give_up_after=budget.give_up_after, **until,
            )  # fmt: skip
    except CannotStart as error:
        raise OptionError(f"{error}; correct the command and start the worker again") from None
    except AllFailed as error:
        remedy = "correct the program and start the worker again, or continue anyway with --give-up-after 0"
        raise AllFailed(error.stopped, remedy, study) from None
    except EndedBySignal as interrupt:
        output.notice(f"interrupted after {output.counted(len(done))}; others can run those that were running")
        raise click.exceptions.Exit(interrupt.exit_code) from None
    output.notice(f"ran {output.counted(len(done))} of study {study.name!r}")


def _hurry(storage: Storage) -> None:
    """Do not wait long for a service that is away: results are in the spool."""
    if hasattr(storage, "patience"):
        storage.patience = min(storage.patience, _AT_THE_END)
