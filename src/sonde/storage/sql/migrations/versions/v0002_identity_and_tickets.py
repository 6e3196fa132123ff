"""UUIDs of studies, tokens of trials, tickets of waiting askers, lengths of leases, states, clocks."""

import uuid

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_key = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add columns and tables; existing data stay. Existing trials have no token and are identified by number."""
    for column in (
        sa.Column("uuid", sa.Text),
        sa.Column("process", sa.Text),
        sa.Column("turn_began", sa.Double),
        sa.Column("round_served", sa.Integer),
        sa.Column("round_ended", sa.Double),
        sa.Column("round_took", sa.Double),
        sa.Column("round_suggester", sa.Text),
    ):
        op.add_column("studies", column)
    studies = sa.table("studies", sa.column("id"), sa.column("uuid"))
    connection = op.get_bind()
    for key in connection.execute(sa.select(studies.c.id)).scalars().all():
        connection.execute(sa.update(studies).where(studies.c.id == key).values(uuid=uuid.uuid4().hex))
    op.create_index("studies_by_uuid", "studies", ["uuid"], unique=True)
    op.add_column("trials", sa.Column("token", sa.Text))
    op.add_column("trials", sa.Column("lease_seconds", sa.Double))
    op.create_index("trials_by_token", "trials", ["study_id", "token"], unique=True)
    op.create_table(
        "tickets",
        sa.Column("place", _key, primary_key=True, autoincrement=True),
        sa.Column("study_id", _key, sa.ForeignKey("studies.id", ondelete="CASCADE"), nullable=False),
        sa.Column("token", sa.Text, nullable=False),
        sa.Column("asker", sa.Text, nullable=False),
        sa.Column("lease", sa.Double),
        sa.Column("most", sa.BigInteger),
        sa.Column("ends", sa.Double, nullable=False),
    )
    op.create_index("tickets_by_token", "tickets", ["study_id", "token"], unique=True)
    op.create_table(
        "states",
        sa.Column("study_id", _key, sa.ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.Column("saved", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "clocks",
        sa.Column("boot", sa.Text, primary_key=True),
        sa.Column("offset", sa.Double, nullable=False),
    )
