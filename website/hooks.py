"""Adds to the site what stands outside ``docs/``: the README as home, the changelog, results and examples."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

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
    linked = "\n".join(path.read_text(encoding="utf-8") for path in [*PAGES.values(), *(ROOT / "docs").glob("*.md")])
    for path in sorted(each for pattern in STATIC for each in ROOT.glob(pattern)):
        name = path.relative_to(ROOT).as_posix()
        if path.is_file() and name in linked:
            files.append(File.generated(config, _served(name), abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Rewrite links for the place that pages and files have in the site."""

    def rewritten(found: re.Match[str]) -> str:
        return f"]({_served(found.group(1).removeprefix('../'))}"

    markdown = markdown.replace("](../CHANGELOG.md)", "](changelog.md)")
    return re.sub(r"\]\(((?:\.\./)?(?:docs|benchmarks|examples|deploy)/[^)#]+)", rewritten, markdown)


def _served(name: str) -> str:
    """Return the place of a file of the repository: a Markdown file outside ``docs/`` is a text, not a page."""
    name = name.removeprefix("docs/")
    return f"{name}.txt" if name.startswith("deploy/") and name.endswith(".md") else name
