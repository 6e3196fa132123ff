"""The SQL storage: ``tables`` is the schema, ``database`` has connections and transactions, ``storage`` the interface.

Every write transaction begins by raising the study's revision, which locks the study's row. So writers of one study
wait for each other, revisions become visible in their order, and no reader misses one.
"""

from sonde.storage.sql.storage import SqlStorage

__all__ = ["SqlStorage"]
