"""Requests against servers that are away, late, wrong, or no service of Sonde at all."""

from __future__ import annotations

import json
import logging
import pickle
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.remote.conftest import Service

import sonde
from sonde.errors import NotConnected, OptionError, StorageError
from sonde.remote import RemoteStorage
from sonde.remote.client import Client

SPACE = sonde.Space(x=sonde.Float(0, 1))
TOKEN = "a-token-that-nobody-may-see"


class Scripted(BaseHTTPRequestHandler):
    """Answers requests one after the other as a test has written them: status, headers, body; None hangs up."""

    answers: list[tuple[int, dict[str, str], bytes] | None]
    seen: list[tuple[str, str, dict[str, str], bytes]]

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.seen.append((self.command, self.path, dict(self.headers), body))
        answer = self.answers.pop(0)
        if answer is None:
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        status, headers, content = answer
        self.send_response(status)
        for name, text in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(content)

    do_POST = do_GET

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def scripted() -> Iterator[tuple[type[Scripted], str]]:
    """A server that answers as ``answers`` says, and its address."""
    handler = type("Handler", (Scripted,), {"answers": [], "seen": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield handler, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def nobody() -> str:
    """The address of a port where nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return f"http://127.0.0.1:{free.getsockname()[1]}"


def answer(data: Any, status: int = 200, **headers: str) -> tuple[int, dict[str, str], bytes]:
    return status, {name.replace("_", "-"): text for name, text in headers.items()}, json.dumps(data).encode()


def test_a_lost_answer_a_busy_server_and_one_that_starts_again_are_only_a_delay(
    scripted: tuple[type[Scripted], str], caplog: pytest.LogCaptureFixture
) -> None:
    handler, url = scripted
    handler.answers += [None, answer({}, 502), answer({"error": "X", "message": "full"}, 503), answer({"a": 1})]
    with caplog.at_level(logging.WARNING):
        assert Client(url, TOKEN).request("POST", "/v1/x", {"b": 0.1}, study="key", since=3) == {"a": 1}
    assert len({seen[3] for seen in handler.seen}) == 1  # the same request each time
    method, path, headers, body = handler.seen[-1]
    assert (method, path, body) == ("POST", "/v1/x?since=3", b'{"b": 0.1}')
    assert (headers["Authorization"], headers["Sonde-Study"]) == (f"Bearer {TOKEN}", "key")
    assert len(caplog.records) == 1
    assert url in caplog.text
    assert TOKEN not in caplog.text


def test_a_server_says_how_long_to_wait(scripted: tuple[type[Scripted], str]) -> None:
    handler, url = scripted
    handler.answers += [answer({}, 429, Retry_After="1"), answer({}, 429, Retry_After="soon"), answer([])]
    started = time.monotonic()
    assert Client(url).request("GET", "/") == []
    assert time.monotonic() - started >= 1


def test_patience_has_an_end(nobody: str) -> None:
    storage = RemoteStorage(nobody, TOKEN, patience=0.3)
    with pytest.raises(NotConnected, match=f"the service at {nobody} has not answered for 0.3 seconds") as caught:
        storage.studies()
    assert "Connection refused" in str(caught.value)
    assert TOKEN not in str(caught.value)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (answer({"hello": 1}, 404), "does not answer as a service of Sonde does, but with 404: '{\"hello\": 1}'"),
        ((200, {}, b"<html>"), "does not answer as a service of Sonde does, but with 200: '<html>'"),
        ((302, {"Location": "/login"}, b""), "but with 302 to '/login'"),
        (answer({"error": "Unauthorized", "message": "no", "remedy": "do"}, 401), r"refuses this: no; do\. The token"),
        (answer({"error": "Strange", "message": "words"}, 400), "^Strange: words$"),
        (answer({"error": "AllFailed", "message": "words"}, 400), "^AllFailed: words$"),
        (answer({"error": "__doc__", "message": "words"}, 400), "^__doc__: words$"),
    ],
)
def test_answers_that_are_none(scripted: tuple[type[Scripted], str], said: Any, message: str) -> None:
    handler, url = scripted
    handler.answers.append(said)
    with pytest.raises(StorageError, match=message):
        Client(url, TOKEN).request("GET", "/v1/studies")


@pytest.mark.parametrize(
    "url", ["", "host:8080", "ftp://host", "http://", "http://host?x=1", "http://host:port", "sqlite:///a.db", None, 7]
)
def test_addresses_that_are_none(url: Any) -> None:
    with pytest.raises(OptionError, match=r"^url must be the address of a service"):
        sonde.connect(url, "study")


def test_no_secret_is_shown(nobody: str) -> None:
    with pytest.raises(OptionError) as caught:
        Client(f"http://user:{TOKEN}@host")
    assert TOKEN not in str(caught.value)
    with pytest.raises(OptionError) as caught:
        Client(nobody, f"{TOKEN}\nX: 1")
    assert TOKEN not in str(caught.value)
    storage = RemoteStorage(nobody, TOKEN)
    assert TOKEN not in repr(storage) + repr(storage._client) + storage.url
    assert pickle.loads(pickle.dumps(storage)).url == nobody


def test_a_wrong_token_is_refused(service: Service) -> None:
    with pytest.raises(StorageError, match=r"refuses this: .*SONDE_TOKEN") as caught:
        sonde.connect(service.url, "study", token=TOKEN)
    assert TOKEN not in str(caught.value)


def test_threads_share_a_storage(service: Service) -> None:
    study = sonde.connect(service.url, "threads", space=SPACE, strategy="random")
    numbers: list[int] = []

    def work() -> None:
        numbers.extend(study.tell(study.ask(), 1.0).number for _ in range(3))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(set(numbers)) == 12


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate for 127.0.0.1 that is its own authority."""
    openssl = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
    command = [*openssl.split(), "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key.pem", "-out", "cert.pem"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    return tmp_path / "cert.pem"


def test_certificates_are_verified(
    certificate: Path, encrypted: Callable[[Path], Service], monkeypatch: pytest.MonkeyPatch
) -> None:
    service = encrypted(certificate)
    with pytest.raises(StorageError, match=r"the certificate of https://\S+ cannot be trusted \(self-signed"):
        sonde.connect(service.url, "study", token=service.token, space=SPACE)
    study = sonde.connect(service.url, "study", token=service.token, space=SPACE, ca=str(certificate), seed=1)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    assert sonde.connect(service.url, "study", token=service.token).seed == study.seed == 1
