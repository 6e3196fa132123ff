"""What the dashboard keeps in memory is read by several threads at once."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import sonde
from sonde.server.settings import Settings
from sonde.server.web.board import Board, whole


@pytest.fixture
def often() -> Iterator[None]:
    """Let threads take turns often."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.usefixtures("often")
def test_studies_seen_for_the_first_time_at_once(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'board.db'}"
    studies = [sonde.Study({"x": (0.0, 1.0)}, storage=url, name=f"{number}") for number in range(300)]
    headers = [study.storage.find_study(study.name) for study in studies]

    async def look() -> list[int]:
        board = Board(Settings(url))
        try:
            return [len(each) for each in await asyncio.gather(*(board.of(header, whole) for header in headers))]
        finally:
            await board.close()

    assert asyncio.run(look()) == [0] * len(studies)
