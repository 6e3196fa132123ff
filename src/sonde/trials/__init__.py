"""A trial is one configuration and what became of it; a history is all trials of a study, as arrays.

``state`` says where a trial is in its life, ``evaluation`` what the user tells of it, ``outcome`` the checked form
that is stored, ``trial`` what the user is shown, ``history`` what strategies see.
"""

from sonde.trials.evaluation import Evaluation
from sonde.trials.history import Changes, History
from sonde.trials.outcome import Outcome, failure, to_outcome
from sonde.trials.state import State
from sonde.trials.trial import Trial, TrialKey, TrialRecord

__all__ = [
    "Changes",
    "Evaluation",
    "History",
    "Outcome",
    "State",
    "Trial",
    "TrialKey",
    "TrialRecord",
    "failure",
    "to_outcome",
]
