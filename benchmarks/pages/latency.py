"""Tables of seconds per suggestion (``measurements-gp.md``, ``measurements-dngo.md``)."""

from benchmarks.pages.rows import Cell, Row, beside, select
from benchmarks.pages.tables import flat, pivot, table

SIZES = ("1", "32", "100", "256", "500", "1000", "1001", "1024", "2048", "4096", "8192", "16384", "20000")
TIMES = {"first": "first (s)", "next": "next (s)", "new process": "new process (s)"}


@table("latency_one_without_greenlet", "latency_one")
def one(without: list[Row], with_it: list[Row]) -> str:
    return _with_and_without(
        without,
        with_it,
        {
            "n": "{n}",
            "Sonde": "{Sonde (s):.3f} s",
            "Optuna's GP": "{Optuna (s):.3f} s",
            "ratio (target 5)": "{Optuna / Sonde:2n}",
            "BoTorch": "{BoTorch (s):.2f} s",
            "ratio (target 10)": "{BoTorch / Sonde:2n}",
        },
    )


@table("latency_large")
def large(rows: list[Row]) -> str:
    columns = {
        "n": "{n}",
        "Sonde": "{Sonde (s):.2f} s",
        "amortised": "{amortised (s):.2f} s",
        "first of a new process": "{new process, all (s):.1f} s",
        "Optuna's GP": "{Optuna (s):.1f} s",
        "ratio, amortised (target 5)": "{amortised:2n}",
        "BoTorch": "{BoTorch (s):.1f} s",
    }
    return flat(rows, columns)


@table("latency_run_without_greenlet", "latency_run")
def whole_runs(without: list[Row], with_it: list[Row]) -> str:
    return _with_and_without(
        without,
        with_it,
        {
            "seed": "{seed}",
            "Sonde, cold": "{Sonde (s):.1f} s",
            "warm": "{Sonde again (s):.1f} s",
            "Optuna's GP": "{Optuna (s):.1f} s",
            "ratio, cold (target 1)": "{Optuna / Sonde:2n}",
            "ratio, warm (target 3)": "{Optuna / again:2n}",
        },
    )


def _with_and_without(without: list[Row], with_it: list[Row], columns: dict[str, str]) -> str:
    rows = [row | {"greenlet": Cell("no")} for row in without] + [row | {"greenlet": Cell("yes")} for row in with_it]
    return flat(rows, {"`greenlet`": "{greenlet}"} | columns)


@table("latency_batch", "latency_batch_value")
def batch(times: list[Row], values: list[Row]) -> str:
    columns = {
        "n": "{n}",
        "joint": "{times Sonde joint (s):.2f} s",
        "greedy (default)": "{times Sonde greedy (s):.2f} s",
        "BoTorch": "{times BoTorch (s):.1f} s",
        "ratio, joint (target 20)": "{times BoTorch / joint:2n}",
        "ratio, greedy": "{times BoTorch / greedy:2n}",
        "joint log-EI minus BoTorch's, mean": "{value mean ours - theirs:2n}",
        "least": "{value worst:1n}",
    }
    return flat(beside(["n"], times=times, value=select(values, history="Sobol", ours="joint")), columns)


@table("latency_value")
def value(rows: list[Row]) -> str:
    names = {"Sobol": "Sobol points", "run": "a real run"}
    cell = "{mean ours - theirs:z.4f} ({worst:z.4f} to {best:z.4f})"
    return pivot(rows, "{history}, n = {n}", "minus {theirs}'s", cell, corner="log-EI, Sonde's", names=names)


@table("latency_growth", "latency_growth_failures30", "latency_growth_short_before")
def growth(now: list[Row], failing: list[Row], before: list[Row]) -> str:
    columns = {"results": "{n:,.0f}"}
    for title, group in (("", "now"), ("30% failed: ", "failing"), ("0.1.0: ", "before")):
        columns |= {f"{title}{name}": f"{{{group} {key}:2n}} s" for name, key in TIMES.items()}
    shown = {"now": now, "failing": failing, "before": before}
    return flat(beside(["n"], **{name: select(rows, n=SIZES) for name, rows in shown.items()}), columns)


@table("latency_growth_categories_short")
def bits(rows: list[Row]) -> str:
    return flat(rows, {"results": "{n:,.0f}"} | {name: f"{{{key}:2n}} s" for name, key in TIMES.items()})
