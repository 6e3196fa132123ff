"""Tables of the networks (``measurements-dngo.md``, ``dngo.md``)."""

from benchmarks.pages.rows import Cell, Row, select, span
from benchmarks.pages.tables import flat, number, pivot, table

PAPER = "paper: DNGO"
GLOBAL = -3.31  # between the lowest two local minima of Hartmann6, -3.322 and -3.203
MODELS = {
    "Sonde: 5 tanh networks, evidence, Adam": "5 tanh networks, evidence, Adam (default of 0.1.0)",
    "1 network": "one network",
    "quadratic mean": "with a quadratic mean function",
    "paper": "near the paper: one network, squared errors, SGD",
    "radial units": "radial basis functions (512)",
    "paper, without the quadratic mean": "the same without the quadratic mean function",
}
SIZES = ("128", "512", "2048")
TRAINED = {
    "default": "3 networks, 260 steps of SOAP",
    "long": "long: 5 networks, 2000 steps of Adam",
    "before": "before: 3 networks, L-BFGS or 300 steps of Adam",
}


@table("dngo_table1")
def table1(rows: list[Row]) -> str:
    method = " (DNGO)"
    paper = [
        row | {"contender": Cell(PAPER), "best": Cell(row["paper"].removesuffix(method))}
        for row in rows
        if row["paper"].endswith(method)
    ]
    names = {row["contender"]: f"`{row['contender']}`" for row in rows if row["contender"].startswith("dngo")}
    corner = "problem, evaluations"
    columns = "{problem}, {budget}", "{contender}", "{best}"
    return pivot([*paper, *rows], *columns, best=min, apart=[PAPER], corner=corner, names=names)


@number("dngo_table1_runs")
def hartmann6(rows: list[Row]) -> str:
    return _reached(rows, "dngo")


@number("dngo_table1_runs")
def hartmann6_paper(rows: list[Row]) -> str:
    return _reached(rows, "dngo-paper")


@number("dngo_table1_runs")
def hartmann6_networks(rows: list[Row]) -> str:
    return _reached(rows, "dngo-networks")


def _reached(rows: list[Row], contender: str) -> str:
    """Return how many runs reached the global minimum of Hartmann6."""
    own = select(rows, problem="hartmann6", contender=contender)
    reached = [row for row in own if min(map(float, row["values"].split())) < GLOBAL]
    return f"{len(reached)} of {len(own)}"


@table("dngo_ablation")
def ablation(rows: list[Row]) -> str:
    cells = {f"n = {n}": f"{{log density, n = {n}:.2f}}, {{in the band, n = {n}:.0%}}" for n in SIZES}
    return flat(rows, {"model": "{model}"} | cells, best=dict.fromkeys(cells, max), names=MODELS)


@number("dngo_ablation")
def overconfident(rows: list[Row]) -> str:
    return _covered(select(rows, model="1 network"))


@number("dngo_ablation")
def overconfident_paper(rows: list[Row]) -> str:
    return _covered(select(rows, model="paper"))


def _covered(rows: list[Row]) -> str:
    return span((Cell(100 * float(row[f"in the band, n = {n}"])) for row in rows for n in SIZES), ".0f") + "%"


@table("dngo_batches")
def batches(rows: list[Row]) -> str:
    names = {"greedy": "fantasies (default)", "thompson": "Thompson sampling"}
    cell = "{mean:.2f} ({s per point:.3f} s)"
    return pivot(rows, "{points a round}", "{batch}", cell, best=min, corner="q", names=names)


@table("dngo_cluster_every15")
def cluster(rows: list[Row]) -> str:
    after = [title for title in rows[0] if title.startswith("at ")]
    return flat(
        rows,
        {
            "": "{contender}",
            "seeds": "{seeds}",
            **{title: f"{{{title}:.1f}}" for title in after},
            "failed, by quarter (%)": "{failed %, by quarter}",
            "workers busy": "{busy %:.1f}%",
            "seconds per suggestion": "{s each:2n}",
        },
        best=dict.fromkeys(after, max),
    )


@table("dngo_speed_one")
def steps(rows: list[Row]) -> str:
    return flat(
        select(rows, tool="DNGO"),
        {
            "n": "{n:,.0f}",
            "step": "{step (s):.3f} s",
            "refits of an octave (s)": "{refits (s):2n}",
            "amortised": "{amortised (s):.3f} s",
            "Optuna's TPE": "{TPE (s):.3f} s",
            "TPE / amortised": "{TPE / amortised:2n}",
            "new process": "{reopened (s):.1f} s",
        },
    )


@table("dngo_speed_batch")
def large_batches(rows: list[Row]) -> str:
    return flat(
        rows,
        {
            "results": "{n}",
            "pending": "{under way}",
            "asked": "{asked}",
            "seconds (target 30)": "{seconds:.0f}",
            "different points so far": "{different points so far}",
        },
    )


@table("dngo_speed_figure")
def figure1(rows: list[Row]) -> str:
    names = {
        "DNGO, networks (s)": "networks",
        "exact GP (s)": "exact Gaussian process",
        "Optuna's TPE (s)": "Optuna's TPE",
    }
    return flat(rows, {"results": "{N:,.0f}"} | {title: f"{{{key}:2n}} s" for key, title in names.items()})


@table("dngo_cheaper_training", "dngo_cheaper_training_before")
def training(now: list[Row], before: list[Row]) -> str:
    rows = [row for row in now if row["training"] == "default"]
    rows += [row | {"training": Cell("before")} for row in before] + select(now, training="long")
    cell = "{log density:.2f} ± {deviation of seeds:.2f}, {in the band:.0%}, {seconds:.1f} s"
    return pivot(rows, "{n:,.0f}", "{training}", cell, best=max, corner="n", names=TRAINED)


@table("dngo_cheaper_training")
def functions(rows: list[Row]) -> str:
    largest = select(rows, n=rows[-1]["n"])
    names = ("peaks", "valley", "rugged", "kinks")
    columns = {"n = {:,}".format(int(rows[-1]["n"])): "{training}"} | {name: f"{{{name}:.2f}}" for name in names}
    return flat(largest, columns, best=dict.fromkeys(names, max), names=TRAINED)


@table("dngo_training_gpu")
def gpu(rows: list[Row]) -> str:
    names = {
        "squares, sgd": "squared errors, SGD",
        "squares, adam": "squared errors, Adam",
        "evidence, adam": "evidence, Adam",
    }
    return pivot(
        rows, "{n:,.0f}", "{training}", "{s per 1000 steps:.2f} s, {error, unseen:.3f}", corner="n", names=names
    )


@table("dngo_training_whole_gpu")
def gpu_refit(rows: list[Row]) -> str:
    return flat(
        rows,
        {
            "n": "{n:,.0f}",
            "refit": "{refit (s):.1f} s",
            "suggestion": "{suggestion (s):.2f} s",
            "error on unseen rows": "{error, unseen:.3f}",
            "peak memory": "{peak (GiB):.1f} GiB",
        },
    )


@number("dngo_training_whole_gpu")
def gpu_refit_seconds(rows: list[Row]) -> str:
    return f"{select(rows, n='100000')[0]['refit (s)']:.1f}"


@table("networks")
def networks(rows: list[Row]) -> str:
    after = [title for title in rows[0] if title.startswith("after")]
    columns = {"": "{method}", "runs": "{runs}"} | {title: f"{{{title}}}" for title in [*after, "diverged, by quarter"]}
    return flat(rows, columns, best=dict.fromkeys(after, min), names={"auto": "`auto`", "random": "random"})


@table("networks_longer")
def networks_longer(rows: list[Row]) -> str:
    columns = {"found by": "{method}", "seed": "{seed}", "validation error after 3 epochs": "{validation:.1f}%"}
    return flat(
        rows, columns | {"test error after {} epochs".format(rows[0]["epochs"]): "{test}%"}, names={"auto": "`auto`"}
    )
