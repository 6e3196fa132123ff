"""A trial is one configuration and its result; a history is all trials of a study, as arrays.

``state`` has the states of a trial, ``outcome`` what an objective returns and the checked form that is stored,
``trial`` the user's view of a trial, ``history`` the strategies' view of all trials.
"""

from sonde.trials.history import Changes, History
from sonde.trials.outcome import Evaluation, Outcome, failure, to_outcome
from sonde.trials.state import State
from sonde.trials.trial import Trial, TrialKey, TrialRecord

__all__ = [
    "Changes", "Evaluation", "History", "Outcome", "State", "Trial", "TrialKey", "TrialRecord", "failure",
    "to_outcome",
]  # fmt: skip
