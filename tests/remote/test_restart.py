"""The service is killed and started again while workers run: every result is there, once."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path

from tests.remote.conftest import Service, wait_until

import sonde

SPACE = sonde.Space(x=sonde.Float(0, 1))


def test_results_are_there_once_after_crashes_of_the_service(own_service: Service) -> None:
    study = sonde.connect(own_service.url, "crash", space=SPACE, strategy="random", seed=1)
    results = Path("results").absolute()
    results.mkdir()

    def objective(trial: sonde.Trial) -> float:
        trial.report(1, trial["x"])
        (results / f"{trial.token}").write_text(repr(trial["x"]))
        return float(trial["x"])

    def run() -> None:
        study.optimize(objective, 40, workers=2, progress=False)

    thread = threading.Thread(target=run)
    thread.start()
    for count in (10, 25):
        wait_until(lambda count=count: len(list(results.iterdir())) >= count)
        own_service.kill()
        own_service.start()
    thread.join(200)
    assert not thread.is_alive()
    measured = {path.name: float(path.read_text()) for path in results.iterdir()}
    told = {trial.token: trial.value for trial in study.trials if trial.state == "completed"}
    assert len(told) == 40
    assert told.items() <= measured.items()
    assert max(Counter(trial["x"] for trial in study.trials if trial.state == "completed").values()) == 1
