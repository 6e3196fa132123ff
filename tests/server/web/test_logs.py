"""Logs: a file is shown where it lies inside the server's folder, whatever a worker has told."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.server.service import Server


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("logs")


@pytest.fixture(scope="module")
def logging(tmp_path_factory: pytest.TempPathFactory, folder: Path) -> Iterator[Server]:
    """A server that knows where logs are."""
    place = tmp_path_factory.mktemp("logging")
    running = Server(f"sqlite:///{place}/studies.db", place, "--logs", str(folder))
    yield running
    running.stop()


def told(server: Server, study: str, log: object) -> str:
    """A study with one trial whose worker has told where its log is."""
    path = server.study(study)
    trial = {"params": {"x": 0.5, "n": 1}, "value": 1.0, "attributes": {"log": log}}
    assert server.post(f"{path}/add", {"trials": [trial]}).status == 200
    return f"{path}/trials/0/log"


def written(folder: Path, name: str, text: str) -> Path:
    made = folder / name / "0"
    made.mkdir(parents=True)
    (made / "stdout").write_text(text)
    return made


def test_the_end_of_a_log_is_shown(logging: Server, folder: Path) -> None:
    made = written(folder, "long", "begin" + "x" * 100_000 + "\nend")
    (shown,) = logging.get(told(logging, "long", str(made))).data["files"]
    assert (shown["name"], shown["bytes"], shown["cut"]) == ("stdout", 100_009, True)
    assert shown["text"].endswith("\nend")
    assert len(shown["text"]) == 64 * 1024


def test_a_trial_that_runs_has_the_last_folder_of_its_number(logging: Server, folder: Path) -> None:
    path = logging.study("running now")
    logging.post(f"{path.replace(' ', '%20')}/enqueue", {"params": [{"x": 0.5, "n": 1}]})
    written(folder, "running_now", "the first")
    again = folder / "running_now" / "0-2"
    again.mkdir()
    (again / "stdout").write_text("the second")
    (shown,) = logging.get(f"{path.replace(' ', '%20')}/trials/0/log").data["files"]
    assert shown["text"] == "the second"


@pytest.mark.parametrize("log", ["/etc", "/", "..", "\u0000", "x" * 5000, 7, ["a"], None, {"a": 1}])
def test_a_path_elsewhere_shows_nothing(logging: Server, log: object) -> None:
    shown = logging.get(told(logging, f"elsewhere-{hash(str(log))}", log))
    assert (shown.status, shown.data) == (200, {"files": []})


def test_links_that_lead_out_show_nothing(logging: Server, folder: Path, tmp_path: Path) -> None:
    secret = tmp_path / "stdout"
    secret.write_text("secret")
    made = folder / "linked" / "0"
    made.mkdir(parents=True)
    os.symlink(secret, made / "stdout")
    os.symlink(tmp_path, folder / "linked" / "out")
    os.symlink("circle", folder / "linked" / "circle")
    for i, path in enumerate(
        (made, folder / "linked" / "out", made / ".." / ".." / ".." / tmp_path.name, folder / "linked" / "circle")
    ):
        assert logging.get(told(logging, f"linked-{i}", str(path))).data == {"files": []}, path


def test_a_server_without_a_folder_says_so(server: Server) -> None:
    refused = server.get(told(server, "nowhere", "/etc"))
    assert (refused.status, refused.data["error"]) == (404, "NoLog")
