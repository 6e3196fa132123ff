"""The documentation as a site: every link leads somewhere, every public name is in the reference."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import sonde

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site; a warning is an error. Notebooks are run by tests of their own."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT, env=os.environ | {"RUN_NOTEBOOKS": "false"}, capture_output=True, text=True, timeout=200,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


class Links(HTMLParser):
    """What a page links to, and the places in it that can be linked to."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.places: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        own = dict(attrs)
        self.places |= {name for name in (own.get("id"), own.get("name")) if name}
        self.targets += [target for target in (own.get("href"), own.get("src")) if target]


def broken(site: Path) -> Iterator[str]:
    pages = {page: Links(page) for page in site.rglob("*.html") if page.name != "404.html"}  # whose links are absolute
    for page, links in pages.items():
        for target in links.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            file = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            if not file.exists() or (parts.fragment and file in pages and parts.fragment not in pages[file].places):
                yield f"{page.name}: {target}"


def test_every_link_leads_somewhere(site: Path) -> None:
    assert len(list(site.glob("*.html"))) > 30
    assert sorted(set(broken(site))) == []


def test_nothing_is_loaded_from_another_host(site: Path) -> None:
    for page in site.rglob("*.html"):
        loaded = re.findall(r"<(?:script|img|link|iframe)[^>]*(?:src|href)=\"(https?:[^\"]*)", page.read_text("utf-8"))
        assert loaded == [], page.name


def public(module: str) -> set[str]:
    """Return the names of ``__all__``, also where the module cannot be imported without an extra."""
    tree = ast.parse((ROOT / "src" / module.replace(".", "/") / "__init__.py").read_text(encoding="utf-8"))
    (value,) = [each.value for each in tree.body if isinstance(each, ast.Assign) and each.targets[0].id == "__all__"]
    return set(ast.literal_eval(value))


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    reference = Links(site / "reference.html").places
    known = {place.rpartition(".")[2] for place in reference if not place.startswith(("sonde.igo", "sonde.kernels"))}
    assert {name for name in sonde.__all__ if not name.startswith("_")} <= known
    assert public("sonde.execution") - {"Report", "Task", "adapted"} <= known  # for those who write an executor
    for module in ("sonde.igo", "sonde.kernels"):
        assert {f"{module}.{name}" for name in public(module)} <= reference
