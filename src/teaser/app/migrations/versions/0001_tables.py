"""All tables, and the key that signs the cookies of the site.

Before a second migration is written, the tables as they are now belong here, written out.
"""

import secrets

from alembic import op

from teaser.app.store import metadata, setting

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables and the key."""
    metadata.create_all(op.get_bind(), checkfirst=False)
    op.bulk_insert(setting, [{"name": "signing_key", "value": secrets.token_urlsafe(32)}])


def downgrade() -> None:
    """Remove the tables."""
    metadata.drop_all(op.get_bind())
