"""Limits of what clients may hold: connections, asks that wait, responses that nobody reads, idle processes."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import Any

import psutil
import pytest
from tests.server.service import PATIENCE, Server, eventually, is_gone

LARGE = 12 * 2**20  # bytes of an answer: more than the buffers of both machines
SECONDS = 2.0
SHORT = (  # these have no options, because nobody needs others
    "import functools; from sonde.server import settings; settings.Settings = functools.partial("
    f"settings.Settings, stalled_seconds={SECONDS}, suggester_seconds={SECONDS})"
)


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with small limits."""
    folder = tmp_path_factory.mktemp("strict")
    server = Server(f"sqlite:///{folder}/studies.db", folder, "--connections", "4", "--waiting", "2", before=SHORT)
    yield server
    assert server.stop() == 0
    assert "Traceback" not in server.log.read_text()


def test_one_connection_too_many_is_told_to_come_later(strict: Server) -> None:
    with ExitStack() as opened:
        held = []
        for _ in range(4):
            held.append(opened.enter_context(closing(http.client.HTTPConnection("127.0.0.1", strict.port, timeout=60))))
            held[-1].request("GET", "/health")
            answer = held[-1].getresponse()
            assert (answer.status, answer.read()) == (200, b'{"status":"ok"}')
        refused = strict.get("/health")
        assert (refused.status, refused.headers["connection"]) == (503, "close")
        held[0].close()
        eventually(lambda: strict.get("/health").status == 200)


def test_one_ask_too_many_is_told_to_come_later(strict: Server) -> None:
    path = strict.study("waiting")
    strict.ask(path)
    eventually(lambda: strict.get(path).data["counts"].get("waiting"))  # the child has suggested ahead, and
    eventually(lambda: not strict.get(path).data["suggesting"]["suggester"])  # locks nothing
    (child,) = strict.children()
    os.kill(child, signal.SIGSTOP)
    try:
        eventually(lambda: strict.ask(path, wait=0)["missing"])  # nothing waits any more
        answers: list[Any] = []
        asking = [threading.Thread(target=lambda: answers.append(strict.ask(path, wait=60))) for _ in range(2)]
        for thread in asking:
            thread.start()
        eventually(lambda: b'sonde_waiting_asks{study="waiting"} 2.0' in strict.get("/metrics").data)
        refused = strict.post(f"{path}/ask", {"wait": 60})
        assert (refused.status, refused.data["error"]) == (503, "TooManyWaiting")
        assert refused.headers["retry-after"] == "5"
    finally:
        os.kill(child, signal.SIGCONT)
    for thread in asking:
        thread.join(PATIENCE)
    assert [len(answer["trials"]) for answer in answers] == [1, 1]
    assert strict.ask(path)["trials"]


def asks_for_much(server: Server) -> socket.socket:
    """Return a connection on which a large answer comes."""
    path = server.study(f"large-{os.urandom(4).hex()}")
    server.post(f"{path}/enqueue", {"params": [{"x": 0.5, "n": 1}], "attributes": {"notes": LARGE * "x"}})
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.settimeout(PATIENCE)
    client.connect(("127.0.0.1", server.port))
    client.sendall(
        f"GET {path}/trials/0 HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {server.token}\r\n"
        "connection: close\r\n\r\n".encode()
    )
    return client


def serves(server: Server, client: socket.socket) -> bool:
    """Whether the server has the connection to a client open."""
    connections = psutil.Process(server.process.pid).net_connections("tcp4")
    return client.getsockname() in {tuple(one.raddr) for one in connections if one.raddr}


def test_a_client_that_does_not_read_is_cut_off(strict: Server) -> None:
    with asks_for_much(strict) as client:
        assert client.recv(9) == b"HTTP/1.1 "
        assert serves(strict, client)
        eventually(lambda: not serves(strict, client))
    assert strict.get("/health").status == 200


def test_a_client_that_reads_slowly_gets_all(strict: Server) -> None:
    """It needs longer than one may leave a response unread."""
    pause, received, pauses = threading.Event(), 0, 8
    with asks_for_much(strict) as client:
        while more := client.recv(65536):
            received += len(more)
            if received > LARGE * (8 - pauses) / 8 and pauses > 0:
                pauses -= 1
                pause.wait(SECONDS / 5)
    assert received > LARGE


def test_the_process_of_a_study_that_nobody_asks_for_ends_and_another_one_follows(strict: Server) -> None:
    path = strict.study("idle")
    for _ in range(2):
        eventually(lambda: not strict.children())
        assert strict.ask(path)["trials"]
        (child,) = eventually(strict.children)
        eventually(lambda child=child: is_gone(child))
