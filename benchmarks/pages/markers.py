"""Markers in pages, and what belongs between them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
MARKED = re.compile(r"<!-- (?P<kind>table|number): (?P<name>\S+) -->(?P<body>.*?)<!-- end -->", re.DOTALL)
MARKER = re.compile(r"<!-- *(?:table|number|end)\b.*?-->")


def pages() -> list[Path]:
    """Return all pages."""
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])


def rewrite() -> list[str]:
    """Write all tables and numbers; return what could not be made, in whose place the former text stays."""
    problems = []
    for page in pages():
        text = page.read_text(encoding="utf-8")
        filled, missing = fill(text)
        if filled != text:
            page.write_text(filled, encoding="utf-8")
        problems += [f"{page.relative_to(ROOT)}: {problem}" for problem in missing]
    return problems


def update(path: Path) -> None:
    """Write all tables and numbers if a file is one of the results; say what could not be made."""
    if path.resolve().parent == RESULTS:
        for problem in rewrite():
            print(problem)


def check() -> list[str]:
    """Return what differs from its file, by page and marker."""
    return [
        f"{page.relative_to(ROOT)}: {problem}"
        for page in pages()
        for problem in differences(page.read_text(encoding="utf-8"))
    ]


def fill(text: str) -> tuple[str, list[str]]:
    """Return a page with its tables and numbers, and what could not be made."""
    problems = []

    def filled(found: re.Match[str]) -> str:
        try:
            return made(found)
        except Exception as error:  # the other tables are written all the same
            problems.append(f"{found['name']}: {type(error).__name__}: {error}")
            return found[0]

    return MARKED.sub(filled, text), problems


def differences(text: str) -> Iterator[str]:
    """Yield the markers of a page whose text is not that of their files, and those that are not well placed."""
    whole = list(MARKED.finditer(text))
    if len(MARKER.findall(text)) != 2 * len(whole):
        yield "a marker without its end, or an end without its marker"
    for found in whole:
        now, problems = fill(found[0])
        if problems:
            yield problems[0]
        elif now != found[0]:
            yield f"{found['name']} differs from its file: run python -m benchmarks.pages"
        if found["kind"] == "number" and text[: found.start()].endswith("\n"):
            yield f"{found['name']} begins a line, where Markdown takes a comment for a block"


def made(found: re.Match[str]) -> str:
    """Return a marker with what belongs after it, and its end."""
    module, _, function = found["name"].partition(".")
    text = getattr(import_module(f"benchmarks.pages.{module}"), function)()
    space = "\n\n" if found["kind"] == "table" else ""
    return f"<!-- {found['kind']}: {found['name']} -->{space}{text}{space}<!-- end -->"
