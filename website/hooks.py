"""Adds to the site what stands outside ``docs/``: the README as home, the changelog, results and examples.

Notebooks become pages. They are executed for it, unless ``extra.run_notebooks`` is false.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
from mkdocs.structure.files import File, Files
from notebooks import Page, execute

ROOT = Path(__file__).parents[1]
PAGES = {
    "index.md": ROOT / "README.md", "changelog.md": ROOT / "CHANGELOG.md", "contributing.md": ROOT / "CONTRIBUTING.md",
    "reference.md": ROOT / "website" / "reference.md",
}  # fmt: skip
STATIC = ("benchmarks/results/*.png", "benchmarks/results/*.csv", "examples/*", "deploy/*")


def on_files(files: Files, config: Any) -> Files:
    """Add pages and files."""
    for name, path in PAGES.items():
        files.append(File.generated(config, name, content=path.read_text(encoding="utf-8")))
    files.append(File.generated(config, "icon.svg", abs_src_path=str(ROOT / "src/sonde/server/web/static/icon.svg")))
    files.append(File.generated(config, "site.css", abs_src_path=str(ROOT / "website/site.css")))
    sources = [*PAGES.values(), *(ROOT / "docs").glob("*.md"), *(ROOT / "docs").glob("notebooks/*.ipynb")]
    linked = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    for path in sorted(each for pattern in STATIC for each in ROOT.glob(pattern)):
        name = path.relative_to(ROOT).as_posix()
        if path.is_file() and name in linked:
            files.append(File.generated(config, _served(name), abs_src_path=str(path)))
    for name, content in _notebooks(run=config.extra["run_notebooks"]):
        files.append(File.generated(config, f"notebooks/{name}", content=content))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Rewrite links for the place that pages and files have in the site."""

    def rewritten(found: re.Match[str]) -> str:
        return f"]({_served(found.group(1).removeprefix('../'))}"

    markdown = markdown.replace("](../CHANGELOG.md)", "](changelog.md)")
    markdown = re.sub(r"(\]\((?:docs/)?notebooks/\w+)\.ipynb", r"\1.md", markdown)
    markdown = re.sub(r"\]\(((?:\.\./)?(?:docs|benchmarks|examples|deploy)/[^)#]+)", rewritten, markdown)
    return markdown.replace("](../../", "](../")  # of a notebook


def _notebooks(*, run: bool) -> Iterator[tuple[str, str | bytes]]:
    """Return the pages and pictures of all notebooks by name."""

    def page(path: Path) -> Page:
        notebook = nbformat.read(path, as_version=4)
        if run:
            with TemporaryDirectory() as folder:
                execute(notebook, folder)
        return Page(notebook, path.stem)

    paths = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
    with ThreadPoolExecutor() as threads:
        pages = list(threads.map(page, paths))
    for path, own in zip(paths, pages, strict=True):
        yield f"{path.stem}.md", own.text
        yield from own.pictures.items()


def _served(name: str) -> str:
    """Return the place of a file of the repository: a Markdown file outside ``docs/`` is a text, not a page."""
    name = name.removeprefix("docs/")
    return f"{name}.txt" if name.startswith("deploy/") and name.endswith(".md") else name
