"""Many processes, one suggester at a time: all get a fair share, and one batch is for all that wait."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import sonde
from sonde.errors import SpaceExhausted
from sonde.storage import Asker

WORKER = """
import json, sys, time, sonde

class Slow(sonde.Strategy):
    name = "slow"
    def __init__(self): self.calls = 0
    def suggest(self, space, history, count, key):
        self.calls += 1
        time.sleep(0.25)
        return key.rng().random((count, 1))
    def explain(self, space, history): return "slow"

strategy = Slow()
study = sonde.Study(sonde.Space(x=sonde.Float(0, 1)), storage=sys.argv[1], name="study", strategy=strategy)
print("ready", flush=True)
sys.stdin.readline()
waits, ends = [], time.monotonic() + float(sys.argv[2])
while time.monotonic() < ends:
    began = time.monotonic()
    trial = study.ask()
    waits.append(time.monotonic() - began)
    study.tell(trial, 1.0)
print(json.dumps({"trials": len(waits), "longest": max(waits), "suggestions": strategy.calls}))
"""


def test_all_processes_get_a_fair_share(database_url: str) -> None:
    """With an instant objective the last suggester could otherwise suggest again and again for itself."""
    count, seconds = 6, 6.0
    with sonde.Study(sonde.Space(x=sonde.Float(0, 1)), storage=database_url, name="study", strategy="random"):
        pass
    command = [sys.executable, "-c", WORKER, database_url, str(seconds)]
    workers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(count)
    ]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    reports = [json.loads(worker.communicate(timeout=120)[0]) for worker in _told(workers)]
    shares = sorted(report["trials"] for report in reports)
    suggestions = sum(report["suggestions"] for report in reports)
    assert shares[-1] <= 2 * shares[0], reports
    assert max(report["longest"] for report in reports) <= 3 * count * 0.25, reports
    assert suggestions <= 0.6 * sum(shares), reports  # one for several, not one for each


def _told(workers: list[subprocess.Popen[str]]) -> list[subprocess.Popen[str]]:
    """Let all go at once."""
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    return workers


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
        key, me = study._header.key, Asker("me", 20.0, None)
        reply = study.storage.begin_ask(key, ["0" * 32], me)
        assert (reply.granted, list(reply.suggest_for)) == (True, ["0" * 32])
