"""Pauses and notes over HTTP."""

from __future__ import annotations

import secrets
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.server.service import Server

import sonde


def test_a_paused_study_has_no_trial_until_it_is_resumed(server: Server) -> None:
    path = server.study("paused", strategy="sobol")
    (running,) = server.ask(path)["trials"]
    for _ in range(2):
        assert server.post(f"{path}/pause", {}).status == 200
        assert server.get(path).data["paused"] is True
        assert server.get(path).data["suggesting"] == {"suggester": None, "seconds": 0.0, "asks": 0}
    listed = {one["name"]: one["paused"] for one in server.get("/v1/studies").data}
    assert listed["paused"] is True
    refused = server.ask(path, wait=0.2, count=2)
    assert (refused["trials"], refused["missing"], refused["paused"]) == ([], 2, True)
    told = {"trial": running["number"], "token": running["token"], "value": 0.5}
    assert server.post(f"{path}/tell", told).data["state"] == "completed"
    assert server.post(f"{path}/enqueue", {"params": [{"x": 0.5, "n": 2}]}).status == 200
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(server.ask, path, wait=50)
        assert server.ask(path, wait=0.2)["missing"] == 1
        assert not waiting.done()
        started = time.monotonic()
        for _ in range(2):
            assert server.post(f"{path}/resume", {}).status == 200
        assert len(waiting.result(50)["trials"]) == 1
        assert time.monotonic() - started < 20
    assert server.get(path).data["paused"] is False


def test_a_pause_of_another_process_counts(server: Server) -> None:
    path = server.study("from-outside", strategy="sobol")
    with sonde.load(server.storage, "from-outside") as study, ThreadPoolExecutor(1) as pool:
        study.pause()
        waiting = pool.submit(server.ask, path, wait=50)
        assert server.ask(path, wait=0)["paused"] is True
        study.resume()
        assert len(waiting.result(50)["trials"]) == 1


def test_a_server_whose_study_is_paused_rests(server: Server) -> None:
    path = server.study("rests", strategy="sobol")
    server.ask(path)  # a child process suggests
    server.post(f"{path}/pause", {})
    with sonde.load(server.storage, "rests") as study:
        before = study.storage.changes(study._header.key, 0).revision
        server.ask(path, wait=2.5)
        after = study.storage.changes(study._header.key, 0).revision
        assert after - before < 20  # of one ask each second, not of hundreds


def test_notes_are_written_and_read(server: Server) -> None:
    path = server.study("noted", strategy="sobol")
    server.ask(path)
    text = "größe \U0001f4a5 <script>\n\u202e"
    assert server.get(f"{path}/notes").data == {"study": "", "trials": {}}
    assert server.get(path).data["note"] == ""
    assert server.post(f"{path}/note", {"text": text}).status == 200
    assert server.post(f"{path}/note", {"text": "x" * 100_000, "trial": 0}).status == 200
    assert server.get(path).data["note"] == text
    assert server.get(f"{path}/notes").data == {"study": text, "trials": {"0": "x" * 100_000}}
    assert server.post(f"{path}/note", {"text": "", "trial": 0}).status == 200
    assert server.get(f"{path}/notes").data == {"study": text, "trials": {}}


@pytest.mark.parametrize(
    ("body", "status"),
    [({"text": "x", "trial": 99}, 404), ({"text": "x" * 100_001}, 422), ({"text": None}, 422), ({}, 422),
     ({"text": "x", "trial": -1}, 422), ({"text": "x", "trial": "0"}, 422), ({"text": "a\0b"}, 422)],
)  # fmt: skip
def test_wrong_notes_are_refused(server: Server, body: dict[str, Any], status: int) -> None:
    path = server.study(f"wrong-notes-{secrets.token_hex(4)}")
    answer = server.post(f"{path}/note", body)
    assert answer.status == status, answer
    assert server.get(f"{path}/notes").data == {"study": "", "trials": {}}


def test_a_trial_says_what_its_suggestion_knew(server: Server) -> None:
    path = server.study("sources", strategy="sobol")
    (trial,) = server.ask(path)["trials"]
    assert trial["seen"] > 0
    assert trial["batch"][0] == 0
    assert 0 < trial["suggested_in"] < 60
    assert server.get(f"{path}/trials/0").data["seen"] == trial["seen"]
    server.post(f"{path}/enqueue", {"params": [{"x": 0.5, "n": 2}]})
    enqueued = [one for one in server.get(f"{path}/trials").data["trials"] if one["params"] == {"x": 0.5, "n": 2}]
    assert [(one["seen"], one["suggested_in"], one["batch"]) for one in enqueued] == [(None, None, None)]
