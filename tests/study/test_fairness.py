"""Many processes, one suggester at a time: all get a fair share, and one batch is for all that wait."""

from __future__ import annotations

import multiprocessing

import pytest
from tests.processes import start

import sonde
from sonde.errors import SpaceExhausted
from sonde.storage import Asker

WORKER = """
import time, sonde

class Slow(sonde.Strategy):
    name = "slow"
    def __init__(self): self.calls = 0
    def suggest(self, space, history, count, key):
        self.calls += 1
        time.sleep(0.2)
        return key.rng().random((count, 1))
    def explain(self, space, history): return "slow"

strategy = Slow()
study = sonde.Study(sonde.Space(x=sonde.Float(0, 1)), storage=sys.argv[1], name="study", strategy=strategy)
pipe.send("ready")
pipe.recv()
waits, ends = [], time.monotonic() + float(sys.argv[2])
while time.monotonic() < ends:
    began = time.monotonic()
    trial = study.ask()
    waits.append(time.monotonic() - began)
    study.tell(trial, 1.0)
pipe.send({"trials": len(waits), "longest": max(waits), "suggestions": strategy.calls})
"""


def test_all_processes_get_a_fair_share(database_url: str) -> None:
    """With an instant objective the last suggester could otherwise suggest again and again for itself."""
    count, seconds = 6, 4.0
    with sonde.Study(sonde.Space(x=sonde.Float(0, 1)), storage=database_url, name="study", strategy="random"):
        pass
    pipes = []
    for _ in range(count):
        ours, theirs = multiprocessing.Pipe()
        start(WORKER, database_url, str(seconds), pipe=theirs)
        pipes.append(ours)
    assert [pipe.recv() for pipe in pipes] == ["ready"] * count
    for pipe in pipes:
        pipe.send("go")
    reports = [pipe.recv() for pipe in pipes]
    shares = sorted(report["trials"] for report in reports)
    suggestions = sum(report["suggestions"] for report in reports)
    assert shares[-1] <= 2 * shares[0], reports
    assert max(report["longest"] for report in reports) <= 3 * count * 0.2, reports
    assert suggestions <= 0.6 * sum(shares), reports  # one for several, not one for each


@pytest.mark.parametrize("count", [1, 4])
def test_one_asker_alone_waits_for_nobody(sqlite_url: str, count: int) -> None:
    with sonde.Study(sonde.Space(x=sonde.Float(0, 1)), storage=sqlite_url, name="study", strategy="random") as study:
        numbers = [trial.number for _ in range(5) for trial in study.ask(count)]
    assert numbers == list(range(5 * count))


def test_an_ask_that_gets_no_trial_leaves_no_ticket(database_url: str) -> None:
    with sonde.Study(sonde.Space(k=sonde.Int(0, 2)), storage=database_url, name="study", strategy="random") as study:
        assert len(study.ask(5)) == 3
        with pytest.raises(SpaceExhausted):
            study.ask()
        key, me = study.storage.find_study("study").key, Asker("me", 20.0, None)
        reply = study.storage.begin_ask(key, ["0" * 32], me)
        assert (reply.granted, list(reply.suggest_for)) == (True, ["0" * 32])
