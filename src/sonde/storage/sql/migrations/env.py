"""Runs the migrations on the connection and in the transaction that ``database`` passes in."""

from alembic import context

from sonde.storage.sql.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table="sonde_version",
    transaction_per_migration=False,
    render_as_batch=True,
)
context.run_migrations()
