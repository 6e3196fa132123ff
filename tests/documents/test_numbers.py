"""Numbers of the documentation are those of the files that benchmarks wrote."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest
from benchmarks.pages import markers
from benchmarks.pages.__main__ import main

from benchmarks import pages

MEASURED = sorted((markers.ROOT / "docs").glob("measurements*.md"))
LINE = re.compile(r"^\|.*", re.MULTILINE)
TABLES = {
    f"{module.name}.{name}"
    for module in iter_modules(pages.__path__)
    for name, function in vars(import_module(f"benchmarks.pages.{module.name}")).items()
    if hasattr(function, "__wrapped__")
}


def test_pages_have_the_numbers_of_their_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["pages", "--check"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0  # else the text that names pages and markers


@pytest.mark.parametrize("page", MEASURED, ids=lambda page: page.stem)
def test_tables_of_measurements_are_from_files(page: Path) -> None:
    assert LINE.findall(markers.MARKED.sub("", page.read_text(encoding="utf-8"))) == []


def test_every_table_is_on_a_page() -> None:
    shown = {found["name"] for page in markers.pages() for found in markers.MARKED.finditer(page.read_text("utf-8"))}
    assert len(TABLES) > 60
    assert shown == TABLES


def test_what_differs_is_named() -> None:
    page = (markers.ROOT / "docs" / "measurements.md").read_text(encoding="utf-8")
    found = next(markers.MARKED.finditer(page))
    changed = re.sub(r"\d", "7", found[0], count=1)
    assert changed != found[0]
    assert list(markers.differences(page.replace(found[0], changed))) == [
        f"{found['name']} differs from its file: run python -m benchmarks.pages"
    ]
    assert markers.fill(page.replace(found[0], changed)) == (page, [])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("<!-- table: storage.soak -->\n", "without its end"),
        ("<!-- end -->\n", "without its end"),
        ("<!-- table: storage.nothing --><!-- end -->", "storage.nothing: AttributeError"),
        ("It is\n<!-- number: storage.model_error -->3.2<!-- end -->.", "begins a line"),
    ],
)
def test_markers_that_cannot_be_filled_are_named(text: str, problem: str) -> None:
    assert any(problem in each for each in markers.differences(text))
