"""A channel between the process of a study in memory and its worker processes: requests and replies as JSON.

A study in a database needs none: its workers open the database.
"""

from __future__ import annotations

import errno
import json
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener, answer_challenge, deliver_challenge
from typing import Any

from sonde.errors import NotConnected

_KEY_BYTES = 32
_BROKEN = (errno.EBADF, errno.EINVAL, errno.ENOTSOCK)  # errors of a listener that somebody has closed
_PAUSE = 0.1  # seconds until the next try after others, such as too many open files


class Channel:
    """Answers requests of other processes on this machine; they need its key."""

    def __init__(self, answer: Callable[[Any], Any]) -> None:
        self._answer = answer
        self.key = secrets.token_bytes(_KEY_BYTES)
        self._listener = Listener(("localhost", 0), backlog=64)
        self.address: Any = self._listener.address
        self._closed = False
        threading.Thread(target=self._accept, name="sonde-channel", daemon=True).start()

    def close(self) -> None:
        """Take no more requests."""
        if not self._closed:
            self._closed = True
            with suppress(OSError):
                socket.create_connection(self.address, timeout=1.0).close()  # wakes the thread that accepts

    def _accept(self) -> None:
        while not self._closed:
            try:
                connection = self._listener.accept()
            except OSError as error:
                if error.errno in _BROKEN:
                    break
                time.sleep(_PAUSE)
                continue
            threading.Thread(target=self._serve, args=(connection,), name="sonde-channel", daemon=True).start()
        with suppress(OSError):
            self._listener.close()

    def _serve(self, connection: Connection[Any, Any]) -> None:
        """Answer one process until it ends; a stranger has no key."""
        with connection, suppress(AuthenticationError, EOFError, OSError):
            deliver_challenge(connection, self.key)
            answer_challenge(connection, self.key)
            while True:
                request = json.loads(connection.recv_bytes())
                if self._closed:
                    return
                try:
                    reply = {"reply": self._answer(request)}
                except Exception as error:
                    reply = {"error": f"{type(error).__name__}: {error}"}
                connection.send_bytes(json.dumps(reply).encode())


_connections: dict[tuple[int, Any], Connection[Any, Any]] = {}  # by process: a forked child needs its own
_lock = threading.Lock()


def request(address: Any, key: bytes, what: Any) -> Any:
    """Send a request to a channel and return the reply; raise ``NotConnected`` where its process has ended."""
    if address is None:
        raise NotConnected("this machine has no sockets for reports to a study in memory; give it a storage")
    with _lock:
        place = (os.getpid(), address)
        try:
            if place not in _connections:
                _connections[place] = Client(address, authkey=key)
            _connections[place].send_bytes(json.dumps(what).encode())
            answer = json.loads(_connections[place].recv_bytes())
        except (AssertionError, AuthenticationError, EOFError, OSError) as error:  # the first two: another service
            _connections.pop(place, None)
            raise NotConnected(
                f"the process of this trial's study cannot be reached ({type(error).__name__}): a study in memory is "
                "reached from its own machine only, and ends with its process; give it a storage"
            ) from error
    if "error" in answer:
        raise NotConnected(f"the process of this trial's study answered: {answer['error']}")
    return answer["reply"]
