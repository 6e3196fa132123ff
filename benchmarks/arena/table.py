"""Rank the contenders of record files, as a table in Markdown, as CSV, and as a picture over evaluations.

    python -m benchmarks.arena.table                                  # of all runs, against Sonde
    python -m benchmarks.arena.table FILE.csv --against sonde:gp/draw --name arena_variants

Ranks and regrets are averages over the cases that all contenders of a group have run; a contender with too few cases
is left out. ``low`` and ``high`` are the ends of a 95% bootstrap interval of the average rank over functions. Wins,
ties and losses are those of ``--against``, with the p-value of a two-sided Wilcoxon signed-rank test, Holm-corrected
within the group. Seconds are the processor's in the suggestions of a run, before the split those of the whole run.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.arena.ranking import Group, groups, holm
from benchmarks.arena.records import read
from benchmarks.arena.run import RUNS
from benchmarks.arena.suites import REPORT
from benchmarks.first_order.plots import COLOURS, GREY, panels, save
from benchmarks.report import write


def main() -> None:
    options = arguments()
    found = groups([record for path in options.files for record in read(path)], options.contenders)
    if not found:
        raise SystemExit(f"no runs in {', '.join(map(str, options.files))}")
    tables = [rows(group, options.against) for group in found]
    for group, table in zip(found, tables, strict=True):
        print(markdown(group, table))
    path = write(options.name, [row for table in tables for row in table])
    for half in dict.fromkeys(group.half for group in found):
        own = [group for group in found if group.half == half]
        draw(own, options.against, path.with_name(path.name + f"_{half}" * (half != REPORT)))


def rows(group: Group, against: str) -> list[dict[str, Any]]:
    """Return a row for each contender, the best first."""
    names = list(group.curves)
    rivals = [name for name in names if name != against] if against in names else []
    duels = {name: group.duel(against, name) for name in rivals}
    corrected = dict(zip(rivals, holm([duels[name].p for name in rivals]), strict=True))
    made = [
        {
            "half": group.half,
            "suite": group.suite,
            "dimension": "all" if group.dimension is None else group.dimension or "",
            "cases": len(group.cases),
            "contender": name,
            "average rank": float(group.ranks[i, -1]),
            "low": float(group.interval[i, 0]),
            "high": float(group.interval[i, 1]),
            "mean log10 regret": float(group.regret[i, -1]),
            f"{against} wins": duels[name].wins if name in duels else "",
            "ties": duels[name].ties if name in duels else "",
            "losses": duels[name].losses if name in duels else "",
            "p": corrected.get(name, ""),
            "seconds": group.seconds[name],
            "seconds per suggestion": group.seconds[name] / group.budget,
            "dates": group.dates[name],
        }
        for i, name in enumerate(names)
    ]
    return sorted(made, key=lambda row: row["average rank"])


def markdown(group: Group, table: Sequence[dict[str, Any]]) -> str:
    """Return a group's rows under a heading."""
    columns = [column for column in table[0] if column not in ("half", "suite", "dimension", "cases")]
    lines = [
        f"### {group.half}: {_title(group)}, {len(group.cases)} cases",
        "",
        _cells(columns),
        _cells(["---"] * len(columns)),
    ]
    lines += [_cells([row[column] for column in columns]) for row in table]
    if group.absent:
        lines += ["", f"Left out for want of runs: {', '.join(group.absent)}."]
    return "\n".join([*lines, ""])


def _title(group: Group) -> str:
    if group.dimension is None:
        return f"{group.suite}, all dimensions"
    return f"{group.suite}, {group.dimension} variables" if group.dimension else group.suite


def _cells(cells: Sequence[Any]) -> str:
    return "| " + " | ".join(f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in cells) + " |"


def draw(found: Sequence[Group], against: str, path: Path) -> None:
    """Draw average rank and mean log regret over evaluations, a row for each suite and dimension."""
    shown = [group for group in found if group.dimension is not None]
    others = dict.fromkeys(name for group in shown for name in group.curves if name not in (against, "random"))
    palette = COLOURS[1:]
    styles = {name: (palette[i % len(palette)], ("-", "--")[i // len(palette) % 2]) for i, name in enumerate(others)}
    styles |= {against: (COLOURS[0], "-"), "random": (GREY, "-")}
    figure, axes = panels(len(shown), 2, (9, 2.6 * len(shown)))
    for group, pair in zip(shown, axes, strict=True):
        for axis, curves, title in zip(
            pair, (group.ranks, group.regret), ("average rank", "mean log10 regret"), strict=True
        ):
            for name, curve in zip(group.curves, curves, strict=True):
                colour, line = styles[name]
                width = 2.2 if name == against else 1.2
                axis.plot(range(1, len(curve) + 1), curve, color=colour, linestyle=line, linewidth=width, label=name)
            unknown = " (optima not known)" if title != "average rank" and not group.known else ""
            axis.set_title(f"{_title(group)}: {title}{unknown}", fontsize=9)
            axis.set_xlabel("evaluations", fontsize=8)
            axis.grid(alpha=0.25)
        pair[1].legend(fontsize=7.5, frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1.0))
    save(figure, path)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    every = [path for path in sorted(RUNS.glob("*.csv")) if not path.name.startswith("variants")]
    parser.add_argument("files", nargs="*", type=Path, default=every)
    parser.add_argument("--against", default="sonde", help="the contender the others are tested against")
    parser.add_argument("--contenders", type=lambda text: text.split(","), default=[], metavar="A,B", help="only these")
    parser.add_argument("--name", default="arena", help="of the CSV and the pictures among the results")
    return parser.parse_args()


if __name__ == "__main__":
    main()
