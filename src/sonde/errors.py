"""The exceptions and warnings of Sonde.

::

    SondeError
    ├── OptionError            an argument is out of range or of the wrong kind      (ValueError)
    ├── SpaceError             a space is ill-defined                               (ValueError)
    ├── ConfigurationError     a configuration does not belong to its space         (ValueError)
    ├── InfeasibleSpace        no configuration meeting the constraints was found
    ├── SpaceExhausted         every configuration of a finite space has been tried
    ├── EvaluationError        a result cannot be read                              (ValueError)
    ├── TrialError
    │   ├── UnknownTrial       there is no trial with that number                   (LookupError)
    │   ├── IllegalTransition  the trial's state does not allow that
    │   ├── ConflictingResult  the trial already has another result
    │   └── NoResult           no trial has a usable result yet                     (LookupError)
    │       └── AllFailed      a run gave up: its trials failed for the same reason
    ├── StudyError
    │   ├── StudyNotFound                                                           (LookupError)
    │   ├── StudyExists
    │   └── StudyMismatch      a study of that name exists with other settings
    ├── StorageError           the database cannot be used
    ├── NoWorkers              every worker hangs in a trial that cannot be stopped
    ├── KernelError            a kernel or its matrix cannot be used like that      (ValueError)
    │   ├── NotDifferentiable  the kernel's sample paths have no such derivative
    │   └── NotPositiveDefinite
    └── MissingExtra           an optional package is not installed                 (ImportError)

    EndOfRun                   an objective ends the run; its trial does not fail   (BaseException)
    ├── NotDeclared            it asks for a parameter that the space does not have (OptionError)
    └── OtherWord              it uses a word of another library                    (AttributeError)
    Interrupted                Ctrl-C ended a run; its ``study`` is safe            (KeyboardInterrupt)
    OddHistory                 a warning: little can be learned from the results    (UserWarning)
    AtBound                    a warning: the best trials lie at a bound            (UserWarning)

A message says what came, what was expected, and what to do next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.study import Study


class SondeError(Exception):
    """Base of all errors of Sonde."""


class OptionError(SondeError, ValueError):
    """An argument is out of range or of the wrong kind."""


class SpaceError(SondeError, ValueError):
    """A space is ill-defined."""


class ConfigurationError(SondeError, ValueError):
    """A configuration does not belong to its space."""


class InfeasibleSpace(SondeError):
    """No configuration meeting the constraints was found."""


class SpaceExhausted(SondeError):
    """Every configuration of a finite space has been tried."""


class EvaluationError(SondeError, ValueError):
    """A result cannot be read."""


class TrialError(SondeError):
    """Base of the errors about one trial."""


class UnknownTrial(TrialError, LookupError):
    """There is no trial with that number."""


class IllegalTransition(TrialError):
    """The trial's state does not allow that."""


class ConflictingResult(TrialError):
    """The trial already has another result."""


class NoResult(TrialError, LookupError):
    """No trial has a usable result yet. If a run raises it, ``study`` has its trials."""

    study: Study | None = None


class AllFailed(NoResult):
    """A run gave up: its trials failed for the same reason and none completed. They are in ``study``."""

    def __init__(self, stopped: str, remedy: str, study: Study | None = None) -> None:
        super().__init__(f"{stopped}; {remedy}")
        self.stopped = stopped
        self.study = study


class StudyError(SondeError):
    """Base of the errors about one study."""


class StudyNotFound(StudyError, LookupError):
    """The storage holds no study of that name."""


class StudyExists(StudyError):
    """The storage holds a study of that name already."""


class StudyMismatch(StudyError):
    """A study of that name exists with other settings."""


class StorageError(SondeError):
    """The database cannot be used."""


class NotConnected(SondeError):
    """The process of a study cannot be reached."""


class NoWorkers(SondeError):
    """Every worker hangs in a trial that cannot be stopped, or the cluster is gone."""


class KernelError(SondeError, ValueError):
    """A kernel or its matrix cannot be used like that."""


class NotDifferentiable(KernelError):
    """The kernel's sample paths have no such derivative."""


class NotPositiveDefinite(KernelError):
    """A covariance matrix is not positive definite, even after jitter."""


class MissingExtra(SondeError, ImportError):
    """An optional package is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed; get it with: pip install 'sonde[{extra}]'")


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended a run. Results are kept in ``study``, and no worker is left running."""

    study: Study  # ``Study.optimize`` sets it

    def __init__(self, stopped: str, remedy: str, study: Study | None = None) -> None:
        super().__init__(f"{stopped}; {remedy}")
        self.stopped = stopped
        if study is not None:
            self.study = study

    def _render_traceback_(self) -> list[str]:
        """Return what IPython shows instead of a traceback."""
        return [str(self)]


class Stopped(Exception):
    """Raised by an objective to end its trial early: it is stopped, not failed, and its learning curve counts."""


class EndOfRun(BaseException):
    """Raised by an objective to end the run. The trial does not fail: it goes back to the queue."""


class NotDeclared(EndOfRun, OptionError):
    """An objective asks for a parameter that the space does not have, or has with another range."""


class OtherWord(EndOfRun, AttributeError):
    """An objective uses an attribute that a trial has in another library. All trials would, so the run ends."""


class OddHistory(UserWarning):
    """Little can be learned from the results so far."""


class AtBound(UserWarning):
    """The best trials lie at a bound of a parameter: better ones may lie beyond it."""
