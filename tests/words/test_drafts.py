"""Wishes that what follows may change."""

import pytest
from words.catalogues import TODAY, vocabulary

from teaser import Tag
from teaser.words.grammar import Drafts
from teaser.words.interpreter import read
from teaser.words.wishes import Sign

JAZZ, GHENT = Tag("theme", "Jazz"), Tag("town", "Ghent")


@pytest.fixture
def drafts() -> Drafts:
    return Drafts(vocabulary("events"))


def written(drafts: Drafts) -> list[str]:
    return [str(draft.wish) for draft in drafts.all]


def test_a_bare_mention_presses_or_filters(drafts: Drafts) -> None:
    drafts.add_tag(JAZZ, None, "jazz")
    drafts.add_tag(GHENT, None, "Ghent")
    drafts.add_tag(GHENT, Sign("press", 2), "a bit of Ghent")
    assert written(drafts) == ["press +4 theme=Jazz", "only town=Ghent", "press +2 town=Ghent"]
    assert [draft.signed for draft in drafts.all] == [False, False, True]


def test_signed_wishes_of_the_group_end(drafts: Drafts) -> None:
    drafts.add_tag(JAZZ, Sign("without"), "no jazz")
    drafts.group += 1
    drafts.add_tag(JAZZ, Sign("press", 4), "more jazz")
    drafts.add_tag(GHENT, None, "Ghent")
    assert drafts.let_end("week")
    assert written(drafts) == [
        "without theme=Jazz", "press +4 theme=Jazz for week", "only town=Ghent",
    ]  # fmt: skip
    drafts.group += 1
    assert not drafts.let_end("week")


def test_a_sign_goes_back_to_bare_names_of_the_last_clause(drafts: Drafts) -> None:
    drafts.add_tag(GHENT, Sign("only"), "only Ghent")
    drafts.add_tag(JAZZ, None, "jazz")
    drafts.clause += 1
    drafts.apply_backwards(Sign("never"))
    assert written(drafts) == ["only town=Ghent", "never theme=Jazz"]
    drafts.apply_backwards(Sign("press", 5))
    assert written(drafts) == ["only town=Ghent", "never theme=Jazz"]


def test_without_wishes_nothing_changes(drafts: Drafts) -> None:
    drafts.apply_backwards(Sign("never"))
    assert drafts.last is None
    assert not drafts.in_clause()


@pytest.mark.parametrize(
    ("language", "text", "numbers", "tags"),
    [
        ("en", "before 1980", "at_most year 1979", ""),
        ("en", "no films before 1980", "at_least year 1980", ""),
        ("en", "not before 1998", "at_least year 1998", "only 1998 1999 2000 2001"),
        ("nl", "na 1998", "at_least year 1999", "only 1999 2000 2001"),
        ("fr", "depuis 1999", "at_least year 1999", "only 1999 2000 2001"),
        ("en", "between 1990 and 1992", "at_least year 1990; at_most year 1992",
         "only 1990 1991 1992"),
        ("en", "from the 90s", "at_least year 1990; at_most year 1999",
         "only 1990 1991 1992 1993 1994 1995 1996 1997 1998 1999"),
        ("nl", "jaren 90", "at_least year 1990; at_most year 1999",
         "only 1990 1991 1992 1993 1994 1995 1996 1997 1998 1999"),
        ("fr", "de 1990 à 1991", "at_least year 1990; at_most year 1991", "only 1990 1991"),
        ("en", "since 2000, new", "at_least year 2000; at_least year 1971.5", "only 2000 2001"),
        ("en", "old", "at_most year 1971.5", ""),
    ],
)  # fmt: skip
def test_years_bound_a_column_or_name_a_few_tags(
    language: str, text: str, numbers: str, tags: str
) -> None:
    bounded = read(text, vocabulary("year_numbers"), language=language, today=TODAY)
    assert "; ".join(map(str, bounded.wishes)) == numbers
    assert bounded.unknown == ()
    named = read(text, vocabulary("year_tags"), language=language, today=TODAY)
    assert [str(wish) for wish in named.wishes] == [f"only year={y}" for y in tags.split()[1:]]
    assert bool(named.unknown) == (not tags or "new" in text)


def test_years_with_a_sign_are_single_tags() -> None:
    loved = read("I love the 90s", vocabulary("year_numbers"), today=TODAY)
    assert [str(wish) for wish in loved.wishes] == [f"press +5 year={y}" for y in range(1990, 2000)]
    decades = read("before 1950", vocabulary("films"), today=TODAY)
    assert [str(wish) for wish in decades.wishes] == ["only decade=1930s", "only decade=1940s"]
