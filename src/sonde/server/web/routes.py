"""The routes of the dashboard: its files, its sessions, and what it shows of a study beyond what workers read."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from functools import partial
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from sonde.server import models
from sonde.server.routes import STUDY, Own, needs
from sonde.server.service import Service
from sonde.server.tokens import Role, Token
from sonde.server.web import assets, curves, rows, sessions, trial_logs
from sonde.server.web.board import Board, whole
from sonde.server.web.query import Query as TableQuery
from sonde.server.wire import Refused, dumps

T = TypeVar("T")

pages = APIRouter(include_in_schema=False)
shown = APIRouter(dependencies=[Depends(needs(Role.READ))])

Tag = Annotated[str | None, Header(alias="if-none-match")]
Number = Annotated[int, Path(ge=0, le=models.BIGGEST)]


def _board(request: Request) -> Board:
    board: Board = request.app.state.board
    return board


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


def _json(data: Any, headers: dict[str, str] | None = None) -> Response:
    return Response(dumps(data), headers={"cache-control": "no-store"} | (headers or {}), media_type="application/json")


# files


@pages.get("/")
async def index(request: Request, known: Tag = None) -> Response:
    """The page: everything else is loaded by it."""
    _board(request).figures.prepare()
    return assets.files()["index.html"].response(known)


@pages.get("/ui/plotly.js")
async def plotly(request: Request, known: Tag = None, accept_encoding: Annotated[str, Header()] = "") -> Response:
    """Plotly's script."""
    if assets.plotly_version() is None:
        raise Refused(404, "MissingExtra", "plotly is not installed", "get it with: pip install 'sonde[plots]'")
    script = await _board(request).run(partial(assets.plotly, compressed="gzip" in accept_encoding))
    return script.response(known)


@pages.get("/ui/theme.json")
async def theme(known: Tag = None) -> Response:
    """The colours of figures, light and dark."""
    return assets.theme().response(known)


# sessions


class Login(BaseModel):
    """A token to begin a session with."""

    model_config = ConfigDict(strict=True, extra="forbid")
    token: Annotated[str, Field(min_length=1, max_length=500)]


@pages.post("/ui/login")
async def login(told: Login, request: Request) -> Response:
    """Begin a session: the cookie carries the token."""
    board, address = _board(request), request.client.host if request.client else "?"
    board.wrong_logins.check(address)
    try:
        token = await _service(request).token(told.token)
    except Refused:
        board.wrong_logins.note(address)
        raise Refused(401, "Unauthorized", "the token is unknown, expired or revoked",
                      "an admin makes tokens with: sonde token create NAME --role work") from None  # fmt: skip
    return _json(_session(token, told.token, board), {"set-cookie": sessions.cookie(board.settings, told.token)})


@pages.post("/ui/logout")
async def logout(request: Request) -> Response:
    """End the session of this browser."""
    return _json({}, {"set-cookie": sessions.cookie(_board(request).settings, "")})


@pages.get("/ui/session")
async def session(request: Request) -> Response:
    """Who is logged in, and what its requests that write must carry."""
    board = _board(request)
    secret = sessions.secret_of(request.headers.get("cookie"), board.settings)
    return _json(_session(request.state.token, secret or "", board))


def _session(token: Token, secret: str, board: Board) -> dict[str, Any]:
    return {"name": token.name, "role": token.role.name.lower(), "csrf": sessions.proof(secret) if secret else "",
            "login": board.settings.token, "plotly": assets.plotly_version(),
            "logs": board.settings.logs is not None}  # fmt: skip


# a study


def _query(
    sort: Annotated[str, Query(max_length=500)] = "number", order: Literal["asc", "desc"] = "desc",
    state: Annotated[list[str], Query(max_length=20)] = [], search: Annotated[str, Query(max_length=500)] = "",  # noqa: B006
    filter: Annotated[list[str], Query(max_length=20)] = [],  # noqa: B006
) -> TableQuery:  # fmt: skip
    return TableQuery(sort, order == "desc", state, search, filter)


Wanted = Annotated[TableQuery, Depends(_query)]


@shown.get(STUDY + "/table")
async def table(
    own: Own, wanted: Wanted, request: Request, offset: Annotated[int, Query(ge=0, le=models.BIGGEST)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
) -> Response:  # fmt: skip
    """Return some rows of the table of trials: filtered, sorted, by pages."""
    return _json(await _board(request).of(own.header, rows.page, wanted, offset, limit))


@shown.get(STUDY + "/trials.csv", response_class=StreamingResponse)
async def as_csv(own: Own, wanted: Wanted, request: Request) -> Response:
    """Return the rows of the table as CSV."""
    board = _board(request)
    columns = await board.of(own.header, whole)
    await board.run(wanted.numbers, columns)  # an error of the query is an answer, not the end of a stream
    headers = {"content-disposition": 'attachment; filename="trials.csv"', "x-content-type-options": "nosniff",
               "cache-control": "no-store"}  # fmt: skip
    parts = board.streamed(rows.csv_text(columns, wanted))
    return StreamingResponse(parts, media_type="text/csv; charset=utf-8", headers=headers)


@shown.get(STUDY + "/overview")
async def overview(own: Own, request: Request) -> Response:
    """Return counts, the best trial, pending trials, and failures by their reason."""
    return _json(await _board(request).of(own.header, rows.overview))


@shown.get(STUDY + "/spark")
async def spark(own: Own, request: Request) -> Response:
    """Return the best so far in a few points."""
    return _json(await _board(request).of(own.header, rows.spark))


@shown.get(STUDY + "/trials/{number}/log")
async def log(own: Own, number: Number, request: Request) -> Response:
    """Return the end of what the program of a trial has printed."""
    board, trial = _board(request), await own.trial(number)
    told = trial["attributes"].get("log")
    return _json(await board.run(trial_logs.read, board.settings.logs, own.header.name, number, told))


@shown.get(STUDY + "/trials/{number}/curve")
async def curve(own: Own, number: Number, request: Request) -> Response:
    """Return the learning curve of a trial."""
    board = _board(request)
    return _json(await board.run(curves.curve, board.database, own.header, number))


# figures


@shown.get(STUDY + "/explain")
async def explain(own: Own, request: Request) -> Response:
    """Return which strategy suggests, and why."""
    return _json(await _computed(own, request, "explain"))


@shown.get(STUDY + "/likely-best")
async def likely_best(own: Own, request: Request) -> Response:
    """Return the best trial by the model where values are noisy; where they are not, or there is none, null."""
    found = None if own.objectives.several else (await _computed(own, request, "best"))["trial"]
    return _json({"trial": found if found is not None and found["mean"] is not None else None})


@shown.get(STUDY + "/figures")
async def figures(own: Own, request: Request) -> Response:
    """Return the names, titles and options of the figures."""
    return _json(await _computed(own, request, "figures"))


@shown.get(STUDY + "/figures/{figure}")
async def figure(own: Own, figure: Annotated[str, Path(max_length=100)], request: Request) -> Response:
    """Return a figure as Plotly's JSON; further parameters of the address are options of the figure.

    The one called first is what the page of a study has on top.
    """
    said = await _computed(own, request, "figure", name=_name(figure, own), options=_options(request), data=False)
    return Response(said["figure"], media_type="application/json", headers={"cache-control": "no-store"})


@shown.get(STUDY + "/figures/{figure}/data")
async def numbers(own: Own, figure: Annotated[str, Path(max_length=100)], request: Request) -> Response:
    """Return the numbers of a figure."""
    said = await _computed(own, request, "figure", name=_name(figure, own), options=_options(request), data=True)
    return _json(said)


def _name(figure: str, own: Own) -> str:
    if figure != "first":
        return figure
    return "front" if own.objectives.several else "history"


def _options(request: Request) -> dict[str, str]:
    return dict(request.query_params)


async def _computed(own: Own, request: Request, command: str, **arguments: Any) -> dict[str, Any]:
    """Have the study's child compute, as long as the reader is there."""
    board = _board(request)
    revision = await board.revision(own.header)
    said = await _while_wanted(request, board.figures.answer(own.header, revision, command, **arguments))
    return {name: value for name, value in said.items() if name != "id"}


async def _while_wanted(request: Request, work: Awaitable[T]) -> T:
    """Return the result of some work; give it up when the reader has gone, or the server ends."""
    task = asyncio.ensure_future(work)
    ends = [asyncio.ensure_future(_disconnected(request)), asyncio.ensure_future(_service(request).drained.wait())]
    try:
        await asyncio.wait([task, *ends], return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise Refused(503, "Ended", "the reader has gone, or the server ends")
        return task.result()
    finally:
        for one in (task, *ends):
            one.cancel()


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


# any other file comes last


@pages.get("/ui/{name}")
async def file(name: str, known: Tag = None) -> Response:
    """A file of the pages."""
    found = assets.files().get(name)
    if found is None:
        raise Refused(404, "NotFound", "there is no such file")
    return found.response(known)
