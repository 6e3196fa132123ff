"""Time and memory on Hartmann6: figure 1 of the paper, Optuna's TPE up to 100,000 results, and a batch of 800.

    python -m benchmarks.dngo.speed                   # up to 10,000 results
    python -m benchmarks.dngo.speed --full --core 1   # up to 100,000, on another core
    python -m benchmarks.dngo.speed --parts one,batch

Parts: ``one``, a suggestion compared with TPE; ``figure``, seconds over N compared with the exact Gaussian process;
``batch``, 800 suggestions with 800 pending trials; ``memory``, in separate processes. Histories are Sobol points in
memory. Each part is written when it is complete.

A refit is the first ask after a checkpoint, with all earlier fits cached. Checkpoints divide an octave (2^k to 2^(k+1)
results). The first trains from random weights and the others from trained ones; every second one of these also compares
forms of the model, so three refits give the cost of an octave. Amortised is an ordinary step, a tell and an ask, plus
that cost divided by the results of the octave. Reopened is the first ask of a new strategy in this process, with
everything compiled; ``memory`` measures it in a new process.
"""

import argparse
import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

import sonde
from benchmarks.first_order.plots import legend, lines, panels, save
from benchmarks.latency.timing import clock, steps
from benchmarks.latency.tools import DIMENSION, SPACE, Array, Tool, values_at
from benchmarks.machine import use_one_core
from benchmarks.report import report
from sonde import DNGO
from sonde.sampling import sobol
from sonde.strategies.bayesian.gp import GP
from sonde.surrogates.refits import checkpoint

Row = dict[str, Any]

PARTS = ("one", "figure", "batch", "memory")
STRATEGIES = {"dngo": DNGO, "networks": lambda: DNGO("networks"), "gp": GP}
NAMES = {"dngo": "DNGO", "networks": "DNGO, networks", "gp": "exact GP", "tpe": "Optuna's TPE"}
SIZES = (50, 100, 200, 500, 1000, 2000, 5000, 10_000)
COMPARED, LARGEST, LARGEST_EXACT = (1000, 10_000), 100_000, 2000
ROUNDS = 7  # ordinary steps, of which the median counts
BATCH, BATCH_SECONDS = 800, 30.0
FIGURE = Path(__file__).parents[2] / "docs" / "figures" / "dngo-time.png"


class Cost(NamedTuple):
    """Seconds of an ordinary step, and of three refits: from scratch, warm-started, with a comparison of forms."""

    step: float
    refits: tuple[float, ...]
    octave: int
    parts: int

    @property
    def amortised(self) -> float:
        """Seconds of a step with its share of the refits."""
        from_scratch, warm_started, compared = self.refits
        total = from_scratch + self.parts / 2 * warm_started + (self.parts / 2 - 1) * compared
        return self.step + total / self.octave


def results(x: Array, y: Array) -> list[Row]:
    """Return points and values as ``add_trials`` takes them."""
    return [
        {"params": dict(zip(SPACE.names, point, strict=True)), "value": value}
        for point, value in zip(x.tolist(), y.tolist(), strict=True)
    ]


class Growing:
    """A study that can be told results up to any number, and asked for one point at a time."""

    def __init__(self, name: str, seed: int = 0) -> None:
        self.study = sonde.Study(SPACE, seed=seed, strategy=STRATEGIES[name]())
        self.seed, self.count = seed, 0
        self.trial: sonde.Trial | None = None

    def tell(self) -> None:
        """Tell the value of the pending point, if there is one."""
        if self.trial is not None:
            self.study.tell(self.trial, values_at(np.array([list(self.trial.params.values())])).item())
            self.trial, self.count = None, self.count + 1

    def grow(self, count: int) -> None:
        """Tell results until there are ``count``."""
        self.tell()
        if count > self.count:
            x = sobol(self.count, count - self.count, DIMENSION, seed=self.seed)
            self.study.add_trials(results(x, values_at(x)))
            self.count = count

    def ask(self) -> float:
        """Return the seconds of a tell, if a point is pending, and an ask."""
        started = clock()
        self.tell()
        self.trial = self.study.ask()
        return clock() - started


@cache
def warm() -> None:
    """Train once on few rows and once on many, so that later times include no compilation."""
    study = Growing("networks")
    for count in (100, 600):
        study.grow(count)
        study.ask()


@cache
def cost(name: str, n: int) -> Cost:
    """Return what suggestions of one of Sonde's strategies cost around n results."""
    octave = 2 ** (n.bit_length() - 1)
    second = next(count for count in range(octave + 1, 2 * octave) if checkpoint(count) == count)
    marks = (octave, second, 2 * second - octave)
    study, taken, ordinary = Growing(name), {}, 0.0
    study.grow(octave - 1)
    study.ask()
    for count in sorted({*marks, n}):
        study.grow(count)
        taken[count] = study.ask()
        if count == n:
            ordinary = median(study.ask() for _ in range(ROUNDS))
    return Cost(ordinary, tuple(taken[mark] for mark in marks), octave, octave // (second - octave))


def reopened(name: str, n: int) -> float:
    """Return the seconds of the first ask of a new strategy on n results."""
    study = Growing(name)
    study.grow(n)
    return study.ask()


def optuna_tpe(n: int, seed: int) -> Tool:
    """Optuna's TPE with default settings, on n Sobol points."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    ranges = {name: optuna.distributions.FloatDistribution(0, 1) for name in SPACE.names}
    x = sobol(0, n, DIMENSION, seed=seed)
    study.add_trials([optuna.trial.create_trial(distributions=ranges, **result) for result in results(x, values_at(x))])
    while True:
        trial = study.ask(ranges)
        told = yield np.array([[trial.params[name] for name in ranges]])
        study.tell(trial, told.item())


@cache
def tpe(n: int) -> float:
    """Return the seconds of a step of TPE around n results."""
    return median(steps({"tpe": optuna_tpe(n, 0)}, ROUNDS)["tpe"][1:])


def one(sizes: Sequence[int]) -> list[Row]:
    """Seconds of a suggestion compared with TPE, and their growth from the smallest size."""
    return [_compared(name, n, sizes[0]) for name in ("dngo", "networks") for n in sizes]


def _compared(name: str, n: int, least: int) -> Row:
    warm()
    ours, theirs = cost(name, n), tpe(n)
    amortised = ours.amortised
    growth, most = amortised / cost(name, least).amortised, n / least
    reached = amortised <= theirs if n == 10_000 else amortised <= 1.0 and growth <= most if n >= LARGEST else None
    return {
        "n": n, "tool": NAMES[name], "step (s)": ours.step,
        "refits (s)": " ".join(f"{each:.3g}" for each in ours.refits),
        "amortised (s)": amortised, "TPE (s)": theirs, "TPE / amortised": theirs / amortised,
        "growth": growth, "linear": most, "target": {None: "", True: "yes", False: "NO"}[reached],
        "reopened (s)": reopened(name, n),
    }  # fmt: skip


def figure(sizes: Sequence[int]) -> list[Row]:
    """Seconds per suggestion over N, amortised."""
    warm()
    measured = {
        "networks": {n: cost("networks", n).amortised for n in sizes},
        "gp": {n: cost("gp", n).amortised for n in sizes if n <= LARGEST_EXACT},
        "tpe": {n: tpe(n) for n in sizes},
    }
    draw({NAMES[name]: over for name, over in measured.items()})
    rows = []
    for before, n in zip((None, *sizes[:-1]), sizes, strict=True):
        row: Row = {"N": n}
        for name, over in measured.items():
            row[f"{NAMES[name]} (s)"] = over.get(n, "")
            row[f"slope, {name}"] = slope({m: over[m] for m in (before, n)}) if before and n in over else ""
        rows.append(row)
    return rows


def slope(over: dict[int, float]) -> float:
    """Return the exponent of N with which the seconds grow."""
    return float(np.polyfit(np.log(list(over)), np.log(list(over.values())), 1)[0])


def draw(measured: dict[str, dict[int, float]]) -> None:
    """Draw figure 1, with the exponent of N over the last four sizes of each."""
    picture, axes = panels(1, 1, (6, 4))
    drawn = {}
    for name, over in measured.items():
        last = dict(list(over.items())[-4:])
        drawn[f"{name}, $N^{{{slope(last):.2f}}}$ from {min(last)} on"] = (list(over), list(over.values()))
    lines(axes[0][0], drawn, title="seconds per suggestion, refits included; Hartmann6", x="N", y="seconds")
    legend(axes[0][0])
    FIGURE.parent.mkdir(exist_ok=True)
    save(picture, FIGURE)


def batch(n: int = 2000) -> list[Row]:
    """Suggestions for 800 workers, first without pending trials and then with 800."""
    warm()
    rows, points = [], set()
    study = Growing("dngo")
    study.grow(n)
    study.ask()  # fits
    study.tell()
    for pending in (0, BATCH):
        started = clock()
        asked = study.study.ask(BATCH)
        taken = clock() - started
        points |= {tuple(trial.params.values()) for trial in asked}
        rows.append({
            "n": n, "under way": pending, "asked": BATCH, "seconds": taken, "target": BATCH_SECONDS,
            "reached": "yes" if taken <= BATCH_SECONDS else "NO", "different points so far": len(points),
        })  # fmt: skip
    return rows


def memory(sizes: Sequence[int]) -> list[Row]:
    """Memory of new processes, and the seconds of their first ask, imports and compilation included."""
    rows: list[Row] = []
    for name in ("dngo", "networks"):
        measured = {n: _alone(name, n) for n in sizes}
        least = min(measured)
        for n, (history, peak, first) in measured.items():
            more = (peak - measured[least][1]) / (n - least) if n > least else ""
            rows.append({
                "n": n, "tool": NAMES[name], "history (MiB)": history / 2**20, "peak (MiB)": peak / 2**20,
                "bytes a result more": more, "first ask (s)": first,
            })  # fmt: skip
    return rows


def _alone(name: str, n: int) -> tuple[float, float, float]:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, context) as pool:
        return pool.submit(_remembered, name, n).result()


def _remembered(name: str, n: int) -> tuple[float, float, float]:
    """Return the bytes of a history, the peak after it, and the seconds of the first ask."""
    begun = _resident("VmRSS")
    study = Growing(name)
    study.grow(n)
    history = _resident("VmRSS") - begun
    first = study.ask()
    study.ask()
    return history, _resident("VmHWM") - begun, first


def _resident(what: str) -> float:
    """Return bytes of memory now (VmRSS) or at most (VmHWM); ru_maxrss would count the parent's too."""
    lines_of = Path("/proc/self/status").read_text().splitlines()
    return 1024.0 * next(int(line.split()[1]) for line in lines_of if line.startswith(what))


def main() -> None:
    options = arguments()
    use_one_core(options.core)
    sizes, compared = SIZES, COMPARED
    if options.full:
        sizes, compared = (*SIZES, LARGEST), (*COMPARED, LARGEST)
    parts = {
        "one": ("One suggestion beside TPE", lambda: one(compared)),
        "figure": ("Figure 1: seconds per suggestion", lambda: figure(sizes)),
        "batch": ("A batch", batch),
        "memory": ("Memory of new processes", lambda: memory(compared)),
    }
    with_what = ", ".join(f"{name} {version(name)}" for name in ("sonde", "optuna", "numpy"))
    for name in options.parts:
        title, measure = parts[name]
        report(f"dngo_speed_{name}", f"{title}; Hartmann6, one core; {with_what}", measure())


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="up to 100,000 results")
    parser.add_argument("--parts", type=lambda text: text.split(","), default=PARTS, help=",".join(PARTS))
    parser.add_argument("--core", type=int, help="the core to use; by default the first allowed one")
    return parser.parse_args()


if __name__ == "__main__":
    main()
