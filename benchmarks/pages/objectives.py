"""Tables of several objectives (``measurements-objectives.md``)."""

from benchmarks.pages.rows import Row, select, with_end
from benchmarks.pages.tables import flat, table

NAMES = {"sonde": "**Sonde `auto`**"}


@table("objectives")
def biobjective(rows: list[Row]) -> str:
    return _ranks(select(rows, group="bbob-biobj"), 100)


@table("objectives")
def engineering(rows: list[Row]) -> str:
    return _ranks(select(rows, group="engineering"), 100)


@table("objectives")
def models(rows: list[Row]) -> str:
    return _ranks(select(rows, group="models"), 100)


@table("objectives_300")
def longer(rows: list[Row]) -> str:
    return _ranks(rows, 300)


def _ranks(rows: list[Row], evaluations: int) -> str:
    half = evaluations // 2
    titles = {f"rank at {half}": "rank at half", f"rank at {evaluations}": "average rank"}
    titles |= {f"log10 regret at {half}": "log10 regret at half", f"at {evaluations}": "log10 regret"}
    columns = {f"{rows[0]['cases']} problems": "{method}"} | {title: f"{{{key}}}" for title, key in titles.items()}
    columns |= {"Sonde wins : losses": lambda row: row["sonde wins:losses"].replace(":", " : "), "p": "{p:2n}"}
    return flat(rows, columns | {"seconds": "{seconds:2n}"}, best=dict.fromkeys(titles, min), names=NAMES)


@table("objectives_runs")
def botorch(rows: list[Row]) -> str:
    """Return the hypervolumes where BoTorch was run."""
    wanted = {(row["problem"], row["seed"], row["evaluations"]) for row in select(rows, method="botorch")}
    cases = [row for row in rows if (row["problem"], row["seed"], row["evaluations"]) in wanted]
    columns = {"": "{method}", "hypervolume": "{end:.3f}", "seconds per suggestion": "{seconds:2n}"}
    return flat(with_end(cases, "hypervolume"), columns, best={"hypervolume": max}, names=NAMES)


@table("objectives_speed")
def speed(rows: list[Row]) -> str:
    columns = {
        "n, two objectives": "{n}",
        "tool": "{tool}",
        "first": "{first (s):2n} s",
        "later": "{next (s):2n} s",
        "times Sonde's": "{times sonde:2n}",
        "memory": "{peak MB:.0f} MB",
    }
    return flat(select(rows, objectives="2"), columns, names={"sonde": "Sonde"})


@table("objectives_speed")
def by_objectives(rows: list[Row]) -> str:
    own = select(rows, n="100", tool="sonde")
    columns = {"objectives, n = 100": "{objectives}", "seconds": "{next (s):2n}", "peak MB": "{peak MB:.0f}"}
    return flat(own, columns)
