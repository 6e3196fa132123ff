"""A client of the dashboard that behaves as a browser does: it keeps a cookie and sends the header that proves it."""

from __future__ import annotations

import json
from typing import Any

from tests.server.service import Answer, Server


class Page:
    """A logged-in session."""

    def __init__(self, server: Server, token: str | None = None) -> None:
        self.server, self.cookie, self.csrf = server, "", ""
        answer = self.send("POST", "/ui/login", {"token": server.token if token is None else token})
        assert answer.status == 200, answer
        self.set_cookie = answer.headers["set-cookie"]
        self.cookie, self.csrf = self.set_cookie.partition(";")[0], answer.data["csrf"]

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        own = {"cookie": self.cookie} if self.cookie else {}
        if body is not None:
            own["content-type"] = "application/json"
        if self.csrf and method != "GET":
            own["x-sonde-csrf"] = self.csrf
        sent = own | {name.replace("_", "-"): value for name, value in headers.items()}
        return plain(self.server, method, path, body, sent)

    def get(self, path: str, **headers: str) -> Answer:
        return self.send("GET", path, **headers)


def plain(server: Server, method: str, path: str, body: Any, headers: dict[str, str]) -> Answer:
    """Send a request with these headers only."""
    connection = server._connection()
    try:
        connection.request(method, path, None if body is None else json.dumps(body).encode(), headers)
        answer = connection.getresponse()
        text, kind = answer.read(), answer.getheader("content-type", "")
        named = {name.lower(): value for name, value in answer.headers.items()}
        return Answer(answer.status, json.loads(text) if text and "json" in kind else text, named)
    finally:
        connection.close()
