from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Sonde

import sonde

SIGNATURES = {"html": b"<", "svg": b"<", "png": b"\x89PNG"}


@pytest.mark.usefixtures("study")
@pytest.mark.parametrize("ending", SIGNATURES)
def test_a_figure_is_written(cli: Sonde, ending: str) -> None:
    assert cli("plot", "history", "-o", f"h.{ending}") == (0, "", f"wrote history to h.{ending}\n")
    assert Path(f"h.{ending}").read_bytes().startswith(SIGNATURES[ending])


@pytest.mark.usefixtures("study")
def test_the_numbers_are_written_or_printed(cli: Sonde) -> None:
    with sonde.load("sonde.db", "shapes") as study:
        table = study.plot.history(data=True)
    assert cli("plot", "history", "-o", "h.csv").code == 0
    assert len(Path("h.csv").read_text().splitlines()) == len(table) + 1
    assert cli("plot", "history", "-o", "h.json").code == 0
    assert len(json.loads(Path("h.json").read_text())) == len(table)
    assert cli("plot", "history").out.startswith(table.text())
    found = json.loads(cli("plot", "history", "--json").out)
    assert [set(row) for row in found] == [set(table.names)] * len(table)
    assert found[0]["value"] is None  # a failure has none
    assert found[1]["value"] == 20.0


@pytest.mark.usefixtures("study")
def test_options_of_a_figure(cli: Sonde) -> None:
    with sonde.load("sonde.db", "shapes") as study:
        other = sonde.Study(study.space, storage="sqlite:///sonde.db", name="other")
        other.add_trials(study.trials[1:2])
        other.close()
        name = study.space.names[0]
        table = study.plot.parallel(parameters=[name], data=True)
    chosen = ("--name", "shapes")
    found = json.loads(cli("plot", "parallel", "--parameter", name, "--json", *chosen).out)
    assert [set(row) for row in found] == [set(table.names)] * len(table)
    assert cli("plot", "history", "--linear", "--dark", "-o", "h.html", *chosen).code == 0
    assert cli("plot", "history", "--log", "-o", "h.svg", *chosen).code == 0
    compared = json.loads(cli("plot", "compare", "--with", "other", "--json", *chosen).out)
    assert {row["study"] for row in compared} == {"shapes", "other"}


def test_figures_are_listed_without_a_study(cli: Sonde) -> None:
    names = json.loads(cli("plot", "--list", "--json").out)
    assert names["history"]
    listed = cli("plot", "--list").out.splitlines()[1:]
    assert [line.split()[0] for line in listed] == list(names)


@pytest.mark.usefixtures("study")
@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["nothing"], 1, "error: there is no figure 'nothing'; there are history"),
        (["__class__"], 1, "error: there is no figure '__class__'"),
        ([], 2, "a figure is missing; sonde plot --list has their names"),
        (
            ["history", "-o", "h.gif"],
            1,
            "error: the file must end in .html, .png, .svg, .pdf, .csv, .json, got 'h.gif'",
        ),
        (["history", "--x", "a"], 1, "error: history has no --x; it has --objective, --log"),
        (["timeline", "--objective", "a"], 1, "error: timeline has no --objective; it has no options"),
        (["contours", "--x", "b", "--y", "c"], 1, "error: x= names 'b'"),
        (["compare"], 1, "error: --with STUDY goes with compare: sonde plot compare --with NAME"),
        (["history", "--with", "b"], 1, "error: --with STUDY goes with compare"),
        (["compare", "--with", "b"], 1, "error: there is no study 'b'"),
        (["history", "-o", "none/h.html"], 1, "error: cannot write 'none/h.html'"),
        (["history", "-o", "none/h.csv"], 1, "error: cannot write 'none/h.csv'"),
    ],
)
def test_what_cannot_be_plotted(cli: Sonde, arguments: list[str], code: int, said: str) -> None:
    ended = cli("plot", *arguments)
    assert (ended.code, ended.out) == (code, "")
    assert said in ended.err


@pytest.mark.usefixtures("study")
def test_a_report_is_written(cli: Sonde) -> None:
    assert cli("report", "-o", "r.html") == (0, "", "wrote the report to r.html\n")
    assert "shapes" in Path("r.html").read_text(encoding="utf-8")
    assert cli("report", "-o", "r.pdf").err.startswith("error: the file must end in .html, got 'r.pdf'")
    missing = cli("report", "-o", "none/r.html")
    assert (missing.code, missing.out, len(missing.err.splitlines())) == (1, "", 1)
