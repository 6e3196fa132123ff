"""Time limits on connections that uvicorn does not have: for the header of a request, and for unread responses.

A client that sends its header a byte at a time, or never reads what it asked for, costs a connection. Uvicorn's own
limit is for connections that are idle between two requests.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from sonde.server.settings import Settings


def limited(settings: Settings) -> type[HttpToolsProtocol]:
    """Return uvicorn's HTTP protocol with the time limits of the settings."""

    class Limited(HttpToolsProtocol):
        _header_due: asyncio.TimerHandle | None = None
        _read_due: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._expect_header()

        def connection_lost(self, exc: Exception | None) -> None:
            self._header_has_come()
            self._cancel_read()
            super().connection_lost(exc)

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self._expect_header()

        def on_headers_complete(self) -> None:
            self._header_has_come()
            super().on_headers_complete()

        def pause_writing(self) -> None:
            super().pause_writing()
            self._expect_reading()

        def resume_writing(self) -> None:
            self._cancel_read()
            super().resume_writing()

        def _expect_header(self) -> None:
            self._header_has_come()
            self._header_due = self.loop.call_later(settings.header_seconds, self.transport.abort)

        def _header_has_come(self) -> None:
            if self._header_due is not None:
                self._header_due.cancel()
                self._header_due = None

        def _expect_reading(self) -> None:
            self._cancel_read()
            unread = self.transport.get_write_buffer_size()
            self._read_due = self.loop.call_later(settings.stalled_seconds, self._check_reading, unread)

        def _check_reading(self, before: int) -> None:
            if self.transport.get_write_buffer_size() < before:  # slowly, but it reads
                self._expect_reading()
            else:
                self.transport.abort()

        def _cancel_read(self) -> None:
            if self._read_due is not None:
                self._read_due.cancel()
                self._read_due = None

    return Limited
