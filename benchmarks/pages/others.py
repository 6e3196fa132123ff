"""Tables of single pages: sizes of installations, figures, the dashboard, Ray Tune, scikit-learn."""

from benchmarks.pages.rows import Row, select
from benchmarks.pages.tables import flat, number, pivot, table

SEARCHES = {"sonde": "Sonde", "sonde, max_t=0": "Sonde, `max_t=0`", "optuna": "`OptunaSearch`", "random": "random"}
PROBLEMS = {
    "Branin": "Branin (at least 0.3979)",
    "Hartmann 6": "Hartmann 6 (at least -3.322)",
    "mixed": "a rate, a size and a kind (at least 0)",
    "digits, network, ASHA": "log loss of the network, beside ASHA",
}

SEARCHES_CV = {
    "sonde": "Sonde", "sonde, all folds": "Sonde, `early_stopping=False`", "random": "`RandomizedSearchCV`",
    "halving": "`HalvingRandomSearchCV`",
}  # fmt: skip


@table("install_size")
def sizes(rows: list[Row]) -> str:
    names = {"sonde": "`sonde`", "extra all": "the three of them"}
    names |= {f"extra {name}": f"+ `sonde[{name}]`" for name in ("jax", "postgres", "pandas")}
    whole = [row for row in rows if not row["install"].startswith("  ")]
    columns = {
        "install": "{install}",
        "MB": "{MB:.0f}",
        "packages": lambda row: row["which"].replace(" ", ", "),
    }
    return flat(whole, columns, names=names)


@number("install_size")
def core(rows: list[Row]) -> str:
    """Return the megabytes of the core's largest packages."""
    packages = [row for row in rows if row["install"].startswith("  ") and float(row["MB"]) >= 1]
    return ", ".join(f"{row['install'].strip()} {row['MB']:.0f}" for row in packages)


@table("figures")
def figures(rows: list[Row]) -> str:
    return pivot(rows, "{what}", "{study}, {trials:,.0f} trials", "{seconds}", corner="processor seconds")


@table("dashboard")
def dashboard(rows: list[Row]) -> str:
    columns = {name: f"{{{name}:3n}}" for name in ("median", "least", "most")}
    return flat(rows, {"what": "{what}", **columns, "measured": "{measured}"})


@table("tune_search")
def tune(rows: list[Row]) -> str:
    own = [row for search in SEARCHES for row in select(rows, search=search)]
    own.sort(key=lambda row: list(PROBLEMS).index(row["problem"]))
    own.sort(key=lambda row: list(SEARCHES).index(row["search"]))
    cell = "{best:4n} ({epochs:.0f})"
    return pivot(own, "{problem}", "{search}", cell, best=min, corner="best value (epochs)", names=SEARCHES | PROBLEMS)


@table("tune_search")
def tune_ahead(rows: list[Row]) -> str:
    """Return the share of runs in which Sonde is ahead of the others."""
    own = [row for row in rows if row["search"] != "sonde"]
    cell = "{sonde ahead:.0%} of {runs}"
    return pivot(own, "{problem}", "{search}", cell, corner="Sonde ahead", names=SEARCHES | PROBLEMS)


@table("sklearn_search")
def sklearn(rows: list[Row]) -> str:
    cell = "{cross:4n} ({candidates:.0f})"
    return pivot(rows, "{data}", "{search}", cell, best=max, corner="score (candidates)", names=SEARCHES_CV)


@table("sklearn_search")
def sklearn_ahead(rows: list[Row]) -> str:
    """Return the share of runs in which Sonde is ahead of the others."""
    own = [row for row in rows if row["search"] != "sonde"]
    cell = "{sonde ahead:.0%} of {runs}"
    return pivot(own, "{data}", "{search}", cell, corner="Sonde ahead", names=SEARCHES_CV)


@table("optuna_sampler")
def optuna(rows: list[Row]) -> str:
    groups = {"bbob": "6 functions of bbob, 5-D", "bbob-mixint": "6 of bbob-mixint, 5-D", "models": "2 models"}
    others = [row for row in rows if row["sampler"] != "sonde"]
    names = groups | {"tpe": "`TPESampler`", "gp": "`GPSampler`"}
    return pivot(others, "{group}", "{sampler}", "{sonde ahead:.0%} of {runs}", corner="Sonde ahead", names=names)
