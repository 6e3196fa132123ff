"""The files of the pages, and Plotly's script from the package that is installed.

Files carry an ETag and are asked for again each time, which costs a 304. Plotly's script is large: it is compressed
once, and kept by browsers for a year under an address that has its version.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from fastapi import Response

STATIC = Path(__file__).parent / "static"
SHARED = Path(__file__).parents[2] / "plots" / "stacked.js"  # which reports have, too
KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY, "x-content-type-options": "nosniff", "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin", "cross-origin-resource-policy": "same-origin",
}  # fmt: skip


@dataclass(frozen=True)
class Asset:
    """A file as it is sent."""

    body: bytes
    kind: str
    tag: str
    encoding: str = ""
    lasting: bool = False  # whether its address changes with it

    @classmethod
    def of(cls, body: bytes, kind: str) -> Asset:
        """Return an asset of a body."""
        return cls(body, kind, f'"{hashlib.sha256(body).hexdigest()[:20]}"')

    def response(self, known: str | None) -> Response:
        """Return the answer to a request; ``known`` is its If-None-Match."""
        lasts = "public, max-age=31536000, immutable" if self.lasting else "no-cache"
        headers = HEADERS | {"etag": self.tag, "cache-control": lasts, "vary": "accept-encoding"}
        if self.encoding:
            headers["content-encoding"] = self.encoding
        if known is not None and self.tag in [one.strip() for one in known.split(",")]:
            return Response(status_code=304, headers=headers)
        return Response(self.body, headers=headers, media_type=self.kind)


@cache
def files() -> dict[str, Asset]:
    """Return all files by name: what is not here does not exist, whatever the address says."""
    found = [path for path in (*STATIC.iterdir(), SHARED) if path.suffix in KINDS]
    return {path.name: Asset.of(path.read_bytes(), KINDS[path.suffix]) for path in found}


@cache
def theme() -> Asset:
    """Return the colours of figures, light and dark."""
    from sonde.plots.theme import template

    both = {"light": template(), "dark": template(dark=True)}
    return Asset.of(json.dumps(both).encode(), KINDS[".json"])


def plotly_version() -> str | None:
    """Return the version of Plotly; None where it is not installed."""
    if find_spec("plotly") is None:
        return None
    from importlib.metadata import version

    return version("plotly")


@cache
def plotly(*, compressed: bool) -> Asset:
    """Return Plotly's script."""
    found = find_spec("plotly")
    assert found is not None, "asked for where it is not installed"
    assert found.origin is not None
    body = (Path(found.origin).parent / "package_data" / "plotly.min.js").read_bytes()
    tag = f'"plotly-{plotly_version()}{"-gz" * compressed}"'
    sent = gzip.compress(body, 6) if compressed else body
    return Asset(sent, KINDS[".js"], tag, "gzip" if compressed else "", lasting=True)
