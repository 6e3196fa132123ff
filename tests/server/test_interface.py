"""Asking, telling and reading over HTTP."""

from __future__ import annotations

import secrets
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.server.service import Server

import sonde


def names(trials: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"trial": trial["number"], "token": trial["token"]} for trial in trials]


def test_a_study_from_its_creation_to_its_best_trial(database_url: str, tmp_path: Path) -> None:
    server = Server(database_url, tmp_path)
    path = server.study("first", direction="maximize", seed=3, strategy="auto")
    assert server.get(path).data["seed"] == 3
    for _ in range(5):
        (trial,) = server.ask(path, worker="one")["trials"]
        assert trial["state"] == "running"
        assert trial["worker"] == "one"
        told = server.post(f"{path}/tell", {"trial": trial["number"], "token": trial["token"],
                                            "value": trial["params"]["x"], "gradient": {"x": 1.0}})  # fmt: skip
        assert told.status == 200, told
        assert told.data["value"] == trial["params"]["x"]  # every bit of it
        assert told.data["gradient"] == {"x": 1.0}
    best = server.get(f"{path}/best").data
    with sonde.load(database_url, "first") as study:  # the same study, without the server
        assert best["value"] == study.best_value
        assert [trial.params["x"] for trial in study.trials[:5]] == [trial.value for trial in study.trials[:5]]
        assert study.best_trial.token == best["token"]
    counts = server.get(path).data["counts"]
    assert counts["completed"] == 5
    assert [one["best"] for one in server.get("/v1/studies").data] == [best["value"]]
    metrics = server.get("/metrics").data.decode()
    assert 'sonde_trials{state="completed",study="first"} 5.0' in metrics
    assert 'route="/v1/studies/{name}/tell",status="200"} 5.0' in metrics
    assert server.call("DELETE", path).status == 204
    assert server.get(path).data["error"] == "StudyNotFound"
    assert server.stop() == 0


def test_the_same_tokens_get_the_same_trials(server: Server) -> None:
    path = server.study("tokens")
    tokens = [secrets.token_hex(16) for _ in range(3)]
    first = server.ask(path, tokens=tokens)
    assert {trial["token"] for trial in first["trials"]} == set(tokens) == set(first["tokens"])
    assert server.ask(path, tokens=tokens) == first
    assert server.post(f"{path}/ask", {"tokens": [tokens[0]] * 2}).status == 422


def test_asks_that_wait_are_answered_together(server: Server) -> None:
    path = server.study("many", strategy="sobol")
    got: list[Any] = []
    threads = [threading.Thread(target=lambda i=i: got.append(server.ask(path, worker=f"w{i}"))) for i in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    numbers = [trial["number"] for asked in got for trial in asked["trials"]]
    assert len(set(numbers)) == 20


def test_an_ask_that_may_not_wait_returns_at_once_and_is_served_later(server: Server) -> None:
    path = server.study("no-wait")
    tokens = [secrets.token_hex(16)]
    first = server.ask(path, tokens=tokens, wait=0)
    assert (first["trials"], first["missing"], first["tokens"]) == ([], 1, tokens)
    assert server.ask(path, tokens=tokens)["missing"] == 0


def test_results_count_once_and_are_never_overwritten(server: Server) -> None:
    path = server.study("once")
    trials = server.ask(path, count=3)["trials"]
    one, two, three = names(trials)
    for _ in range(2):  # duplicated, and later than the others
        assert server.post(f"{path}/tell", two | {"value": 2.0}).data["value"] == 2.0
        assert server.post(f"{path}/tell", one | {"value": 1.0}).data["value"] == 1.0
    other = server.post(f"{path}/tell", one | {"value": 1.5})
    assert (other.status, other.data["error"]) == (409, "ConflictingResult")
    assert server.post(f"{path}/tell", three | {"failed": "no memory"}).data["error"] == "no memory"
    assert server.post(f"{path}/tell", {"trial": 10**6, "value": 1.0}).data["error"] == "UnknownTrial"
    assert server.get(path).data["counts"]["completed"] == 2


def test_numbers_that_json_lacks(server: Server) -> None:
    path = server.study("not-finite")
    (trial,) = server.ask(path)["trials"]
    (name,) = names([trial])
    points = [[1, "nan"], [2, "inf"], [3, 0.1 + 0.2]]
    assert server.post(f"{path}/report", name | {"reports": points}).data == {
        "trial": trial["number"],
        "should_stop": False,
    }
    assert server.get(f"{path}/reports").data["reports"] == [[trial["number"], *point] for point in points]
    told = server.post(f"{path}/tell", name | {"value": "nan"})
    assert told.data["state"] == "failed"
    assert told.data["error"] == "the value is nan"
    assert server.post(f"{path}/tell", b'{"trial": 0, "value": NaN}').status in (400, 422)


def test_a_result_whose_ask_was_lost_is_a_trial_of_its_own(server: Server) -> None:
    path = server.study("lost")
    told = {"trial": 77, "token": secrets.token_hex(16), "value": 0.5, "params": {"x": 0.25, "n": 3}}
    assert server.post(f"{path}/tell", {**told, "params": None}).status == 404
    stored = server.post(f"{path}/tell", told)
    assert (stored.data["number"], stored.data["params"]) == (0, {"x": 0.25, "n": 3})
    assert server.post(f"{path}/tell", told).data == stored.data


def test_the_queue_and_what_becomes_of_its_trials(server: Server) -> None:
    path = server.study("queue")
    queued = server.post(f"{path}/enqueue", {"params": [{"x": 0.1, "n": 1}, {"x": 0.2, "n": 2}]})
    assert queued.data == {"numbers": [0, 1]}
    trials = server.ask(path, count=2)["trials"]
    assert [trial["params"]["x"] for trial in trials] == [0.1, 0.2]
    one, two = names(trials)
    assert server.post(f"{path}/release", {"trials": [one]}).status == 200
    again = server.ask(path)["trials"][0]
    assert (again["params"]["x"], again["retry_of"]) == (0.1, 0)
    assert server.post(f"{path}/cancel", {"trials": [two]}).status == 200
    assert server.get(f"{path}/trials/1").data["state"] == "cancelled"
    assert server.post(f"{path}/heartbeat", {"tokens": [again["token"]], "lease": 5}).status == 200
    assert server.post(f"{path}/withdraw", {"tokens": [again["token"]]}).status == 200
    assert server.get(f"{path}/trials/{again['number']}").data["state"] == "lost"


def test_finished_trials_of_another_source(server: Server) -> None:
    choices = {"parameters": {"k": {"type": "categorical", "choices": [{"tuple": [1, 2]}, "a", None]}}}
    path = server.study("added", choices)
    new = [
        {"params": {"k": [1, 2]}, "value": 0.5, "curve": [[1, 0.9], [2, "nan"]]},
        {"params": {"k": None}, "failed": "x"},
    ]
    tokens = [secrets.token_hex(16) for _ in new]
    for _ in range(2):
        assert server.post(f"{path}/add", {"trials": new, "tokens": tokens}).data == {"numbers": [0, 1]}
    assert server.get(f"{path}/best").data["params"] == {"k": [1, 2]}
    exported = server.get(f"{path}/trials").data["trials"]
    plain = [{name: value for name, value in one.items() if name not in ("token", "study")} for one in exported]
    assert server.post(f"{path}/add", {"trials": plain}).status == 200
    waiting = server.post(f"{path}/add", {"trials": [{"params": {"k": "a"}, "state": "waiting"}]})
    assert (waiting.status, waiting.data["error"]) == (422, "OptionError")


def test_pages_of_trials_have_every_change_once(server: Server) -> None:
    path = server.study("pages")
    numbers = server.post(f"{path}/enqueue", {"params": [{"x": i / 10, "n": 1} for i in range(10)]}).data["numbers"]
    for trial in server.ask(path, count=7)["trials"]:
        server.post(f"{path}/tell", {"trial": trial["number"], "token": trial["token"], "value": 0.0})
    seen, since, more = [], 0, True
    while more:
        page = server.get(f"{path}/trials?since={since}&limit=2").data
        assert page["revision"] > since
        since, more = page["revision"], page["more"]
        seen += [trial["number"] for trial in page["trials"]]
    assert set(numbers) <= set(seen)
    assert len(seen) == len(set(seen))
    assert server.get(f"{path}/trials?since={since}").data["trials"] == []


def test_several_objectives_have_no_best_trial(server: Server) -> None:
    path = server.study("several", direction='{"loss": "minimize", "speed": {"direction": "maximize", "threshold": 2}}')
    (trial,) = server.ask(path)["trials"]
    told = server.post(f"{path}/tell", names([trial])[0] | {"value": {"loss": 0.5, "speed": 3}})
    assert told.data["value"] == {"loss": 0.5, "speed": 3.0}
    assert server.get(f"{path}/best").status == 409


def test_a_space_that_has_no_more_configurations(server: Server) -> None:
    path = server.study("finite", {"parameters": {"b": {"type": "bool"}}}, strategy="auto")
    got = server.ask(path, count=4)
    assert len(got["trials"]) == 2
    assert got["exhausted"]
    assert got["missing"] == 0


def test_a_limit_of_trials(server: Server) -> None:
    path = server.study("limit")
    got = server.ask(path, count=5, limit=3)
    assert (len(got["trials"]), got["missing"], got["exhausted"]) == (3, 0, False)
    assert server.ask(path, limit=3)["trials"] == []


def test_a_trial_that_is_stopped(server: Server) -> None:
    path = server.study("stopped")
    one, two = names(server.ask(path, count=2)["trials"])
    told = server.post(f"{path}/tell", one | {"stopped": True, "mean": 0.5, "std": 0.1})
    assert (told.data["state"], told.data["mean"], told.data["std"]) == ("stopped", 0.5, 0.1)
    assert server.post(f"{path}/report", two | {"reports": [[1, 0.5]], "decide": True}).data["should_stop"] is False
    assert server.post(f"{path}/tell", two | {"stopped": True}).data["state"] == "stopped"


def test_the_same_settings_find_a_study_and_others_do_not(server: Server) -> None:
    space = {"parameters": {"x": {"type": "float", "low": 0, "high": 1}}}
    made = server.post("/v1/studies", {"name": "same", "space": space, "key": "ab" * 16})
    assert (made.status, made.data["key"]) == (201, "ab" * 16)
    again = server.post("/v1/studies", {"name": "same", "space": made.data["space"]})
    assert (again.status, again.data["key"]) == (200, "ab" * 16)
    other = server.post("/v1/studies", {"name": "same", "space": space, "direction": "maximize"})
    assert (other.status, other.data["error"]) == (409, "StudyMismatch")


def test_a_deleted_study_is_not_the_new_one_of_that_name(server: Server) -> None:
    path = server.study("again")
    server.ask(path)
    with sonde.load(server.storage, "again") as study:  # deleted by another process
        sonde.delete(server.storage, "again")
        assert study.name
    assert server.post(f"{path}/ask", {}).status == 404
    server.study("again")
    assert server.ask(path)["trials"][0]["number"] == 0


@pytest.mark.parametrize("wanted", [{"count": 0}, {"count": 10_001}, {"lease": -1}, {"wait": 61}, {"unknown": 1}])
def test_an_ask_out_of_range_is_refused(server: Server, wanted: dict[str, Any]) -> None:
    server.post("/v1/studies", {"name": "ranges", "space": {"parameters": {"x": {"type": "bool"}}}})
    refused = server.post("/v1/studies/ranges/ask", wanted)
    assert refused.status == 422
    assert next(iter(wanted)) in refused.data["message"]
