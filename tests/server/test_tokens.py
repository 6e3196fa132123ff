"""Who may use the service, and until when."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from pathlib import Path

import pytest
from tests.server.service import SPACE, Server, eventually, sonde

MAKE = {"name": "made", "space": SPACE}


def make(server: Server, name: str, role: str, *options: str) -> str:
    made = sonde("token", "create", name, "--role", role, "--storage", server.storage, *options)
    assert made.returncode == 0, made.stderr
    return made.stdout.split()[1]


def test_each_role_may_do_what_those_before_it_may(server: Server) -> None:
    read, work = make(server, "reader", "read"), make(server, "worker", "work")
    path = server.study("roles")
    asks = {"read": 403, "work": 200}
    for role, token in {"read": read, "work": work}.items():
        assert server.get(path, token=token).status == 200
        assert server.get("/metrics", token=token).status == 200
        refused = server.post("/v1/studies", MAKE, token=token)
        assert (refused.status, refused.data["error"]) == (403, "Forbidden")
        assert server.call("DELETE", path, token=token).status == 403
        assert server.post(f"{path}/ask", {}, token=token).status == asks[role]
    assert server.post("/v1/studies", MAKE).status == 201


@pytest.mark.parametrize("token", ["", "sonde_" + "0" * 64, "ü", "x" * 5000])
def test_a_wrong_token_is_refused(server: Server, token: str) -> None:
    assert server.get("/health", token=token).status == 200
    refused = server.get("/v1/studies", token=token)
    assert refused.status == 401
    assert refused.headers["www-authenticate"] == "Bearer"


def test_a_revoked_token_is_refused_within_a_second_where_somebody_waits_too(server: Server) -> None:
    token = make(server, "leaver", "work")
    path = server.study("leaving", {"parameters": {"b": {"type": "bool"}}})
    assert server.get(path, token=token).status == 200
    ended = threading.Event()

    def watch() -> None:
        server.get(f"{path}/events", token=token)
        ended.set()

    thread = threading.Thread(target=watch)
    thread.start()
    assert not ended.is_set()
    assert sonde("token", "revoke", "leaver", "--storage", server.storage).returncode == 0
    revoked = time.monotonic()
    eventually(lambda: server.get(path, token=token).status == 401)
    assert time.monotonic() - revoked < 20  # a second, and a busy machine
    thread.join(30)
    assert ended.is_set()


def test_a_token_ends(server: Server) -> None:
    token = make(server, "short", "read", "--days", str(2 / 86_400))
    assert server.get("/v1/studies", token=token).status == 200
    eventually(lambda: server.get("/v1/studies", token=token).status == 401, 20)


def test_the_database_has_hashes_only(server: Server) -> None:
    token = make(server, "hashed", "read")
    path = Path(server.storage.removeprefix("sqlite:///"))
    written = b"".join(file.read_bytes() for file in path.parent.glob(f"{path.name}*"))
    assert token.encode() not in written
    assert server.token.encode() not in written
    listed = json.loads(sonde("token", "list", "--json", "--storage", server.storage).stdout)
    assert {"admin", "hashed"} <= {one["name"] for one in listed}
    assert token not in str(listed)


def test_the_first_token_is_made_once(own_server: Server) -> None:
    token = own_server.token
    assert own_server.stop() == 0
    own_server.start()
    assert own_server.get("/v1/studies", token=token).status == 200
    rows = sqlite3.connect(own_server.storage.removeprefix("sqlite:///"))
    assert rows.execute("SELECT count(*) FROM tokens").fetchone() == (1,)
    rows.close()


def test_without_tokens_it_serves_this_machine_only(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/studies.db"
    refused = sonde("serve", "--no-token", "--host", "0.0.0.0", "--storage", url)
    assert refused.returncode == 1
    assert "--no-token lets everybody" in refused.stderr
    server = Server(url, tmp_path, "--no-token")
    assert server.get("/v1/studies", token="").status == 200
    elsewhere = server.raw(b"GET /v1/studies HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n")
    assert elsewhere.startswith(b"HTTP/1.1 403")  # a web page whose name leads here
    assert server.stop() == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["create", "new", "--role", "work", "--days", "-1"], "--days must be"),
        (["revoke", "nobody"], "no token 'nobody'"),
        (["create", "admin"], "a token 'admin' already"),
    ],
)
def test_the_command_line_says_what_is_wrong(server: Server, arguments: list[str], said: str) -> None:
    done = sonde("token", *arguments, "--storage", server.storage)
    assert done.returncode == 1
    assert said in done.stderr
