"""Two actions of a person, and whose events a database has, for the tests of the store."""

from sqlalchemy import create_engine, text

from teaser.app.people.events import Event
from teaser.app.people.store import Store

VIEW = Event("view", {"item": "i1"})
PLUS = Event("press", {"presses": {"town=Ghent": 1}})


def kept_events(store: Store) -> list[str]:
    """Return whose events are in the database."""
    engine = create_engine(store.url)
    with engine.connect() as connection:
        rows = connection.execute(text("SELECT person_id FROM event")).scalars().all()
    engine.dispose()
    return list(rows)
