"""Hydra finds this module by its place: ``python train.py --multirun hydra/sweeper=sonde 'lr=interval(0, 1)'``.

It is imported by every program that uses Hydra, so Sonde itself is imported only when there is a sweep. Hydra does not
register the module, so a dataclass could not resolve annotations that are texts.
"""

import logging
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import IntervalSweep, Override
from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn, JobStatus
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
        import sonde
        from sonde.errors import OptionError, SpaceExhausted

        assert self.config is not None
        logging.getLogger("alembic").setLevel(logging.WARNING)  # Hydra logs all libraries
        declared = [f"{name}={sweep}" for name, sweep in self._params.items()]
        overrides = {each.get_key_element(): each for each in OverridesParser.create().parse_overrides(declared)}
        overrides |= {each.get_key_element(): each for each in OverridesParser.create().parse_overrides(arguments)}
        space = {name: _parameter(each) for name, each in overrides.items() if each.is_sweep_override()}
        if not space:
            raise OptionError("nothing to sweep over: give a parameter a range, such as 'lr=interval(0, 1)'")
        fixed = [f"{name}={each.get_value_element_as_str()}" for name, each in overrides.items() if name not in space]
        folder = Path(self.config.hydra.sweep.dir)
        folder.mkdir(parents=True, exist_ok=True)
        OmegaConf.save(self.config, folder / "multirun.yaml")
        options = {name: value for name, value in self._options.items() if value is not None}
        options["objectives"] = dict(options["objectives"]) or None
        with sonde.Study(space, **options) as study:
            try:
                while (left := self._n_trials - _finished(study)) > 0:
                    self._launch(study, study.ask(min(left, self._workers)), fixed)
            except SpaceExhausted:
                log.info("all configurations have been tried")
            self._conclude(study, folder)

    def _launch(self, study: "Study", trials: "list[Trial]", fixed: list[str]) -> None:
        """Run a batch of jobs; if that is interrupted, their trials go back to the queue."""
        assert self.launcher is not None
        jobs = [[*fixed, *(f"{name}={value}" for name, value in trial.items())] for trial in trials]
        try:
            self.validate_batch_is_legal(jobs)
            ended = self.launcher.launch(jobs, initial_job_idx=trials[0].number)
        except BaseException:
            study.release(trials)
            raise
        for trial, job in zip(trials, ended, strict=True):
            _tell(study, trial, job)

    def _conclude(self, study: "Study", folder: Path) -> None:
        from sonde.errors import NoResult

        try:
            best = study.pareto_front if study.history.objectives.several else [study.best_trial]
        except NoResult as nothing:
            log.warning("%s", nothing)
            return
        found = [{"params": dict(trial), "value": trial.value} for trial in best]
        results = {"name": "sonde", "solutions": found} if len(found) > 1 else {
            "name": "sonde", "best_params": found[0]["params"], "best_value": found[0]["value"],
        }  # fmt: skip
        OmegaConf.save(OmegaConf.create(results), folder / "optimization_results.yaml")
        log.info("the best of %d trials: %s", len(study.trials), found)


def _finished(study: "Study") -> int:
    return sum(trial.state.finished for trial in study.trials)


def _tell(study: "Study", trial: "Trial", job: JobReturn) -> None:
    """Tell what a job has returned; it may have raised an exception."""
    from sonde.errors import EvaluationError

    if job.status is not JobStatus.COMPLETED:
        log.warning("the job of trial %d has failed: %s", trial.number, job._return_value)
        study.tell(trial, failed=f"{type(job._return_value).__name__}: {job._return_value}")
        return
    try:
        study.tell(trial, job.return_value)
    except EvaluationError as error:
        log.warning("trial %d has failed: %s", trial.number, error)
        study.tell(trial, failed=str(error))


def _parameter(override: Override) -> Any:
    """Return the parameter of a sweep; choices are texts as they stand on the command line."""
    from sonde import Categorical, Float, Int

    sweep = override.value()
    if isinstance(sweep, IntervalSweep):
        whole = isinstance(sweep.start, int) and isinstance(sweep.end, int)
        return (Int if whole else Float)(sweep.start, sweep.end, log="log" in sweep.tags)
    if override.is_range_sweep():
        numbers = list(override.sweep_iterator())
        if len(numbers) > 1:
            step = numbers[1] - numbers[0]
            return (Int if isinstance(step, int) else Float)(min(numbers), max(numbers), step=abs(step))
    return Categorical(list(override.sweep_string_iterator()))
