"""What each suggestion was made from, pauses, notes."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

_key = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add columns and a table; existing data stay. Nothing is known of earlier suggestions."""
    op.add_column("studies", sa.Column("paused", sa.Boolean))
    for column in (
        sa.Column("seen", sa.BigInteger),
        sa.Column("suggested_in", sa.Double),
        sa.Column("batch_first", sa.BigInteger),
        sa.Column("batch_size", sa.BigInteger),
    ):
        op.add_column("trials", column)
    op.create_table(
        "notes",
        sa.Column("study_id", _key, sa.ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("text", sa.Text, nullable=False),
    )
