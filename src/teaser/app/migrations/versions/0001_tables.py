"""All tables, and the key that signs the cookies of the site."""

import secrets
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables and the key."""
    time, key = sa.DateTime(timezone=True), sa.String(43)
    op.create_table(
        "person",
        sa.Column("id", key, primary_key=True),
        sa.Column("is_site", sa.Boolean, nullable=False),
        sa.Column("created_at", time, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("bytes", sa.Integer, nullable=False),
        sa.Column("undo_seq", sa.Integer),
        sa.Column("redo_seq", sa.Integer),
        sa.Column("state", sa.JSON, nullable=False),
    )
    own = sa.ForeignKey("person.id", ondelete="CASCADE")
    op.create_table(
        "event",
        sa.Column("person_id", key, own, primary_key=True),
        sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("at", time, nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("data", sa.JSON, nullable=False),
    )
    own = sa.ForeignKey("person.id", ondelete="CASCADE")
    op.create_table(
        "share",
        sa.Column("token_hash", sa.String(64), primary_key=True),
        sa.Column("person_id", key, own, nullable=False, index=True),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("created_at", time, nullable=False),
        sa.Column("feed", sa.String(60)),
        sa.Column("bytes", sa.Integer, nullable=False),
        sa.Column("state", sa.JSON, nullable=False),
    )
    op.create_table(
        "api_key",
        sa.Column("key_hash", sa.String(64), primary_key=True),
        sa.Column("name", sa.String(100), nullable=False, unique=True),
        sa.Column("created_at", time, nullable=False),
        sa.Column("revoked_at", time),
    )
    _make_study_tables(time, key)
    setting = op.create_table(
        "setting",
        sa.Column("name", sa.String(40), primary_key=True),
        sa.Column("value", sa.String(100), nullable=False),
    )
    op.bulk_insert(setting, [{"name": "signing_key", "value": secrets.token_urlsafe(32)}])


def _make_study_tables(time: sa.DateTime, key: sa.String) -> None:
    """Make the tables of user studies."""
    op.create_table(
        "study_frozen",
        sa.Column("study", sa.String(40), primary_key=True),
        sa.Column("at", time, nullable=False),
        sa.Column("hashes", sa.JSON, nullable=False),
    )
    op.create_table(
        "study_participant",
        sa.Column("id", key, primary_key=True),
        sa.Column("study", sa.String(40), nullable=False),
        sa.Column("mode", sa.String(10), nullable=False),
        sa.Column("place", sa.Integer, nullable=False),
        sa.Column("token_id", key),
        sa.Column("recruit_hash", sa.String(64)),
        sa.Column("code_hash", sa.String(64), nullable=False, unique=True),
        sa.Column("arm_order", sa.Integer, nullable=False),
        sa.Column("language", sa.String(2), nullable=False),
        sa.Column("consent", sa.String(40), nullable=False),
        sa.Column("step", sa.Integer, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("created_at", time, nullable=False),
        sa.Column("active_at", time, nullable=False),
        sa.Column("finished_at", time),
        sa.Column("hashes", sa.JSON, nullable=False),
        sa.Column("state", sa.JSON, nullable=False),
        sa.UniqueConstraint("study", "mode", "token_id", name="one_token"),
        sa.UniqueConstraint("study", "mode", "recruit_hash", name="one_recruit"),
        sa.UniqueConstraint("study", "mode", "place", name="one_place"),
    )
    columns: dict[str, list[sa.Column[Any]]] = {
        "study_session": [
            sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
            sa.Column("arm", sa.String(40), nullable=False),
            sa.Column("person_id", key, nullable=False),
        ],
        "study_log": [
            sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False),
            sa.Column("at", time, nullable=False),
            sa.Column("step", sa.Integer, nullable=False),
            sa.Column("kind", sa.String(16), nullable=False),
            sa.Column("data", sa.JSON, nullable=False),
        ],
        "study_answer": [
            sa.Column("step", sa.Integer, primary_key=True, autoincrement=False),
            sa.Column("question", sa.String(40), primary_key=True),
            sa.Column("at", time, nullable=False),
            sa.Column("value", sa.JSON, nullable=False),
        ],
    }
    for name, own in columns.items():
        whose = sa.ForeignKey("study_participant.id", ondelete="CASCADE")
        op.create_table(name, sa.Column("participant_id", key, whose, primary_key=True), *own)


def downgrade() -> None:
    """Remove the tables."""
    for name in ("setting", "api_key", "share", "event", "person"):
        op.drop_table(name)
    for name in ("answer", "log", "session", "participant", "frozen"):
        op.drop_table(f"study_{name}")
