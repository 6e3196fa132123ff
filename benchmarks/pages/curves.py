"""Tables of learning curves (``measurements-curves.md``)."""

from benchmarks.pages.rows import Row, select
from benchmarks.pages.tables import flat, pivot, table

NAMES = {
    "none": "no stopping",
    "sonde": "**Sonde**",
    "median": "median rule",
    "halving": "successive halving",
    "hyperband": "Hyperband",
    "sonde-none": "Sonde, no stopping",
    "tpe-median": "Optuna's TPE, median rule",
    "tpe-hyperband": "Optuna's TPE, Hyperband",
    "tpe-halving": "Optuna's TPE, successive halving",
}
STEPS = ("1700", "5100", "15300")


@table("curves")
def alone(rows: list[Row]) -> str:
    return _methods(select(rows, group="report"))


@table("curves")
def development(rows: list[Row]) -> str:
    return _methods(select(rows, group=("development", "synthetic"), workers="1"), "{group}")


def _methods(rows: list[Row], first: str = "{workers}") -> str:
    columns = {"workers" if first == "{workers}" else "curves": first, "": "{method}", "runs": "{runs}"}
    columns |= {f"after {int(n):,} steps": f"{{regret after {n}}}" for n in STEPS}
    columns |= {"started": "{started}", "best stopped": "{best stopped}"}
    best = {f"after {int(n):,} steps": min for n in STEPS[:2]}
    return flat(rows, columns, best=best, within=first.strip("{}"), names=NAMES)


@table("curves_tasks")
def tasks(rows: list[Row]) -> str:
    own = select(rows, group="report", workers="1")
    return pivot(own, "{task}", "{method}", "{regret after 5100}", best=min, corner="task, one worker", names=NAMES)


@table("curve_studies")
def studies(rows: list[Row]) -> str:
    ahead = "sonde wins:ties:losses at the end"
    return flat(
        select(rows, problem="all"),
        {
            "": "{method}",
            "rank at a third": "{rank at a third}",
            "rank at the end": "{rank at the end}",
            "regret at a third": "{regret at a third}",
            "regret at the end": "{regret at the end}",
            "Sonde wins : ties : losses at the end": lambda row: row[ahead].replace(":", " : "),
            "p": "{p}",
            "trials, stopped": "{started:.0f}, {stopped:.0f}",
        },
        best=dict.fromkeys(("rank at a third", "rank at the end", "regret at a third", "regret at the end"), min),
        names=NAMES,
    )
