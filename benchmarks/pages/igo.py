"""Tables of the natural gradient (``measurements-igo.md``)."""

from statistics import median

from benchmarks.pages.rows import Cell, Row, beside, select, span, with_end
from benchmarks.pages.tables import Template, flat, number, pivot, table

NAMES = {
    "pbil-lambda": "PBIL-lambda",
    "pbil-epsilon": "PBIL-epsilon",
    "cga-n": "cGA, 1/n",
    "cga-root-n": "cGA, n^-1/2",
    "onemax": "OneMax",
    "leadingones": "LeadingOnes",
    "ReLU": "all ReLU",
    "tanh": "all tanh",
    "pbil": "PBIL-lambda alone",
    "ga": "genetic algorithm, 50",
    "one-plus-one": "(1+1)-EA, 1/n",
    "ng-opt": "Nevergrad NGOpt",
    "ng-discrete": "Nevergrad DiscreteOnePlusOne",
    "cga": "cGA, 1/n",
    "OneMaxEpistasis": "OneMax, epistasis",
    "OneMaxRuggedness2": "OneMax, ruggedness 2",
    "IsingRing": "Ising, ring",
    "MIS": "independent set",
    "ConcatenatedTrap": "concatenated trap",
    "NKLandscapes": "NK landscape",
}
WAITING_CALLS = (50, 100, 200, 500, 1000, 2000)
ERROR, PAPER = "test error (%): median (quartiles)", "paper, 30 trials"


@table("igo_hitting_time_figure1")
def onemax(rows: list[Row]) -> str:
    return _hitting_times(rows, "onemax")


@table("igo_hitting_time_figure1")
def leadingones(rows: list[Row]) -> str:
    return _hitting_times(rows, "leadingones")


def _hitting_times(rows: list[Row], function: str) -> str:
    own, corner = select(rows, function=function), f"{NAMES[function]}, n ="
    return pivot(own, "{algorithm}", "{n}", _calls("median"), best=min, along="column", corner=corner, names=NAMES)


@number("igo_hitting_time_figure1")
def generation_onemax(rows: list[Row]) -> str:
    return select(rows, function="onemax", n="1000", algorithm="pbil-lambda")[0]["largest generation"]


@number("igo_hitting_time_figure1")
def generation_leadingones(rows: list[Row]) -> str:
    return select(rows, function="leadingones", n="3000", algorithm="pbil-lambda")[0]["largest generation"]


@table("igo_hitting_time_figure4")
def levels(rows: list[Row]) -> str:
    alphas = {row["alpha"] for row in rows}
    full = [row for row in rows if len(select(rows, function=row["function"], n=row["n"])) == len(alphas)]
    cell = _calls("median calls")
    return pivot(full, "{function}, n = {n}", "{alpha}", cell, best=min, corner="alpha", names=NAMES)


def _calls(column: str) -> Template:
    def cell(row: Row) -> str:
        stopped = f" ({row['found']} of {row['runs']} found it)" if row[column].startswith(">") else ""
        return f"{row[column]:,.10g}{stopped}"

    return cell


@number("igo_layers")
def layer_updates(rows: list[Row]) -> str:
    return f"{rows[0]['iterations']:,.0f}"


@number("igo_layers")
def layer_rate(rows: list[Row]) -> str:
    return rows[0]["learning rate"]


@table("igo_layers_summary")
def layers(rows: list[Row]) -> str:
    columns = {"": "{method}", "trials": "{trials}", "ours": lambda row: row[ERROR], PAPER: f"{{{PAPER}}}"}
    return flat(rows, columns, between=(min, ("ours", PAPER)), names=NAMES)


@table("igo_activations_summary", "igo_activations_slower_summary", "igo_activations", "igo_activations_slower")
def activations(summary: list[Row], slower: list[Row], runs: list[Row], slower_runs: list[Row]) -> str:
    title = "{trials} trials, {iterations:,.0f} updates, rate {learning rate}"
    own = [
        row | {"title": Cell(title.format_map(of[0] | row)), "error": row[ERROR]}
        for rows, of in ((summary, runs), (slower, slower_runs))
        for row in rows
    ]
    own += [row | {"title": Cell(PAPER), "error": row[PAPER]} for row in summary]
    return pivot(own, "{method}", "{title}", "{error}", best=min, names=NAMES)


@table("igo_pseudo_boolean")
def pseudo_boolean(rows: list[Row]) -> str:
    columns = {
        "": "{contender}",
        "mean rank": "{mean rank}",
        "first or tied": "{first or tied}",
        "p": "{Holm:1n}",
        "processor seconds of a run": "{processor seconds per run:2n}",
    }
    return flat(rows, columns, best={"mean rank": min}, names=NAMES)


@number("igo_pseudo_boolean_runs", "igo_pseudo_boolean_now_runs")
def as_before(before: list[Row], now: list[Row]) -> str:
    """Return in how many runs the present version ends at the value of the table's."""
    keys = ("problem", "n", "seed")
    sides = {"before": with_end(select(before, contender="igo")), "now": with_end(now)}
    pairs = [row for row in beside(keys, **sides) if row["now end"]]
    same = [row for row in pairs if row["now end"].partition(":")[2] == row["before end"].partition(":")[2]]
    return f"{len(same)} of {len(pairs)}"


@table("igo_switch")
def switch(rows: list[Row]) -> str:
    strategies = [name for name in ("igo", "gp", "dngo") if name in rows[0]]
    columns = {"": "{problem}", "results": "{results}", "before": "{before}"}
    columns |= {f"`{name}`": f"{{{name}}}" for name in strategies}
    columns |= {f"seconds of a trial, `{name}`": f"{{{name} s:1n}}" for name in strategies}
    return flat(rows, columns, between=(max, [f"`{name}`" for name in strategies]), names=NAMES)


@table("igo_waiting_runs")
def waiting(rows: list[Row]) -> str:
    """Show in how many cases a run that begins with ``gp`` is ahead of ``igo`` alone, and behind it."""
    alone = {(row["n"], row["problem"], row["seed"]): row["best"] for row in rows if row["after"] == "0"}
    lines = []
    for n, after in sorted({(int(row["n"]), int(row["after"])) for row in rows if row["after"] != "0"}):
        own = select(rows, n=str(n), after=str(after))
        runs = [(row["best"], alone[row["n"], row["problem"], row["seed"]]) for row in own]
        seconds = median(float(row["gp seconds"]) for row in own)
        line = {"n": Cell(n), "runs": Cell(len(own)), "after": Cell(after), "seconds": Cell(seconds)}
        line |= {f"at {calls:,}": Cell(_ahead(runs, calls, calls)) for calls in WAITING_CALLS}
        lines.append(line | {"end": Cell(_ahead(runs, after, 2000))})
    columns = {"bits": "{n}", "runs": "{runs}", "trials of `gp`": "{after}", "their seconds": "{seconds:2n}"}
    columns |= {f"{calls:,} calls": f"{{at {calls:,}}}" for calls in WAITING_CALLS}
    return flat(lines, columns | {"these trials alone, beside 2,000 of `igo`": "{end}"})


def _ahead(runs: list[tuple[Cell, Cell]], calls: int, of_second: int) -> str:
    """Return how often the first of two runs has the higher value, and how often the second, after so many calls."""
    values = [(_best_after(first, calls), _best_after(second, of_second)) for first, second in runs]
    return f"{sum(first > second for first, second in values)} : {sum(first < second for first, second in values)}"


def _best_after(cell: str, calls: int) -> float:
    """Return the best value after so many calls, of a cell with ``call:value`` for each improvement."""
    pairs = (pair.split(":") for pair in cell.split())
    return max(float(value) for call, value in pairs if int(call) <= calls)


@number("igo_waiting_runs")
def waiting_igo(rows: list[Row]) -> str:
    return f"{span((row['igo seconds'] for row in rows), '1n')} s"


@table("igo_speed")
def speed(rows: list[Row]) -> str:
    return flat(rows, {name: f"{{{name}}}" for name in ("what", "time", "target")})
