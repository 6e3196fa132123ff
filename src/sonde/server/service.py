"""The service as a whole: its studies, its tokens, and its end."""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from sonde.errors import OptionError, SondeError, StudyNotFound
from sonde.server import models
from sonde.server.hosted import Hosted
from sonde.server.metrics import Metrics
from sonde.server.settings import Settings
from sonde.server.threads import Threads
from sonde.server.tokens import KnownTokens, Role, Token, TokenTable, hashed
from sonde.server.wire import Refused, header_document, short_header
from sonde.space import Space
from sonde.storage import Storage, StudyHeader, open_storage
from sonde.strategies import record, resolve_strategy
from sonde.study import checks, identity
from sonde.trials.objectives import DIRECTIONS, Objectives

REREAD = 0.5  # seconds between two reads of the tokens: how late a revocation may be noticed
FORGIVEN = 0.05  # seconds after which the tokens are read again for one that is unknown, because it may be new
ANYBODY = Token("anybody", "", Role.ADMIN, 0.0, None)  # where no token is needed

_log = logging.getLogger("sonde.server")


class Service:
    """The studies of a database, for requests."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.storage: Storage = open_storage(settings.storage)
        self._table = TokenTable(settings.storage)
        self.metrics = Metrics()
        self.drained = asyncio.Event()
        self._threads = Threads(self.storage, sqlite=str(self.storage.url).startswith("sqlite"))
        self._tokens = KnownTokens(settings.own_secret)
        self._hosted: dict[str, Hosted] = {}
        self._open = {"waiting": 0, "streams": 0}
        self._rereading: asyncio.Task[None] | None = None

    # beginning and end

    async def begin(self) -> None:
        """Read the tokens, and go on to."""
        await self._reread()
        self._rereading = asyncio.create_task(self._keep_rereading())

    def drain(self) -> None:
        """Have all who wait answered at once."""
        self.drained.set()
        for hosted in self._hosted.values():
            hosted.watch.wake_all()

    async def end(self) -> None:
        """End child processes and threads; nothing is lost, because all is in the database."""
        self.drain()
        if self._rereading is not None:
            self._rereading.cancel()
            with suppress(asyncio.CancelledError):
                await self._rereading
        await asyncio.gather(*(hosted.close() for hosted in self._hosted.values()))
        self._threads.close()
        self._table.close()
        self.storage.close()

    # who may

    async def token(self, secret: str | None) -> Token:
        """Return the token of a request; refuse one that is missing, wrong, expired or revoked."""
        if not self.settings.token:
            return ANYBODY
        remedy = "send the header 'Authorization: Bearer TOKEN'; an admin makes tokens with: sonde token create"
        if secret is None:
            raise Refused(401, "Unauthorized", "this needs a token", remedy, WWW_Authenticate="Bearer")
        digest = hashed(secret)
        found = self._tokens.find(digest)
        if found is None and self._tokens.age > FORGIVEN:
            await self._reread()
            found = self._tokens.find(digest)
        if found is None:
            message = "the token is unknown, expired or revoked"
            raise Refused(401, "Unauthorized", message, remedy, WWW_Authenticate="Bearer")
        return found

    def admits(self, token: Token) -> bool:
        """Whether a client that waits may wait on."""
        return not self.drained.is_set() and (token is ANYBODY or self._tokens.find(token.hash) is not None)

    async def _keep_rereading(self) -> None:
        while True:
            await asyncio.sleep(REREAD)
            try:
                await self._reread()
            except SondeError as error:
                _log.warning("the tokens cannot be read: %s", error)

    async def _reread(self) -> None:
        self._tokens.update(await self._threads.read(self._table.all))

    def refuse_beyond_limit(self, kind: str) -> None:
        """Refuse an ask that would wait, or a stream, if there are too many."""
        if self._open[kind] >= getattr(self.settings, kind):
            raise Refused(503, "TooManyWaiting", f"the server has {self._open[kind]} open {kind} already",
                          f"try again later; the limit is the server's --{kind}", Retry_After="5")  # fmt: skip

    @contextmanager
    def counted(self, kind: str) -> Iterator[None]:
        """Count one while it is open."""
        self._open[kind] += 1
        try:
            yield
        finally:
            self._open[kind] -= 1

    # studies

    async def check(self) -> None:
        """Raise if the database cannot be reached."""
        await self._threads.read(self._table.all)

    async def study(self, name: str) -> Hosted:
        """Return a study."""
        hosted = self._hosted.get(name)
        if hosted is None:
            header = await self._threads.read(self.storage.find_study, checks.name(name))
            hosted = self._hosted.get(name)  # another request was quicker
            if hosted is None or hosted.header.key != header.key:
                hosted = self._hosted[name] = Hosted(
                    self.storage, header, self._threads, self.metrics, suggester_seconds=self.settings.suggester_seconds
                )
        return hosted

    async def forget(self, name: str) -> None:
        """Forget a study that was deleted; one of the same name is another one."""
        hosted = self._hosted.pop(name, None)
        if hosted is not None:
            await hosted.close()

    async def create(self, new: models.NewStudy) -> tuple[StudyHeader, bool]:
        """Create a study or find it; return its header and whether it is new."""
        checks.name(new.name)
        wanted = StudyHeader(
            new.name, Space.from_data(new.space).to_json(), _goal(new.direction),
            checks.seed(new.seed), record(resolve_strategy(new.strategy)), key=new.key or uuid.uuid4().hex,
        )  # fmt: skip
        return await self._threads.write_alone(self._create, wanted, seed_given=new.seed is not None)

    def _create(self, wanted: StudyHeader, *, seed_given: bool) -> tuple[StudyHeader, bool]:
        try:
            self.storage.find_study(wanted.name)
            new = False
        except StudyNotFound:
            new = True
        header = identity.create_or_find(self.storage, wanted, seed_given=seed_given)
        return header, new and header.key == wanted.key

    async def delete(self, name: str) -> None:
        """Delete a study."""
        await self._threads.write_alone(self.storage.delete_study, checks.name(name))
        await self.forget(name)

    async def summaries(self) -> list[dict[str, Any]]:
        """Return all studies."""
        return [
            short_header(one.header) | {"counts": _counts(one.counts), "best": one.best, "paused": one.paused}
            for one in await self._threads.read(self.storage.studies)
        ]

    async def summary(self, name: str) -> dict[str, Any]:
        """Return a study with its counts."""
        header = await self._threads.read(self.storage.find_study, checks.name(name))
        found = await self._threads.read(self.storage.studies, header.name)
        notes = await self._threads.read(self.storage.notes, header.key)
        status = (await self._threads.read(self.storage.status, header.key))._asdict()
        return header_document(header) | {
            "counts": _counts(found[0].counts) if found else {},
            "paused": status.pop("paused"),
            "suggesting": status,
            "note": notes.get(None, ""),
        }

    async def measured(self) -> bytes:
        """Return the metrics."""
        studies = await self._threads.read(self.storage.studies)
        waiting = {name: hosted.watch.waiting for name, hosted in self._hosted.items()}
        return self.metrics.text(studies, lambda name: waiting.get(name, 0))


def _counts(counts: Any) -> dict[str, int]:
    return {state.value: number for state, number in counts.items()}


def _goal(direction: str) -> str:
    """Return the checked direction of a header: of one objective, or of several as JSON."""
    if direction in DIRECTIONS:
        return direction
    try:
        told = json.loads(direction)
        parts = {name: own if isinstance(own, dict) else {"direction": own} for name, own in told.items()}
        directions = {name: own.get("direction") for name, own in parts.items()}
        thresholds = {name: own["threshold"] for name, own in parts.items() if own.get("threshold") is not None}
    except (AttributeError, ValueError, RecursionError):
        raise OptionError(
            f"direction must be one of {', '.join(DIRECTIONS)}, or for several objectives JSON such as "
            f'{{"loss": "minimize", "latency": {{"direction": "minimize", "threshold": 20}}}}, got {direction[:200]!r}'
        ) from None
    return str(Objectives.of(None, directions, thresholds or None))
