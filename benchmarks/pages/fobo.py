"""Tables of learning from gradients (``measurements-fobo.md``)."""

from statistics import mean

from benchmarks.pages.rows import Cell, Row, beside, grouped, select, with_end
from benchmarks.pages.tables import flat, pivot, table

AT = ("10", "20", "40", "60")
PEERS = ("lbfgs-r", "lbfgs-c")
NAMES = {
    "lbfgs-r": "L-BFGS-B with restarts",
    "lbfgs-c": "L-BFGS-B from the centre",
    "lbfgs": "L-BFGS",
    "bo": "BO",
    "bo-q": "BO-Q",
    "fobo-paper": "FOBO",
    "fobo-q-paper": "FOBO-Q",
    "griewank": "Griewank",
    "ackley": "Ackley",
    "rastrigin": "Rastrigin",
    "fobo, gradients": "`fobo`, gradients",
    "quadratics": "quadratics of condition 10^2 to 10^6, rotated",
    "valleys": "valleys: Rosenbrock, Dixon-Price, Powell, Trid, powers",
    "multimodal": "multimodal",
    "likelihoods": "likelihoods: logistic, Poisson, softmax, Gaussian process",
    "bbob": "COCO's bbob, 10-D",
    "one penalty for all": "the best single penalty for all",
    "rosenbrock": "Rosenbrock",
    "drop-wave": "Drop-Wave",
    "levy": "Levy",
    "logistic": "logistic regression",
    "condition 1e4": "quadratic, condition 10^4",
}
PARTS = {
    "no misfits": "misfits (the noise of far observations)",
    "misfits always": "misfits that the evidence may do without (instead: always some)",
    "no caution": "caution (the standard deviation in a step)",
    "global from the start": "local searches alone at first (instead: every other trial from the global model)",
    "no centre": "the first trial in the centre (instead: Sobol's first)",
    "converges at 1e-3": "a search that ends at a tiny predicted gain (instead: 1e-3 of the values' spread)",
    "starts anywhere": "starts from the global trend (instead: anywhere)",
    "single starts": "the better of two starts (instead: every start is continued)",
    "quadratic trend": "transformations of the global trend (instead: a quadratic)",
    "normal gradients": "Student-t residuals of the trend's gradients (instead: normal ones)",
    "one grid": "a finer grid of the trend's curvature",
    "basins again": "the end of a search on the way to a known minimum",
    "multimodal": "multimodal",
    "valleys": "valleys",
}


@table("fobo_ablation")
def ahead(rows: list[Row]) -> str:
    columns = {"against": "{fobo against}", "functions": "{group}", "pairs": "{pairs}"}
    return flat(select(rows, fobo_against=PEERS), columns | {f"at {n}": f"{{ahead at {n}}}" for n in AT}, names=NAMES)


@table("fobo_ablation")
def parts(rows: list[Row]) -> str:
    own = [row for row in rows if row["fobo against"] not in PEERS]
    own.sort(key=lambda row: ("valleys", "multimodal", "all").index(row["group"]))
    return pivot(own, "{fobo against}", "{group}", "{ahead at 60} of {pairs}", corner="left out", names=PARTS)


@table("fobo_ablation_runs")
def single(rows: list[Row]) -> str:
    """Return the lowest values on Rosenbrock's function and in 100 dimensions."""
    own = with_end(select(rows, method=("fobo", *PEERS)))
    own = [row for row in own if row["function"] == "rosenbrock" or row["d"] == "100"]
    return pivot(own, "{function}, {d}-D", "{method}", "{end:2n}", best=min, corner="after 60 evaluations", names=NAMES)


@table("fobo_ablation_runs")
def seconds(rows: list[Row]) -> str:
    return _seconds(select(rows, method="fobo"), "seconds")


@table("fobo_figure5")
def figure5_seconds(rows: list[Row]) -> str:
    own = select(rows, method=("bo", "bo-q", "fobo-paper", "fobo-q-paper", "fobo"))
    return _seconds(own, "seconds per suggestion")


def _seconds(rows: list[Row], column: str) -> str:
    medians = grouped(sorted(rows, key=lambda row: int(row["d"])), ("method", "d"), column)
    return pivot(medians, "{method}", "{d}-D", f"{{{column}:2n}}", corner="seconds per suggestion", names=NAMES)


@table("fobo_figure5_parts")
def figure5_parts(rows: list[Row]) -> str:
    columns = {"": "{left out}", "pairs": "{pairs}"}
    columns |= {f"ahead at {n}": f"{{ahead at {n}}}" for n in ("25", "50", "75", "100")}
    columns |= {name.title(): f"{{gap of {name}:2n}}" for name in ("griewank", "ackley", "rastrigin")}
    return flat(rows, columns, names={"less": "without the four parts", "fobo": "`fobo` as shipped"})


@table("fobo_regularisation")
def regularisation(rows: list[Row]) -> str:
    columns = {"": "{contender}"} | {f"{n} evaluations": f"{{at {n}:.3f}}" for n in (25, 50, 100)}
    return flat(rows, columns, best=dict.fromkeys(list(columns)[1:], min), names=NAMES)


@table("fobo_figure5")
def figure5(rows: list[Row]) -> str:
    return _gaps(rows, NAMES | {"fobo": "`fobo` of 0.1.0"})


@table("fobo_appendix_f")
def appendix_f(rows: list[Row]) -> str:
    """Return the mean gaps, and how many runs of each method there are."""
    return _gaps([row | {"d": Cell(f"{row['d']}-D, {row['runs']} runs")} for row in rows], NAMES, "{function}, {d}")


def _gaps(rows: list[Row], names: dict[str, str], across: str = "{function}, {d}-D") -> str:
    means = [row | {"gap": Cell(row["gap at 100"].split()[0])} for row in rows]
    return pivot(means, "{method}", across, "{gap:2n}", best=min, along="column", names=names)


@table("fobo_hessians")
def hessians(rows: list[Row]) -> str:
    """Return in how many pairs Hessians are ahead."""
    columns = {"": "{function}, {d}-D", "pairs": "{pairs}"} | {f"at {n}": f"{{ahead at {n}}}" for n in (5, 10, 20, 40)}
    ends = {f"end, {of}": f"{{median end, {of}:2n}}" for of in ("gradients", "hessians")}
    seconds = {f"seconds, {of}": f"{{seconds, {of}:2n}}" for of in ("gradients", "hessians")}
    return flat(rows, columns | ends | seconds, names=NAMES)


@table("fobo_figure5_first")
def figure5_first(rows: list[Row]) -> str:
    return flat(
        rows,
        {
            "": "{function}, {d}-D",
            "the paper's first": lambda row: NAMES[row["paper's first"]],
            "best of the others": "{best other}",
            "its gap": "{its gap:2n}",
            "gap of `fobo` of 0.1.0": "{fobo's gap:2n}",
            "its runs below, equal, above": "{lower, equal, higher}",
            "p": "{Wilcoxon p:2n}",
        },
        names=NAMES,
    )


@table("fobo_figure5_runs", "fobo_figure5_now_runs")
def figure5_now(before: list[Row], now: list[Row]) -> str:
    """Return the mean gaps of the same runs of 0.1.0 and of the present version."""
    keys, sides = ("problem", "d"), {"before": with_end(select(before, method="fobo")), "now": with_end(now)}
    pairs = [row for row in beside((*keys, "seed"), **sides) if row["now end"]]
    pairs = [row | {"below": Cell(int(float(row["now end"]) < float(row["before end"])))} for row in pairs]
    columns = {"before end": mean, "now end": mean, "below": sum, "now d": len}
    means = beside(keys, **{f"of {name}": grouped(pairs, keys, name, of) for name, of in columns.items()})
    titles = {
        "": "{problem}, {d}-D",
        "runs": "{of now d now d}",
        "0.1.0": "{of before end before end:2n}",
        "now": "{of now end now end:2n}",
        "now below": "{of below below:.0f}",
    }
    own = sorted(means, key=lambda row: int(row["d"]))
    return flat(own, titles, between=(min, ("0.1.0", "now")), names=NAMES)


@table("fobo_mixed")
def mixed(rows: list[Row]) -> str:
    columns = {"floats": "{floats}", "contender": "{contender}"} | {f"at {n}": f"{{at {n}:.3f}}" for n in (25, 50, 100)}
    return flat(rows, columns, best=dict.fromkeys(list(columns)[2:], min), within="floats", names=NAMES)


@table("fobo_high_dimension")
def many(rows: list[Row]) -> str:
    groups = {name: select(rows, method=method) for name, method in (("theirs", "lbfgs-r"), ("own", "fobo"))}
    return flat(
        beside(["function", "d"], **groups),
        {
            "": "{function}, d = {d}",
            "L-BFGS-B with restarts": "{theirs gap:2n}",
            "`fobo`": "{own gap:2n}",
            "seconds per suggestion": "{own seconds per suggestion:2n}",
            "memory": "{own peak memory (MB):.0f} MB",
        },
        between=(min, ("L-BFGS-B with restarts", "`fobo`")),
        names=NAMES,
    )
