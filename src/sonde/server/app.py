"""Assembles the application: routes, errors, guard."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import unquote

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from sonde import errors
from sonde.server.guard import Guard
from sonde.server.routes import managing, public, reading, working
from sonde.server.service import Service
from sonde.server.web.board import Board
from sonde.server.web.routes import pages, shown
from sonde.server.wire import Refused, dumps, error_document
from sonde.version import __version__

STATUS: tuple[tuple[type[Exception], int], ...] = (  # the first that fits
    (errors.UnknownTrial, 404),
    (errors.StudyNotFound, 404),
    (errors.NoResult, 404),
    (errors.IllegalTransition, 409),
    (errors.ConflictingResult, 409),
    (errors.StudyExists, 409),
    (errors.StudyMismatch, 409),
    (errors.SpaceExhausted, 409),
    (errors.StorageError, 503),
    (errors.SondeError, 422),
)

_log = logging.getLogger("sonde.server")


def application(service: Service) -> Guard:
    """Return the application of a service."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await service.begin()
        yield
        await app.state.board.close()
        await service.end()

    app = FastAPI(
        title="Sonde", version=__version__, docs_url=None, redoc_url=None, lifespan=lifespan,
        description="Ask for trials, tell their results, and watch a study.",
    )  # fmt: skip
    app.state.service, app.state.board = service, Board(service.settings)
    for router in (public, pages, reading, shown, working, managing):
        app.include_router(router)
    app.add_exception_handler(errors.SondeError, _sonde_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _unexpected)
    return Guard(app, service)


async def _sonde_error(request: Request, error: Exception) -> Response:
    if isinstance(error, Refused):
        return _json(error.document(), error.status, error.headers)
    if isinstance(error, errors.StudyNotFound) and "name" in request.path_params:
        await request.app.state.service.forget(unquote(request.path_params["name"]))
    status = next(status for kind, status in STATUS if isinstance(error, kind))
    if status == 503:
        _log.error("%s", error)
    return _json(error_document(error), status)


async def _invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    found = error.errors()
    malformed = any(one["type"] == "json_invalid" for one in found)
    wrong = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in found[:5])
    said = {"error": "BadRequest" if malformed else "InvalidRequest", "message": wrong[:2000],
            "remedy": "see /openapi.json for what is expected"}  # fmt: skip
    return _json(said, 400 if malformed else 422)


async def _http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    said = {"error": str(error.detail).title().replace(" ", ""), "message": str(error.detail),
            "remedy": "see /openapi.json for the routes"}  # fmt: skip
    return _json(said, error.status_code, dict(error.headers or {}))


async def _unexpected(_: Request, error: Exception) -> Response:
    return _json({"error": "InternalServerError", "message": "the server has a defect; its log has the details",
                  "remedy": "report it with the log"}, 500)  # fmt: skip


def _json(data: Any, status: int, headers: dict[str, str] | None = None) -> Response:
    return Response(dumps(data), status, headers, media_type="application/json")
