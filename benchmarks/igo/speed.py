"""The time of the search itself: a step of ``sonde.igo``, a million evaluations, and a suggestion of the strategy.

python -m benchmarks.igo.speed
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

from benchmarks.machine import use_one_core


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--core", type=int, help="the core to use; by default the first allowed one")
    use_one_core(parser.parse_args().core)
    from benchmarks.report import report

    rows = [{"what": what, "time": shown(seconds), "target": target} for what, seconds, target in measured()]
    report("igo_speed", "Time of the search alone", rows)


def measured() -> Iterator[tuple[str, float, str]]:
    """Yield the measurements: description, seconds, target."""
    for bits in (31, 3072):
        yield f"ask + tell, {bits} bits, 2 samples (PBIL-epsilon)", step(bits), "100 us" if bits == 3072 else ""
    yield "10^6 evaluations of OneMax, 1000 bits", million(), "seconds"
    for bits in (20, 100, 1000):
        for results in (100, 2000):
            yield f"strategy igo: a trial, {bits} bits, {results} results", trial(bits, results), ""


def step(bits: int, repetitions: int = 5000) -> float:
    """Return the median seconds of asking and telling two samples, without the objective."""
    import numpy as np

    from sonde.igo import PBIL

    search, losses, times = PBIL(bits, "epsilon", seed=0), np.random.default_rng(0).random((repetitions, 2)), []
    for pair in losses:
        started = time.perf_counter()
        search.tell(search.ask(), pair)
        times.append(time.perf_counter() - started)
    return float(np.median(times))


def million() -> float:
    """Return the seconds of a million evaluations, the objective's included."""
    from sonde.igo import PBIL

    search, calls, started = PBIL(1000, seed=0), 0, time.perf_counter()
    while calls < 10**6:
        samples = search.ask()
        search.tell(samples, 1000 - samples.sum(axis=1))
        calls += len(samples)
    return time.perf_counter() - started


def trial(bits: int, results: int, repetitions: int = 50) -> float:
    """Return the seconds of a trial in memory, ask and tell, after ``results`` trials."""
    from sonde import Bool, Space, Study

    names = [f"bit{i}" for i in range(bits)]
    study = Study(Space({name: Bool() for name in names}), strategy="igo", seed=0)

    def spend(count: int) -> float:
        started = time.perf_counter()
        for _ in range(count):
            asked = study.ask()
            study.tell(asked, sum((1 + i % 7) * asked[name] for i, name in enumerate(names)))
        return time.perf_counter() - started

    spend(results)
    return spend(repetitions) / repetitions


def shown(seconds: float) -> str:
    """Return a time in a unit that suits it."""
    return next(
        f"{seconds / unit:.3g} {name}" for name, unit in (("s", 1), ("ms", 1e-3), ("us", 1e-6)) if seconds >= unit
    )


if __name__ == "__main__":
    main()
