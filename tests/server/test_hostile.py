"""Clients that lie, send too much, or too slowly."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.server.service import Server

LARGEST = 100_000


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with small limits."""
    folder = tmp_path_factory.mktemp("small")
    server = Server(
        f"sqlite:///{folder}/studies.db", folder, "--max-body", str(LARGEST), "--body-seconds", "1", "--header-seconds",
        "1", "--streams", "1",
    )  # fmt: skip
    server.study("victim")
    yield server
    assert server.stop() == 0


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b'"text"',
        b"\xff\xfe",
        b"[" * 100_00,
        b'{"count": 1e999}',
        b'{"count": ' + b"9" * 6000 + b"}",
        b"null",
    ],
    ids=["cut", "list", "text", "bytes", "deep", "infinite", "long number", "null"],
)
def test_bodies_that_are_no_ask(small: Server, body: bytes) -> None:
    refused = small.post("/v1/studies/victim/ask", body)
    assert refused.status in (400, 422)
    assert refused.data["remedy"]


@pytest.mark.parametrize(
    ("what", "body"),
    [
        ("tell", {"trial": 0, "token": "x" * 32, "value": 1.0}),
        ("tell", {"trial": -1, "value": 1.0}),
        ("tell", {"trial": 2**40, "value": 1.0}),
        ("tell", {"trial": 0, "value": "1.0"}),
        ("tell", {"trial": 0, "value": True}),
        ("tell", {"trial": 0, "value": 1.0, "failed": "both"}),
        ("tell", {"trial": 0, "value": 1.0, "gradient": {"unknown": 1.0}}),
        ("tell", {"trial": 0, "value": 1.0, "noise": -1}),
        ("tell", {"trial": 0, "token": "ab" * 16, "value": 1.0, "params": {"x": 5.0, "n": 1}}),
        ("tell", {"trial": 0, "token": "ab" * 16, "value": 1.0, "params": {"y": 0.5}}),
        ("tell", {"trial": 0, "value": 1.0, "attributes": {"deep": json.loads("[" * 300 + "]" * 300)}}),
        ("enqueue", {"params": [{"x": 0.5}]}),
        ("enqueue", {"params": [{"x": float(2**60), "n": 1}]}),
        ("add", {"trials": [{"params": {"x": 0.5, "n": 1}, "value": [1, 2]}]}),
        ("add", {"trials": [{"value": 1.0}]}),
        ("ask", {"tokens": ["../../etc/passwd"]}),
        ("ask", {"worker": "w\0"}),
        ("ask", {"worker": "\ud800"}),
        ("ask", {"worker": "w" * 501}),
        ("report", {"trial": 0, "reports": [["nan", 1.0]]}),
        ("report", {"trial": 0, "reports": [[1.0]]}),
    ],
)
def test_every_input_is_checked(small: Server, what: str, body: Any) -> None:
    small.post("/v1/studies/victim/ask", {})
    before = small.get("/v1/studies/victim").data["counts"].get("completed", 0)
    refused = small.post(f"/v1/studies/victim/{what}", body)
    assert refused.status == 422, refused
    assert small.get("/v1/studies/victim").data["counts"].get("completed", 0) == before


@pytest.mark.parametrize("name", ["nobody", "%00", "..%2f..", "%ff", "a" * 600, "%ed%a0%80"])
def test_studies_that_do_not_exist(small: Server, name: str) -> None:
    assert small.get(f"/v1/studies/{name}").status in (404, 422)
    assert small.post(f"/v1/studies/{name}/ask", {}).status in (404, 405, 422)


def test_a_large_body_is_refused_before_it_is_read(small: Server) -> None:
    answer = small.raw(head(small, 100 * 2**20))  # announced; not a byte of it is sent
    assert answer.startswith(b"HTTP/1.1 413")
    assert b"BodyTooLarge" in answer


def test_a_large_body_of_unknown_length_is_cut_off(small: Server) -> None:
    with socket.create_connection(("127.0.0.1", small.port), timeout=30) as client:
        client.sendall(head(small, None))
        chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        sent = 0
        try:
            while sent < 100 * 2**20:
                client.sendall(chunk)
                sent += len(chunk)
        except OSError:  # the server has closed
            pass
        assert sent < 100 * 2**20


@pytest.mark.parametrize("part", ["header", "body", "nothing"])
def test_a_client_that_sends_a_byte_at_a_time_is_cut_off(small: Server, part: str) -> None:
    first = {"header": b"POST /v1/studies HTTP/1.1\r\nhost: x\r\na: ", "body": head(small, 1000), "nothing": b""}[part]
    with socket.create_connection(("127.0.0.1", small.port), timeout=30) as client:
        client.sendall(first)
        client.settimeout(0.2)
        began, received = time.monotonic(), b""
        while time.monotonic() - began < 30:
            try:
                if part != "nothing":
                    client.sendall(b" ")
                got = client.recv(4096)
                if not got:
                    break
                received += got
            except TimeoutError:
                continue
            except OSError:
                break
        assert time.monotonic() - began < 20
    assert received.startswith(b"HTTP/1.1 408") or part != "body"
    assert small.get("/health").status == 200


def test_one_stream_too_many(small: Server) -> None:
    with socket.create_connection(("127.0.0.1", small.port), timeout=30) as client:
        client.sendall(b"GET /v1/studies/victim/events HTTP/1.1\r\nhost: x\r\nauthorization: Bearer "
                       + small.token.encode() + b"\r\n\r\n")  # fmt: skip
        received = b""
        while b": connected" not in received:
            received += client.recv(4096)
        refused = small.get("/v1/studies/victim/events")
        assert (refused.status, refused.data["error"]) == (503, "TooManyWaiting")


def test_too_many_requests_are_told_to_wait(tmp_path: Path) -> None:
    server = Server(f"sqlite:///{tmp_path}/studies.db", tmp_path, "--rate", "1")
    one = f"GET /v1/studies HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {server.token}\r\n\r\n".encode()
    answers = server.raw(30 * one)  # all at once: the server closes with the first that it refuses
    assert answers.startswith(b"HTTP/1.1 200")
    assert b"HTTP/1.1 429" in answers
    assert b"retry-after: 1\r\n" in answers
    assert server.stop() == 0


def test_bytes_that_are_no_http(small: Server) -> None:
    assert small.raw(b"\x16\x03\x01 hello\r\n\r\n").startswith(b"HTTP/1.1 400")


def head(server: Server, length: int | None) -> bytes:
    size = "transfer-encoding: chunked" if length is None else f"content-length: {length}"
    return (
        f"POST /v1/studies HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {server.token}\r\n"
        f"content-type: application/json\r\n{size}\r\n\r\n"
    ).encode()
