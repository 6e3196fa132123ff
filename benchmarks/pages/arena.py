"""Tables of the arena (``measurements-gp.md``)."""

from benchmarks.pages.rows import Row
from benchmarks.pages.tables import flat, pivot, table

NAMES = {"sonde": "Sonde `auto`"}
GROUP = "{suite}, {dimension} variables, {cases} functions"
VARIANTS = {
    "sonde:gp/draw": "default: one draw of the hyperparameters for each suggestion",
    "sonde:gp/map": '`hyperparameters="map"`',
    "sonde:gp/slice": '`hyperparameters="slice"`: average over ten draws',
    "sonde:gp/no-log": "no log scale of the values",
    "sonde:gp/no-quadratic": "no quadratic mean",
    "sonde:gp/no-region": "no trust region",
    "sonde:gp/no-elsewhere": "no global exploration",
}


@table("arena")
def ranks(rows: list[Row]) -> str:
    return pivot(_groups(rows), GROUP, "{contender}", _rank, best=min, names=NAMES)


@table("arena")
def regrets(rows: list[Row]) -> str:
    return pivot(_groups(rows), GROUP, "{contender}", "{mean log10 regret:.2f}", best=min, names=NAMES)


def _groups(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row["dimension"] != "all"]


def _rank(row: Row) -> str:
    duel = f" ({row['sonde wins']} : {row['losses']}, p = {row['p']:2n})" if row["p"] else ""
    return f"{row['average rank']:.2f}{duel}"


@table("arena_variants")
def variants(rows: list[Row]) -> str:
    columns = {
        "variant": "{contender}",
        "mean log10 regret": "{mean log10 regret:.2f}",
        "wins : losses of the default": lambda row: (
            f"{row['sonde:gp/draw wins']} : {row['losses']}" if row["p"] else ""
        ),
        "seconds of a run": "{seconds:2n}",
    }
    return flat(rows, columns, names=VARIANTS)
