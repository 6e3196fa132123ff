"""A real server in a process of its own, and the simplest client."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

START = "from sonde.cli.main import main; main()"
SPACE = {"parameters": {"x": {"type": "float", "low": 0, "high": 1}, "n": {"type": "int", "low": 1, "high": 9}}}
PATIENCE = 120.0


class Answer(NamedTuple):
    status: int
    data: Any
    headers: dict[str, str]


class Server:
    """``sonde serve`` on a free port."""

    def __init__(
        self, storage: str, folder: Path, *options: str, before: str = "", trusted: ssl.SSLContext | None = None
    ) -> None:
        self.storage, self.port, self._trusted = storage, free_port(), trusted
        self.log = folder / f"server-{self.port}.log"
        program = [sys.executable, "-c", f"{before}\n{START}"]
        self._command = [*program, "serve", "--storage", storage, "--port", str(self.port), *options]
        self.token = ""
        self.start()

    def start(self) -> None:
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                self._command, stdout=subprocess.PIPE, stderr=log, text=True, cwd=self.log.parent
            )
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            try:
                if self.get("/health").status == 200:
                    break
            except OSError:
                assert self.process.poll() is None, self.log.read_text()
            time.sleep(0.02)
        if not self.token and "--no-token" not in self._command:
            assert self.process.stdout is not None
            line = self.process.stdout.readline()
            assert line.startswith("token: "), line
            self.token = line.split()[1]

    def call(self, method: str, path: str, body: Any = None, *, token: str | None = None) -> Answer:
        connection = self._connection()
        try:
            headers = {"authorization": f"Bearer {self.token if token is None else token}"}
            raw = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
            if raw is not None:
                headers["content-type"] = "application/json"
            connection.request(method, path, raw, headers)
            answer = connection.getresponse()
            text = answer.read()
            kind = answer.getheader("content-type", "")
            return Answer(answer.status, json.loads(text) if text and "json" in kind else text, dict(answer.headers))
        finally:
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        if self._trusted is not None:
            return http.client.HTTPSConnection("localhost", self.port, timeout=PATIENCE, context=self._trusted)
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def get(self, path: str, **options: Any) -> Answer:
        return self.call("GET", path, **options)

    def post(self, path: str, body: Any, **options: Any) -> Answer:
        return self.call("POST", path, body, **options)

    def raw(self, request: bytes) -> bytes:
        """Send bytes, and return all that comes until the server closes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as client:
            client.sendall(request)
            received = b""
            while more := client.recv(65536):
                received += more
            return received

    def study(self, name: str, space: Any = None, **settings: Any) -> str:
        """Create a study; return its path."""
        made = self.post("/v1/studies", {"name": name, "space": space or SPACE, "strategy": "random"} | settings)
        assert made.status == 201, made
        return f"/v1/studies/{name}"

    def ask(self, path: str, **wanted: Any) -> Any:
        asked = self.post(f"{path}/ask", {"wait": 60} | wanted)
        assert asked.status == 200, asked
        return asked.data

    def children(self) -> list[int]:
        """The ids of its child processes."""
        found = Path(f"/proc/{self.process.pid}/task").glob("*/children")
        return [int(pid) for path in found for pid in path.read_text().split()]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self._close()

    def stop(self) -> int:
        """End it as service managers do; return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(PATIENCE)
        self._close()
        return code

    def _close(self) -> None:
        if self.process.stdout is not None:
            self.process.stdout.close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def eventually(condition: Any, seconds: float = PATIENCE) -> Any:
    """Return what the condition returns as soon as that is true."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.01)
    raise AssertionError("it did not happen")


def is_gone(pid: int) -> bool:
    """Whether a process has ended; a zombie has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except FileNotFoundError:
        return True


def sonde(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", START, *arguments], capture_output=True, text=True, timeout=60, env=dict(os.environ)
    )
