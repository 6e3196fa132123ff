"""Figures come from a child process; who has gone is not waited for."""

from __future__ import annotations

import json
import socket

import pytest
from tests.server.service import Server, eventually, is_gone


@pytest.fixture(scope="module")
def path(server: Server) -> str:
    """A study with some results."""
    made = server.study("drawn")
    server.post(f"{made}/add", {"trials": [{"params": {"x": i / 10, "n": 1}, "value": float(i)} for i in range(8)]})
    return made


def test_a_figure_is_plotlys_json_and_its_numbers_are_a_table(server: Server, path: str) -> None:
    listed = {one["name"]: one for one in server.get(f"{path}/figures").data["figures"]}
    assert listed["history"]["title"]
    figure = server.get(f"{path}/figures/history").data
    assert {"data", "layout"} <= figure.keys()
    assert any(trace["name"] == "best so far" for trace in figure["data"])
    numbers = server.get(f"{path}/figures/history/data").data
    assert numbers["total"] == len(numbers["rows"]) == 8
    assert numbers["rows"][3][numbers["columns"].index("value")] == 3.0


def test_options_are_the_figures_own(server: Server, path: str) -> None:
    assert server.get(f"{path}/figures/history?log=true").data["layout"]["yaxis"]["type"] == "log"
    for wrong in (
        "figures/history?nothing=1",
        "figures/nothing",
        "figures/_source",
        "figures/names",
        "figures/__class__",
    ):
        refused = server.get(f"{path}/{wrong}")
        assert refused.status == 422, wrong
        assert "has" in refused.data["message"]


def test_a_study_without_trials_has_answers_too(server: Server) -> None:
    path = server.study("bare")
    assert server.get(f"{path}/explain").data["text"]
    assert server.get(f"{path}/figures").status == 200
    assert server.get(f"{path}/likely-best").data == {"trial": None}
    assert server.get(f"{path}/figures/history").status in (200, 422)


def test_new_results_are_in_the_next_figure(server: Server) -> None:
    path = server.study("growing")
    for count in (1, 2, 3):
        server.post(f"{path}/add", {"trials": [{"params": {"x": 0.5, "n": 1}, "value": 1.0}]})
        assert server.get(f"{path}/figures/history/data").data["total"] == count


def test_a_reader_who_has_gone_is_not_waited_for(own_server: Server) -> None:
    path = own_server.study("left")
    own_server.post(f"{path}/add", {"trials": [{"params": {"x": 0.5, "n": 1}, "value": 1.0}]})
    request = f"GET {path}/figures/history HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {own_server.token}\r\n\r\n"
    for _ in range(3):
        with socket.create_connection(("127.0.0.1", own_server.port)) as client:
            client.sendall(request.encode())
    assert own_server.get(f"{path}/figures/history").status == 200


def test_a_child_that_dies_is_replaced_and_none_outlives_the_server(own_server: Server) -> None:
    import os
    import signal

    path = own_server.study("killed")
    own_server.post(f"{path}/add", {"trials": [{"params": {"x": 0.5, "n": 1}, "value": 1.0}]})
    assert own_server.get(f"{path}/figures/history").status == 200
    (child,) = own_server.children()
    os.kill(child, signal.SIGKILL)
    eventually(lambda: is_gone(child))
    eventually(lambda: own_server.get(f"{path}/figures/history/data").status == 200)
    children = own_server.children()
    own_server.kill()
    eventually(lambda: all(is_gone(pid) for pid in children))


def test_the_theme_has_both_colours(server: Server) -> None:
    theme = server.get("/ui/theme.json").data
    assert theme["light"]["layout"]["font"]["color"] != theme["dark"]["layout"]["font"]["color"]
    assert json.dumps(theme)
