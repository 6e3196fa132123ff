"""Alembic migrations, run by ``sonde.storage.sql.database`` whenever a database is older than the code."""
