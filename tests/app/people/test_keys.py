"""Keys of the API: found by their hash alone, until they are revoked."""

import hashlib

import pytest

from teaser.app.database.database import Database
from teaser.app.people.keys import Keys, hash_of
from teaser.app.people.store import Store
from teaser.errors import ParameterError


def test_a_key_is_known_until_it_is_revoked(store: Store) -> None:
    database = Database(store.url, 10.0)
    keys = Keys(database)
    first, second = keys.create("site"), keys.create("batch")
    assert first != second
    assert keys.has(first)
    assert not keys.has(first.upper())
    with pytest.raises(ParameterError, match="'site'"):
        keys.create("site")
    keys.revoke("site")
    assert (keys.has(first), keys.has(second)) == (False, True)
    assert [(name, revoked is None) for name, _, revoked in keys.all()] == [
        ("site", False),
        ("batch", True),
    ]
    with pytest.raises(ParameterError, match="'site'"):
        keys.revoke("site")
    database.close()


def test_secrets_are_hashed() -> None:
    assert hash_of("tk_x") == hashlib.sha256(b"tk_x").hexdigest()
