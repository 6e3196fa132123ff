from __future__ import annotations

from collections.abc import Iterator

import pytest

from sonde.storage import MemoryStorage, Storage, open_storage
from sonde.testing import StorageContract


class TestMemory(StorageContract):
    @pytest.fixture
    def storage(self) -> Storage:
        return MemoryStorage()


class TestSqlite(StorageContract):
    @pytest.fixture
    def storage(self, sqlite_url: str) -> Iterator[Storage]:
        storage = open_storage(sqlite_url)
        yield storage
        storage.close()


class TestPostgres(StorageContract):
    @pytest.fixture
    def storage(self, postgres_url: str) -> Iterator[Storage]:
        storage = open_storage(postgres_url)
        yield storage
        storage.close()
