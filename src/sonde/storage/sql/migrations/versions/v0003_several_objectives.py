"""Values of several objectives."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add a column; existing data stay."""
    op.add_column("trials", sa.Column("objectives", sa.LargeBinary))
