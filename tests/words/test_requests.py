"""Requests become wishes, by the rules of docs/users/steering.md."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from words.catalogues import TODAY, vocabulary
from words.measure import measure

from teaser import Tag
from teaser.words import Reading
from teaser.words.interpreter import LONGEST, read, written_language
from teaser.words.wishes import Wish

# Requests on Monday 16 November 2026, their wishes in order, and words that are not understood
# where a rule is about them.
RULES = [
    json.loads(line)
    for line in Path(__file__).with_name("requests_rules.jsonl").read_text("utf-8").splitlines()
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule['language']} {rule['text']}")
def test_each_rule_of_reading_holds(rule: dict[str, Any]) -> None:
    known = vocabulary(rule["catalogue"])
    reading = read(rule["text"], known, language=rule["language"], today=TODAY)
    assert list(map(str, reading.wishes)) == rule["wishes"]
    assert rule["unknown"] in (None, list(reading.unknown))
    assert reading.contradictions == ()


def wishes(reading: Reading) -> str:
    return "; ".join(map(str, reading.wishes))


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


PIECES = [
    "more", "less", "no", "only", "jazz", "concerts", "Ghent", "in", "near", ",", "and", "or",
    "but", "20", "euro", "under", "5", "december", "never", "cheap", "like", "popular",
    "for today", "a bit", "not", "nor", "weekend", "free",
]  # fmt: skip
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


def test_requests_heldout_apart_are_read_as_intended() -> None:
    scores = measure(Path(__file__).with_name("requests_heldout.jsonl"))
    total = scores["all"]
    assert total.requests >= 150
    assert total.exact / total.requests >= 0.85
    assert total.right / total.given >= 0.95


@pytest.mark.parametrize(("file", "least"), [("developed", 0.9), ("apart", 0.75)])
def test_requests_on_foreign_catalogues_are_read_as_intended(file: str, least: float) -> None:
    scores = measure(Path(__file__).parent / "foreign" / f"{file}.toml")
    total = scores["all"]
    assert total.requests >= 75
    assert total.exact / total.requests >= least
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


@pytest.mark.parametrize("text", ["31 February", "45 December", "99/99", "2026-99-99"])
def test_impossible_days_are_not_understood(text: str) -> None:
    reading = read(text, vocabulary("events"), today=TODAY)
    assert all(wish.kind != "when" or ".." in wish.name for wish in reading.wishes)
    assert reading.unknown
