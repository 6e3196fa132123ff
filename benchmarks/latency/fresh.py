"""Part 5, whole runs in processes of their own, imports included; and the first ask of one that opens a long history.

    python -m benchmarks.latency.fresh sonde 200 0

prints the seconds since the process began and the best value of 200 trials with seed 0.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.functions import HARTMANN6_MINIMUM, hartmann6

NAMES = tuple(f"x{i}" for i in range(6))


def runs(trials: int, seeds: int) -> list[dict[str, Any]]:
    """Part 5: the seconds of a run, of the same run again, and of Optuna's."""
    return [_compared(trials, seed) for seed in range(seeds)]


def _compared(trials: int, seed: int) -> dict[str, Any]:
    cold, found = _child("sonde", trials, seed)
    theirs, also_found = _child("optuna", trials, seed)
    warm, _ = _child("sonde", trials, seed)
    return {
        "trials": trials, "seed": seed, "Sonde (s)": cold, "Sonde again (s)": warm, "Optuna (s)": theirs,
        "Optuna / Sonde": theirs / cold, "target 1": "yes" if theirs > cold else "NO",
        "Optuna / again": theirs / warm, "target 3": "yes" if theirs >= 3 * warm else "NO",
        "Sonde's regret": found - HARTMANN6_MINIMUM, "Optuna's": also_found - HARTMANN6_MINIMUM,
    }  # fmt: skip


def open_and_ask(x: Any, y: Any, seed: int) -> tuple[float, float]:
    """Return the seconds of a new process that opens this history in a file and asks, and those of the ask alone."""
    import sonde

    space = sonde.Space({name: sonde.Float(0, 1) for name in NAMES})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "study.db"
        study = sonde.Study(space, storage=path, name="long", seed=seed, strategy="gp")
        study.add_trials(
            [
                {"params": dict(zip(NAMES, point, strict=True)), "value": value}
                for point, value in zip(x.tolist(), y.tolist(), strict=True)
            ]
        )
        study.close()
        return _child("open", path, seed)


def _child(what: str, size: int | Path, seed: int) -> tuple[float, float]:
    """Return the seconds of a new process, and what else it measured."""
    started = time.perf_counter()
    command = [sys.executable, "-m", "benchmarks.latency.fresh", what, str(size), str(seed)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    wall = time.perf_counter() - started
    return float(printed[0]) if _alone() else wall, float(printed[1])


def _alone() -> bool:
    """Whether this process has one core, where seconds of the processor leave out what others took."""
    return len(os.sched_getaffinity(0)) == 1


def sonde_run(trials: int, seed: int) -> float:
    """Return the best value of a run of Sonde."""
    import sonde

    space = sonde.Space({name: sonde.Float(0, 1) for name in NAMES})
    study = sonde.Study(space, seed=seed, strategy="gp")
    for _ in range(trials):
        trial = study.ask()
        study.tell(trial, hartmann6([trial.params[name] for name in NAMES]))
    return float(study.best_value)


def optuna_run(trials: int, seed: int) -> float:
    """Return the best value of a run of Optuna's Gaussian process."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.GPSampler(seed=seed, deterministic_objective=True))
    ranges = {name: optuna.distributions.FloatDistribution(0, 1) for name in NAMES}
    for _ in range(trials):
        trial = study.ask(ranges)
        study.tell(trial, hartmann6([trial.params[name] for name in NAMES]))
    return float(study.best_value)


def first_ask(path: str) -> float:
    """Return the seconds of the first ask in a study that was opened."""
    import sonde

    study = sonde.load(path, "long")
    len(study.history)
    started = time.process_time() if _alone() else time.perf_counter()
    study.ask()
    return (time.process_time() if _alone() else time.perf_counter()) - started


def main() -> None:
    what, size, seed = sys.argv[1:]
    if what == "open":
        measured = first_ask(size)
    else:
        measured = (sonde_run if what == "sonde" else optuna_run)(int(size), int(seed))
    print(time.process_time(), measured)


if __name__ == "__main__":
    main()
