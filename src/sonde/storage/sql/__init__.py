"""The SQL storage: ``tables`` is the schema, ``database`` connections and transactions, ``storage`` the port.

Every write transaction begins by raising the study's revision, which locks the study's row: writers of one study
queue up, so revisions become visible in their order, and no reader ever misses one.
"""

from sonde.storage.sql.storage import SqlStorage

__all__ = ["SqlStorage"]
