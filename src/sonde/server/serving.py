"""Runs the application in uvicorn, until a signal ends it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import resource
import signal
import socket
from collections.abc import Callable, Generator

import uvicorn

from sonde.errors import OptionError
from sonde.server import logs
from sonde.server.app import application
from sonde.server.protocol import limited
from sonde.server.service import Service
from sonde.server.settings import Settings, is_loopback
from sonde.server.tokens import TokenTable

DRAIN = 5  # seconds for requests that run when the service ends
SPARE_FILES = 256  # open files besides connections

_log = logging.getLogger("sonde.server")


def serve(
    settings: Settings, say: Callable[[str], None], *, listening: socket.socket | None = None,
    ready: Callable[[], None] | None = None,
) -> None:  # fmt: skip
    """Serve until SIGTERM or Ctrl-C; ``say`` prints the first token.

    ``listening`` is a socket to use instead of a new one; ``ready`` is called when requests are answered.
    """
    logs.set_up(settings.log, settings.log_level)
    _first_token(settings, say)
    if settings.token and not settings.encrypted and not is_loopback(settings.host):
        _log.warning(
            "tokens cross the network unencrypted: give --tls-certificate and --tls-key, or put a server that speaks "
            "TLS in front of this one"
        )
    _allow_files(settings.connections + SPARE_FILES)
    service = Service(settings)
    config = uvicorn.Config(
        application(service), host=settings.host, port=settings.port, http=limited(settings), ws="none", loop="uvloop",
        lifespan="on", log_config=None, access_log=False, server_header=False, proxy_headers=False,
        ssl_certfile=settings.certificate, ssl_keyfile=settings.key,
        limit_concurrency=settings.connections + 1,  # uvicorn refuses when there are so many
        timeout_keep_alive=round(settings.idle_seconds), timeout_graceful_shutdown=DRAIN, backlog=4096,
    )  # fmt: skip
    _load(config)
    _Server(config, service, ready).run(None if listening is None else [listening])


class _Server(uvicorn.Server):
    """Uvicorn's server; a signal has those who wait answered first, and the process then ends with code 0."""

    def __init__(self, config: uvicorn.Config, service: Service, ready: Callable[[], None] | None) -> None:
        super().__init__(config)
        self._service, self._ready = service, ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self._ready is not None and self.started:
            self._ready()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        loop = asyncio.get_running_loop()
        for one in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(one, self._stop)
        yield

    def _stop(self) -> None:
        self._service.drain()
        self.should_exit = True


def _first_token(settings: Settings, say: Callable[[str], None]) -> None:
    if not settings.token or settings.own_secret is not None:
        return
    table = TokenTable(settings.storage)
    secret = table.create_first("admin")
    table.close()
    if secret is not None:
        say(f"token: {secret}")
        _log.info("the token printed above is an admin's; it is not shown again")


def _load(config: uvicorn.Config) -> None:
    try:
        config.load()
    except OSError as error:  # ssl.SSLError too
        raise OptionError(f"the TLS certificate or key cannot be used: {error}; check both files") from None


def _allow_files(wanted: int) -> None:
    """Raise the limit of open files: each connection is one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    least = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < least:
        resource.setrlimit(resource.RLIMIT_NOFILE, (least, hard))
