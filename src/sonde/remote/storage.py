"""The storage interface over HTTP: records are documents on the way (``sonde.study.export`` and ``telling``)."""

from __future__ import annotations

import json
import math
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

from sonde.remote.client import PATIENCE, Client
from sonde.space import Space
from sonde.storage import Asker, AskReply, Storage, StudyHeader, StudyStatus, StudySummary, rules
from sonde.storage.port import FinishedTrial, Page
from sonde.study import export, telling
from sonde.trials import Changes, Outcome, State, TrialKey, TrialRecord
from sonde.trials.objectives import Objectives
from sonde.trials.trial import columns, unpack_row

_WAIT = 20.0  # seconds that the service may wait for a suggestion before it answers that there is none yet
_PAGE = 1000  # trials in an answer
_LARGEST = 2**31 - 1  # number of a trial


@dataclass(frozen=True)
class _Study:
    """A study of the service."""

    name: str
    key: str
    importer: telling.Importer
    objectives: Objectives

    @property
    def space(self) -> Space:
        return self.importer.space

    @property
    def path(self) -> str:
        return _path(self.name)

    def record(self, document: Mapping[str, Any]) -> TrialRecord:
        """Return the record that a document shows."""
        return telling.to_record(self.importer, document, self.objectives)

    def params(self, row: bytes) -> dict[str, Any]:
        """Return a row as the parameters of a document."""
        return export.configuration(self.space.codec.configuration(unpack_row(row, 0, len(self.space))), self.space)

    def told(self, outcome: Outcome) -> dict[str, Any]:
        """Return an outcome as the arguments of a tell."""
        return export.told(outcome, self.space, self.objectives)


class RemoteStorage(Storage):
    """The studies of a service (``sonde serve``) at a URL.

    Parameters
    ----------
    url
        ``"http://host:8080"`` or ``"https://host"``.
    token
        What ``sonde token create`` printed; the default is ``SONDE_TOKEN`` in the environment.
    ca
        File of the certificate authority, if it is one of your own; ``REQUESTS_CA_BUNDLE`` in the environment.
    patience
        Seconds that a call goes on while the service does not answer. It is shorter before the first answer.
    idle
        Seconds without a trial after which asks are given up, as if the space had no more.
    """

    suggests_by_itself = True

    def __init__(
        self, url: str, token: str | None = None, *, ca: str | None = None, patience: float = PATIENCE,
        idle: float = math.inf,
    ) -> None:  # fmt: skip
        self._client = Client(url, token, ca=ca, patience=patience)
        self.url: str = self._client.url
        self._studies: dict[str, _Study] = {}  # by key
        self._limits: dict[str, int | None] = {}  # of askers, in their last asks
        self._paused: set[str] = set()  # studies that were paused in the last ask
        self._exhausted: set[str] = set()  # tokens of asks that will get no trial
        self._idle, self._busy = idle, time.monotonic()  # when a trial was last there

    def __repr__(self) -> str:
        return f"RemoteStorage({self.url!r})"

    @property
    def patience(self) -> float:
        """Seconds that a call goes on while the service does not answer."""
        return self._client.patience

    @patience.setter
    def patience(self, seconds: float) -> None:
        self._client.patience = seconds

    def now(self) -> float:
        """Return the time of this machine: it is for people."""
        return time.time()

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    # studies

    def create_study(self, header: StudyHeader) -> StudyHeader:
        """As in the interface; the same settings again find the study."""
        body = {"name": header.name, "space": json.loads(header.space), "direction": header.direction,
                "seed": header.seed, "strategy": header.strategy, "key": header.key or uuid.uuid4().hex}  # fmt: skip
        return self._noted(self._client.request("POST", "/v1/studies", body))

    def find_study(self, name: str) -> StudyHeader:
        """As in the interface."""
        return self._noted(self._client.request("GET", _path(name)))

    def studies(self, name: str | None = None) -> list[StudySummary]:
        """As in the interface; the headers have no space."""
        return [
            StudySummary(
                _header(one),
                {State(state): count for state, count in one["counts"].items()},
                one["best"],
                one.get("paused", False),
            )
            for one in self._client.request("GET", "/v1/studies")
            if name in (None, one["name"])
        ]

    def delete_study(self, name: str) -> None:
        """As in the interface."""
        self._client.request("DELETE", _path(name))

    def status(self, study: str) -> StudyStatus:
        """As in the interface."""
        told = self._client.request("GET", self._known(study).path, study=study)
        return StudyStatus(told.get("paused", False), **told.get("suggesting", {}))

    def set_paused(self, study: str, paused: bool) -> None:
        """As in the interface."""
        self._post(study, "pause" if paused else "resume")

    def notes(self, study: str) -> dict[int | None, str]:
        """As in the interface."""
        told = self._client.request("GET", f"{self._known(study).path}/notes", study=study)
        own: dict[int | None, str] = {None: told["study"]} if told["study"] else {}
        return own | {int(number): text for number, text in told["trials"].items()}

    def set_note(self, study: str, text: str, number: int | None = None) -> None:
        """As in the interface."""
        self._post(study, "note", text=text, trial=number)

    # reading

    def changes(self, study: str, since: int) -> Changes:
        """As in the interface."""
        own = self._known(study)
        revision, documents = self._changed(own, since)
        return Changes(revision, [columns(own.record(document), document["revision"]) for document in documents])

    def records(self, study: str, since: int) -> tuple[int, list[TrialRecord]]:
        """As in the interface."""
        own = self._known(study)
        revision, documents = self._changed(own, since)
        return revision, [own.record(document) for document in documents]

    def page(self, study: str, since: int, limit: int) -> Page:
        """As in the interface."""
        own = self._known(study)
        told = self._page(own, since, limit)
        changed = [(document["revision"], own.record(document)) for document in told["trials"]]
        return Page(told["revision"], changed, told["more"])

    def record(self, study: str, number: int) -> TrialRecord:
        """As in the interface."""
        own = self._known(study)
        if not 0 <= number <= _LARGEST:
            raise rules.unknown_trial(own.name, TrialKey(number))
        return own.record(self._client.request("GET", f"{own.path}/trials/{number}", study=study))

    # asking

    def begin_ask(
        self, study: str, tokens: Sequence[str], asker: Asker, *, since: int = 0, limit: int | None = None,
        suggests: bool = True, ahead: int = 0,
    ) -> AskReply:  # fmt: skip
        """As in the interface, but the service suggests: the asker waits for it, unless ``suggests`` is False."""
        if not tokens:
            return AskReply(())
        self._limits[asker.name] = limit
        waits = suggests and study not in self._paused
        claimed, missing, paused = self._ask(study, tokens, asker, wait=_WAIT if waits else 0.0)
        if claimed:
            self._busy = time.monotonic()
        idle = time.monotonic() - self._busy > self._idle
        if missing and (idle or not self._exhausted.isdisjoint(tokens)):
            given = {record.token for record in claimed}
            self.withdraw(study, [token for token in tokens if token not in given], asker)
            missing = 0
        if not missing:
            self._exhausted.difference_update(tokens)
        return AskReply(claimed, missing, paused=paused)

    def wait(self, study: str, tokens: Sequence[str], asker: Asker, seconds: float) -> None:
        """As in the interface; what comes is there for the next ``begin_ask``."""
        if tokens:
            self._ask(study, tokens, asker, wait=min(seconds, _WAIT))

    def _ask(
        self, study: str, tokens: Sequence[str], asker: Asker, *, wait: float
    ) -> tuple[list[TrialRecord], int, bool]:
        """Return the trials of these tokens after ``wait`` seconds, how many will follow, and whether after a pause."""
        own = self._known(study)
        body = {"tokens": list(tokens), "worker": asker.name, "lease": asker.lease, "wait": wait,
                "limit": self._limits.get(asker.name)}  # fmt: skip
        answer = self._client.request("POST", f"{own.path}/ask", body, study=study, wait=wait)
        paused = answer.get("paused", False)
        (self._paused.add if paused else self._paused.discard)(study)
        if answer["exhausted"]:
            self._exhausted.update(tokens)
        return [own.record(document) for document in answer["trials"]], answer["missing"], paused

    def renew_suggester_lease(self, study: str, asker: Asker) -> bool:
        """Return False: only the service suggests."""
        return False

    def end_suggester_lease(self, study: str, suggester: str) -> None:
        """Do nothing: the service sees to its suggester."""

    def finish_ask(
        self, study: str, reply: AskReply, rows: Sequence[bytes], tokens: Sequence[str], asker: Asker
    ) -> list[TrialRecord] | None:
        """Return None: only the service suggests."""
        return None

    def withdraw(self, study: str, tokens: Sequence[str], asker: Asker) -> None:
        """As in the interface."""
        if tokens:
            self._post(study, "withdraw", tokens=list(tokens), worker=asker.name)

    def enqueue(
        self, study: str, rows: Sequence[bytes], attributes: Mapping[str, Any], *, tokens: Sequence[str] | None = None
    ) -> list[int]:
        """As in the interface."""
        own, drawn = self._known(study), rules.tokens_for(len(rows), tokens)
        params = [own.params(row) for row in rows]
        return self._numbers(study, "enqueue", params=params, attributes=export.finite(attributes), tokens=drawn)

    def add(self, study: str, trials: Iterable[FinishedTrial], *, tokens: Sequence[str] | None = None) -> list[int]:
        """As in the interface."""
        own = self._known(study)
        documents = [
            {"params": own.params(row), "attributes": export.finite(attributes), **_finished(own.told(outcome))}
            for row, outcome, attributes in trials
        ]
        return self._numbers(study, "add", trials=documents, tokens=rules.tokens_for(len(documents), tokens))

    # finishing

    def tell(
        self, study: str, trial: TrialKey, outcome: Outcome, attributes: Mapping[str, Any], *, row: bytes | None = None
    ) -> TrialRecord:
        """As in the interface."""
        own = self._known(study)
        self._busy = time.monotonic()
        if not 0 <= trial.number <= _LARGEST:
            raise rules.unknown_trial(own.name, trial)
        params = {} if row is None else {"params": own.params(row)}
        told = {**own.told(outcome), "attributes": export.finite(attributes), **params}
        return own.record(self._post(study, "tell", trial=trial.number, token=trial.token, **told))

    def heartbeat(self, study: str, tokens: Sequence[str], lease: float) -> None:
        """As in the interface."""
        self._post(study, "heartbeat", tokens=list(tokens), lease=lease)

    def release(self, study: str, trials: Sequence[TrialKey]) -> None:
        """As in the interface."""
        self._post(study, "release", trials=_named(trials))

    def cancel(self, study: str, trials: Sequence[TrialKey]) -> None:
        """As in the interface."""
        self._post(study, "cancel", trials=_named(trials))

    # learning curves

    def report(self, study: str, trial: TrialKey, reports: Sequence[tuple[float, float]]) -> int | None:
        """As in the interface."""
        points = [[step, export.finite(value)] for step, value in reports]
        number: int | None = self._post(study, "report", **_named([trial])[0], reports=points)["trial"]
        return number

    def reports(self, study: str, since: int) -> tuple[int, list[tuple[int, float, float]]]:
        """As in the interface."""
        own = self._known(study)
        answer = self._client.request("GET", f"{own.path}/reports", study=study, since=since)
        return answer["revision"], [(number, step, float(value)) for number, step, value in answer["reports"]]

    # parts

    def _post(self, study: str, what: str, **body: Any) -> Any:
        return self._client.request("POST", f"{self._known(study).path}/{what}", body, study=study)

    def _numbers(self, study: str, what: str, **body: Any) -> list[int]:
        numbers: list[int] = self._post(study, what, **body)["numbers"]
        return numbers

    def _changed(self, own: _Study, since: int) -> tuple[int, list[dict[str, Any]]]:
        """Return the newest revision, and the documents of the trials changed after ``since``, by number."""
        newest: dict[int, dict[str, Any]] = {}
        revision = since
        for page in self._pages(own, since):
            newest |= {document["number"]: document for document in page["trials"]}
            revision = page["revision"]
        return revision, [newest[number] for number in sorted(newest)]

    def _pages(self, own: _Study, since: int) -> Iterator[dict[str, Any]]:
        more = True
        while more:
            page = self._page(own, since, _PAGE)
            yield page
            since, more = page["revision"], page["more"]

    def _page(self, own: _Study, since: int, limit: int) -> dict[str, Any]:
        page: dict[str, Any] = self._client.request(
            "GET", f"{own.path}/trials", study=own.key, since=since, limit=limit
        )
        return page

    def _known(self, study: str) -> _Study:
        """Return the study with this key; raise ``StudyNotFound``."""
        if study not in self._studies:
            names = [one.header.name for one in self.studies() if one.header.key == study]
            if not names or self.find_study(names[0]).key != study:
                raise rules.study_deleted()
        return self._studies[study]

    def _noted(self, told: Mapping[str, Any]) -> StudyHeader:
        """Return a header, and remember its study."""
        header = _header(told)
        importer = telling.Importer(Space.from_json(header.space))
        self._studies[header.key] = _Study(header.name, header.key, importer, Objectives.from_text(header.direction))
        return header


def _path(name: str) -> str:
    return f"/v1/studies/{quote(name, safe='').replace('.', '%2E')}"  # clients and proxies would resolve ".."


def _header(told: Mapping[str, Any]) -> StudyHeader:
    created = datetime.fromisoformat(told["created"]).timestamp()
    return StudyHeader(told["name"], json.dumps(told.get("space", {})), told["direction"], told["seed"],
                       told["strategy"], created, told["key"])  # fmt: skip


def _named(trials: Sequence[TrialKey]) -> list[dict[str, Any]]:
    return [{"trial": trial.number, "token": trial.token} for trial in trials]


def _finished(told: dict[str, Any]) -> dict[str, Any]:
    """Return what was told as a document of a finished trial."""
    if "failed" in told:
        return told
    if "stopped" in told:
        return {"state": State.STOPPED.value, "mean": told["mean"], "std": told["std"]}
    return {"state": State.COMPLETED.value, **told}
