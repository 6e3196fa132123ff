"""Results on disk until they have been told: what was measured outlives the worker, and a service that is away."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sonde.errors import EvaluationError, OptionError, Stopped, TrialError

if TYPE_CHECKING:
    from sonde.study import Study
    from sonde.trials import Evaluation, Trial

spool_option = click.option(
    "--spool", metavar="FOLDER", type=click.Path(file_okay=False, path_type=Path), envvar="SONDE_SPOOL",
    show_envvar=True, default="sonde-spool", help="Folder for results until they have been told; a worker that "
    "starts there tells what another one could not.",
)  # fmt: skip


class Spool:
    """A folder with a file for each result of a study that has not been told."""

    def __init__(self, folder: Path, study: Study) -> None:
        self._folder, self._study = folder, study
        self._key = study.storage.find_study(study.name).key
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OptionError(
                f"cannot create the folder {str(folder)!r}: {error.strerror}; give another --spool"
            ) from None

    def keep(self, trial: Trial, **result: Any) -> None:
        """Write the result of a trial, as arguments of ``Study.tell``; it is on disk afterwards."""
        from sonde.study.export import configuration

        params = configuration(trial.params, self._study.space)
        data = {"trial": trial.number, "token": trial.token, "params": params, "attributes": trial.attributes}
        path = self._path(trial)
        try:
            with open(path.with_suffix(".part"), "w", encoding="utf-8") as file:
                json.dump({**data, "result": result}, file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(path.with_suffix(".part"), path)
        except OSError as error:
            warnings.warn(f"the result of trial {trial.number} is not in {path}: {error.strerror}", stacklevel=2)

    def drop(self, trial: Trial) -> None:
        """Remove a result that was told."""
        self._path(trial).unlink(missing_ok=True)

    def deliver(self) -> int:
        """Tell the results of workers that could not; return how many there were."""
        found = sorted(self._folder.glob(f"{self._key}-*.json"))
        for path in found:
            self._tell(json.loads(path.read_text(encoding="utf-8")))
            path.unlink(missing_ok=True)
        return len(found)

    def _tell(self, data: dict[str, Any]) -> None:
        from sonde.study.telling import Importer
        from sonde.trials import Trial

        params = Importer(self._study.space).configuration(data["params"])
        trial = Trial(data["trial"], params, token=data["token"], study=self._key)
        try:
            try:
                self._study.tell(trial, **data["result"], attributes=data["attributes"])
            except EvaluationError as error:
                self._study.tell(trial, failed=str(error), attributes=data["attributes"])
        except TrialError as error:  # another worker has run it
            warnings.warn(f"the result of trial {trial.number} was not recorded: {error}", stacklevel=2)

    def _path(self, trial: Trial) -> Path:
        return self._folder / f"{self._key}-{trial.token}.json"


class Kept:
    """An objective whose results are kept in a spool."""

    def __init__(self, objective: Callable[[Trial], float | Evaluation], spool: Spool) -> None:
        self._objective, self._spool = objective, spool

    def __call__(self, trial: Trial) -> float | Evaluation:
        """Run the objective."""
        try:
            result = self._objective(trial)
        except EvaluationError as error:
            self._spool.keep(trial, failed=str(error))
            raise
        except Stopped:
            self._spool.keep(trial, stopped=True)
            raise
        self._spool.keep(trial, **({"value": result} if isinstance(result, int | float) else vars(result)))
        return result
