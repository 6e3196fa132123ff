"""Puts a report together: one HTML file that needs nothing else.

Plotly's JavaScript is in it, compressed. A content security policy allows the two scripts of the page by their hashes,
and no request to anywhere.
"""

from __future__ import annotations

import base64
import gzip
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
    drawn = [each.figure for each in content.figures if each.figure is not None]
    policy, scripts = _scripts(drawn) if drawn else (_policy(), "")
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">{policy}'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escaped(content.study.name)}: report of Sonde</title><style>{_own('page.css')}</style></head>"
        f'<body><main class="page"><header>{opening(content)}<nav aria-label="Sections">{links}</nav></header>{body}'
        f"<footer>Made with Sonde {__version__} on {when(content.made)}.</footer></main>"
        f"{scripts}</body></html>\n"
    )


def _scripts(figures: list[dict[str, Any]]) -> tuple[str, str]:
    """Return the policy that allows Plotly and the script of the page; both of them, with the figures as JSON.

    Plotly is most of a report, and a third as long when it is compressed.
    """
    from plotly.offline import get_plotlyjs

    plotly, own = get_plotlyjs().replace("\r\n", "\n"), _stacking() + _own("page.js")
    packed = base64.b64encode(gzip.compress(plotly.encode(), mtime=0)).decode()
    templates = {"light": template(), "dark": template(dark=True)}
    data = _json("data-figures", figures) + _json("data-templates", templates)
    library = f'<script type="application/gzip" id="plotly">{packed}</script>'
    return _policy(plotly, own), f"{data}{library}<script>{own}</script>"


def _json(name: str, data: Any) -> str:
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")  # no text of a user ends the element
    return f'<script type="application/json" id="{name}">{text}</script>'


def _policy(*scripts: str) -> str:
    """Return the content security policy; Plotly writes styles, and pictures of figures are made in the page."""
    digests = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    hashes = " ".join(f"'sha256-{digest}'" for digest in digests) or "'none'"
    rules = f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; "
    return f"<meta http-equiv=\"Content-Security-Policy\" content=\"{rules}base-uri 'none'; form-action 'none'\">"


def _stacking() -> str:
    """Return the script that stacks panels on a narrow page, which is a module in the dashboard."""
    text = files("sonde.plots").joinpath("stacked.js").read_text(encoding="utf-8")
    return text.replace("export function", "function")


def _own(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
