"""What tokens of the site are signed with, the same for every process and after every start."""

import secrets

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table and the key."""
    table = op.create_table(
        "setting",
        sa.Column("name", sa.String(40), primary_key=True),
        sa.Column("value", sa.String(100), nullable=False),
    )
    op.bulk_insert(table, [{"name": "signing_key", "value": secrets.token_urlsafe(32)}])


def downgrade() -> None:
    """Remove the table."""
    op.drop_table("setting")
