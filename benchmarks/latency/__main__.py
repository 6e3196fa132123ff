"""Run the parts and draw them.

    python -m benchmarks.latency                       # all, on the first core: about 20 minutes
    python -m benchmarks.latency --core 1 --parts 1,3  # some, on another core
    python -m benchmarks.latency --threads 2           # with two cores; tables and picture of their own
    python -m benchmarks.latency --short               # minutes, smaller sizes; tables and picture of their own

Parts: 1, one suggestion, n = 20 to 200; 2, the acquisition value reached; 3, a batch of 8, and its value; 4, n = 1000
and 2000; 5, whole runs in new processes. Each is written when it is done.

With ``greenlet`` installed Optuna climbs from all its starts at once, without it from one after the other, which takes
twice as long or more. Results without it are named so.
"""

import argparse
import os
import warnings
from importlib.metadata import version
from importlib.util import find_spec

from benchmarks.machine import use_cores
from benchmarks.report import RESULTS, report

FIGURE = RESULTS.parents[1] / "docs" / "figures" / "latency"


def main() -> None:
    options = arguments()
    others = sorted(os.sched_getaffinity(0) - {options.core})
    use_cores({options.core, *others[: options.threads - 1]})
    warnings.filterwarnings("ignore")  # of the peers: experimental options, and searches that they repeat by themselves
    suffix = ("_short" if options.short else "") + (f"_threads{options.threads}" if options.threads > 1 else "")
    suffix += "" if find_spec("greenlet") else "_without_greenlet"
    for part in options.parts:
        run(part, options.short, suffix, options.threads)
    from benchmarks.latency.picture import draw

    draw(suffix, [RESULTS / f"latency{suffix}"] + [FIGURE] * (not suffix))


def run(part: int, short: bool, suffix: str, threads: int) -> None:
    """Measure one part, print it and write it."""
    import optuna
    import torch

    from benchmarks.latency import fresh, timing, values

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    torch.set_num_threads(threads)
    sizes = (20, 50) if short else (20, 50, 100, 200)
    seeds = 2 if short else 5
    tables = {
        1: [("one", "1. One suggestion", lambda: timing.one_point(sizes, 3 if short else 11))],
        2: [("value", "2. Log EI reached under one model", lambda: values.one_point(sizes, 2 * seeds))],
        3: [
            ("batch", "3. A batch of 8", lambda: timing.batches(sizes, 1 if short else 3)),
            ("batch_value", "3. q-log-EI reached under one model", lambda: values.batches(sizes, seeds)),
        ],
        4: [("large", "4. Long histories", lambda: timing.large((300,) if short else (1000, 2000), 3))],
        5: [("run", "5. Whole runs", lambda: fresh.runs(40 if short else 200, 1 if short else 3))],
    }
    libraries = ["sonde", "optuna", "botorch", "torch", "numpy"] + ["greenlet"] * bool(find_spec("greenlet"))
    with_what = ", ".join(f"{name} {version(name)}" for name in libraries)
    for name, title, measure in tables[part]:
        note = f"{title}; Hartmann6, {threads} thread{'s' * (threads > 1)}; {with_what}"
        report(f"latency_{name}{suffix}", note, measure())


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.latency", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", type=lambda text: [int(part) for part in text.split(",")], default=[1, 2, 3, 4, 5])
    parser.add_argument("--core", type=int, default=min(os.sched_getaffinity(0)), help="by default the first allowed")
    parser.add_argument("--threads", type=int, default=1, choices=range(1, len(os.sched_getaffinity(0)) + 1))
    parser.add_argument("--short", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
