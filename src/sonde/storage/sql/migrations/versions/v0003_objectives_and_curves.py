"""Values of several objectives, learning curves."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_key = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add a column and a table; existing data stay."""
    op.add_column("trials", sa.Column("objectives", sa.LargeBinary))
    op.create_table(
        "reports",
        sa.Column("place", _key, primary_key=True, autoincrement=True),
        sa.Column("study_id", _key, sa.ForeignKey("studies.id", ondelete="CASCADE"), nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Column("number", sa.BigInteger, nullable=False),
        sa.Column("step", sa.Double, nullable=False),
        sa.Column("value", sa.Double),
    )
    op.create_index("reports_by_revision", "reports", ["study_id", "revision"])
