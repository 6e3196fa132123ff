"""The routes of the interface. Each checks the role, finds the study, and has it do the work."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any
from urllib.parse import unquote

from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response, Security
from fastapi.responses import StreamingResponse
from fastapi.security import HTTPBearer

from sonde.server import models
from sonde.server.hosted import Hosted
from sonde.server.service import Service
from sonde.server.tokens import Role, Token
from sonde.server.wire import Refused, dumps
from sonde.storage.rules import study_deleted

BEARER = HTTPBearer(auto_error=False, description="a token of the service: sonde token create NAME --role work")


def needs(role: Role) -> Callable[[Request], Awaitable[None]]:
    """Return a check that a request's token has a role; it is async, because others run in a thread each time."""

    async def check(request: Request) -> None:
        token: Token = request.state.token
        if token.role < role:
            raise Refused(403, "Forbidden", f"the token {token.name!r} may {token.role.name.lower()} only",
                          f"use a token with the role {role.name.lower()}")  # fmt: skip

    return check


def _router(role: Role) -> APIRouter:
    described = {status: {"model": models.Problem} for status in (400, 401, 403, 404, 409, 413, 422, 429, 503)}
    return APIRouter(dependencies=[Security(BEARER), Depends(needs(role))], responses=described)  # type: ignore[arg-type]


public, reading, working, managing = APIRouter(), _router(Role.READ), _router(Role.WORK), _router(Role.ADMIN)

STUDY = "/v1/studies/{name}"
Name = Annotated[str, Path(max_length=6000, examples=["cnn"])]  # encoded: up to twelve characters for each
Since = Annotated[int, Query(ge=0, lt=2**62)]


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


async def _named(name: Name) -> str:
    """Return the name of a study; the guard leaves paths encoded, so that it may hold a slash."""
    return unquote(name)


Named = Annotated[str, Depends(_named)]


async def _study(name: Named, request: Request, sonde_study: Annotated[str | None, Header()] = None) -> Hosted:
    """Return a study. The client may know its key: one of the same name may have been deleted."""
    hosted = await _service(request).study(name)
    if sonde_study not in (None, hosted.header.key):
        raise study_deleted()
    return hosted


Own = Annotated[Hosted, Depends(_study)]


def _worker(request: Request, worker: str | None) -> str:
    """Return the worker's name; by default that of its token."""
    token: Token = request.state.token
    return worker or token.name


def _json(data: Any, status: int = 200) -> Response:
    return Response(dumps(data), status, media_type="application/json")


def _goes_on(request: Request) -> Callable[[], bool]:
    service, token = _service(request), request.state.token
    return lambda: service.admits(token)


# the service


@public.get("/health", response_model=models.Status, responses={503: {"model": models.Problem}})
async def health(request: Request) -> Response:
    """Whether the service works and reaches its database."""
    await _service(request).check()
    return _json({"status": "ok"})


@reading.get("/metrics", response_class=Response)
async def metrics(request: Request) -> Response:
    """Metrics for Prometheus."""
    return Response(await _service(request).measured(), media_type="text/plain; version=0.0.4; charset=utf-8")


# studies


@reading.get("/v1/studies", response_model=list[models.StudyInList])
async def studies(request: Request) -> Response:
    """All studies."""
    return _json(await _service(request).summaries())


@managing.post(
    "/v1/studies", response_model=models.Study, status_code=201, responses={200: {"model": models.Study}}
)  # fmt: skip
async def create(new: models.NewStudy, request: Request) -> Response:
    """Create a study, or find the one with the same settings."""
    header, created = await _service(request).create(new)
    return _json(await _service(request).summary(header.name), 201 if created else 200)


@reading.get(STUDY, response_model=models.Study)
async def study(name: Named, request: Request) -> Response:
    """Return the settings of a study, with its trials counted."""
    return _json(await _service(request).summary(name))


@managing.delete(STUDY, status_code=204, response_class=Response)
async def delete(name: Named, request: Request) -> Response:
    """Delete a study and its trials."""
    await _service(request).delete(name)
    return Response(status_code=204)


# working


@working.post(STUDY + "/ask", response_model=models.Asked)
async def ask(own: Own, wanted: models.Ask, request: Request) -> Response:
    """Take trials to run; wait for them if none is there."""
    _service(request).refuse_beyond_limit("waiting")
    with _service(request).counted("waiting"):
        return _json(await own.ask(wanted, _worker(request, wanted.worker), _goes_on(request)))


@working.post(STUDY + "/withdraw", response_model=models.Nothing)
async def withdraw(own: Own, given_up: models.Withdraw, request: Request) -> Response:
    """Give up an ask."""
    await own.withdraw(given_up, _worker(request, given_up.worker))
    return _json({})


@working.post(STUDY + "/tell", response_model=models.Trial)
async def tell(own: Own, told: models.Tell) -> Response:
    """Record a result. It is on disk when the answer comes; repeating it changes nothing."""
    return _json(await own.tell(told))


@working.post(STUDY + "/report", response_model=models.Reported)
async def report(own: Own, reported: models.Report) -> Response:
    """Add to the learning curve of a trial."""
    return _json(await own.report(reported))


@working.post(STUDY + "/heartbeat", response_model=models.Nothing)
async def heartbeat(own: Own, beat: models.Heartbeat) -> Response:
    """Extend the leases of running trials."""
    await own.heartbeat(beat)
    return _json({})


@working.post(STUDY + "/release", response_model=models.Nothing)
async def release(own: Own, named: models.TrialNames) -> Response:
    """Give running trials back to the queue."""
    await own.release(named)
    return _json({})


@working.post(STUDY + "/cancel", response_model=models.Nothing)
async def cancel(own: Own, named: models.TrialNames) -> Response:
    """Cancel waiting or running trials."""
    await own.cancel(named)
    return _json({})


@working.post(STUDY + "/enqueue", response_model=models.Numbers)
async def enqueue(own: Own, wanted: models.Enqueue) -> Response:
    """Queue configurations to run before any suggestion."""
    return _json({"numbers": await own.enqueue(wanted)})


@working.post(STUDY + "/pause", response_model=models.Nothing)
async def pause(own: Own) -> Response:
    """Have nothing begin until the study is resumed; running trials end."""
    await own.set_paused(True)
    return _json({})


@working.post(STUDY + "/resume", response_model=models.Nothing)
async def resume(own: Own) -> Response:
    """End a pause."""
    await own.set_paused(False)
    return _json({})


@working.post(STUDY + "/note", response_model=models.Nothing)
async def set_note(own: Own, note: models.Note) -> Response:
    """Replace the note of the study, or of a trial."""
    await own.set_note(note)
    return _json({})


@working.post(STUDY + "/add", response_model=models.Numbers)
async def add(own: Own, new: models.Add) -> Response:
    """Add finished trials of another source."""
    return _json({"numbers": await own.add(new)})


# reading


@reading.get(STUDY + "/trials", response_model=models.Trials)
async def trials(
    own: Own, since: Since = 0, limit: Annotated[int, Query(ge=1, le=models.MAX_TRIALS)] = 1000
) -> Response:
    """Return the trials changed after a revision; about as many as the limit says."""
    return _json(await own.trials(since, limit))


@reading.get(STUDY + "/trials/{number}", response_model=models.Trial)
async def trial(own: Own, number: Annotated[int, Path(ge=0, le=models.BIGGEST)]) -> Response:
    """Return one trial."""
    return _json(await own.trial(number))


@reading.get(STUDY + "/reports", response_model=models.Reports)
async def reports(own: Own, since: Since = 0) -> Response:
    """Return what was reported after a revision: number of the trial, step, value."""
    return _json(await own.reports(since))


@reading.get(STUDY + "/notes", response_model=models.Notes)
async def notes(own: Own) -> Response:
    """Return the notes of the study and of its trials."""
    return _json(await own.notes())


@reading.get(STUDY + "/best", response_model=models.Trial)
async def best(own: Own) -> Response:
    """Return the best trial; where values are noisy, by the model."""
    return _json(await own.best())


@reading.get(
    STUDY + "/events", response_class=StreamingResponse, responses={200: {"content": {"text/event-stream": {}}}}
)  # fmt: skip
async def events(
    own: Own, request: Request, since: Since | None = None,
    last_event_id: Annotated[str | None, Header(pattern="^[0-9]{1,18}$")] = None,
) -> Response:  # fmt: skip
    """Stream every change of a trial, from now on or from a revision; Last-Event-ID resumes."""
    start = since if last_event_id is None else int(last_event_id)
    service, goes_on = _service(request), _goes_on(request)
    service.refuse_beyond_limit("streams")

    async def stream() -> Any:
        with service.counted("streams"):
            async for part in own.events(start, goes_on):
                yield part

    return StreamingResponse(stream(), media_type="text/event-stream", headers={"cache-control": "no-store"})
