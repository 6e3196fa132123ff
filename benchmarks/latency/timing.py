"""Parts 1, 3 and 4: seconds of a step (tell, fit, search) on histories of n points.

Histories are Sobol points, then what the tool itself asked for: every step sees results that the one before did not.
Tools take turns, so that what disturbs the machine disturbs all; the first step of each is not counted.
"""

import os
import time
from collections.abc import Mapping, Sequence
from statistics import mean, median
from typing import Any

from benchmarks.latency import fresh
from benchmarks.latency.tools import Array, Tool, botorch_gp, evenly, optuna_gp, sonde_ask, sonde_suggest, values_at
from sonde.strategies.bayesian.gp import GP
from sonde.surrogates.refits import checkpoint

BATCH = 8
LARGEST_BOTORCH = 1000


def clock() -> float:
    """Return seconds of the processor on one core, so that others do not count; of the wall clock on several."""
    return time.process_time() if len(os.sched_getaffinity(0)) == 1 else time.perf_counter()


def steps(tools: Mapping[str, Tool], rounds: int) -> dict[str, list[float]]:
    """Return the seconds of each tool's first step and of ``rounds`` more."""
    times: dict[str, list[float]] = {name: [] for name in tools}
    told: dict[str, Array] = {}
    for _ in range(rounds + 1):
        for name, tool in tools.items():
            started = clock()
            points = next(tool) if name not in told else tool.send(told[name])
            times[name].append(clock() - started)
            told[name] = values_at(points)
    return times


def one_point(sizes: Sequence[int], rounds: int, seed: int = 0) -> list[dict[str, Any]]:
    """Part 1: one suggestion."""
    rows = []
    for n in sizes:
        x, y = evenly(n - 1, seed)  # the first step, which is not counted, brings the n-th
        kinds = {"Sonde": sonde_ask, "suggest alone": sonde_suggest, "Optuna": optuna_gp, "BoTorch": botorch_gp}
        times = steps({name: tool(x, y, 1, seed) for name, tool in kinds.items()}, rounds)
        middle = {name: median(taken[1:]) for name, taken in times.items()}
        by_optuna, by_botorch = (middle[name] / middle["Sonde"] for name in ("Optuna", "BoTorch"))
        rows.append({
            "n": n, **{f"{name} (s)": seconds for name, seconds in middle.items()},
            "Sonde slowest (s)": max(times["Sonde"][1:]),
            "Optuna / Sonde": by_optuna, "target 5": _reached(by_optuna, 5),
            "BoTorch / Sonde": by_botorch, "target 10": _reached(by_botorch, 10),
        })  # fmt: skip
    return rows


def batches(sizes: Sequence[int], rounds: int, seed: int = 0) -> list[dict[str, Any]]:
    """Part 3: eight suggestions at once."""
    rows = []
    for n in sizes:
        x, y = evenly(n - BATCH, seed)
        tools = {
            "Sonde joint": sonde_ask(x, y, BATCH, seed, strategy=GP(batch="joint")),
            "Sonde greedy": sonde_ask(x, y, BATCH, seed),
            "BoTorch": botorch_gp(x, y, BATCH, seed),
        }
        middle = {name: median(taken[1:]) for name, taken in steps(tools, rounds).items()}
        joint, greedy = (middle["BoTorch"] / middle[f"Sonde {kind}"] for kind in ("joint", "greedy"))
        rows.append({
            "n": n, **{f"{name} (s)": seconds for name, seconds in middle.items()},
            "BoTorch / joint": joint, "target 20": _reached(joint, 20), "BoTorch / greedy": greedy,
        })  # fmt: skip
    return rows


def large(sizes: Sequence[int], rounds: int, seed: int = 0) -> list[dict[str, Any]]:
    """Part 4: one suggestion on a long history; for Sonde, all of them from one checkpoint to the next."""
    x, y = evenly(20, seed)
    steps({"Optuna": optuna_gp(x, y, 1, seed), "BoTorch": botorch_gp(x, y, 1, seed)}, 0)  # imports
    return [_large(n, rounds, seed) for n in sizes]


def _large(n: int, rounds: int, seed: int) -> dict[str, Any]:
    first = checkpoint(n)
    last = next(m for m in range(first + 1, 2 * first + 1) if checkpoint(m) == m)
    ours = steps({"Sonde": sonde_ask(*evenly(first - 1, seed), 1, seed)}, last - first)["Sonde"][1:]
    x, y = evenly(n - 1, seed)
    theirs = steps({"Optuna": optuna_gp(x, y, 1, seed)}, rounds)["Optuna"]
    botorch = steps({"BoTorch": botorch_gp(x, y, 1, seed)}, 0)["BoTorch"][0] if n <= LARGEST_BOTORCH else ""
    opened, asked = fresh.open_and_ask(x, y, seed)
    ratio = median(theirs[1:]) / mean(ours)
    return {
        "n": n, "asks": f"{first} to {last - 1}", "Sonde (s)": median(ours), "amortised (s)": mean(ours),
        "slowest (s)": max(ours), "new process, all (s)": opened, "its ask (s)": asked,
        "Optuna (s)": median(theirs[1:]), "Optuna first (s)": theirs[0], "BoTorch (s)": botorch,
        "Optuna / Sonde": median(theirs[1:]) / median(ours), "amortised": ratio, "target 5": _reached(ratio, 5),
    }  # fmt: skip


def _reached(ratio: float, target: float) -> str:
    return "yes" if ratio >= target else "NO"
