"""Figures 2 and 3: selection of layers, and of each unit's activation, during the training of the weights, on MNIST.

    python -m benchmarks.igo.structure layers --short                        # minutes on one core
    python -m benchmarks.igo.structure layers --trials 30 --seconds 540      # as many iterations as fit, on a GPU
    python -m benchmarks.igo.structure activations --trials 10 --iterations 30000
    python -m benchmarks.igo.structure layers --draw                         # the table and the picture of what has run

``layers``: 32 hidden layers of 128 units, 31 bits. ``activations``: three of 1024, 3072 bits, and two networks without
a choice; with ``--short``, three of 256. Methods are the paper's: cGA and PBIL-epsilon draw two masks a step for one
mini-batch and move the weights by their mean gradient; PBIL-lambda draws one mask for each mini-batch and moves theta
after lambda of them. The initial learning rate and the number of iterations are in another paper. Here they are
options, and the number matters, since the rate falls at 1/2 and 3/4 of it. Mini-batches follow a new order each epoch.
A trial's methods share their first weights and their orders.

All trials train at the same time, the searches on the host: one call a step for those with two masks, one for those
with one. While the device runs one call, the host updates the other searches. Rows, one for each trial of a method,
are written at every evaluation of the test images. Needs JAX and NumPy, and Matplotlib for the figure: ``--draw``
plots it afterwards.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from numpy.typing import NDArray

from benchmarks.igo.curves import draw
from benchmarks.igo.mnist import Images, load
from benchmarks.igo.networks import BATCH, Activations, Layers, Network, shuffled, step, test_errors, untrained
from benchmarks.machine import describe_machine
from benchmarks.records import numbers
from benchmarks.report import RESULTS
from sonde.igo import PBIL, cga

Array = NDArray[np.float64]
Bits = NDArray[np.bool_]

RATE = 0.01
PILOT = 40  # steps that are timed, after half as many that are not
RESERVE, PART = 10.0, 0.93  # seconds kept for the end, and the part of the rest that is planned
EVEN = 12  # test evaluations at equal distances; the others are at equal ratios


class Experiment(NamedTuple):
    """A figure of the paper."""

    title: str
    network: Network
    short: Network
    paper: dict[str, str]  # final test error of 30 trials by method: median (quartiles)


# 16 layers of He's gain 2 make 5000 times of what goes in, of gain 1, 500 times: the first steps undo fewer weights
LAYERS = Layers(32, 128, gain=1.0)
EXPERIMENTS = {
    "layers": Experiment(
        "Figure 2: selection of layers", LAYERS, LAYERS,
        {"cGA": "2.240 (2.130, 2.298)", "PBIL-lambda": "1.855 (1.790, 1.932)", "PBIL-epsilon": "1.795 (1.752, 1.838)"},
    ),
    "activations": Experiment(
        "Figure 3: selection of activations", Activations(3, 1024), Activations(3, 256),
        {
            "cGA": "1.450 (1.430, 1.488)", "PBIL-lambda": "1.370 (1.343, 1.420)",
            "PBIL-epsilon": "1.385 (1.332, 1.437)", "ReLU": "1.610 (1.560, 1.627)", "tanh": "1.520 (1.490, 1.545)",
        },
    ),
}  # fmt: skip


class Chooser(ABC):
    """The source of the masks of a trial; each step draws and then tells."""

    masks: int  # a step

    @abstractmethod
    def draw(self) -> Bits:
        """Return the masks (masks, n) of a step."""

    @abstractmethod
    def tell(self, losses: Array) -> None:
        """Take a step from the losses of the masks drawn last."""

    @abstractmethod
    def likeliest(self) -> Bits:
        """Return the mask (n,) for the test images."""

    @property
    def reference(self) -> float:
        """lambda_r, where it is adapted."""
        return np.nan


class TwoMasks(Chooser):
    """Two masks a step, and a step of the search after each: cGA and PBIL-epsilon."""

    masks = 2

    def __init__(self, search: PBIL) -> None:
        self.search = search

    def draw(self) -> Bits:
        """Draw a generation."""
        self._drawn = self.search.ask()
        return self._drawn

    def tell(self, losses: Array) -> None:
        """Step."""
        self.search.tell(self._drawn, losses)

    def likeliest(self) -> Bits:
        """Return the bits whose probability is at least one half."""
        return self.search.theta >= 0.5

    @property
    def reference(self) -> float:
        """lambda_r."""
        return np.nan if self.search.adapt is None else self.search.save()["reference"]


class OneMask(TwoMasks):
    """One mask a step, and a step of the search after a generation of lambda of them: PBIL-lambda."""

    masks = 1

    def __init__(self, search: PBIL) -> None:
        super().__init__(search)
        self._losses: list[float] = []

    def draw(self) -> Bits:
        """Return the next mask of a generation."""
        if not self._losses:
            super().draw()
        return self._drawn[len(self._losses)][None]

    def tell(self, losses: Array) -> None:
        """Keep the loss, or step if it was the last."""
        self._losses.append(float(losses[0]))
        if len(self._losses) == len(self._drawn):
            super().tell(np.array(self._losses))
            self._losses = []


class Fixed(Chooser):
    """A constant mask."""

    masks = 1

    def __init__(self, mask: Bits) -> None:
        self.mask = mask

    def draw(self) -> Bits:
        """Return the mask."""
        return self.mask[None]

    def tell(self, losses: Array) -> None:
        """Ignore the losses."""

    def likeliest(self) -> Bits:
        """Return the mask."""
        return self.mask


CHOOSERS = {
    "cGA": lambda n, seed: TwoMasks(cga(n, seed=seed)),
    "PBIL-lambda": lambda n, seed: OneMask(PBIL(n, "lambda", seed=seed)),
    "PBIL-epsilon": lambda n, seed: TwoMasks(PBIL(n, "epsilon", seed=seed)),
    "ReLU": lambda n, seed: Fixed(np.ones(n, dtype=bool)),
    "tanh": lambda n, seed: Fixed(np.zeros(n, dtype=bool)),
}


@dataclass
class Trial:
    """A trial of a method, and its training curves."""

    method: str
    number: int
    chooser: Chooser
    error: list[float] = field(default_factory=list)  # of the test images, in percent
    loss: list[float] = field(default_factory=list)  # of the last mini-batch
    reference: list[float] = field(default_factory=list)  # lambda_r
    ones: list[int] = field(default_factory=list)  # of the likeliest mask


class Crew:
    """Trials that draw equally many masks a step, and their weights on the device."""

    def __init__(self, network: Network, images: tuple[Images, Images], trials: Sequence[Trial]) -> None:
        self.network, self.trials = network, trials
        self.training, self.test = (Images(*map(jax.numpy.asarray, part)) for part in images)
        seeds = [trial.number for trial in trials]
        self.learners, self._keys = untrained(network, seeds), jax.vmap(jax.random.key)(np.array(seeds))
        self._losses: Any = None

    def launch(self, done: int, rate: float) -> None:
        """Start the step after ``done`` steps."""
        count = len(self.training.classes)
        epoch, place = divmod(done, count // BATCH)
        if place == 0:
            self._orders = shuffled(self._keys, count, epoch)
        masks = np.stack([trial.chooser.draw() for trial in self.trials])
        self.learners, self._losses = step(
            self.network, self.training, self.learners, self._orders, place, masks, np.float32(rate)
        )

    def collect(self) -> None:
        """Wait for the started step, and tell its losses."""
        self._losses = np.asarray(self._losses, dtype=float)
        for trial, losses in zip(self.trials, self._losses, strict=True):
            trial.chooser.tell(losses)

    def look(self) -> None:
        """Record the test errors and the state of the trials."""
        masks = np.stack([trial.chooser.likeliest() for trial in self.trials])
        errors = np.asarray(test_errors(self.network, self.test, self.learners.weights, masks))
        for trial, error, losses, mask in zip(self.trials, errors, self._losses, masks, strict=True):
            trial.error.append(float(error))
            trial.loss.append(float(losses.mean()))
            trial.reference.append(trial.chooser.reference)
            trial.ones.append(int(mask.sum()))


def crews(network: Network, images: tuple[Images, Images], methods: Sequence[str], trials: int) -> list[Crew]:
    """Return all trials of all methods, grouped by their number of masks a step."""
    made = [Trial(name, t, CHOOSERS[name](network.bits, t)) for name in methods for t in range(trials)]
    groups = [[trial for trial in made if trial.chooser.masks == masks] for masks in (2, 1)]
    return [Crew(network, images, group) for group in groups if group]


def looks(iterations: int, points: int) -> list[int]:
    """Return the steps of test evaluations: some at equal distances, the others at equal ratios."""
    even = np.linspace(0, iterations, EVEN + 1)[1:] if points > EVEN else [iterations]
    ratios = np.geomspace(1, iterations, max(points - len(even), 1))
    return sorted({max(1, round(at)) for at in (*even, *ratios)})


def rate_at(done: int, iterations: int, initial: float) -> float:
    """Return the learning rate after ``done`` steps: a tenth from 1/2 on, a hundredth from 3/4."""
    return initial * 0.1 ** ((2 * done >= iterations) + (4 * done >= 3 * iterations))


def train(together: Sequence[Crew], iterations: int, initial: float, at: Sequence[int], keep: Any = None) -> None:
    """Train all trials, evaluate them after the steps ``at``, and call ``keep`` with those of ``at`` that are done."""
    for crew in together:
        crew.launch(0, initial)
    for done in range(1, iterations + 1):
        for crew in together:  # while the device runs the step of the other crew
            crew.collect()
            if done in at:
                crew.look()
            if done < iterations:
                crew.launch(done, rate_at(done, iterations, initial))
        if done in at and keep is not None:
            keep(at[: at.index(done) + 1])


def planned(together: Sequence[Crew], until: float, points: int) -> int:
    """Return how many iterations fit before a time, from a timed pilot; the crews cannot be used afterwards."""
    train(together, PILOT // 2, RATE, [PILOT // 2])  # compiles
    begun = time.perf_counter()
    train(together, PILOT, RATE, [])
    trained = time.perf_counter()
    for crew in together:
        crew.look()
    looked = time.perf_counter()
    one, look = (trained - begun) / PILOT, looked - trained
    print(f"{1e3 * one:.2f} ms a step, {look:.2f} s a look", flush=True)
    return max(8, int(PART * (until - looked - RESERVE - points * look) / one))


def run(network: Network, images: tuple[Images, Images], file: Path, options: argparse.Namespace) -> None:
    """Train all trials of all methods, and write their rows."""
    begun, iterations = time.perf_counter(), options.iterations
    if options.seconds:
        pilot = crews(network, images, options.methods, options.trials)
        fit = planned(pilot, begun + options.seconds, options.points)
        iterations = min(fit, iterations or fit)
        del pilot
    print(f"{file.stem}: {iterations} iterations, {options.trials} trials of {', '.join(options.methods)}", flush=True)
    together = crews(network, images, options.methods, options.trials)
    first = f"{device()}, products in {options.precision}; {describe_machine()}"

    def keep(at: Sequence[int]) -> None:
        trials = [trial for crew in together for trial in crew.trials]
        settings = {"iterations": iterations, "learning rate": options.learning_rate, "gain": network.gain}
        settings["seconds"] = f"{time.perf_counter() - begun:.1f}"
        write(file, first, [row(trial, at, settings) for trial in trials])
        medians = {name: np.median([t.error[-1] for t in trials if t.method == name]) for name in options.methods}
        shown = ", ".join(f"{name} {error:.2f}" for name, error in medians.items())
        print(f"{at[-1]} steps, {settings['seconds']} s: {shown}", flush=True)

    train(together, iterations, options.learning_rate, looks(iterations, options.points), keep)


def row(trial: Trial, at: Sequence[int], settings: dict[str, Any]) -> dict[str, Any]:
    """Return what is kept of a trial."""
    own = {"method": trial.method, "trial": trial.number, **settings, "after": numbers(at, 8)}
    own |= {name: numbers(getattr(trial, name), 5) for name in ("error", "loss", "ones")}
    return own | {"lambda_r": numbers(trial.reference, 5)}


def write(file: Path, first: str, rows: Sequence[dict[str, Any]]) -> None:
    """Write all rows in place of what was there, under a line that names the machine."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", newline="") as lines:
        lines.write(f"# {first}\n")
        writer = csv.DictWriter(lines, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def device() -> str:
    """Return what JAX computes on."""
    return f"{jax.devices()[0].device_kind}, JAX {jax.__version__}"


def main(given: Sequence[str] | None = None) -> None:
    options = arguments(given)
    experiment = EXPERIMENTS[options.experiment]
    file = options.out / f"igo_{options.experiment}{'_short' if options.short else ''}.csv"
    if not options.draw:
        jax.config.update("jax_default_matmul_precision", options.precision)
        network = experiment.short if options.short else experiment.network
        run(dataclasses.replace(network, gain=options.gain or network.gain), load(), file, options)
    draw(file, experiment.title, experiment.paper)


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiment", choices=EXPERIMENTS)
    parser.add_argument("--short", action="store_true", help="250 iterations, 2 trials, 5 looks")
    parser.add_argument("--iterations", type=int, help="weight updates, 30000; with --seconds, at most")
    parser.add_argument("--seconds", type=float, help="as many iterations as end in so many seconds, start included")
    parser.add_argument("--trials", type=int, help="of each method, 30")
    parser.add_argument("--points", type=int, help="looks at the test images, about 40")
    parser.add_argument("--methods", type=lambda text: text.split(","), metavar="A,B", help="only these")
    parser.add_argument("--learning-rate", type=float, default=RATE, help="at the start")
    parser.add_argument("--gain", type=float, help="of the first weights: 2 as He, 1 as LeCun (layers)")
    parser.add_argument("--precision", default="float32", choices=("float32", "tensorfloat32"), help="of products")
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="DIR", help="the folder of rows and pictures")
    parser.add_argument("--draw", action="store_true", help="run nothing")
    options = parser.parse_args(given)
    for name, short, full in (("iterations", 250, 30_000), ("trials", 2, 30), ("points", 5, 40)):
        if getattr(options, name) is None and not (name == "iterations" and options.seconds):
            setattr(options, name, short if options.short else full)
    known = list(EXPERIMENTS[options.experiment].paper)
    options.methods = options.methods or known
    if unknown := set(options.methods) - set(known):
        parser.error(f"methods of {options.experiment} are {', '.join(known)}, got {', '.join(sorted(unknown))}")
    return options


if __name__ == "__main__":
    main()
