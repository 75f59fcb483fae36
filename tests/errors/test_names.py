"""Errors about names: what was given, and what is closest."""

import pytest

from teaser.errors import names


@pytest.mark.parametrize(
    ("error", "given"),
    [
        (names.UnknownFeedError("Fridy", ["Friday"]), "Fridy"),
        (names.UnknownFeatureError("twn", ["Friday"]), "twn"),
        (names.UnknownTagError("town=Gent", ["Friday"]), "town=Gent"),
        (names.UnknownBoostError("promotd", ["Friday"]), "promotd"),
        (names.UnknownUserError("u1", ["Friday"]), "u1"),
    ],
)
def test_the_closest_names_end_the_message(error: names.UnknownNameError, given: str) -> None:
    assert given in str(error)
    assert str(error).endswith(" Closest: Friday.")
    assert isinstance(error, LookupError)
