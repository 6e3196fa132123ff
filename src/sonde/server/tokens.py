"""Bearer tokens: who may use the service, and until when.

A token is 256 random bits, shown once when it is made; the database has its SHA-256 only. A slow hash with salt, as
passwords need, would add nothing: nobody can guess 256 random bits, however fast each try is.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeVar

import sqlalchemy as sa

from sonde.errors import OptionError, SondeError
from sonde.storage.sql.database import Database
from sonde.storage.sql.tables import tokens
from sonde.study import checks

PREFIX = "sonde_"  # so that programs that look for leaked secrets can find it
DAY = 86_400.0
MAX_DAYS = 36_500
_COLUMNS = (tokens.c.name, tokens.c.hash, tokens.c.role, tokens.c.created, tokens.c.ends)

T = TypeVar("T")


class Role(IntEnum):
    """What a token may do; each role may do what those before it may."""

    READ = 1
    WORK = 2
    ADMIN = 3

    @classmethod
    def named(cls, name: str) -> Role:
        """Return the role of a name."""
        try:
            return cls[name.upper()]
        except KeyError:
            known = ", ".join(role.name.lower() for role in cls)
            raise OptionError(f"a role is one of {known}, got {name!r}") from None


@dataclass(frozen=True)
class Token:
    """A token as it is stored."""

    name: str
    hash: str
    role: Role
    created: float
    ends: float | None

    def valid(self) -> bool:
        """Whether it has not expired."""
        return self.ends is None or time.time() < self.ends


class TokenTable:
    """The tokens of a database."""

    def __init__(self, url: str) -> None:
        self._database = Database(url)

    def create(self, name: str, role: Role, days: float | None) -> str:
        """Make a token and return it; this is the only time that it is known."""
        checks.name(name)
        if days is not None and not (math.isfinite(days) and 0 < days <= MAX_DAYS):
            raise OptionError(f"--days must be more than 0 and at most {MAX_DAYS}, got {days}")
        secret = new_secret()
        now = time.time()
        row = {"name": name, "hash": hashed(secret), "role": role.name.lower(), "created": now,
               "ends": None if days is None else now + days * DAY}  # fmt: skip

        def insert(connection: sa.Connection) -> None:
            if connection.execute(sa.select(tokens.c.name).where(tokens.c.name == name)).one_or_none() is not None:
                raise OptionError(f"there is a token {name!r} already; choose another name, or revoke that one")
            connection.execute(sa.insert(tokens), row)

        self._write(insert)
        return secret

    def create_first(self, name: str) -> str | None:
        """Make a token for an admin if the database has no token at all; None if it has some."""
        if self.all():
            return None
        try:
            return self.create(name, Role.ADMIN, None)
        except SondeError:
            if self.all():  # another server was quicker
                return None
            raise

    def all(self) -> list[Token]:
        """Return all tokens, by name."""
        rows = self._database.read(
            lambda connection: connection.execute(sa.select(*_COLUMNS).order_by(tokens.c.name)).all()
        )
        return [Token(row.name, row.hash, Role.named(row.role), row.created, row.ends) for row in rows]

    def revoke(self, name: str) -> None:
        """Delete a token; running servers refuse it within a second."""
        gone = self._write(
            lambda connection: connection.execute(sa.delete(tokens).where(tokens.c.name == name)).rowcount
        )
        if not gone:
            raise OptionError(f"there is no token {name!r}; see: sonde token list")

    def close(self) -> None:
        """Close the connections."""
        self._database.close()

    def _write(self, work: Callable[[sa.Connection], T]) -> T:
        return self._database.write(work, durable=True)


class KnownTokens:
    """The tokens of the database as a server knows them, and one of its own that is stored nowhere, if it has one."""

    def __init__(self, own_secret: str | None = None) -> None:
        self._read_at = -math.inf
        self._own = [] if own_secret is None else [Token("dashboard", hashed(own_secret), Role.ADMIN, 0.0, None)]
        self._by_selector: dict[str, Token] = {}

    def update(self, found: list[Token]) -> None:
        """Take what was read from the database."""
        self._by_selector = {_selector(token.hash): token for token in [*found, *self._own]}
        self._read_at = time.monotonic()

    @property
    def age(self) -> float:
        """Seconds since they were read."""
        return time.monotonic() - self._read_at

    def find(self, digest: str) -> Token | None:
        """Return the valid token with this hash.

        The dictionary finds a candidate by half of the hash; the comparison that decides takes constant time. (What a
        lookup's time tells is about a hash of the attacker's guess, which leads to no token.)
        """
        token = self._by_selector.get(_selector(digest))
        if token is None or not hmac.compare_digest(token.hash, digest) or not token.valid():
            return None
        return token


def new_secret() -> str:
    """Return a new token."""
    return PREFIX + secrets.token_hex(32)


def hashed(secret: str) -> str:
    """Return the hash of a token."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def _selector(digest: str) -> str:
    return digest[:32]
