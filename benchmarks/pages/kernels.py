"""Tables of the kernels (``measurements-kernels.md``)."""

from benchmarks.pages.rows import Cell, Row, select, span
from benchmarks.pages.tables import flat, number, pivot, table


@table("first_order_speed")
def speed(rows: list[Row]) -> str:
    return flat(
        rows,
        {
            "what": "{what}",
            "milliseconds": lambda row: f"{1000 * float(row['seconds (median)']):.0f}",
            "times three bare products": "{times three bare products:.2f}",
            "target": "{target}",
        },
    )


@table("first_order_scaling")
def scaling(rows: list[Row]) -> str:
    return flat(
        rows,
        {
            "kernel": "{kernel}",
            "matrix": "{matrix}",
            "largest d": lambda row: f"{int(row['fast: largest d']):,}",
            "exponent in d": "{slope:.2f}",
            "paper": "{paper}",
            "naive / structured": "{naive/fast}",
        },
    )


@table("first_order_peers")
def peers(rows: list[Row]) -> str:
    return flat(
        select(rows, kernel="RBF"),
        {
            "d": "{d}",
            "Sonde": "{Sonde (s):.3f} s",
            "GPyTorch": "{GPyTorch (s):2n} s",
            "ratio": "{ratio:2n}",
            "Sonde's memory": "{Sonde (MB):.0f} MB",
            "GPyTorch's": "{GPyTorch (MB):,.0f} MB",
            "relative difference": "{difference:1n}",
        },
    )


@table("first_order_table1")
def table1(rows: list[Row]) -> str:
    return flat(
        rows,
        {
            "kernel": "{kernel}",
            "path": "{path}",
            "exponent in d": "{slope in d:.2f}",
            "exponent in n": "{slope in n:.2f}",
            "seconds": "{seconds:2n}",
            "paper": "{paper}",
            "GPyTorch": "{GPyTorch}",
        },
    )


@number("first_order_table1")
def slopes_in_d(rows: list[Row]) -> str:
    return span((row["slope in d"] for row in rows), ".1f")


@number("first_order_table1")
def slopes_in_n(rows: list[Row]) -> str:
    return span((row["slope in n"] for row in rows), ".1f")


@table("first_order_accuracy")
def accuracy(rows: list[Row]) -> str:
    """Return a row for the largest error of all ordinary cases, and one for each hard case."""
    ordinary = [row for row in rows if ":" not in row["kernel"]]
    worst = max(ordinary, key=lambda row: float(row["float64"]))
    single = Cell(max((row["float32"] for row in ordinary), key=float))
    first = worst | {"float32": single, "kernel": Cell(f"the worst of {len(ordinary)} kernels and matrices")}
    hard = [row for row in rows if ":" in row["kernel"]]
    columns = {"kernel": "{kernel}", "float64": "{float64:2n}", "at": "{at}", "float32": "{float32:2n}"}
    return flat([first, *hard], columns | {"target in float64": "{target}", "reached": "{reached}"})


@table("first_order_accuracy_fig6")
def figure6(rows: list[Row]) -> str:
    return flat(rows, {"d": "{d}", "float64": "{float64:2n}", "float32": "{float32:2n}"})


@table("first_order_first_use")
def first_use(rows: list[Row]) -> str:
    """Return a row for each statement that takes time."""
    return flat(
        [row for row in rows if float(row["cpu"]) >= 0.1],
        {
            "points": "{points}",
            "statement": _statement,
            "seconds": "{cpu:.1f}",
            "programs": "{programs}",
            "target": "{target}",
        },
    )


def _statement(row: Row) -> str:
    module = row["statement"].partition(" import ")[0]
    if module == "all":
        return "all"
    return f"`{module} import ...`" if module.startswith("from") else f"`{row['statement']}`"


@number("first_order_first_use")
def first_use_seconds(rows: list[Row]) -> str:
    (whole,) = select(rows, points="200", statement="all")
    return f"{whole['cpu']:.1f}"


@table("first_order_memory")
def memory(rows: list[Row]) -> str:
    column = "one n by n array (MB)"
    arrays = [row | {"case": Cell(column.removesuffix(" (MB)")), "peak (MB)": row[column]} for row in rows]
    return pivot([*rows, *arrays], "{n:,.0f}", "{case}", "{peak (MB):,.0f} MB", corner="n")


@table("first_order_gpu")
def gpu(rows: list[Row]) -> str:
    return flat(rows, {name: f"{{{name}}}" for name in list(rows[0])[:-1]})
