"""The table of trials, CSV, overviews and curves, as the server computes them."""

from __future__ import annotations

import csv
import io
import json
from typing import Any
from urllib.parse import quote

import pytest
from tests.server.service import Server

SPACE = {"parameters": {
    "lr": {"type": "float", "low": 1e-5, "high": 0.1, "log": True}, "n": {"type": "int", "low": 1, "high": 9},
    "act": {"type": "categorical", "choices": ["relu", "tanh", None]}, "bias": {"type": "bool"},
    "slope": {"type": "float", "low": 0, "high": 1, "when": {"act": ["relu"]}},
}}  # fmt: skip


def entry(i: int) -> dict[str, Any]:
    params = {"lr": 1e-5 * (i + 1), "n": i % 9 + 1, "act": ["relu", "tanh", None][i % 3], "bias": i % 2 == 0}
    if i % 3 == 0:
        params["slope"] = i / 100
    if i % 10 == 7:
        return {"params": params, "failed": 'Traceback (most recent call last):\n  File "a"\nOSError: disk <b>full</b>'}
    return {"params": params, "value": abs(i - 42) / 10}


@pytest.fixture(scope="module")
def path(server: Server) -> str:
    """A study of a hundred trials."""
    made = server.study("table", SPACE)
    assert len(server.post(f"{made}/add", {"trials": [entry(i) for i in range(100)]}).data["numbers"]) == 100
    return made


def table(server: Server, path: str, **wanted: Any) -> Any:
    query = "&".join(
        f"{name}={quote(str(one))}"
        for name, value in wanted.items()
        for one in (value if isinstance(value, list) else [value])
    )
    return server.get(f"{path}/table?{query}")


def numbers(server: Server, path: str, **wanted: Any) -> list[int]:
    answer = table(server, path, limit=1000, **wanted)
    assert answer.status == 200, answer
    assert answer.data["matching"] == len(answer.data["rows"])
    return [row["number"] for row in answer.data["rows"]]


def test_a_row_has_what_the_trial_has(server: Server, path: str) -> None:
    row, trial = table(server, path, filter="number=3").data["rows"][0], server.get(f"{path}/trials/3").data
    assert row["params"] == trial["params"]
    assert (row["values"], row["state"]) == ([trial["value"]], "completed")
    assert table(server, path, filter="number=7").data["rows"][0]["error"] == "OSError: disk <b>full</b>"


@pytest.mark.parametrize(
    ("expression", "meets"),
    [
        ("value<0.3", lambda i: i % 10 != 7 and abs(i - 42) / 10 < 0.3),
        ("lr >= 5e-4", lambda i: 1e-5 * (i + 1) >= 5e-4),
        ("n != 3", lambda i: i % 9 + 1 != 3),
        ("act=RELU", lambda i: i % 3 == 0),
        ("act != relu", lambda i: i % 3 != 0),
        ("act=None", lambda i: i % 3 == 2),
        ("bias=true", lambda i: i % 2 == 0),
        ("slope>0.5", lambda i: i % 3 == 0 and i / 100 > 0.5),
        ("state=failed", lambda i: i % 10 == 7),
        ("params_n==2", lambda i: i % 9 + 1 == 2),
        ("number>90", lambda i: i > 90),
    ],
)
def test_filters_find_what_meets_them(server: Server, path: str, expression: str, meets: Any) -> None:
    wanted = [i for i in range(100) if meets(i)]
    assert wanted
    assert numbers(server, path, filter=expression, order="asc") == wanted


def test_filters_states_and_searches_hold_together(server: Server, path: str) -> None:
    found = numbers(
        server, path, filter=["n>2", "bias=true"], state=["completed", "failed"], search="relu", order="asc"
    )
    assert found == [i for i in range(100) if i % 9 + 1 > 2 and i % 2 == 0 and i % 3 == 0]
    assert numbers(server, path, search="DISK <b>") == [i for i in range(99, -1, -1) if i % 10 == 7]
    assert numbers(server, path, search="57") == [57]


@pytest.mark.parametrize("column", ["value", "lr", "slope", "act", "worker", "error", "duration", "state", "number"])
def test_every_column_sorts_and_what_has_no_value_is_last(server: Server, path: str, column: str) -> None:
    upwards, downwards = (numbers(server, path, sort=column, order=order) for order in ("asc", "desc"))
    assert sorted(upwards) == sorted(downwards) == list(range(100))
    if column == "value":
        assert upwards[:1] == [42]
        assert set(upwards[-10:]) == set(downwards[-10:]) == {i for i in range(100) if i % 10 == 7}
    if column == "slope":
        assert upwards[:3] == [0, 3, 6]
        assert downwards[:3] == [99, 96, 93]


def test_pages_follow_each_other(server: Server, path: str) -> None:
    first, second = (table(server, path, sort="lr", order="asc", limit=10, offset=offset).data for offset in (0, 10))
    assert [row["number"] for row in first["rows"] + second["rows"]] == list(range(20))
    assert (first["total"], first["matching"]) == (100, 100)
    assert table(server, path, offset=1000).data["rows"] == []


@pytest.mark.parametrize(
    "wanted",
    [
        {"filter": "nothing<3"}, {"filter": "value"}, {"filter": "value<much"}, {"filter": "act<relu"},
        {"filter": "<"}, {"sort": "nothing"}, {"state": "done"}, {"order": "up"}, {"limit": 0}, {"offset": -1},
    ],
)  # fmt: skip
def test_a_query_that_cannot_be_is_refused_with_a_reason(server: Server, path: str, wanted: dict[str, Any]) -> None:
    refused = table(server, path, **wanted)
    assert refused.status == 422
    assert len(refused.data["message"]) > 20


def test_changes_are_in_the_next_answer(server: Server) -> None:
    path = server.study("changing")
    assert table(server, path).data["total"] == 0
    server.post(f"{path}/enqueue", {"params": [{"x": 0.5, "n": 1}]})
    assert table(server, path).data["rows"][0]["state"] == "waiting"
    (trial,) = server.ask(path, worker="me")["trials"]
    server.post(f"{path}/tell", {"trial": trial["number"], "token": trial["token"], "value": 2.5})
    row = table(server, path).data["rows"][0]
    assert (row["state"], row["values"], row["worker"]) == ("completed", [2.5], "me")
    assert row["duration"] >= 0


def test_csv_reads_back_as_the_trials(server: Server, path: str) -> None:
    answer = server.get(f"{path}/trials.csv?order=asc")
    assert answer.headers["content-type"].startswith("text/csv")
    assert "attachment" in answer.headers["content-disposition"]
    rows = list(csv.DictReader(io.StringIO(answer.data.decode())))
    assert [int(row["number"]) for row in rows] == list(range(100))
    assert float(rows[3]["value"]) == entry(3)["value"]
    assert (rows[2]["params_act"], rows[1]["params_slope"]) == ("None", "")
    some = server.get(f"{path}/trials.csv?filter=number%3C5")
    assert len(some.data.decode().splitlines()) == 6
    assert server.get(f"{path}/trials.csv?filter=nothing%3C5").status == 422


def test_cells_that_a_spreadsheet_would_run_are_quoted(server: Server) -> None:
    space = {"parameters": {"a": {"type": "categorical", "choices": ["=1+1", "b"]}}}
    path = server.study("formula", space)
    server.post(f"{path}/add", {"trials": [{"params": {"a": "=1+1"}, "failed": "=cmd()"}]})
    assert b"'=1+1" in server.get(f"{path}/trials.csv").data
    assert b"'=cmd()" in server.get(f"{path}/trials.csv").data


def test_an_overview_has_the_best_and_the_reasons_of_failures(server: Server, path: str) -> None:
    told = server.get(f"{path}/overview").data
    assert (told["trials"], told["counts"]) == (100, {"completed": 90, "failed": 10})
    assert (told["best"]["number"], told["best"]["values"]) == (42, [0.0])
    assert told["failures"] == [{"reason": "OSError: disk <b>full</b>", "count": 10, "last": 97}]
    drawn = server.get(f"{path}/spark").data
    assert (drawn["trials"], drawn["best"][-1], drawn["numbers"][-1]) == (100, 0.0, 99)
    assert len(drawn["best"]) == 60


def test_failures_that_differ_in_numbers_are_counted_together(server: Server) -> None:
    path = server.study("memory")
    reasons = [f"tried to allocate {size} MiB" for size in (512, 20, 7)] + ["no device", "no disk", "no device"]
    server.post(f"{path}/add", {"trials": [{"params": {"x": 0.5, "n": 1}, "failed": each} for each in reasons]})
    assert server.get(f"{path}/overview").data["failures"] == [
        {"reason": "tried to allocate 7 MiB", "count": 3, "last": 2}, {"reason": "no device", "count": 2, "last": 5},
        {"reason": "no disk", "count": 1, "last": 4},
    ]  # fmt: skip


def test_a_broken_constraint_is_not_the_best(server: Server) -> None:
    path = server.study("constrained")
    added = [{"params": {"x": 0.1, "n": 1}, "value": 1.0, "constraints": {"memory": 5.0}},
             {"params": {"x": 0.2, "n": 1}, "value": 2.0, "constraints": {"memory": -1.0}}]  # fmt: skip
    server.post(f"{path}/add", {"trials": added})
    assert server.get(f"{path}/overview").data["best"]["number"] == 1
    assert [row["broken"] for row in table(server, path, order="asc").data["rows"]] == [True, False]


def test_several_objectives_have_a_column_each_and_no_best(server: Server) -> None:
    direction = json.dumps({"loss": "minimize", "speed": "maximize"})
    path = server.study("several", direction=direction)
    added = [{"params": {"x": i / 10, "n": 1}, "value": {"loss": i, "speed": 9 - i}} for i in range(5)]
    server.post(f"{path}/add", {"trials": added})
    assert [row["values"] for row in table(server, path, sort="speed", order="asc", limit=2).data["rows"]] == [
        [4.0, 5.0],
        [3.0, 6.0],
    ]
    assert server.get(f"{path}/overview").data["best"] is None
    assert server.get(f"{path}/spark").data["best"] == []
    assert b"value_loss,value_speed" in server.get(f"{path}/trials.csv").data


def test_a_learning_curve_is_read_by_step_with_what_is_no_number(server: Server) -> None:
    path = server.study("curve")
    server.post(f"{path}/enqueue", {"params": [{"x": 0.5, "n": 1}]})
    (trial,) = server.ask(path)["trials"]
    server.post(
        f"{path}/report", {"trial": 0, "token": trial["token"], "reports": [[2, 0.5], [1, 0.9], [3, "nan"], [2, 0.4]]}
    )
    assert server.get(f"{path}/trials/0/curve").data["curve"] == [[1.0, 0.9], [2.0, 0.4], [3.0, "nan"]]
    assert server.get(f"{path}/trials/5/curve").data["curve"] == []


def test_a_study_that_was_deleted_is_not_found(server: Server) -> None:
    path = server.study("gone")
    assert table(server, path).status == 200
    server.call("DELETE", path)
    for route in ("table", "overview", "spark", "trials.csv"):
        assert server.get(f"{path}/{route}").status == 404, route


@pytest.mark.parametrize(
    "name", ["a/b", "../x", "<script>alert(1)</script>", "تجربة", "🚀" * 50, "x" * 200, "a b?c#d%e"]
)
def test_hostile_names_are_names(server: Server, name: str) -> None:
    space = {"parameters": {name: {"type": "categorical", "choices": [name, "b"]}}}
    server.post("/v1/studies", {"name": name, "space": space, "strategy": "random"})
    path = f"/v1/studies/{quote(name, safe='')}"
    server.post(f"{path}/add", {"trials": [{"params": {name: name}, "value": 1.0}]})
    assert table(server, path, search=name, sort=name).data["rows"][0]["params"] == {name: name}
    assert table(server, path, filter=f"{name}={name}").data["matching"] == 1
