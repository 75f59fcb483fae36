"""Links may show one feed of a person; those of before show the whole profile."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the name of the feed."""
    op.add_column("share", sa.Column("feed", sa.String(60), nullable=True))


def downgrade() -> None:
    """Remove the name, and the links to feeds: the version before would show the history there."""
    op.execute("DELETE FROM share WHERE feed IS NOT NULL")
    op.drop_column("share", "feed")
