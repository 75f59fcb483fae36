"""Signs of the lexicon."""

import pytest

from teaser.words.wishes import Sign


@pytest.mark.parametrize(
    ("key", "sign"),
    [
        ("press +5", Sign("press", 5)),
        ("press -2", Sign("press", -2)),
        ("without", Sign("without")),
        ("nor", Sign("without")),
        ("than", Sign("press", -4)),
        ("never for week", Sign("never", 0, "week")),
        ("bare", None),
    ],
)
def test_keys(key: str, sign: Sign | None) -> None:
    assert Sign.parse(key) == sign


def test_what_is_excluded_for_a_time_is_hidden_for_it() -> None:
    assert Sign("without").ending("week") == Sign("never", 0, "week")
    assert Sign("press", 2).ending("today") == Sign("press", 2, "today")
    assert Sign("only").ending("today") == Sign("only")


def test_signs_that_wish_less() -> None:
    assert [Sign(kind).negative for kind in ("without", "never", "only")] == [True, True, False]
    assert Sign("press", -1).negative
    assert not Sign("press", 1).negative


def test_a_sign_makes_a_wish() -> None:
    assert (
        str(Sign("press", 4, "week").wish("theme=Jazz", "jazz")) == "press +4 theme=Jazz for week"
    )
