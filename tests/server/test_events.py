"""Server-sent events."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.server.service import Server


@contextmanager
def events(server: Server, path: str, last: str | None = None) -> Iterator[Iterator[tuple[str | None, Any]]]:
    """The events of a study: id and data of each."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    headers = {"authorization": f"Bearer {server.token}"} | ({} if last is None else {"last-event-id": last})
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    assert answer.getheader("content-type", "").startswith("text/event-stream")
    assert answer.readline() == b": connected\n"
    assert answer.readline() == b"\n"

    def read() -> Iterator[tuple[str | None, Any]]:
        event: dict[str, str] = {}
        while line := answer.readline().decode():
            name, _, value = line.rstrip("\n").partition(": ")
            if line == "\n" and "data" in event:
                yield event.get("id"), json.loads(event["data"])
            event = {} if line == "\n" else event | {name: value}

    try:
        yield read()
    finally:
        answer.close()
        connection.close()


def test_every_change_is_told_and_a_reader_resumes_where_it_was(server: Server) -> None:
    path = server.study("watched")
    server.post(f"{path}/enqueue", {"params": [{"x": 0.1, "n": 1}]})
    with events(server, f"{path}/events?since=0") as told:
        last, first = next(told)
        assert (first["number"], first["state"]) == (0, "waiting")
        (trial,) = server.ask(path)["trials"]
        seen = [next(told) for _ in range(1)]
        while seen[-1][1]["number"] != 0 or seen[-1][1]["state"] != "running":
            seen.append(next(told))
    server.post(f"{path}/tell", {"trial": 0, "token": trial["token"], "value": 0.5})
    assert last is not None
    with events(server, f"{path}/events", last) as told:
        states = []  # a stream that is behind may tell first that the trial runs
        while "completed" not in states:
            _, event = next(told)
            assert event["revision"] > int(last)
            if event["number"] == 0:
                states.append(event["state"])
        assert event["value"] == 0.5
        assert states in (["completed"], ["running", "completed"])


def test_without_a_revision_the_stream_begins_now(server: Server) -> None:
    path = server.study("from-now")
    server.post(f"{path}/enqueue", {"params": [{"x": 0.1, "n": 1}]})
    with events(server, f"{path}/events") as told:
        server.post(f"{path}/enqueue", {"params": [{"x": 0.2, "n": 1}]})
        assert next(told)[1]["number"] == 1


def test_changes_of_other_processes_are_told(server: Server) -> None:
    import sonde

    path = server.study("elsewhere")
    with events(server, f"{path}/events") as told, sonde.load(server.storage, "elsewhere") as study:
        study.enqueue({"x": 0.3, "n": 2})
        assert next(told)[1]["state"] == "waiting"
