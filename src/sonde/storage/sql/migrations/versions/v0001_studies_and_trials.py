"""Studies and trials."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_key = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create both tables."""
    op.create_table(
        "studies",
        sa.Column("id", _key, primary_key=True, autoincrement=True),
        sa.Column("name", sa.Text, nullable=False, unique=True),
        sa.Column("space", sa.Text, nullable=False),
        sa.Column("direction", sa.Text, nullable=False),
        sa.Column("seed", sa.BigInteger, nullable=False),
        sa.Column("strategy", sa.Text, nullable=False),
        sa.Column("created", sa.Double, nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Column("next_number", sa.BigInteger, nullable=False),
        sa.Column("holder", sa.Text),
        sa.Column("turn_ends", sa.Double),
    )
    op.create_table(
        "trials",
        sa.Column("study_id", _key, sa.ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Column("row", sa.LargeBinary, nullable=False),
        sa.Column("value", sa.Double),
        sa.Column("noise", sa.Double),
        sa.Column("gradient", sa.LargeBinary),
        sa.Column("hessian", sa.LargeBinary),
        sa.Column("constraints", sa.Text),
        sa.Column("error", sa.Text),
        sa.Column("worker", sa.Text),
        sa.Column("created", sa.Double, nullable=False),
        sa.Column("started", sa.Double),
        sa.Column("finished", sa.Double),
        sa.Column("lease", sa.Double),
        sa.Column("retry_of", sa.BigInteger),
        sa.Column("attributes", sa.Text),
    )
    op.create_index("trials_by_revision", "trials", ["study_id", "revision"])
    op.create_index("trials_by_state", "trials", ["study_id", "state"])
