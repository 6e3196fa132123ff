"""A TCP proxy in front of a PostgreSQL that listens on a Unix socket; it loses replies and refuses on demand."""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import suppress
from pathlib import Path

import sqlalchemy as sa


class Proxy:
    """Forwards bytes. ``lose_reply`` breaks the connection after the next COMMIT has been carried out, unanswered."""

    def __init__(self, url: str) -> None:
        parsed = sa.make_url(url)
        self._target = next(Path(str(parsed.query["host"])).glob(".s.PGSQL.*[0-9]"))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"postgresql://{parsed.username}@127.0.0.1:{self._listener.getsockname()[1]}/{parsed.database}"
        self._lose_reply = threading.Event()
        self.lost = 0
        self.refuse = 0  # this many connections hear that the server is starting
        threading.Thread(target=self._accept, daemon=True).start()

    def lose_reply(self) -> None:
        self._lose_reply.set()

    def close(self) -> None:
        _end(self._listener)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with suppress(OSError):  # either side may be gone at any time
            self._forward(client)

    def _forward(self, client: socket.socket) -> None:
        if self.refuse > 0:
            self.refuse -= 1
            _refuse(client)
            return
        server = socket.socket(socket.AF_UNIX)
        server.connect(str(self._target))
        losing = threading.Event()
        threading.Thread(target=self._replies, args=(server, client, losing), daemon=True).start()
        while data := _receive(client):
            if b"COMMIT" in data and self._lose_reply.is_set():
                self._lose_reply.clear()
                losing.set()
            server.sendall(data)
        _end(server)

    def _replies(self, server: socket.socket, client: socket.socket, losing: threading.Event) -> None:
        with suppress(OSError):
            while data := _receive(server):
                if losing.is_set():  # the server has answered: what it was told to commit is committed
                    self.lost += 1
                    break
                client.sendall(data)
        _end(client)
        _end(server)


def _end(connection: socket.socket) -> None:
    """End a connection that another thread may be reading from."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()


def _receive(source: socket.socket) -> bytes:
    try:
        return source.recv(65536)
    except OSError:
        return b""


def _refuse(client: socket.socket) -> None:
    """Answer as a server does that is up and not ready."""
    first = client.recv(65536)
    if len(first) == 8:  # a request for encryption comes first
        client.sendall(b"N")
        client.recv(65536)
    fields = b"SFATAL\0VFATAL\0C57P03\0Mthe database system is not yet accepting connections\0\0"
    client.sendall(b"E" + struct.pack("!I", len(fields) + 4) + fields)
    client.close()
