"""What every request passes before it reaches a route: token, rate, size and time of its body; and its log line.

The body is read here, with a limit on its bytes and on the seconds that it may take. So a route always has it at once.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from sonde.server.buckets import Bucket
from sonde.server.service import Service
from sonde.server.settings import LOOPBACK_NAMES, is_loopback
from sonde.server.tokens import Token
from sonde.server.web import sessions
from sonde.server.wire import Refused, dumps

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

OPEN = ("/health", "/openapi.json", "/")  # for everybody, as are the files of the dashboard, below
PAGES, SESSION = "/ui/", "/ui/session"
LINGER, LINGER_BYTES = 2.0, 32 * 2**20  # seconds and bytes in which the rest of a refused body is thrown away

_log = logging.getLogger("sonde.server.requests")


class Guard:
    """The outermost layer of the application."""

    def __init__(self, app: App, service: Service) -> None:
        self._app, self._service = app, service
        self._buckets: dict[str, Bucket] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = _Request(scope, receive, send)
        scope["path"] = scope["raw_path"].decode("ascii", "replace")  # encoded: the name of a study may hold a slash
        try:
            await self._admit(request)
            body = await self._body(request)
            await self._app(scope, _replayed(body, receive), request.send)
        except Refused as refused:
            await request.refuse(refused)
        finally:
            self._note(request)

    async def _admit(self, request: _Request) -> None:
        if request.path in OPEN or (request.path.startswith(PAGES) and request.path != SESSION):
            return
        request.token = await self._service.token(self._secret(request))
        request.scope["state"]["token"] = request.token
        rate = self._service.settings.rate
        wait = self._buckets.setdefault(request.token.name, Bucket(rate)).take()
        if wait > 0:
            raise Refused(429, "TooManyRequests", f"this token has sent more than {rate:g} requests in a second",
                          "wait as long as Retry-After says; the limit is the server's --rate",
                          Retry_After=str(max(1, round(wait))))  # fmt: skip

    def _secret(self, request: _Request) -> str | None:
        """Return the token: of a program in a header; of a page in a cookie, with proof that the page is ours."""
        settings, writes = self._service.settings, request.scope["method"] not in sessions.SAFE
        if not settings.token:
            _check_host(request.header(b"host"))
            if writes:
                sessions.check_origin(request.header(b"origin"), request.header(b"host"))
        if (header := request.header(b"authorization")) is not None:
            return _bearer(header)
        secret = sessions.secret_of(request.header(b"cookie"), settings)
        if secret is not None and writes:
            sessions.check_proof(secret, request.header(sessions.HEADER.lower().encode()))
        return secret

    async def _body(self, request: _Request) -> bytes:
        """Return the body; refuse one that is too large or too slow."""
        limit = self._service.settings.max_body
        announced = request.header(b"content-length")
        if announced is not None and (not announced.isdigit() or int(announced) > limit):
            raise _too_large(limit)
        if announced is None and request.header(b"transfer-encoding") is None:
            return b""
        body = bytearray()
        try:
            async with asyncio.timeout(self._service.settings.body_seconds):
                more = True
                while more:
                    message = await request.receive()
                    if message["type"] == "http.disconnect":
                        raise Refused(400, "Disconnected", "the client went away")
                    body += message.get("body", b"")
                    more = message.get("more_body", False)
                    if len(body) > limit:
                        raise _too_large(limit)
        except TimeoutError:
            seconds = self._service.settings.body_seconds
            raise Refused(408, "RequestTimeout", f"the body took longer than {seconds:g} s", "send it faster") from None
        return bytes(body)

    def _note(self, request: _Request) -> None:
        seconds, route = time.perf_counter() - request.began, request.route
        self._service.metrics.requests.labels(request.scope["method"], route, request.status).inc()
        self._service.metrics.seconds.labels(route).observe(seconds)
        if _log.isEnabledFor(logging.INFO):
            client = request.scope.get("client") or ("?", 0)
            _log.info(
                "%s %s %d", request.scope["method"], request.path, request.status,
                extra={"fields": {"method": request.scope["method"], "path": request.path, "status": request.status,
                                  "ms": round(1000 * seconds, 1), "token": request.token and request.token.name,
                                  "client": client[0]}},
            )  # fmt: skip


class _Request:
    """A request on its way, for its log line."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scope, self.receive, self._send = scope, receive, send
        self.path: str = scope["path"]
        self.token: Token | None = None
        self.status = 500
        self.began = time.perf_counter()
        self._started = False

    @property
    def route(self) -> str:
        """The route without the names in it, so that there are few."""
        return str(getattr(self.scope.get("route"), "path", "none"))

    def header(self, name: bytes) -> str | None:
        """Return a header of the request."""
        return next((value.decode("latin-1") for key, value in self.scope["headers"] if key == name), None)

    async def send(self, message: Message) -> None:
        """Pass a part of the answer on."""
        if message["type"] == "http.response.start":
            self.status, self._started = message["status"], True
        await self._send(message)

    async def refuse(self, refused: Refused) -> None:
        """Answer with an error, without having read the body.

        A client that is still sending would get no answer if the connection were closed at once. So a little more is
        read and thrown away, as web servers do.
        """
        body = dumps(refused.document())
        headers = {"content-type": "application/json", "content-length": str(len(body)), "connection": "close"}
        encoded = [(name.lower().encode(), value.encode()) for name, value in (headers | refused.headers).items()]
        await self.send({"type": "http.response.start", "status": refused.status, "headers": encoded})
        await self.send({"type": "http.response.body", "body": body, "more_body": True})
        try:
            async with asyncio.timeout(LINGER):
                more, thrown = refused.status == 413, 0
                while more and thrown < LINGER_BYTES:
                    message = await self.receive()
                    more, thrown = message.get("more_body", False), thrown + len(message.get("body", b""))
        except TimeoutError:
            pass
        await self.send({"type": "http.response.body", "body": b"", "more_body": False})


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Return a ``receive`` that gives the body once; after it, what else comes: that the client has gone."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def _bearer(header: str | None) -> str | None:
    scheme, _, secret = (header or "").partition(" ")
    return secret.strip() if scheme.lower() == "bearer" and secret.strip() else None


def _check_host(header: str | None) -> None:
    """Refuse a request that names another host: a web page may have its own name lead to this machine."""
    host = (header or "").strip()
    name = host[: host.rindex("]") + 1] if "]" in host else host.partition(":")[0]
    if name.lower() not in LOOPBACK_NAMES and not is_loopback(name):
        raise Refused(403, "Forbidden", f"the server has no tokens, so it answers for localhost only, not for {name!r}",
                      "use http://127.0.0.1, or start the server with tokens")  # fmt: skip


def _too_large(limit: int) -> Refused:
    return Refused(413, "BodyTooLarge", f"the body has more than {limit} bytes",
                   "send less at once; the limit is the server's --max-body")  # fmt: skip
