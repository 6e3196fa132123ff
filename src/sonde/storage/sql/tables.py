"""The schema as the code sees it. Databases are brought to it by the migrations alone; a test holds the two equal."""

from __future__ import annotations

import sqlalchemy as sa

metadata = sa.MetaData()

# Integer keys: SQLite numbers only plain INTEGER columns by itself.
_Key = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

studies = sa.Table(
    "studies",
    metadata,
    sa.Column("id", _Key, primary_key=True, autoincrement=True),
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

trials = sa.Table(
    "trials",
    metadata,
    sa.Column("study_id", _Key, sa.ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True),
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
    sa.Index("trials_by_revision", "study_id", "revision"),
    sa.Index("trials_by_state", "study_id", "state"),
)
