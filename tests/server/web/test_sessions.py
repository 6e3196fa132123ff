"""Who may use the pages: cookies, proof that a request is a page's own, other origins, headers of pages."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.processes import outputs
from tests.server.service import START, Answer, Server, eventually, sonde
from tests.server.web.pages import Page, plain

import sonde as library

JSON = {"content-type": "application/json"}


def test_a_session_is_a_cookie_that_no_script_reads_and_no_other_site_sends(server: Server) -> None:
    page = Page(server)
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= {part.strip() for part in page.set_cookie.split(";")}
    assert page.set_cookie.startswith(f"sonde-{server.port}=")
    who = page.get("/ui/session")
    assert (who.data["name"], who.data["role"], who.data["csrf"]) == ("admin", "admin", page.csrf)
    assert page.get("/v1/studies").status == 200


def test_a_page_without_a_session_gets_nothing_but_itself(server: Server) -> None:
    for path in ("/ui/session", "/v1/studies", "/v1/studies/x/table", "/v1/studies/x/trials.csv"):
        assert plain(server, "GET", path, None, {}).status == 401, path
    for path in ("/", "/ui/app.js", "/ui/style.css", "/ui/theme.json"):
        assert plain(server, "GET", path, None, {}).status == 200, path


def test_what_writes_needs_proof_beside_the_cookie(server: Server) -> None:
    path, page = server.study("forged"), Page(server)
    body = {"params": [{"x": 0.5, "n": 1}]}
    for proof in ({}, {"x-sonde-csrf": ""}, {"x-sonde-csrf": "0" * 64}, {"x-sonde-csrf": "\xe9"}):
        forged = plain(server, "POST", f"{path}/enqueue", body, {"cookie": page.cookie, **JSON, **proof})
        assert (forged.status, forged.data["error"]) == (403, "Forbidden"), proof
    assert page.send("POST", f"{path}/enqueue", body).data == {"numbers": [0]}
    assert server.get(f"{path}/trials").data["trials"][0]["number"] == 0


def test_a_revoked_token_ends_its_sessions_and_a_restart_does_not(own_server: Server) -> None:
    made = sonde("token", "create", "reader", "--role", "read", "--storage", own_server.storage)
    secret = next(word for word in made.stdout.split() if word.startswith("sonde_"))
    page = Page(own_server, secret)
    path = own_server.study("kept")
    own_server.stop()
    own_server.start()
    assert page.get(path).status == 200
    assert page.send("POST", f"{path}/pause", {}).status == 403  # it may read only
    sonde("token", "revoke", "reader", "--storage", own_server.storage)
    eventually(lambda: page.get(path).status == 401)


def test_logging_out_ends_the_cookie(server: Server) -> None:
    page = Page(server)
    ended = page.send("POST", "/ui/logout")
    assert ended.status == 200
    assert "Max-Age=0" in ended.headers["set-cookie"]
    assert ended.headers["set-cookie"].startswith(f"sonde-{server.port}=;")


def test_wrong_logins_are_refused_and_soon_made_to_wait(own_server: Server) -> None:
    def login(i: int) -> Answer:
        return plain(own_server, "POST", "/ui/login", {"token": f"sonde_{i}"}, JSON)

    first = login(0)
    assert first.status == 401
    assert "set-cookie" not in first.headers
    with ThreadPoolExecutor(16) as threads:
        answers = list(threads.map(login, range(64)))
    late = next(answer for answer in answers if answer.status == 429)
    assert int(late.headers["retry-after"]) >= 1


def test_pages_say_that_only_their_own_scripts_may_run(server: Server) -> None:
    for path in ("/", "/ui/app.js"):
        headers = plain(server, "GET", path, None, {}).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
    page = plain(server, "GET", "/", None, {}).data.decode()
    assert "onclick" not in page
    assert page.count("<script") == page.count("<script src=") + page.count('<script type="module" src=')


def test_files_are_sent_once_and_nothing_outside_their_folder(server: Server) -> None:
    first = plain(server, "GET", "/ui/app.js", None, {})
    again = plain(server, "GET", "/ui/app.js", None, {"if-none-match": first.headers["etag"]})
    assert (again.status, again.data) == (304, b"")
    for name in ("../routes.py", "..%2froutes.py", "%2e%2e/routes.py", "routes.py", "", "%00", "static"):
        assert plain(server, "GET", f"/ui/{name}", None, {}).status == 404, name


def test_plotly_comes_from_the_package_that_is_installed(server: Server) -> None:
    from importlib.metadata import version

    script = plain(server, "GET", "/ui/plotly.js?v=1", None, {"accept-encoding": "gzip"})
    assert script.status == 200
    assert script.headers["content-encoding"] == "gzip"
    assert "immutable" in script.headers["cache-control"]
    assert Page(server).get("/ui/session").data["plotly"] == version("plotly")


@pytest.fixture(scope="module")
def open_server(tmp_path_factory: pytest.TempPathFactory) -> Server:
    folder = tmp_path_factory.mktemp("open")
    running = Server(f"sqlite:///{folder}/studies.db", folder, "--no-token")
    yield running
    running.stop()


def test_without_tokens_only_the_servers_own_page_may_write(open_server: Server) -> None:
    path = open_server.study("open")
    host = f"127.0.0.1:{open_server.port}"
    body = {"params": [{"x": 0.5, "n": 1}]}
    for origin in (
        "http://evil.example",
        "null",
        f"http://{host}.evil.example",
        f"http://127.0.0.1:{open_server.port + 1}",
    ):
        refused = plain(open_server, "POST", f"{path}/enqueue", body, {"host": host, "origin": origin, **JSON})
        assert (refused.status, refused.data["error"]) == (403, "Forbidden"), origin
    own = plain(open_server, "POST", f"{path}/enqueue", body, {"host": host, "origin": f"http://{host}", **JSON})
    assert own.status == 200
    who = plain(open_server, "GET", "/ui/session", None, {"host": host})
    assert (who.data["login"], who.data["role"]) == (False, "admin")


def test_the_dashboard_of_one_person_has_a_token_of_its_own_and_opens_the_browser(tmp_path: Path) -> None:
    library.Study(library.Space(x=library.Float(0, 1)), name="mine", storage=f"sqlite:///{tmp_path}/mine.db").close()
    browser, opened = tmp_path / "browser", tmp_path / "opened.html"
    browser.write_text(f'#!/bin/sh\ncp "${{1#file://}}" {opened}.new && mv {opened}.new {opened}\n')
    browser.chmod(0o755)
    command = [sys.executable, "-c", START, "dashboard", str(tmp_path / "mine.db")]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | {"BROWSER": str(browser)}
    ) as process:
        assert process.stdout is not None
        link = process.stdout.readline().split()[-1]
        address, _, secret = link.partition("/#token=")
        assert address.startswith("http://127.0.0.1:")
        eventually(opened.exists)
        assert f"url={link}" in opened.read_text()
        server = Server.__new__(Server)
        server.port, server.token, server._trusted = int(address.rpartition(":")[2]), secret, None
        assert [study["name"] for study in Page(server).get("/v1/studies").data] == ["mine"]
        assert "[]" in sonde("token", "list", "--storage", f"sqlite:///{tmp_path}/mine.db", "--json").stdout
        process.send_signal(signal.SIGINT)
        said, errors = outputs(process)
        assert (process.returncode, said, errors) == (0, "", "Ctrl-C ends it\n")


def test_the_dashboard_is_for_this_machine_only(tmp_path: Path) -> None:
    refused = sonde("dashboard", str(tmp_path / "x.db"), "--host", "0.0.0.0")
    assert refused.returncode == 1
    assert "sonde serve" in refused.stderr
    assert "there is no database" in sonde("dashboard", str(tmp_path / "x.db")).stderr
