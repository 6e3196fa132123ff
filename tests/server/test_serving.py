"""The program around the interface: TLS, logs, warnings."""

from __future__ import annotations

import json
import ssl
import subprocess
import urllib.request
from pathlib import Path

import pytest
from tests.server.service import Server, free_port, sonde


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[str, str]:
    """A certificate for this machine, and its key."""
    made = (str(tmp_path / "certificate.pem"), str(tmp_path / "key.pem"))
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-out", made[0], "-keyout", made[1]],
        check=True, capture_output=True,
    )  # fmt: skip
    return made


def test_tls_and_logs_for_programs(tmp_path: Path, certificate: tuple[str, str]) -> None:
    trusted = ssl.create_default_context(cafile=certificate[0])
    options = ("--tls-certificate", certificate[0], "--tls-key", certificate[1], "--log", "json", "--host", "0.0.0.0")
    server = Server(f"sqlite:///{tmp_path}/studies.db", tmp_path, *options, trusted=trusted)
    url = f"https://localhost:{server.port}/v1/studies"
    request = urllib.request.Request(url, headers={"authorization": f"Bearer {server.token}"})
    with urllib.request.urlopen(request, context=trusted) as answer:
        assert json.loads(answer.read()) == []
    assert server.stop() == 0
    lines = [json.loads(line) for line in server.log.read_text().splitlines()]
    served = [line for line in lines if line.get("path") == "/v1/studies"]
    assert [(line["status"], line["token"]) for line in served] == [(200, "admin")]
    assert not any("unencrypted" in line["message"] for line in lines)
    assert server.token not in server.log.read_text()


def test_tokens_on_a_network_without_tls_are_a_warning(tmp_path: Path) -> None:
    server = Server(f"sqlite:///{tmp_path}/studies.db", tmp_path, "--host", "0.0.0.0")
    assert server.stop() == 0
    assert "tokens cross the network unencrypted" in server.log.read_text()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--tls-key", "key.pem"], "both --tls-certificate and --tls-key"),
        (["--tls-key", "key.pem", "--tls-certificate", "none.pem"], "certificate or key cannot be used"),
        (["--rate", "0"], "--rate must be"),
    ],
)
def test_options_that_cannot_be(tmp_path: Path, options: list[str], said: str) -> None:
    done = sonde("serve", "--storage", f"sqlite:///{tmp_path}/studies.db", "--port", str(free_port()), *options)
    assert done.returncode == 1
    assert said in done.stderr
