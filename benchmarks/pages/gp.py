"""Tables of the Gaussian process by dimension, and on tables of experiments (``measurements-gp.md``)."""

from benchmarks.dimensions.methods import VARIANTS
from benchmarks.pages.rows import Row, grouped, select, with_end
from benchmarks.pages.tables import flat, pivot, table

NAMES = {
    "sonde": "`gp`",
    "random": "random search",
    "sonde by 8": "`gp`",
    "sonde-0.1.0 by 8": "Sonde 0.1.0",
    "condition 1e2": "quadratic, condition 1e2",
    "condition 1e4": "quadratic, condition 1e4",
    "condition 1e6": "quadratic, condition 1e6",
    "rosenbrock": "Rosenbrock",
}
METHODS = ("sonde", "sonde-0.1.0", "cobyla", "bobyqa", "nevergrad", "optuna-gp", "turbo", "cmaes", "random")
HALF, END = "sonde ahead at half", "sonde ahead"


@table("dimensions")
def textbook(rows: list[Row]) -> str:
    return _duels(select(rows, suite="textbook", d=("2", "5", "10", "20")))


@table("dimensions")
def bbob(rows: list[Row]) -> str:
    return _duels(select(rows, suite="bbob"))


def _duels(rows: list[Row]) -> str:
    return pivot(_ordered(rows), "{method}", "{d}-D", _duel, names=NAMES)


def _duel(row: Row) -> str:
    shares = f"{row[HALF]}, {row[END]} of {row['pairs']} " if row[END] else ""
    return f"{shares}({row['mean log10 regret']}, {row['mean regret']})"


def _ordered(rows: list[Row]) -> list[Row]:
    return sorted(select(rows, method=METHODS), key=lambda row: (METHODS.index(row["method"]), int(row["d"])))


@table("dimensions")
def development(rows: list[Row]) -> str:
    """Return the functions of the development: ``gp``, local methods, and ``gp`` without one of its parts."""
    own = sorted(select(rows, suite="development"), key=lambda row: (row["method"] != "sonde", int(row["d"])))
    parts = {variant: f"`gp`: {variant.removeprefix('sonde: ')}" for variant in VARIANTS}
    return pivot(own, "{method}", "{d}-D", _duel, names=NAMES | parts)


@table("dimensions")
def batches(rows: list[Row]) -> str:
    columns = {
        "batches of 8, 5-D": "{method}",
        "runs": "{pairs}",
        "`gp` ahead after 5 d": f"{{{HALF}}}",
        "after 10 d": f"{{{END}}}",
        "mean log10 regret": "{mean log10 regret}",
        "mean regret": "{mean regret}",
    }
    return flat(select(rows, method=("sonde by 8", "sonde-0.1.0 by 8")), columns, names=NAMES)


@table("dimensions_groups")
def groups(rows: list[Row]) -> str:
    own = [row for row in _ordered([row | {"method": row["against"]} for row in rows]) if row["d"] != "100"]
    own = [row for row in own if row["method"] not in ("random", "cmaes")]
    own.sort(key=lambda row: int(row["d"]))
    return flat(own, {"": "{d}-D, {against}"} | {name: f"{{{name}}}" for name in list(rows[0])[2:]}, names=NAMES)


@table("dimensions_runs")
def hundred(rows: list[Row]) -> str:
    """Return the lowest values in 100 dimensions."""
    own = _ordered(with_end(select(rows, d="100")))
    return pivot(own, "{function}", "{method}", "{end:3n}", best=min, corner="100-D", names=NAMES)


@table("dimensions_runs")
def seconds(rows: list[Row]) -> str:
    own = _ordered(select(rows, method=("sonde", "sonde-0.1.0", "optuna-gp", "turbo")))
    medians = grouped(own, ("method", "d"), "seconds")
    return pivot(medians, "{method}", "{d}-D", "{seconds:2n}", corner="seconds per suggestion", names=NAMES)


@table("factorials")
def factorials(rows: list[Row]) -> str:
    columns = {
        "": "{half}, {noise} noise, {method}",
        "runs": "{runs}",
        "Sonde ahead after 30": "{sonde ahead at 30}",
        "after 50": "{sonde ahead}",
        "ends at the best cell": "{best cell}",
        "median number of better cells": "{median rank}",
        "mean share of better cells": "{mean share better}",
        "seconds per evaluation": "{seconds:2n}",
    }
    return flat(rows, columns, names=NAMES | {"sonde": "Sonde `auto`"})
