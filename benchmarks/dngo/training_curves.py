"""Training curves of the networks, and the time of whole refits.

    python -m benchmarks.dngo.training_curves                                            # minutes on one core
    python -m benchmarks.dngo.training_curves --device gpu --rows 100000 1000000 --out DIR

Curves: the loss over steps of squared errors (SGD, Adam) and of the marginal likelihood (Adam), on n values of a
function of ten variables; the seconds of 1000 steps, without compilation; and the error of the regression on unseen
values. Whole refits: ``AdaptiveBasis.learn`` on so many rows, as in a new process, and then a suggestion, the best of
4096 candidates after one more result. On one core (``taskset -c 0``) seconds are processor seconds, so other processes
do not count. Needs Sonde, JAX for a GPU, and Matplotlib for the figure.
"""

import argparse
import csv
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.latency.timing import clock
from benchmarks.machine import describe_machine
from sonde.acquisition.closed import log_expected_improvement
from sonde.strategies.bayesian.basis_model import BEST
from sonde.strategies.threads import one_thread
from sonde.surrogates.basis.adaptive import AdaptiveBasis, Recipe, Trained, trainer
from sonde.surrogates.basis.data import Table
from sonde.surrogates.basis.networks import Network
from sonde.surrogates.basis.posterior import LinearPosterior
from sonde.surrogates.basis.training import RECORDED
from sonde.surrogates.recent import Recent
from sonde.surrogates.refits import checkpoint

Array = NDArray[np.float64]
Row = dict[str, Any]

RESULTS = Path(__file__).parents[1] / "results"
FIGURE = RESULTS.parents[1] / "docs" / "figures" / "dngo-training"
TRAININGS = (("squares", "sgd"), ("squares", "adam"), ("evidence", "adam"))
INPUTS, NOISE, UNSEEN, CANDIDATES = 10, 0.05, 10_000, 4096


def data(n: int, seed: int) -> Table:
    """Return n noisy values of a smooth function of seven variables; three more have no effect."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-0.5, 0.5, (n, INPUTS))
    waves = np.sin(6 * x[:, 0] * (1 + 2 * x[:, 1])) + np.cos(8 * x[:, 2] + 4 * x[:, 3])
    y = 0.7 * waves + 3 * x[:, 4] ** 2 - 2 * x[:, 5] * x[:, 6] - 0.25
    return Table(x, y + NOISE * rng.standard_normal(n), np.zeros(n))


def curve(n: int, recipe: Recipe, steps: int) -> tuple[list[float], Row]:
    """Return the mean losses of each hundred steps, and a row with time and error."""
    table = data(n, 0)
    network = Network.untrained(INPUTS, recipe.members, np.random.default_rng(0))

    def trained(count: int) -> tuple[Network, list[float]]:
        rows = [np.arange(n)] * recipe.members
        rng = np.random.default_rng(1)
        train = trainer(recipe)
        return train(network, *table[:2], rows, steps=count, rng=rng, loss=recipe.loss, optimizer=recipe.optimizer)

    trained(RECORDED)
    started = clock()
    network, losses = trained(steps)
    taken = clock() - started
    known: Recent[Trained] = Recent(1)
    known.get_or_compute(table.digest(), lambda: Trained(network))
    posterior = AdaptiveBasis(recipe, known).learn(table, n, np.random.default_rng(0))[0]
    return losses, {
        "n": n, "training": f"{recipe.loss}, {recipe.optimizer}", "steps": steps, "last loss": losses[-1],
        "s per 1000 steps": 1000 * taken / steps, "error, unseen": error(posterior), "noise": NOISE,
    }  # fmt: skip


def error(posterior: LinearPosterior) -> float:
    """Return the root mean squared error on unseen values, noise included."""
    unseen = data(UNSEEN, 1)
    return float(np.sqrt(np.mean((posterior.marginals(unseen.x).mean[:, 0] - unseen.y) ** 2)))


def whole(n: int, recipe: Recipe) -> Row:
    """Return the seconds of a refit to n rows and of a suggestion after one more."""
    basis, table, rng = AdaptiveBasis(recipe), data(n + 1, 0), np.random.default_rng(0)
    started = clock()
    basis.learn(table.rows(slice(n)), checkpoint(n), rng)
    refitted = clock()
    posterior = basis.learn(table, checkpoint(n), rng)[0]
    at = posterior.marginals(rng.uniform(-0.5, 0.5, (CANDIDATES, INPUTS)))
    np.argmax(log_expected_improvement(at.mean[:, 0], np.sqrt(at.variance), np.max(table.y))[0])
    asked = clock()
    return {
        "n": n, "refit (s)": refitted - started, "suggestion (s)": asked - refitted, "error, unseen": error(posterior),
        "peak (GiB)": _peak(),
    }  # fmt: skip


def describe_gpu() -> str:
    """Return one line: the GPU and JAX."""
    import jax

    return f"{jax.devices('gpu')[0].device_kind}, JAX {jax.__version__}"


def _peak() -> float:
    """Return the peak memory of this process; sizes increase, so it is that of the last."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 2**20


def write(path: Path, rows: Sequence[Row]) -> None:
    """Write rows, and print the last."""
    machine = describe_gpu() if path.stem.endswith("_gpu") else describe_machine()
    path.parent.mkdir(parents=True, exist_ok=True)
    shown = [{key: f"{each:.4g}" if isinstance(each, float) else each for key, each in row.items()} for row in rows]
    with path.open("w", newline="") as file:
        file.write(f"# {machine}\n")
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(shown)
    print(" | ".join(f"{key} {value}" for key, value in shown[-1].items()), flush=True)


def draw(curves: dict[tuple[str, int], list[float]], table: Sequence[Row], path: Path) -> None:
    """Draw the losses over steps for each way of training, and the errors after it."""
    from benchmarks.first_order.plots import COLOURS, GREY, legend, lines, panels, save

    names = list(dict.fromkeys(name for name, _ in curves))
    figure, axes = panels(1, len(names) + 1, (4 * len(names) + 4, 3.6))
    for axis, name in zip(axes[0], names, strict=False):
        mine = [(n, losses) for (other, n), losses in curves.items() if other == name]
        for colour, (n, losses) in zip(COLOURS, mine, strict=False):
            axis.plot(RECORDED * np.arange(1, len(losses) + 1), losses, color=colour, linewidth=1.3, label=f"n = {n}")
        axis.set(xlabel="steps", ylabel="loss, mean of 100 steps", yscale="log" if name[0] == "s" else "linear")
        axis.set_title(name, fontsize=10)
        axis.grid(alpha=0.25)
        legend(axis)
    errors = {}
    for name in names:
        mine = {row["n"]: row["error, unseen"] for row in table if row["training"] == name}
        errors[name] = (list(mine), list(mine.values()))
    lines(axes[0][-1], errors, title="error of the regression on unseen values", x="n", y="root mean square")
    axes[0][-1].axhline(NOISE, color=GREY, linestyle=":", linewidth=1, label="noise")
    axes[0][-1].set_ylim(bottom=0.9 * NOISE)
    legend(axes[0][-1])
    path.parent.mkdir(exist_ok=True)
    save(figure, path)


@one_thread()
def main() -> None:
    options = arguments()
    suffix = "_gpu" if options.device == "gpu" else ""
    curves, table, points = {}, [], []
    for n in options.n:
        for loss, optimizer in TRAININGS:
            recipe = Recipe(options.networks, loss=loss, optimizer=optimizer, device=options.device)
            losses, row = curve(n, recipe, options.steps)
            curves[row["training"], n] = losses
            table.append(row)
            points += [
                {"n": n, "training": row["training"], "step": RECORDED * (i + 1), "loss": each}
                for i, each in enumerate(losses)
            ]
            write(options.out / f"dngo_training{suffix}.csv", table)
    write(options.out / f"dngo_training_curves{suffix}.csv", points)
    if not suffix and find_spec("matplotlib"):
        draw(curves, table, FIGURE if options.out == RESULTS else options.out / FIGURE.name)
    refits = []
    for n in sorted(options.rows):
        refits.append(whole(n, Recipe(options.networks, device=options.device, optimizer=BEST[options.device])))
        write(options.out / f"dngo_training_whole{suffix}.csv", refits)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, nargs="*", default=[1024, 16384, 131072], help="sizes of the curves")
    parser.add_argument("--rows", type=int, nargs="*", default=[100_000], help="sizes of whole refits")
    parser.add_argument("--networks", type=int, default=Recipe().members)
    parser.add_argument("--device", choices=["cpu", "gpu"], default="cpu")
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--out", type=Path, default=RESULTS, help="the folder of the tables")
    return parser.parse_args()


if __name__ == "__main__":
    main()
