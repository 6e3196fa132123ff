"""Storage and start-up, beside Optuna's RDB storage on SQLite in the same run, on one core.

Ask and tell with a random sampler through the public interface; opening a study of 100,000 trials in a new process;
``import sonde``; memory per trial. Run with ``make bench``; ``python -m benchmarks.foundation --short`` takes half a
minute.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.machine import use_one_core
from benchmarks.report import report

ROUNDS = 5

OPEN = """
import gc, resource, sys, time
def memory():
    gc.collect()
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
started = time.perf_counter()
import sonde
study = sonde.load(sys.argv[1], "large")
empty = memory()
study.best_value
opened = time.perf_counter() - started
full = memory()
started = time.perf_counter()
study.ask()
print(opened, time.perf_counter() - started, (full - empty) / len(study.history))
"""

IMPORT = """
import sys, time
started = time.perf_counter()
{statement}
print(time.perf_counter() - started, *sorted({{"jax", "sqlalchemy", "numpy"}} & set(sys.modules)))
"""


def sonde_rate(folder: Path, count: int) -> float:
    """Return ask + tell per second."""
    import sonde

    space = sonde.Space(x=sonde.Float(-5, 10), lr=sonde.Float(1e-5, 1e-1, log=True), k=sonde.Int(1, 8),
                        c=sonde.Categorical(["a", "b", "c"]))  # fmt: skip
    study = sonde.Study(space, storage=folder / f"sonde{time.time_ns()}.db", name="s", seed=0, strategy="random")
    return _rate(lambda: study.tell(study.ask(), 1.0), count)


def optuna_rate(folder: Path, count: int) -> float:
    """Return Optuna's ask + tell per second."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    distributions = {
        "x": optuna.distributions.FloatDistribution(-5, 10),
        "lr": optuna.distributions.FloatDistribution(1e-5, 1e-1, log=True),
        "k": optuna.distributions.IntDistribution(1, 8),
        "c": optuna.distributions.CategoricalDistribution(["a", "b", "c"]),
    }
    study = optuna.create_study(
        storage=f"sqlite:///{folder}/optuna{time.time_ns()}.db", sampler=optuna.samplers.RandomSampler(seed=0)
    )
    return _rate(lambda: study.tell(study.ask(distributions), 1.0), count)


def _rate(step: Callable[[], object], count: int) -> float:
    for _ in range(10):
        step()
    started = time.perf_counter()
    for _ in range(count):
        step()
    return count / (time.perf_counter() - started)


def fill(folder: Path, count: int) -> tuple[str, float]:
    """Make a large study; return its URL and the trials added per second."""
    import sonde

    space = sonde.Space({f"x{i}": sonde.Float(0, 1) for i in range(8)})
    url = f"sqlite:///{folder}/large.db"
    study = sonde.Study(space, storage=url, name="large", seed=0)
    trials = [
        {"params": {f"x{i}": k * (i + 1) * 0.6180339887 % 1.0 for i in range(8)}, "value": float(k)}
        for k in range(count)  # all different: a configuration that had two values would be noise, and need a model
    ]
    started = time.perf_counter()
    study.add_trials(trials)
    return url, count / (time.perf_counter() - started)


def run(code: str, *arguments: str) -> list[str]:
    """Run a snippet in a new interpreter and return what it printed."""
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], check=True, capture_output=True, text=True
    ).stdout.split()


def import_seconds(statement: str) -> tuple[float, list[str]]:
    """Return the median time of an import, and which heavy modules it loaded."""
    outputs = [run(IMPORT.format(statement=statement)) for _ in range(ROUNDS)]
    return statistics.median(float(output[0]) for output in outputs), outputs[0][1:]


def main() -> None:
    use_one_core()
    short = "--short" in sys.argv
    count, size = (100, 10_000) if short else (500, 100_000)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pairs = [(sonde_rate(folder, count), optuna_rate(folder, max(50, count // 5))) for _ in range(ROUNDS)]
        ours, theirs = (statistics.median(rates) for rates in zip(*pairs, strict=True))
        url, added = fill(folder, size)
        opened = [[float(word) for word in run(OPEN, url)] for _ in range(3)]
    seconds, after, memory = (statistics.median(column) for column in zip(*opened, strict=True))
    import_ours, loaded = import_seconds("import sonde")
    import_theirs, _ = import_seconds("import optuna")
    used, _ = import_seconds("import sonde; sonde.Study(sonde.Space(x=sonde.Float(0, 1))).ask()")
    rows = [
        _row("ask + tell per second, SQLite, random", ours, theirs, f"ratio {ours / theirs:.1f}", "ratio 10",
             ours >= 10 * theirs),
        _row(f"open {size} trials, import included (s)", seconds, "", "", "2 s", seconds <= 2),
        _row("first ask after that (s)", after, "", "", "", ""),
        _row("import (s)", import_ours, import_theirs, "loads " + (", ".join(loaded) or "nothing heavy"), "0.15 s",
             import_ours <= 0.15 and not loaded),
        _row("import and first suggestion, in memory (s)", used, "", "", "", ""),
        _row("memory per trial, 8 floats (bytes)", memory, "", "", "", ""),
        _row("add_trials per second", added, "", "", "", ""),
    ]  # fmt: skip
    draw(report("foundation", "Storage and start-up", rows), ours, theirs, import_ours, import_theirs)


def _row(what: str, ours: float, theirs: float | str, note: str, target: str, reached: bool | str) -> dict[str, object]:
    met = reached if isinstance(reached, str) else "yes" if reached else "NO"
    return {"what": what, "Sonde": ours, "Optuna": theirs, "note": note, "target": target, "reached": met}


def draw(path: Path, ours: float, theirs: float, import_ours: float, import_theirs: float) -> None:
    """Draw the two comparisons."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(8, 2.2), layout="constrained")
    for axis, values, title in (
        (axes[0], (ours, theirs), "ask + tell per second (more is better)"),
        (axes[1], (import_ours, import_theirs), "import, seconds (less is better)"),
    ):
        bars = axis.barh(["Sonde", "Optuna"], values, color=["#3b6ea5", "#bbbbbb"])
        axis.bar_label(bars, fmt="%.3g", padding=3)
        axis.set_title(title, fontsize=10)
        axis.invert_yaxis()
        axis.margins(x=0.2)
    figure.savefig(path.with_suffix(".png"), dpi=120)


if __name__ == "__main__":
    main()
