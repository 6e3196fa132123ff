"""Crashes: of the server, of a suggester, of the disk. Every accepted result is there once afterwards."""

from __future__ import annotations

import http.client
import os
import random
import secrets
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.server.service import Server, eventually, is_gone

import sonde


class Load:
    """Workers that ask and tell until they are told to stop; a lost answer makes them repeat the request."""

    def __init__(self, server: Server, path: str, workers: int) -> None:
        self._server, self._path = server, path
        self._stop = threading.Event()
        self.accepted: dict[str, float] = {}  # results by token of the trial
        self.errors: list[Any] = []
        self._threads = [threading.Thread(target=self._work, args=(f"w{i}",)) for i in range(workers)]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(150)
            assert not thread.is_alive()

    def _work(self, worker: str) -> None:
        while not self._stop.is_set():
            token = secrets.token_hex(16)
            asked = self._repeat("ask", {"tokens": [token], "worker": worker, "wait": 5})
            if not asked or not asked["trials"]:
                continue
            (trial,) = asked["trials"]
            value = trial["params"]["x"] / 3
            told = self._repeat("tell", {"trial": trial["number"], "token": token, "value": value,
                                         "params": trial["params"]})  # fmt: skip
            if told:
                assert told["value"] == value
                self.accepted[token] = value

    def _repeat(self, what: str, body: Any) -> Any:
        while not self._stop.is_set():
            try:
                answer = self._server.post(f"{self._path}/{what}", body)
            except (OSError, http.client.HTTPException):
                time.sleep(0.02)
                continue
            if answer.status == 200:
                return answer.data
            if answer.status != 503:
                self.errors.append(answer)
                return None
        return None


def check_results(server: Server, name: str, accepted: dict[str, float]) -> None:
    """Every accepted result is in the database, once, and every bit of it."""
    with sonde.load(server.storage, name) as study:
        found = [trial for trial in study.trials if trial.state == "completed"]
    values = {trial.token: trial.value for trial in found}
    assert len(values) == len(found)
    assert {token: values.get(token) for token in accepted} == accepted
    assert len({trial.params["x"] for trial in found}) == len(found)


def test_the_server_is_killed_under_load(own_server: Server) -> None:
    path = own_server.study("load", strategy="sobol")
    load = Load(own_server, path, 6)
    for _ in range(2):
        count = len(load.accepted)
        eventually(lambda count=count: len(load.accepted) > count + 15)
        children = own_server.children()
        own_server.kill()
        eventually(lambda pids=children: all(map(is_gone, pids)))
        own_server.start()
    count = len(load.accepted)
    eventually(lambda: len(load.accepted) > count + 15)
    load.stop()
    assert load.errors == []
    check_results(own_server, "load", load.accepted)


def test_a_suggester_is_killed_under_load(own_server: Server) -> None:
    path = own_server.study("load", strategy="sobol")
    load = Load(own_server, path, 6)
    killed = set()
    for _ in range(3):
        count = len(load.accepted)
        eventually(lambda count=count: len(load.accepted) > count + 10)
        (pid,) = eventually(lambda: [one for one in own_server.children() if one not in killed and not is_gone(one)])
        os.kill(pid, signal.SIGKILL)
        killed.add(pid)
    count = len(load.accepted)
    eventually(lambda: len(load.accepted) > count + 10)
    load.stop()
    assert load.errors == []
    check_results(own_server, "load", load.accepted)


def test_results_told_twice_late_and_in_any_order_are_there_once(server: Server) -> None:
    path = server.study("any-order", strategy="sobol")
    trials = server.ask(path, count=10)["trials"]
    released = [{"trial": trial["number"], "token": trial["token"]} for trial in trials[:3]]
    assert server.post(f"{path}/release", {"trials": released}).status == 200
    while server.ask(path)["trials"][0]["retry_of"] != 0:  # what was suggested ahead comes first
        pass

    def told(trial: Any, value: float) -> Any:
        return server.post(f"{path}/tell", {"trial": trial["number"], "token": trial["token"], "value": value})

    def tell(seed: int) -> None:
        for trial in random.Random(seed).sample(trials, len(trials)):
            assert told(trial, trial["params"]["x"]).status == 200

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(tell, range(8)))
    refused = told(trials[0], -1.0)
    assert (refused.status, refused.data["error"]) == (409, "ConflictingResult")
    stored = server.get(f"{path}/trials").data["trials"]
    assert [trial["value"] for trial in stored[:10]] == [trial["params"]["x"] for trial in trials]
    retries = {trial["retry_of"]: trial["state"] for trial in stored if trial["retry_of"] is not None}
    assert retries == {0: "running", 1: "cancelled", 2: "cancelled"}


def test_a_broken_study_says_so_and_others_go_on(server: Server) -> None:
    """A space with a Python function, which the database cannot hold, cannot be suggested for."""
    space = sonde.Space(x=sonde.Float(0, 1), n=sonde.Int(1, 9)).where(lambda params: params["x"] > 0.5)
    with sonde.Study(space, storage=server.storage, name="broken", strategy="random") as study:
        assert study.name == "broken"
    path = server.study("sound")
    refused = eventually(
        lambda: (answer := server.post("/v1/studies/broken/ask", {"wait": 10})).status == 503 and answer
    )
    assert refused.data["error"] == "SuggestingFailed"
    assert "function" in refused.data["message"]
    assert refused.headers["retry-after"]
    assert server.ask(path)["trials"]


def test_sigterm_answers_those_who_wait_and_ends_all_processes(own_server: Server) -> None:
    path = own_server.study("slow")
    own_server.ask(path)
    answers: list[Any] = []
    os.kill(own_server.children()[0], signal.SIGSTOP)  # a suggester that takes for ever
    eventually(lambda: own_server.ask(path, wait=0)["missing"])  # nothing waits any more
    thread = threading.Thread(target=lambda: answers.append(own_server.ask(path, wait=60)))
    with socket.create_connection(("127.0.0.1", own_server.port), timeout=60) as stream:
        stream.sendall(
            f"GET {path}/events?since=0 HTTP/1.1\r\nhost: x\r\n"
            f"authorization: Bearer {own_server.token}\r\n\r\n".encode()
        )
        received = b""
        while b"data: " not in received:
            received += stream.recv(65536)
        thread.start()
        eventually(lambda: b'sonde_waiting_asks{study="slow"} 1.0' in own_server.get("/metrics").data)
        children = own_server.children()
        began = time.monotonic()
        assert own_server.stop() == 0
        assert time.monotonic() - began < 30  # a few seconds, on a busy machine
        thread.join(30)
        assert (answers[0]["trials"], answers[0]["missing"]) == ([], 1)
        while stream.recv(65536):  # it ends
            pass
    assert all(map(is_gone, children))


def test_a_full_disk_is_told_and_the_server_goes_on(tmp_path: Path) -> None:
    """A limit on the size of files stands for a disk that is full; it is lifted later."""
    limit = "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)"
    server = Server(f"sqlite:///{tmp_path}/studies.db", tmp_path, before=limit)
    path = server.study("full")
    trials = server.ask(path, count=40)["trials"]
    import resource

    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (500_000, resource.RLIM_INFINITY))
    accepted, refused = 0, None
    for trial in trials:
        told = {"trial": trial["number"], "token": trial["token"], "value": 1.0, "attributes": {"notes": "x" * 50_000}}
        answer = server.post(f"{path}/tell", told)
        if answer.status != 200:
            refused = answer
            break
        accepted += 1
    assert refused is not None
    assert refused.status == 503
    assert refused.data["error"] == "StorageError"
    assert "disk" in refused.data["message"]
    assert server.get(path).data["counts"].get("completed", 0) == accepted
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    trial = trials[accepted]
    told = {"trial": trial["number"], "token": trial["token"], "value": 1.0}
    assert server.post(f"{path}/tell", told).status == 200
    assert server.stop() == 0
    with sonde.load(server.storage, "full") as study:
        assert sum(trial.state == "completed" for trial in study.trials) == accepted + 1
