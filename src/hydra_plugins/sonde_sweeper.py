"""Hydra finds this module by its place: ``python train.py --multirun hydra/sweeper=sonde 'lr=interval(0, 1)'``.

It is imported by every program that uses Hydra, so Sonde itself is imported only when there is a sweep. Hydra does not
register the module, so a dataclass could not resolve annotations that are texts.
"""

import logging
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ChoiceSweep, IntervalSweep, Override, QuotedString, RangeSweep, Transformer
from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn, JobStatus
from hydra.errors import CompactHydraException
from hydra.plugins.launcher import Launcher
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf

if TYPE_CHECKING:
    from sonde import Study, Trial

log = logging.getLogger(__name__)


@dataclass
class SondeSweeperConf:
    """The options, in the configuration under ``hydra.sweeper``."""

    _target_: str = "hydra_plugins.sonde_sweeper.SondeSweeper"
    n_trials: int = 30  # of the study in all
    workers: int = 1  # jobs of one launch, chosen together
    direction: str | None = None  # "minimize", the default, or "maximize"
    objectives: dict[str, str] = field(default_factory=dict)  # several: direction by name
    storage: str | None = None  # such as sqlite:///runs.db: then the same command again continues
    name: str | None = None
    seed: int | None = None
    strategy: str = "auto"
    params: dict[str, Any] = field(default_factory=dict)  # sweeps by name, besides those of the command line


ConfigStore.instance().store(group="hydra/sweeper", name="sonde", node=SondeSweeperConf, provider="sonde")


class SondeSweeper(Sweeper):  # type: ignore[misc]
    """Launches the jobs that a study of Sonde suggests, and tells it what they return."""

    def __init__(self, n_trials: int, workers: int, params: DictConfig, **study: Any) -> None:
        self._n_trials, self._workers, self._params, self._options = n_trials, workers, params, study
        self.hydra_context: HydraContext | None = None
        self.config: DictConfig | None = None
        self.launcher: Launcher | None = None

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Take what Hydra has."""
        self.hydra_context, self.config = hydra_context, config
        self.launcher = Plugins.instance().instantiate_launcher(
            hydra_context=hydra_context, task_function=task_function, config=config
        )

    def sweep(self, arguments: list[str]) -> None:
        """Run the study to its number of trials, and write its best configuration to ``optimization_results.yaml``."""
        from sonde.errors import SondeError

        logging.getLogger("alembic").setLevel(logging.WARNING)  # Hydra logs all libraries
        try:
            self._sweep(*self._read(arguments))
        except SondeError as error:
            raise CompactHydraException(str(error)) from error  # without a traceback through Hydra

    def _read(self, arguments: list[str]) -> "tuple[dict[str, Swept], list[str]]":
        """Return what is swept over, by the names of parameters, and what every job gets."""
        from sonde.errors import OptionError

        assert self.hydra_context is not None
        parse = OverridesParser.create(config_loader=self.hydra_context.config_loader).parse_overrides
        declared = [f"{name}={sweep}" for name, sweep in self._params.items()]
        overrides = {each.get_key_element(): each for each in [*parse(declared), *parse(arguments)]}
        swept = {key.lstrip("+"): _swept(key, each) for key, each in overrides.items() if each.is_sweep_override()}
        if not swept:
            raise OptionError("nothing to sweep over: give a parameter a range, such as 'lr=interval(0, 1)'")
        fixed = [
            f"{key}={each.get_value_element_as_str()}"
            for key, each in overrides.items() if not each.is_sweep_override()
        ]  # fmt: skip
        return swept, fixed

    def _sweep(self, swept: "dict[str, Swept]", fixed: list[str]) -> None:
        import sonde
        from sonde.errors import AllFailed, SpaceExhausted
        from sonde.study import checks
        from sonde.study.loop import FAILURES, RepeatedFailures

        assert self.config is not None
        n_trials, workers = checks.count(self._n_trials, "n_trials"), checks.count(self._workers, "workers")
        options = {name: value for name, value in self._options.items() if value is not None}
        options["objectives"] = dict(options["objectives"]) or None
        with sonde.Study({name: each.parameter for name, each in swept.items()}, **options) as study:
            folder = Path(self.config.hydra.sweep.dir)
            folder.mkdir(parents=True, exist_ok=True)
            OmegaConf.save(self.config, folder / "multirun.yaml")
            failures = RepeatedFailures(FAILURES)
            try:
                while (left := n_trials - sum(trial.state.finished for trial in study.trials)) > 0:
                    for told in self._launch(study, study.ask(min(left, workers)), swept, fixed):
                        failures.note(told)
                    if failures.too_many and not len(study.history.completed):
                        raise AllFailed(str(failures), "correct the program, and run it again")
            except SpaceExhausted:
                log.info("all configurations have been tried")
            _conclude(study, folder)

    def _launch(
        self, study: "Study", trials: "list[Trial]", swept: "dict[str, Swept]", fixed: list[str]
    ) -> "list[Trial]":
        """Run a batch of jobs, and tell what they return; if that is interrupted, their trials return to the queue."""
        assert self.launcher is not None
        told: list[Trial] = []
        try:
            for batch in _consecutive(trials):  # of which Hydra makes the names of folders
                jobs = [[*fixed, *(swept[name].override(value) for name, value in trial.items())] for trial in batch]
                self.validate_batch_is_legal(jobs)
                ended = self.launcher.launch(jobs, initial_job_idx=batch[0].number)
                told += [_tell(study, trial, job) for trial, job in zip(batch, ended, strict=True)]
        except BaseException:
            study.release(trials[len(told) :])
            raise
        return told


class Swept(NamedTuple):
    """A parameter, and how its values are written for Hydra."""

    key: str  # its name, with a plus where Hydra adds it to the configuration
    parameter: Any
    texts: list[str]  # of choices; empty for numbers

    def override(self, value: Any) -> str:
        """Return the override of a job."""
        return f"{self.key}={self.texts[int(self.parameter.number(value))] if self.texts else value}"


def _swept(key: str, override: Override) -> Swept:
    """Return the parameter of a sweep. Choices are numbers, truth values and texts; else as they are written."""
    from sonde import Categorical
    from sonde.errors import SpaceError

    try:
        sweep = override.value()
        if isinstance(sweep, IntervalSweep | RangeSweep):
            return Swept(key, _numbers(sweep), [])
        elements = sweep.list if isinstance(sweep, ChoiceSweep) else list(override.sweep_iterator())
        texts = [Transformer.str(each) for each in elements]  # in order: what is shuffled would be another space
        plain = [each.text if isinstance(each, QuotedString) else each for each in elements]
        known = [each if isinstance(each, str | int | float | None) else text
                 for each, text in zip(plain, texts, strict=True)]  # fmt: skip
        return Swept(key, Categorical(known), texts)
    except SpaceError as error:
        raise SpaceError(f"{override.input_line}: {error}") from None


def _numbers(sweep: Any) -> Any:
    """Return the parameter of ``interval`` or ``range``."""
    from sonde import Float, Int
    from sonde.errors import SpaceError

    log = "log" in sweep.tags
    if isinstance(sweep, IntervalSweep):
        whole = isinstance(sweep.start, int) and isinstance(sweep.end, int)
        return (Int if whole else Float)(sweep.start, sweep.end, log=log)
    numbers = sweep.range()
    numbers = numbers if isinstance(numbers, range) else list(numbers)
    if not numbers:
        raise SpaceError("the range is empty; its end is not in it")
    low, high = sorted((numbers[0], numbers[-1]))
    if isinstance(numbers, range):
        return Int(low, high, log=log, step=abs(sweep.step))
    return Float(low, high, log=log, step=abs(float(sweep.step)) if high > low else None)


def _consecutive(trials: "list[Trial]") -> "list[list[Trial]]":
    """Return the trials in groups of consecutive numbers; another process may have the others."""
    groups = groupby(enumerate(trials), lambda each: each[1].number - each[0])
    return [[trial for _, trial in group] for _, group in groups]


def _tell(study: "Study", trial: "Trial", job: JobReturn) -> "Trial":
    """Tell what a job has returned; it may have raised an exception."""
    from sonde.errors import EvaluationError, OptionError

    if job.status is not JobStatus.COMPLETED:
        told = study.tell(trial, failed=f"{type(job._return_value).__name__}: {job._return_value}")
    elif job.return_value is None:
        told = study.tell(trial, failed="the program returned None; return the value of the objective")
    else:
        try:
            told = study.tell(trial, job.return_value)
        except (EvaluationError, OptionError) as error:
            told = study.tell(trial, failed=str(error))
    if told.state == "failed":
        log.warning("trial %d has failed: %s", trial.number, told.error)
    return told


def _conclude(study: "Study", folder: Path) -> None:
    """Write and log the best of the study; without a result there is ``NoResult``."""
    best = study.pareto_front if study.history.objectives.several else [study.best_trial]
    found = [{"params": dict(trial), "value": trial.value} for trial in best]
    results = {"name": "sonde", "solutions": found} if len(found) != 1 else {
        "name": "sonde", "best_params": found[0]["params"], "best_value": found[0]["value"],
    }  # fmt: skip
    OmegaConf.save(OmegaConf.create(results), folder / "optimization_results.yaml")
    log.info("the best of %d trials: %s", len(study.trials), found)
