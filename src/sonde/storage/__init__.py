"""Where studies live: one port, an in-memory reference and a SQL implementation (SQLite, PostgreSQL).

``port`` states the contract; ``open_storage`` turns a URL into an implementation; ``sonde.testing.StorageContract`` is
the suite that every implementation passes.
"""

from sonde.storage.memory import MemoryStorage
from sonde.storage.opening import open_storage
from sonde.storage.port import Asker, AskTurn, Storage, StudyHeader, StudySummary

__all__ = ["AskTurn", "Asker", "MemoryStorage", "Storage", "StudyHeader", "StudySummary", "open_storage"]
