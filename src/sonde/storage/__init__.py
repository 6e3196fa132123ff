"""Storages of studies: one interface, an in-memory reference and a SQL implementation (SQLite, PostgreSQL).

``port`` states the interface and its contract. ``open_storage`` opens the storage of a URL. Every implementation passes
the tests of ``sonde.testing.StorageContract``.
"""

from sonde.storage.memory import MemoryStorage
from sonde.storage.opening import only_study, open_storage
from sonde.storage.port import Asker, AskReply, Storage, StudyHeader, StudyStatus, StudySummary

__all__ = [
    "AskReply",
    "Asker",
    "MemoryStorage",
    "Storage",
    "StudyHeader",
    "StudyStatus",
    "StudySummary",
    "only_study",
    "open_storage",
]
