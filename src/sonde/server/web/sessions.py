"""Sessions of the dashboard: a cookie that carries the token itself.

So a token that is revoked ends its sessions at once, sessions survive a restart, and the server keeps nothing. The
cookie is HttpOnly (no script reads it) and SameSite=Strict (no other site sends it). Pages of other ports of the same
machine are the same site, so every request that writes needs a header besides, which only a page that was served from
here can know: the HMAC of a fixed text under the token.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import OrderedDict
from http.cookies import CookieError, SimpleCookie

from sonde.server.buckets import Bucket
from sonde.server.settings import Settings
from sonde.server.wire import Refused

HEADER = "X-Sonde-CSRF"
SAFE = ("GET", "HEAD", "OPTIONS")
MAX_AGE = 30 * 86_400  # seconds; the token's own end comes first
WRONG, ADDRESSES = 5.0, 1024  # wrong logins per second of one address, and addresses that are remembered


def cookie_name(settings: Settings) -> str:
    """Return the name of the cookie; cookies do not know ports, so that the name has to."""
    return f"{'__Host-' if settings.encrypted else ''}sonde-{settings.port}"


def cookie(settings: Settings, secret: str) -> str:
    """Return the Set-Cookie header of a session; with an empty secret, one that ends it."""
    age = MAX_AGE if secret else 0
    secure = "; Secure" if settings.encrypted else ""
    return f"{cookie_name(settings)}={secret}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict{secure}"


def secret_of(header: str | None, settings: Settings) -> str | None:
    """Return the token in a Cookie header, or None."""
    try:
        found = SimpleCookie(header or "").get(cookie_name(settings))
    except CookieError:
        return None
    return found.value if found is not None and found.value else None


def proof(secret: str) -> str:
    """Return what a page must send with every request that writes."""
    return hmac.new(secret.encode("utf-8", "replace"), b"sonde dashboard", hashlib.sha256).hexdigest()


def check_proof(secret: str, sent: str | None) -> None:
    """Refuse a request that writes without the proof that one of our pages sends it."""
    if not hmac.compare_digest(proof(secret).encode(), (sent or "").encode("utf-8", "replace")):
        raise Refused(
            403, "Forbidden", f"a request that writes needs the header {HEADER} beside the cookie",
            "programs send 'Authorization: Bearer TOKEN' instead; in the browser, load the page again",
        )  # fmt: skip


def check_origin(origin: str | None, host: str | None) -> None:
    """Refuse a request of a page of another origin."""
    if origin is not None and origin.partition("://")[2].lower() != (host or "").strip().lower():
        raise Refused(
            403, "Forbidden", f"a page of {origin[:200]!r} may not use this server", "open the server's own page"
        )


class WrongLogins:
    """How many wrong logins an address has had lately."""

    def __init__(self) -> None:
        self._buckets: OrderedDict[str, Bucket] = OrderedDict()

    def check(self, address: str) -> None:
        """Refuse an address that has tried too often."""
        bucket = self._buckets.get(address)
        wait = 0.0 if bucket is None else bucket.wait()
        if wait > 0:
            raise Refused(429, "TooManyRequests", "too many wrong logins from this address", "wait a few seconds",
                          Retry_After=str(max(1, round(wait))))  # fmt: skip

    def note(self, address: str) -> None:
        """Count a wrong login."""
        self._buckets.setdefault(address, Bucket(WRONG)).take()
        self._buckets.move_to_end(address)
        if len(self._buckets) > ADDRESSES:
            self._buckets.popitem(last=False)
