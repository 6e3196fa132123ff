"""Tokens of the service; a queue of thousands of trials is read from its beginning."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add a table, and the number to an index; existing data stay."""
    op.create_table(
        "tokens",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("hash", sa.Text, nullable=False),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("created", sa.Double, nullable=False),
        sa.Column("ends", sa.Double),
    )
    op.create_index("tokens_by_hash", "tokens", ["hash"], unique=True)
    op.drop_index("trials_by_state", "trials")
    op.create_index("trials_by_state", "trials", ["study_id", "state", "number"])
