"""Puts a report together: one HTML file that needs nothing else.

Plotly's JavaScript is in it. A content security policy allows the two scripts of the page by their hashes, and no
request to anywhere.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from importlib.resources import files
from pathlib import Path
from typing import Any

from sonde.errors import OptionError
from sonde.extras import require
from sonde.html import escaped
from sonde.plots.theme import template
from sonde.report.content import Content
from sonde.report.markup import section, when
from sonde.report.opening import opening
from sonde.report.sections import SECTIONS
from sonde.report.source import Reported
from sonde.version import __version__

ENDINGS = (".html", ".htm")


def write(study: Reported, path: str | os.PathLike[str]) -> None:
    """Write the report of a study to a file."""
    target = Path(path)
    if target.suffix.lower() not in ENDINGS:
        raise OptionError(f"a report is a page: the file must end in .html, got {str(target)!r}")
    if not target.parent.is_dir():
        raise OptionError(f"there is no folder {str(target.parent)!r} for the report; create it first")
    target.write_text(page_of(study), encoding="utf-8", newline="\n")


def page_of(study: Reported) -> str:
    """Return the report of a study as HTML."""
    require("plotly", extra="plots")
    content = Content.of(study)
    found = {anchor: (title, part(content)) for anchor, (title, part) in SECTIONS.items()}
    parts = {anchor: (title, body) for anchor, (title, body) in found.items() if body}
    links = "".join(f'<a href="#{anchor}">{title}</a>' for anchor, (title, _) in parts.items())
    body = "".join(section(anchor, title, inner) for anchor, (title, inner) in parts.items())
    data, scripts = _data(content), _scripts(content)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">{_policy(scripts)}'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escaped(content.study.name)}: report of Sonde</title><style>{_own('page.css')}</style></head>"
        f'<body><main class="page"><header>{opening(content)}<nav aria-label="Sections">{links}</nav></header>{body}'
        f"<footer>Made with Sonde {__version__} on {when(content.made)}.</footer></main>"
        f"{data}{''.join(f'<script>{script}</script>' for script in scripts)}</body></html>\n"
    )


def _data(content: Content) -> str:
    """Return the figures and their templates as JSON in the page."""
    drawn = {each.name: each.figure for each in content.figures if each.figure is not None}
    templates = {"light": template(), "dark": template(dark=True)}
    return _json("data-figures", drawn) + _json("data-templates", templates)


def _json(name: str, data: Any) -> str:
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")  # no text of a user ends the element
    return f'<script type="application/json" id="{name}">{text}</script>'


def _scripts(content: Content) -> list[str]:
    """Return Plotly and the script of the page; none where there is no figure."""
    if all(each.figure is None for each in content.figures):
        return []
    from plotly.offline import get_plotlyjs

    return [get_plotlyjs().replace("\r\n", "\n"), _own("page.js")]


def _policy(scripts: list[str]) -> str:
    """Return the content security policy; Plotly writes styles, and pictures of figures are made in the page."""
    digests = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    hashes = " ".join(f"'sha256-{digest}'" for digest in digests) or "'none'"
    rules = f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; "
    return f"<meta http-equiv=\"Content-Security-Policy\" content=\"{rules}base-uri 'none'; form-action 'none'\">"


def _own(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
