"""Requests become wishes, by the rules of docs/users/words.md."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from words.catalogues import TODAY, vocabulary
from words.measure import measure

from teaser import Tag
from teaser.errors import RequestLengthError
from teaser.words import Reading
from teaser.words.interpreter import LONGEST, read, written_language
from teaser.words.wishes import Wish

CHEAP = (
    "press +2 price_band=free; press +2 price_band=under 10 euro; "
    "press -2 price_band=20 to 40 euro; press -2 price_band=over 40 euro"
)
REQUESTS = [
    ("en", "jazz", "press +4 theme=Jazz"),
    ("en", "I love jazz", "press +5 theme=Jazz"),
    ("en", "a bit more jazz", "press +2 theme=Jazz"),
    ("en", "much less jazz", "press -5 theme=Jazz"),
    ("en", "not so much jazz", "press -2 theme=Jazz"),
    ("en", "no more jazz", "without theme=Jazz"),
    ("en", "never jazz", "never theme=Jazz"),
    ("en", "mute jazz", "never theme=Jazz for week"),
    ("en", "no jazz for today", "never theme=Jazz for today"),
    ("en", "jazz only", "only theme=Jazz"),
    ("en", "jazz, no thanks", "without theme=Jazz"),
    ("en", "more jazz and folk", "press +4 theme=Jazz; press +4 theme=Folk"),
    ("en", "no jazz, folk or rock", "without theme=Jazz; without theme=Folk; without theme=Rock"),
    ("en", "no jazz, folk", "without theme=Jazz; press +4 theme=Folk"),
    ("en", "no jazz but folk", "without theme=Jazz; press +4 theme=Folk"),
    ("en", "no jazz concerts", "without theme=Jazz"),
    ("en", "less jazz concerts", "press -4 theme=Jazz; press -4 type=Concert"),
    ("en", "jazz near Ghent", "press +4 theme=Jazz; press +4 town=Ghent"),
    ("en", "not in Ghent or Bruges", "without town=Ghent; without town=Bruges"),
    ("en", "outside Ghent", "without town=Ghent"),
    ("en", "outside in Ghent", "press +4 setting=Outdoors; only town=Ghent"),
    ("en", "Antwerp", "only town=Antwerp"),
    ("en", "Antwerp province", "only region=Antwerp"),
    ("en", "more Ghent", "press +4 town=Ghent"),
    ("en", "free jazz", "only price_band=free; press +4 theme=Jazz"),
    ("en", "cheap", CHEAP),
    ("en", "less expensive", CHEAP),
    ("en", "popular", "press +4 general appeal=general appeal"),
    ("en", "not popular", "press -4 general appeal=general appeal"),
    ("en", "a bit less mainstream", "press -2 general appeal=general appeal"),
    ("nl", "geen workshops meer", "without type=Workshop"),
    ("nl", "even geen workshops", "never type=Workshop for today"),
    ("nl", "workshops haat ik", "press -5 type=Workshop"),
    ("nl", "wat meer jazz, veel minder rock", "press +2 theme=Jazz; press -5 theme=Rock"),
    ("fr", "ni jazz ni rock", "without theme=Jazz; without theme=Rock"),
    ("fr", "le rock non, le jazz oui", "without theme=Rock; press +4 theme=Jazz"),
    ("en", "never show workshops again", "never type=Workshop"),
    ("en", "not only jazz", "press +4 theme=Jazz"),
    ("en", "not only Ghent", "press +4 town=Ghent"),
    ("nl", "niet enkel jazz", "press +4 theme=Jazz"),
    ("fr", "pas seulement du jazz", "press +4 theme=Jazz"),
    ("en", "rather theatre than film", "press +2 type=Theatre; press -4 type=Film"),
    ("nl", "liever theater dan film", "press +2 type=Theatre; press -4 type=Film"),
    ("fr", "plutôt du théâtre que du cinéma", "press +2 type=Theatre; press -4 type=Film"),
    ("en", "workshops are boring", "press -4 type=Workshop"),
    ("en", "jazz bores me, folk", "press -4 theme=Jazz; press +4 theme=Folk"),
    ("en", "I've seen enough exhibitions", "press -4 type=Exhibition"),
    ("en", "not enough jazz", "press +4 theme=Jazz"),
    ("nl", "genoeg concerten", "press -4 type=Concert"),
    ("nl", "workshops zijn saai", "press -4 type=Workshop"),
    ("fr", "les ateliers sont ennuyeux", "press -4 type=Workshop"),
    ("fr", "ne plus montrer les ateliers", "never type=Workshop"),
    ("nl", "geen bezwaar tegen jazz", "press +4 theme=Jazz"),
    ("fr", "pas mal de jazz", "press +4 theme=Jazz"),
    (
        "en",
        "mute comedy for a week, never show workshops",
        "never type=Comedy for week; never type=Workshop",
    ),
    (
        "en",
        "no comedy for a week, no workshops",
        "never type=Comedy for week; without type=Workshop",
    ),
    ("fr", "seulement du jazz à Gand", "only theme=Jazz; only town=Ghent"),
]


def wishes(reading: Reading) -> str:
    return "; ".join(map(str, reading.wishes))


@pytest.mark.parametrize(("language", "text", "expected"), REQUESTS)
def test_requests(language: str, text: str, expected: str) -> None:
    reading = read(text, vocabulary("events"), language=language, today=TODAY)
    assert wishes(reading) == expected
    assert reading.unknown == ()
    assert reading.contradictions == ()


def test_the_language_may_be_another_one() -> None:
    reading = read("ik wil geen workshops, wel jazz", vocabulary("events"), today=TODAY)
    assert wishes(reading) == "without type=Workshop; press +4 theme=Jazz"


@pytest.mark.parametrize(
    ("text", "expected", "unknown"),
    [
        ("no more than two concerts", "press +4 type=Concert", "no more than two"),
        ("unhide workshops, jazz", "press +4 theme=Jazz", "unhide workshops"),
        ("show workshops again", "", "show workshops again"),
        ("jazz every Tuesday", "press +4 theme=Jazz", "every Tuesday"),
        ("jazz last year", "press +4 theme=Jazz", "last year"),
        ("jazz for a week, folk", "press +4 theme=Jazz; press +4 theme=Folk", "for a week"),
    ],
)
def test_what_has_no_wish_is_named_and_not_turned_into_another(
    text: str, expected: str, unknown: str
) -> None:
    reading = read(text, vocabulary("events"), today=TODAY)
    assert wishes(reading) == expected
    assert reading.unknown == (unknown,)


def test_what_is_not_understood_is_told() -> None:
    reading = read("jazz with Dragons", vocabulary("events"), today=TODAY)
    assert reading.unknown == ("Dragons",)
    assert not reading.understood


@pytest.mark.parametrize("text", ["", "   ", "...", "please", "<br>", "\x00", "🙂"])
def test_nothing_is_asked_for(text: str) -> None:
    assert read(text, vocabulary("events"), today=TODAY).wishes == ()


@pytest.mark.parametrize("text", ["дракон", "爵士樂", "موسيقى", "xyzzy plugh"])
def test_only_unknown_words(text: str) -> None:
    reading = read(text, vocabulary("events"), today=TODAY)
    assert reading.wishes == ()
    assert " ".join(reading.unknown) == text


def test_a_contradiction_is_told_and_both_wishes_are_kept() -> None:
    reading = read("more jazz, no jazz", vocabulary("events"), today=TODAY)
    assert wishes(reading) == "press +4 theme=Jazz; without theme=Jazz"
    assert reading.contradictions == (reading.wishes,)


def test_a_novel_is_refused_with_a_sentence() -> None:
    with pytest.raises(RequestLengthError, match="at most 2,000 are read"):
        read("jazz " * 10_000, vocabulary("events"))


def test_a_wish_says_what_it_was_read_from() -> None:
    reading = read("please, a bit more JAZZ near Gent", vocabulary("events"), today=TODAY)
    assert [wish.words for wish in reading.wishes] == ["a bit more JAZZ", "near Gent"]


PIECES = [
    "more",
    "less",
    "no",
    "only",
    "jazz",
    "concerts",
    "Ghent",
    "in",
    "near",
    ",",
    "and",
    "or",
    "but",
    "20",
    "euro",
    "under",
    "5",
    "december",
    "never",
    "cheap",
    "like",
    "popular",
    "for today",
    "a bit",
    "not",
    "nor",
    "weekend",
    "free",
]
TEXTS = st.text(max_size=200) | st.lists(st.sampled_from(PIECES), max_size=40).map(" ".join)


@settings(max_examples=60, deadline=None)
@given(TEXTS)
def test_any_text_gives_wishes_that_can_be_written(text: str) -> None:
    known = vocabulary("events")
    reading = read(text, known, today=TODAY)
    for wish in reading.wishes:
        assert Wish.parse(str(wish)) == wish
        assert wish.words in text
        if "=" in wish.name:
            assert Tag.parse(wish.name) in known.counts
    assert all(word in text for word in reading.unknown)
    assert len(set(reading.wishes)) == len(reading.wishes)


@pytest.mark.parametrize(
    "text",
    [
        "a" * LONGEST, "like " * (LONGEST // 5), "jaz " * (LONGEST // 4), "," * LONGEST,
        "no more than " * (LONGEST // 13), "1" * LONGEST, "zzzzzzzzq " * (LONGEST // 10),
        "or jazz, " * (LONGEST // 9), "l'" * (LONGEST // 2), "5 to " * (LONGEST // 5),
    ],
    ids=lambda text: text[:8],
)  # fmt: skip
def test_long_texts_of_all_kinds_are_read(text: str) -> None:
    for language in ("en", "nl", "fr"):
        assert len(read(text, vocabulary("films"), language=language, today=TODAY).wishes) < 10


@pytest.mark.parametrize(("file", "least"), [("requests_dev", 150), ("requests_more", 300)])
def test_requests_for_development_are_read_as_intended(file: str, least: int) -> None:
    scores = measure(Path(__file__).with_name(f"{file}.jsonl"))
    total = scores["all"]
    assert total.requests >= least
    assert total.exact / total.requests >= 0.97
    assert total.right / total.given >= 0.98
    for language in ("en", "nl", "fr"):
        assert scores[language].exact / scores[language].requests >= 0.95


def test_requests_kept_apart_are_read_as_intended() -> None:
    scores = measure(Path(__file__).with_name("requests_kept.jsonl"))
    total = scores["all"]
    assert total.requests >= 150
    assert total.exact / total.requests >= 0.85
    assert total.right / total.given >= 0.95


@pytest.mark.parametrize(
    ("text", "likely", "expected"),
    [
        ("ik zoek iets met jazz maar geen workshops", "en", "nl"),
        ("je cherche un concert mais pas de rock", "nl", "fr"),
        ("I am looking for a concert without rock", "fr", "en"),
        ("jazz", "fr", "fr"),
        ("jazz", "de", "en"),
        ("", "nl", "nl"),
        ("Gent", "en", "en"),
    ],
)
def test_languages(text: str, likely: str, expected: str) -> None:
    assert written_language(text, likely, vocabulary("events")) == expected
