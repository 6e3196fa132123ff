"""The schema. Only migrations change a database; a test checks that they arrive at this schema."""

from __future__ import annotations

import sqlalchemy as sa

metadata = sa.MetaData()

# Integer keys: SQLite numbers only plain INTEGER columns by itself.
_Key = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

studies = sa.Table(
    "studies",
    metadata,
    sa.Column("id", _Key, primary_key=True, autoincrement=True),  # random: never used twice
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("space", sa.Text, nullable=False),
    sa.Column("direction", sa.Text, nullable=False),
    sa.Column("seed", sa.BigInteger, nullable=False),
    sa.Column("strategy", sa.Text, nullable=False),
    sa.Column("created", sa.Double, nullable=False),
    sa.Column("revision", sa.BigInteger, nullable=False),
    sa.Column("next_number", sa.BigInteger, nullable=False),
    sa.Column("holder", sa.Text),  # the suggester
    sa.Column("turn_ends", sa.Double),  # when its lease ends
    sa.Column("uuid", sa.Text),
    sa.Column("process", sa.Text),  # of the suggester
    sa.Column("turn_began", sa.Double),  # when it began to suggest
    sa.Column("round_served", sa.Integer),  # the last batch: for how many askers it was,
    sa.Column("round_ended", sa.Double),  # when it ended,
    sa.Column("round_took", sa.Double),  # how long it took,
    sa.Column("round_suggester", sa.Text),  # and who computed it
    sa.Column("paused", sa.Boolean),  # None: it never was
    sa.Index("studies_by_uuid", "uuid", unique=True),
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
    sa.Column("lease", sa.Double),  # when it ends
    sa.Column("retry_of", sa.BigInteger),
    sa.Column("attributes", sa.Text),
    sa.Column("token", sa.Text),  # None: written by 0.1.0
    sa.Column("lease_seconds", sa.Double),  # how long it is
    sa.Column("objectives", sa.LargeBinary),  # values and noise of several objectives
    sa.Column("seen", sa.BigInteger),  # the revision that its suggestion knows; None: it was not suggested
    sa.Column("suggested_in", sa.Double),  # its share of the seconds of its batch
    sa.Column("batch_first", sa.BigInteger),  # the number that the key of the batch is made of
    sa.Column("batch_size", sa.BigInteger),  # how many suggestions the strategy was asked for
    sa.Index("trials_by_revision", "study_id", "revision"),
    sa.Index("trials_by_state", "study_id", "state", "number"),
    sa.Index("trials_by_token", "study_id", "token", unique=True),
)

reports = sa.Table(  # learning curves
    "reports",
    metadata,
    sa.Column("place", _Key, primary_key=True, autoincrement=True),  # in the order in which they came
    sa.Column("study_id", _Key, sa.ForeignKey("studies.id", ondelete="CASCADE"), nullable=False),
    sa.Column("revision", sa.BigInteger, nullable=False),
    sa.Column("number", sa.BigInteger, nullable=False),  # of the trial
    sa.Column("step", sa.Double, nullable=False),
    sa.Column("value", sa.Double),  # None: NaN, which SQLite cannot hold
    sa.Index("reports_by_revision", "study_id", "revision"),
)

notes = sa.Table(  # for people
    "notes",
    metadata,
    sa.Column("study_id", _Key, sa.ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),  # of the trial; -1: of the study
    sa.Column("text", sa.Text, nullable=False),
)

tickets = sa.Table(
    "tickets",
    metadata,
    sa.Column("place", _Key, primary_key=True, autoincrement=True),  # the oldest has the smallest
    sa.Column("study_id", _Key, sa.ForeignKey("studies.id", ondelete="CASCADE"), nullable=False),
    sa.Column("token", sa.Text, nullable=False),
    sa.Column("asker", sa.Text, nullable=False),
    sa.Column("lease", sa.Double),  # seconds of the trial's lease
    sa.Column("most", sa.BigInteger),  # the asker's limit of trials
    sa.Column("ends", sa.Double, nullable=False),
    sa.Index("tickets_by_token", "study_id", "token", unique=True),
)

states = sa.Table(  # a cache of strategies
    "states",
    metadata,
    sa.Column("study_id", _Key, sa.ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("data", sa.LargeBinary, nullable=False),
    sa.Column("saved", sa.BigInteger, nullable=False),  # counts up: the latest has the largest
)

clocks = sa.Table(  # SQLite only: what to add to the seconds since a boot, agreed by all processes of that boot
    "clocks",
    metadata,
    sa.Column("boot", sa.Text, primary_key=True),
    sa.Column("offset", sa.Double, nullable=False),
)

tokens = sa.Table(  # of the service: who may use it
    "tokens",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("hash", sa.Text, nullable=False),  # SHA-256 of the token, in hex
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("created", sa.Double, nullable=False),
    sa.Column("ends", sa.Double),  # None: it never does
    sa.Index("tokens_by_hash", "hash", unique=True),
)
