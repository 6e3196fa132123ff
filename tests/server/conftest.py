from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.server.service import Server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for a file of tests; each test has studies of its own."""
    folder = tmp_path_factory.mktemp("server")
    running = Server(f"sqlite:///{folder}/studies.db", folder)
    yield running
    assert running.stop() == 0
    assert "defect" not in running.log.read_text()
    assert "Traceback" not in running.log.read_text()


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[Server]:
    """A server that a test may kill."""
    running = Server(f"sqlite:///{tmp_path}/studies.db", tmp_path)
    yield running
    running.stop()
