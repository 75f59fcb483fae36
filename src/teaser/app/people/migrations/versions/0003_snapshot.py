"""States after some of a person's events, so that not all events are read for each request."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table; it fills as states are read."""
    op.create_table(
        "snapshot",
        sa.Column(
            "person_id",
            sa.String(43),
            sa.ForeignKey("person.id", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column("place", sa.Integer, primary_key=True),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("data", sa.JSON, nullable=False),
    )


def downgrade() -> None:
    """Remove the table; nothing is lost, because it follows from the events."""
    op.drop_table("snapshot")
