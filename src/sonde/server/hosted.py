"""A study on the server: what a request becomes, in terms of the storage and of ``sonde.study``."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from sonde.errors import OptionError
from sonde.server import models
from sonde.server.child import Child, ChildFailed
from sonde.server.metrics import Metrics
from sonde.server.suggesting import Suggesting
from sonde.server.threads import Threads
from sonde.server.watch import Change, Listener, Watch
from sonde.server.wire import Refused, dumps, from_wire, to_wire, trial_document
from sonde.server.workers import Workers
from sonde.space import Space
from sonde.storage import Asker, AskReply, Storage, StudyHeader
from sonde.storage.rules import new_token
from sonde.study import checks, telling
from sonde.study.asking import SUGGESTER_LEASE
from sonde.trials import Outcome, State, TrialKey, TrialRecord
from sonde.trials.objectives import Objectives
from sonde.trials.outcome import stopped
from sonde.trials.trial import pack_row

RENEW = SUGGESTER_LEASE / 4  # seconds after which a waiting ask renews its tickets, and looks for itself
RENEW_LIMITED = 1.0  # if it has a limit, which others may reach meanwhile
LOOK = 1.0  # seconds between two looks whether the client is still there, and its token valid
KEEP_ALIVE = 15.0  # seconds between two comments in a stream of events

GoOn = Callable[[], bool]  # whether the client still waits for an answer, and may have one


class Hosted:
    """A study and what the server keeps of it in memory; all of it can be had from the database again."""

    def __init__(
        self, storage: Storage, header: StudyHeader, threads: Threads, metrics: Metrics, *, suggester_seconds: float
    ) -> None:
        self.header, self.space = header, Space.from_json(header.space)
        self.objectives = Objectives.from_text(header.direction)
        self._storage, self._threads = storage, threads
        self._workers = Workers()
        self.watch = Watch(storage, header.key, threads)
        self._suggesting = Suggesting(
            header.name, self._child, self._workers.count, self.watch, metrics, suggester_seconds
        )
        self._analyst: asyncio.Task[Child] | None = None

    async def close(self) -> None:
        """End the children and the reading."""
        await self._suggesting.close()
        await self.watch.close()
        if self._analyst is not None:
            await (await self._analyst).close()

    # asking

    async def ask(self, wanted: models.Ask, worker: str, go_on: GoOn) -> dict[str, Any]:
        """Return trials for the tokens of an ask, those that are there when it may wait no longer."""
        tokens = wanted.tokens or [new_token() for _ in range(wanted.count)]
        if len(set(tokens)) < len(tokens):
            raise OptionError("tokens has a token twice; every trial needs one of its own")
        asker = Asker(worker, SUGGESTER_LEASE, wanted.lease)
        self._workers.asked(worker, tokens)
        reply = await self._begin(tokens, asker, wanted.limit)
        records = {record.token or "": record for record in reply.claimed}
        missing, exhausted = reply.missing, False
        if missing and wanted.wait > 0:
            with self.watch.ask(tokens) as listener:
                missing, exhausted = await self._wait(listener, tokens, asker, wanted, go_on)
                records |= listener.got
        self._refuse_broken(missing, records)
        trials = [self._document(record) for record in sorted(records.values(), key=lambda record: record.number)]
        return {"trials": trials, "tokens": tokens, "missing": missing, "exhausted": exhausted, "paused": reply.paused}

    async def _begin(self, tokens: Sequence[str], asker: Asker, limit: int | None) -> AskReply:
        reply = await self._threads.write(
            self._storage.begin_ask, self.header.key, tokens, asker, limit=limit, suggests=False
        )
        self._suggesting.wake()
        return reply

    async def _wait(
        self, listener: Listener, tokens: list[str], asker: Asker, wanted: models.Ask, go_on: GoOn
    ) -> tuple[int, bool]:
        """Wait for trials; return how many are missing, and whether there will be no others."""
        deadline, renewal = time.monotonic() + wanted.wait, 0.0
        renews = RENEW if wanted.limit is None else RENEW_LIMITED
        woken, beyond = False, 0  # tokens beyond the limit
        await self.watch.ready()
        while listener.missing:
            now = time.monotonic()
            if woken or now >= renewal:
                reply = await self._begin(tokens, asker, wanted.limit)
                listener.note(reply.claimed)
                renewal, beyond = now + renews, len(listener.missing) - reply.missing
            if len(listener.missing) == beyond:
                break
            if self._suggesting.exhausted:
                return await self._none_left(listener, asker)
            if now >= deadline or self._suggesting.broken or not go_on():
                break
            woken = await listener.news(min(LOOK, max(deadline - now, 0.0)))
        return len(listener.missing) - beyond, False

    async def _none_left(self, listener: Listener, asker: Asker) -> tuple[int, bool]:
        """Withdraw the tickets of a space that has no more configurations."""
        await self._threads.write(self._storage.withdraw, self.header.key, sorted(listener.missing), asker)
        return 0, True

    def _refuse_broken(self, missing: int, records: Mapping[str, TrialRecord]) -> None:
        if missing and not records and self._suggesting.broken:
            raise Refused(
                503, "SuggestingFailed",
                f"study {self.header.name!r} cannot suggest trials: {self._suggesting.broken}",
                "see the log of the server; other studies go on. It is tried again", Retry_After="10",
            )  # fmt: skip

    async def withdraw(self, given_up: models.Withdraw, worker: str) -> None:
        """Undo an ask."""
        asker = Asker(worker, SUGGESTER_LEASE, None)
        await self._threads.write(self._storage.withdraw, self.header.key, given_up.tokens, asker)
        self.watch.news()

    # telling

    async def tell(self, told: models.Tell) -> dict[str, Any]:
        """Record a result; it is on disk afterwards."""
        key = TrialKey(told.trial, told.token)
        if told.token is not None:
            self._workers.told(told.token, told.worker)
        outcome = await self._outcome(told, key)
        attributes = checks.attributes(told.attributes)
        row = None
        if told.params is not None and told.token is not None:  # the library's own rule for a lost ask
            row = pack_row(self.space.codec.row(self._params(told.params)))
        record = await self._threads.write(self._storage.tell, self.header.key, key, outcome, attributes, row=row)
        self.watch.news()
        return self._document(record)

    async def _outcome(self, told: models.Tell, key: TrialKey) -> Outcome:
        extras = {name: from_wire(getattr(told, name)) for name in telling.EXTRAS}
        value = from_wire(told.value)
        if not told.stopped:
            return telling.outcome(self.space, value, told.failed, extras, self.objectives)
        telling.nothing_else(value, told.failed, extras)
        predicted = checks.predicted(told.mean, told.std)
        if predicted is None and not self.objectives.several:
            predicted = await self._predicted(key)
        return stopped(*(predicted or ()))

    async def _predicted(self, key: TrialKey) -> tuple[float, float] | None:
        try:
            said = await self._analyse("stopped", number=key.number, token=key.token)
        except Refused:  # the result counts more than what it would have been
            return None
        return checks.predicted(said["mean"], said["std"])

    async def report(self, reported: models.Report) -> dict[str, Any]:
        """Add to a learning curve; say whether to stop the trial if the client wants to know."""
        key = TrialKey(reported.trial, reported.token)
        points = [(step, from_wire(value)) for step, value in reported.reports]
        if reported.token is not None:
            self._workers.works(reported.token, None)
        number = await self._threads.write(self._storage.report, self.header.key, key, points)
        self.watch.news()
        should_stop = False
        if reported.decide and number is not None:
            should_stop = (await self._analyse("should_stop", number=number))["should_stop"]
        return {"trial": number, "should_stop": should_stop}

    async def heartbeat(self, beat: models.Heartbeat) -> None:
        """Extend leases."""
        for token in beat.tokens:
            self._workers.works(token, beat.worker)
        if beat.tokens:
            await self._threads.write(self._storage.heartbeat, self.header.key, beat.tokens, beat.lease)

    async def release(self, named: models.TrialNames) -> None:
        """Give trials back to the queue."""
        await self._threads.write(self._storage.release, self.header.key, _keys(named))
        self.watch.news()

    async def cancel(self, named: models.TrialNames) -> None:
        """Cancel trials."""
        await self._threads.write(self._storage.cancel, self.header.key, _keys(named))
        self.watch.news()

    async def enqueue(self, wanted: models.Enqueue) -> list[int]:
        """Queue configurations."""
        rows = [pack_row(self.space.row(self._params(params))) for params in wanted.params]
        attributes = checks.attributes(wanted.attributes)
        numbers: list[int] = await self._threads.write(
            self._storage.enqueue, self.header.key, rows, attributes, tokens=wanted.tokens
        )
        self.watch.news()
        return numbers

    async def set_paused(self, paused: bool) -> None:
        """Pause the study, or resume it."""
        await self._threads.write(self._storage.set_paused, self.header.key, paused)
        self.watch.wake_all()
        self._suggesting.wake()

    async def set_note(self, note: models.Note) -> None:
        """Replace a note."""
        await self._threads.write(self._storage.set_note, self.header.key, checks.note(note.text), note.trial)

    async def notes(self) -> dict[str, Any]:
        """Return all notes."""
        found = await self._threads.read(self._storage.notes, self.header.key)
        own = found.pop(None, "")
        return {"study": own, "trials": {str(number): text for number, text in found.items()}}

    async def add(self, new: models.Add) -> list[int]:
        """Add finished trials, all or none."""
        numbers = await self._threads.write_alone(self._add, new)
        self.watch.news()
        return numbers

    def _add(self, new: models.Add) -> list[int]:
        unfinished = [place for place, entry in enumerate(new.trials) if _is_unfinished(entry)]
        if unfinished:
            raise OptionError(
                f"trials[{unfinished[0]}] has no result (its state is {new.trials[unfinished[0]]['state']}); "
                "add finished trials only, and put others in the queue with enqueue"
            )
        entries = [{name: _told(name, value) for name, value in entry.items()} for entry in new.trials]
        read = telling.imported(self.space, entries, self.objectives)
        numbers = self._storage.add(self.header.key, [each.trial for each in read], tokens=new.tokens)
        for number, each in zip(numbers, read, strict=True):
            if each.curve:
                self._storage.report(self.header.key, TrialKey(number), each.curve)
        return numbers

    # reading

    async def trial(self, number: int) -> dict[str, Any]:
        """Return one trial."""
        return self._document(await self._threads.read(self._storage.record, self.header.key, number))

    async def trials(self, since: int, limit: int) -> dict[str, Any]:
        """Return a page of the trials changed after a revision."""
        page = await self._threads.read(self._storage.page, self.header.key, since, limit)
        documents = [self._document(record) | {"revision": revision} for revision, record in page.changed]
        return {"revision": page.revision, "trials": documents, "more": page.more}

    async def reports(self, since: int) -> dict[str, Any]:
        """Return what was reported after a revision."""
        revision, reports = await self._threads.read(self._storage.reports, self.header.key, since)
        return {"revision": revision, "reports": to_wire(reports)}

    async def best(self) -> dict[str, Any]:
        """Return the best trial."""
        if self.objectives.several:
            raise Refused(
                409, "OptionError", f"study {self.header.name!r} has several objectives and so no best trial",
                "read its trials, and take those that no other one dominates: sonde.connect(...).pareto_front",
            )  # fmt: skip
        found = await self._analyse("best")
        if found["trial"] is None:
            raise Refused(404, "NoResult", found["reason"], "tell results first")
        trial: dict[str, Any] = found["trial"]
        return trial

    async def events(self, since: int | None, go_on: GoOn) -> AsyncIterator[bytes]:
        """Return the changes after a revision (None: from now on), and then those to come, as server-sent events."""
        with self.watch.stream() as listener:
            await self.watch.ready()
            revision = self.watch.revision if since is None else since
            yield b": connected\n\n"
            quiet = time.monotonic()
            while go_on():
                await self.watch.ready()  # raises if the study was deleted
                change = await self.watch.after(revision)
                if change.revision > revision:
                    yield self._told_events(change)
                    revision, quiet = change.revision, time.monotonic()
                elif time.monotonic() - quiet > KEEP_ALIVE:
                    yield b": nothing new\n\n"
                    quiet = time.monotonic()
                await listener.news(LOOK)

    def _told_events(self, change: Change) -> bytes:
        """Return a change as events. Only the last has the id: a reader that missed some reads all again."""
        lines = []
        for record in change.records:
            told = self._document(record)
            data = {"number": record.number, "state": told["state"], "value": told["value"],
                    "revision": change.revision}  # fmt: skip
            lines.append(b"event: trial\ndata: " + dumps(data) + b"\n")
        if not lines:  # only reports are new
            return b"id: %d\n\n" % change.revision
        return b"\n".join(lines) + b"id: %d\n\n" % change.revision

    # parts

    @cached_property
    def _importer(self) -> telling.Importer:
        return telling.Importer(self.space)

    def _params(self, params: Mapping[str, Any]) -> Any:
        """Return parameters with the choices that JSON shows in a plain form."""
        read = self._importer.read({"params": params})
        return params if read is None else read["params"]

    def _document(self, record: TrialRecord) -> dict[str, Any]:
        data: dict[str, Any] = to_wire(trial_document(record, self.space, self.header.key, self.objectives))
        return data

    async def _child(self) -> Child:
        assert self._storage.url is not None
        return await Child.start(self._storage.url, self.header.name)

    async def _analyse(self, command: str, **arguments: Any) -> dict[str, Any]:
        """Have a child process compute: models are fitted there, not on the threads of requests."""
        if self._analyst is None:
            self._analyst = asyncio.create_task(self._child())
        child = await self._analyst
        try:
            return await child.call(command, **arguments)
        except ChildFailed as error:
            if child.ended:
                self._analyst = None
            raise Refused(503, "ComputingFailed", str(error), "try again; see the log of the server") from None


def _keys(named: models.TrialNames) -> list[TrialKey]:
    return [TrialKey(one.trial, one.token) for one in named.trials]


def _is_unfinished(entry: Mapping[str, Any]) -> bool:
    state = entry.get("state")
    return state in list(State) and not State(state).finished


def _told(name: str, value: Any) -> Any:
    return from_wire(value) if name in ("value", "mean", "std", *telling.EXTRAS) else value
