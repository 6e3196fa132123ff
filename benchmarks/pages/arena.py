"""Tables of the arena (``measurements-arena.md``), and of its variants of ``gp`` (``measurements-gp.md``)."""

from benchmarks.pages.rows import Row, select
from benchmarks.pages.tables import Template, flat, pivot, table

NAMES = {
    "sonde": "Sonde `auto`", "sonde-0.1.0": "Sonde 0.1.0", "optuna-cmaes": "Optuna's CMA-ES", "l-bfgs-b": "L-BFGS-B",
    "l-bfgs-b-centre": "L-BFGS-B, from the centre", "one-plus-one": "(1+1)-EA", "ga": "genetic algorithm",
    "bits-catcma": "CatCMA", "bits-nevergrad": "Nevergrad's NGOpt",
}  # fmt: skip
BOXES = ("bbob", "bbob-mixint")
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
    return _pivot(_half(rows, "report", boxes=True), _rank)


@table("arena")
def regrets(rows: list[Row]) -> str:
    return _pivot(_half(rows, "report", boxes=True), "{mean log10 regret:.2f}")


@table("arena")
def other_ranks(rows: list[Row]) -> str:
    return _pivot(_half(rows, "report", boxes=False), _rank)


@table("arena")
def other_regrets(rows: list[Row]) -> str:
    known = [row for row in _half(rows, "report", boxes=False) if row["mean log10 regret"] != "nan"]
    return _pivot(known, "{mean log10 regret:.2f}")


@table("arena")
def development(rows: list[Row]) -> str:
    return _pivot(_half(rows, "development"), _rank)


@table("arena")
def seconds(rows: list[Row]) -> str:
    return _pivot(_half(rows, "report"), "{seconds per suggestion:2n}", best=False)


@table("arena")
def dates(rows: list[Row]) -> str:
    whole = [row | {"what": _what(row)} for half in ("report", "development") for row in _half(rows, half)]
    return pivot(whole, "{half}: {what}", "{contender}", "{dates}", names=NAMES)


def _half(rows: list[Row], half: str, boxes: bool | None = None) -> list[Row]:
    """Return the groups of one dimension; those on plain boxes, or the others."""
    own = [row for row in select(rows, half=half) if row["dimension"] != "all"]
    return own if boxes is None else [row for row in own if (row["suite"] in BOXES) == boxes]


def _pivot(rows: list[Row], cell: Template, best: bool = True) -> str:
    return pivot(rows, _group, "{contender}", cell, best=min if best else None, names=NAMES)


def _group(row: Row) -> str:
    return f"{_what(row)}, {row['cases']} cases"


def _what(row: Row) -> str:
    return f"{row['suite']}, {row['dimension']} variables" if row["dimension"] else row["suite"]


def _rank(row: Row) -> str:
    duel = f" ({row['sonde wins']} : {row['losses']}, p = {row['p']:2n})" if row["p"] else ""
    interval = f" [{row['low']:.2f}, {row['high']:.2f}]" if row["low"] != "nan" else ""  # of too few functions
    return f"{row['average rank']:.2f}{interval}{duel}"


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
