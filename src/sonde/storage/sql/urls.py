"""Parses database URLs, and prints them without the password.

A password may hold any character, ``@`` too, and may be in ``?password=``. No message or log line repeats it.
"""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, unquote

import sqlalchemy as sa

from sonde.errors import OptionError
from sonde.extras import require

EXPECTED = "'sqlite:///file.db', 'postgresql://user@host/database', a path ending in .db, or None for memory"
_SCHEME = re.compile(r"\s*([A-Za-z][A-Za-z0-9+.-]*)://")
_ENDINGS = (".db", ".sqlite", ".sqlite3")
_SQLITE_OPTIONS = {"mode", "cache", "timeout", "uri", "nolock", "immutable", "check_same_thread"}


def parse(text: str) -> sa.URL:
    """Return the URL of a database; raise ``OptionError`` without repeating a possible password."""
    scheme = _SCHEME.match(text)
    if scheme is None:
        if not text.endswith(_ENDINGS) or text.lower().startswith("sqlite:"):
            secret = "@" in text or "password" in text.lower()
            raise OptionError(f"storage must be {EXPECTED}; got {'something else' if secret else repr(text)}")
        return _sqlite(sa.URL.create("sqlite", database=text))
    kind, rest = scheme.group(1).lower(), text[scheme.end() :].rstrip()
    if re.fullmatch(r"sqlite(\+\w+)?", kind):
        return _sqlite(_sqlite_url(kind, rest))
    if re.fullmatch(r"postgres(ql)?(\+psycopg)?", kind):
        return _postgres(rest)
    raise OptionError(f"storage must be {EXPECTED}; got a URL that begins with {kind}://")


def shown(url: sa.URL) -> str:
    """Return a URL without its password."""
    return url.set(query={}).render_as_string(hide_password=True)


def scrubbed(message: str, url: sa.URL) -> str:
    """Return a driver's message with the password removed."""
    password = str(url.password or "")
    return message.replace(password, "***") if password else message


def _sqlite_url(kind: str, rest: str) -> sa.URL:
    if rest and not rest.startswith("/"):
        raise OptionError(
            f"a SQLite URL has three slashes before the path, four before an absolute one; got {f'{kind}://{rest}'!r}"
        )
    path, mark, options = rest[1:].partition("?")
    query = dict(parse_qsl(options, keep_blank_values=True))
    unknown = sorted(set(query) - _SQLITE_OPTIONS)
    if mark and (unknown or not query):
        raise OptionError(
            f"what follows '?' in a SQLite URL are options ({', '.join(sorted(_SQLITE_OPTIONS))}), got {options!r}; "
            "a path with a question mark is given without sqlite:///"
        )
    return sa.URL.create(kind, database=path, query=query)


def _sqlite(url: sa.URL) -> sa.URL:
    if url.database in (None, "", ":memory:"):
        raise OptionError("sqlite:///:memory: lives in one connection only; use storage=None for a study in memory")
    return url


def _postgres(rest: str) -> sa.URL:
    """Return the URL of ``user:password@host:port/database?options``; the last ``@`` is the one before the host."""
    require("psycopg", extra="postgres")
    head, _, options = rest.partition("?")
    if "@" in options and "=" not in options.partition("@")[0]:  # a question mark inside the password
        login, at, rest = rest.rpartition("@")
        place, _, options = rest.partition("?")
    else:
        login, at, place = head.rpartition("@")
    user, colon, password = login.partition(":")
    address, _, database = place.partition("/")
    host, port = _address(address)
    query = dict(parse_qsl(options, keep_blank_values=True))
    if "password" in query:
        password, colon = query.pop("password"), ""
    return sa.URL.create(
        "postgresql+psycopg", username=unquote(user) if at else query.pop("user", None),
        password=(unquote(password) if colon else password) or None, host=host, port=port,
        database=unquote(database) or None, query=query,
    )  # fmt: skip


def _address(text: str) -> tuple[str | None, int | None]:
    found = re.fullmatch(r"(\[[^\]]*\]|[^:]*)(?::(\d+))?", text)
    if found is None:
        raise OptionError(
            "the host and port of the storage's URL cannot be read; expected "
            "postgresql://user:password@host:port/database with the port a number; "
            "inside a user's name '@', ':' and '/' are written %40, %3A and %2F"
        )
    port = int(found.group(2)) if found.group(2) else None
    if port is not None and not 0 < port < 65536:
        raise OptionError(f"the port of the storage's URL must be from 1 to 65535, got {port}")
    return found.group(1).strip("[]") or None, port
