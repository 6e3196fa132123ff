"""Markdown tables of rows from CSV files.

A table is a function of rows: ``@table("a", "b")`` hands it those of ``results/a.csv`` and ``results/b.csv``, and adds
a line that names the files and the machines. ``flat`` has a line for each row, ``pivot`` a line and a column for each
value of two templates. A template is a format of a row, such as ``"{seconds:2n} s"``, or a function of it; where a
value is empty, so is the cell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from string import Formatter

from benchmarks.pages.markers import RESULTS
from benchmarks.pages.rows import NUMBER, Cell, Row, rows_of
from benchmarks.records import machine

NAMES = {
    "optuna": "Optuna", "optuna-gp": "Optuna's GP", "optuna-tpe": "Optuna's TPE", "optuna-nsga2": "Optuna's NSGA-II",
    "tpe": "Optuna's TPE", "botorch": "BoTorch", "smac": "SMAC3", "cmaes": "CMA-ES", "catcma": "CatCMA",
    "nevergrad": "Nevergrad's NGOpt", "turbo": "TuRBO-1", "cobyla": "COBYLA", "bobyqa": "BOBYQA", "sobol": "Sobol",
    "gp": "`gp`", "dngo": "`dngo`", "fobo": "`fobo`", "igo": "`igo`", "sonde-0.1.0": "Sonde 0.1.0",
}  # fmt: skip


Template = str | Callable[[Row], str]


def table(*files: str) -> Callable[[Callable[..., str]], Callable[[], str]]:
    """Make a table of the rows of files."""

    def marked(make: Callable[..., str]) -> Callable[[], str]:
        @wraps(make)
        def whole() -> str:
            return f"{make(*map(rows_of, files))}\n\n{caption(files)}"

        return whole

    return marked


def number(*files: str) -> Callable[[Callable[..., str]], Callable[[], str]]:
    """Make a number, as it stands in a sentence, of the rows of files."""

    def marked(make: Callable[..., str]) -> Callable[[], str]:
        return wraps(make)(lambda: make(*map(rows_of, files)))

    return marked


def caption(files: Sequence[str]) -> str:
    """Return where the rows are, and on which machines they were measured."""
    machines: dict[str, list[str]] = {}
    for file in files:
        machines.setdefault(machine(RESULTS / f"{file}.csv").replace("(R)", ""), []).append(f"`{file}.csv`")
    named = "; ".join(f"{', '.join(names)}: {where}" for where, names in machines.items())
    return f"*{named}.*"


def flat(
    rows: Sequence[Row],
    columns: Mapping[str, Template],
    *,
    best: Mapping[str, Callable[..., float]] = {},
    within: str = "",
    between: tuple[Callable[..., float], Sequence[str]] | None = None,
    names: Mapping[str, str] = {},
) -> str:
    """Return a line for each row.

    ``best`` has ``min`` or ``max`` for columns whose best value, of rows with the same value of ``within``, is bold;
    ``between`` names columns of which the best one of each line is.
    """
    cells = [{title: fill(template, row, names) for title, template in columns.items()} for row in rows]
    for title, choose in best.items():
        for group in dict.fromkeys(row.get(within, "") for row in rows):
            own = [line for row, line in zip(rows, cells, strict=True) if row.get(within, "") == group]
            embolden([(line, title) for line in own], choose)
    if between:
        for line in cells:
            embolden([(line, title) for title in between[1]], between[0])
    return lines(list(columns), [list(line.values()) for line in cells])


def pivot(
    rows: Sequence[Row],
    down: Template,
    across: Template,
    cell: Template,
    *,
    best: Callable[..., float] | None = None,
    along: str = "line",
    apart: Sequence[str] = (),
    corner: str = "",
    names: Mapping[str, str] = {},
) -> str:
    """Return a line for each value of ``down``, a column for each of ``across``, in the order of the rows.

    ``best`` is ``min`` or ``max``: the best cell of each line is bold, or of each column (``along="column"``), columns
    that are named ``apart`` left out.
    """
    cells: dict[str, dict[str, str]] = {}
    titles: dict[str, None] = {}
    for row in rows:
        title = fill(across, row, names)
        titles[title] = None
        cells.setdefault(fill(down, row, names), {})[title] = fill(cell, row, names)
    if best and along == "line":
        for line in cells.values():
            embolden([(line, title) for title in line if title not in apart], best)
    if best and along == "column":
        for title in titles:
            embolden([(line, title) for line in cells.values() if title in line], best)
    return lines(
        [corner, *titles], [[name, *(line.get(title, "") for title in titles)] for name, line in cells.items()]
    )


def fill(template: Template, row: Row, names: Mapping[str, str] = {}) -> str:
    """Return a cell; empty if a value that it needs is."""
    if callable(template):
        return template(row)
    needed = [field for _, field, _, _ in Formatter().parse(template) if field]
    if not all(row[field] for field in needed):
        return ""
    known = NAMES | dict(names)
    return template.format_map({field: Cell(known.get(row[field], row[field])) for field in needed})


def embolden(places: Sequence[tuple[dict[str, str], str]], choose: Callable[..., float]) -> None:
    """Make bold the cells with the best first number, as it is shown."""
    values = [(line, title, value) for line, title in places if (value := first_number(line[title])) is not None]
    best = choose((value for *_, value in values), default=None)
    for line, title, value in values:
        if value == best:
            line[title] = f"**{line[title]}**"


def first_number(cell: str) -> float | None:
    """Return the number that a cell begins with."""
    found = NUMBER.match(cell.replace(",", "") if cell[:1].isdigit() else cell)
    return float(found[0]) if found else None


def lines(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """Return the Markdown."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *body))
