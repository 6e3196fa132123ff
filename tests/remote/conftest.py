from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import urllib3
from tests.processes import outputs

from sonde.cli.main import main

START = "from sonde.cli.main import main; main()"


class Service:
    """``sonde serve`` in a process of its own, on a SQLite database; it may be killed and started again."""

    def __init__(self, folder: Path, *options: str, ca: Path | None = None) -> None:
        self._options, self._ca = options, ca
        self._storage = f"sqlite:///{folder / 'service.db'}"
        self._log = folder / "service.log"
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = free.getsockname()[1]
        self.url = f"http{'s' if ca else ''}://127.0.0.1:{self._port}"
        self.token = ""
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        where = ["--storage", self._storage, "--port", str(self._port)]
        command = [sys.executable, "-c", START, "serve", *where, *self._options]
        environment = {name: text for name, text in os.environ.items() if not name.startswith("SONDE_")}
        with self._log.open("a") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        deadline = time.monotonic() + 60
        while not self._answers():
            assert self._process.poll() is None, self._log.read_text()
            assert time.monotonic() < deadline, self._log.read_text()
            time.sleep(0.05)
        self.token = re.findall(r"token: (\S+)", self._log.read_text())[0]

    @property
    def pid(self) -> int:
        """The id of its process."""
        return self._process.pid

    def kill(self) -> None:
        """End it as a crash does."""
        self._process.kill()
        self._process.wait()

    def _answers(self) -> bool:
        try:
            with urllib3.PoolManager(ca_certs=self._ca and str(self._ca)) as pool:
                return pool.request("GET", f"{self.url}/health", retries=False, timeout=5).status == 200
        except urllib3.exceptions.HTTPError:
            return False


@pytest.fixture(scope="session")
def shared_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service for the tests that do not end it."""
    service = Service(tmp_path_factory.mktemp("service"))
    yield service
    service.kill()


@pytest.fixture
def service(shared_service: Service, own_folder: None, monkeypatch: pytest.MonkeyPatch) -> Service:
    """A service, whose token is in the environment."""
    monkeypatch.setenv("SONDE_TOKEN", shared_service.token)
    return shared_service


@pytest.fixture
def own_service(tmp_path: Path, own_folder: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    """A service for one test, which may end it."""
    service = Service(tmp_path)
    monkeypatch.setenv("SONDE_TOKEN", service.token)
    yield service
    service.kill()


@pytest.fixture
def encrypted(tmp_path: Path) -> Iterator[Callable[[Path], Service]]:
    """Start a service with a certificate, whose key is beside it."""
    started: list[Service] = []

    def start(certificate: Path) -> Service:
        key = str(certificate.with_name("key.pem"))
        started.append(Service(tmp_path, "--tls-certificate", str(certificate), "--tls-key", key, ca=certificate))
        return started[0]

    yield start
    for service in started:
        service.kill()


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test in an empty folder, without the user's settings."""
    monkeypatch.chdir(tmp_path)
    for name in ("SONDE_STORAGE", "SONDE_NAME", "SONDE_TOKEN", "SONDE_LOGS", "SONDE_SPOOL", "REQUESTS_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)


class Program:
    """``sonde`` in a process of its own."""

    def __init__(self, *arguments: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", START, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def ends(self) -> tuple[int, str, str]:
        """Wait for its end; return exit code, standard output and standard error."""
        out, err = outputs(self._process)
        return self._process.returncode, out, err

    def send(self, number: int) -> None:
        """Send a signal."""
        self._process.send_signal(number)


@pytest.fixture
def start() -> Iterator[Callable[..., Program]]:
    """Start ``sonde`` with arguments; what still runs at the end of the test is killed."""
    started: list[Program] = []

    def begin(*arguments: str) -> Program:
        started.append(Program(*arguments))
        return started[-1]

    yield begin
    for program in started:
        with suppress(ProcessLookupError):
            program.send(signal.SIGKILL)
        program.ends()


def wait_until(true: Callable[[], object]) -> None:
    """Wait until something is true; fail if it takes very long."""
    deadline = time.monotonic() + 100
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """The command line in this process: exit code, standard output and standard error."""

    def run(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        return (int(ended.value.code or 0), *capsys.readouterr())

    return run
