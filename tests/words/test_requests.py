"""Requests become wishes, by the rules of docs/users/steering.md."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from words.catalogues import TODAY, vocabulary
from words.measure import measure

from teaser import Tag
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


# Dates, on Monday 16 November 2026


EN = {
    "today": "today", "tonight": "today", "tomorrow evening": "tomorrow", "this weekend": "weekend",
    "next weekend": "next_weekend", "next week": "next_week", "next month": "next_month",
    "on Friday": "2026-11-20..2026-11-20", "Friday night": "2026-11-20..2026-11-20",
    "Monday": "2026-11-16..2026-11-16", "next Friday": "2026-11-27..2026-11-27",
    "in December": "2026-12-01..2026-12-31", "in March": "2027-03-01..2027-03-31",
    "on 5 December": "2026-12-05..2026-12-05", "December 5th": "2026-12-05..2026-12-05",
    "the 5th of December": "2026-12-05..2026-12-05", "on 5/12": "2026-12-05..2026-12-05",
    "on 2026-12-05": "2026-12-05..2026-12-05", "5 November": "2027-11-05..2027-11-05",
    "from 1 to 10 December": "2026-12-01..2026-12-10",
    "between 5 and 10 December": "2026-12-05..2026-12-10",
    "5-10 December": "2026-12-05..2026-12-10", "before Christmas": "..2026-12-24",
    "after new year": "2027-01-02..", "until 10 December": "..2026-12-10",
    "before 10 December": "..2026-12-09", "after 10 December": "2026-12-11..",
    "from 10 December": "2026-12-10..", "Friday or Saturday": "2026-11-20..2026-11-21",
    "from Friday to Sunday": "2026-11-20..2026-11-22",
    "Saturday 21 November": "2026-11-21..2026-11-21", "on the 20th": "2026-11-20..2026-11-20",
    "on the 5th": "2026-12-05..2026-12-05", "29 February": "2028-02-29..2028-02-29",
    "the day after tomorrow": "2026-11-18..2026-11-18",
    "this evening or tomorrow": "2026-11-16..2026-11-17",
    "this weekend or next week": "2026-11-21..2026-11-29",
    "next year": "2027-01-01..2027-12-31", "this year": "2026-11-16..2026-12-31",
    "before the weekend": "..2026-11-20", "on Christmas Eve": "2026-12-24..2026-12-24",
}  # fmt: skip
NL = {
    "vanavond": "today", "morgenavond": "tomorrow", "dit weekend": "weekend",
    "volgende week": "next_week", "vrijdag": "2026-11-20..2026-11-20",
    "zaterdagavond": "2026-11-21..2026-11-21", "iets voor vrijdag": "2026-11-20..2026-11-20",
    "voor Kerstmis": "..2026-12-24", "na nieuwjaar": "2027-01-02..",
    "van 1 tot 10 december": "2026-12-01..2026-12-10", "op 5 december": "2026-12-05..2026-12-05",
    "tussen 5 en 10 december": "2026-12-05..2026-12-10", "in januari": "2027-01-01..2027-01-31",
    "vanaf 5 december": "2026-12-05..", "tot 5 december": "..2026-12-05",
    "overmorgen": "2026-11-18..2026-11-18", "volgende vrijdag": "2026-11-27..2026-11-27",
    "vandaag of morgen": "2026-11-16..2026-11-17", "volgend jaar": "2027-01-01..2027-12-31",
    "voor het weekend": "weekend", "op zondag 22 november": "2026-11-22..2026-11-22",
    "voor 1 januari": "..2026-12-31", "volgende maand": "next_month",
}  # fmt: skip
FR = {
    "ce soir": "today", "demain": "tomorrow", "ce week-end": "weekend",
    "le week-end prochain": "next_weekend", "la semaine prochaine": "next_week",
    "vendredi": "2026-11-20..2026-11-20", "samedi soir": "2026-11-21..2026-11-21",
    "vendredi prochain": "2026-11-27..2026-11-27", "en décembre": "2026-12-01..2026-12-31",
    "le 12 décembre": "2026-12-12..2026-12-12", "le 1er décembre": "2026-12-01..2026-12-01",
    "du 1er au 10 décembre": "2026-12-01..2026-12-10", "avant Noël": "..2026-12-24",
    "après le nouvel an": "2027-01-02..", "à partir du 5 décembre": "2026-12-05..",
    "jusqu'au 5 décembre": "..2026-12-05", "entre le 5 et le 10 décembre": "2026-12-05..2026-12-10",
    "après-demain": "2026-11-18..2026-11-18", "l'an prochain": "2027-01-01..2027-12-31",
    "aujourd'hui ou demain": "2026-11-16..2026-11-17",
    "avant le 10 décembre": "..2026-12-09", "dimanche 22 novembre": "2026-11-22..2026-11-22",
    "le 20": "2026-11-20..2026-11-20", "au mois de janvier": "2027-01-01..2027-01-31",
}  # fmt: skip


@pytest.mark.parametrize(
    ("language", "text", "period"),
    [
        (lang, t, p)
        for lang, rows in {"en": EN, "nl": NL, "fr": FR}.items()
        for t, p in rows.items()
    ],
)
def test_dates(language: str, text: str, period: str) -> None:
    reading = read(text, vocabulary("events"), language=language, today=TODAY)
    assert [str(wish) for wish in reading.wishes] == [f"when {period}"]
    assert reading.unknown == ()


@pytest.mark.parametrize(
    ("language", "text", "day"),
    [
        ("en", "at weekends", "weekend"), ("en", "on weekdays", "weekday"),
        ("nl", "op weekdagen", "weekday"), ("nl", "in de weekends", "weekend"),
        ("fr", "en semaine", "weekday"), ("fr", "les week-ends", "weekend"),
    ],
)  # fmt: skip
def test_a_habit_is_a_tag(language: str, text: str, day: str) -> None:
    reading = read(text, vocabulary("events"), language=language, today=TODAY)
    assert [str(wish) for wish in reading.wishes] == [f"only day={day}"]


@pytest.mark.parametrize("text", ["31 February", "45 December", "99/99", "2026-99-99"])
def test_impossible_days_are_not_understood(text: str) -> None:
    reading = read(text, vocabulary("events"), today=TODAY)
    assert all(wish.kind != "when" or ".." in wish.name for wish in reading.wishes)
    assert reading.unknown


def test_items_without_dates_have_no_periods() -> None:
    reading = read("drama this weekend", vocabulary("films"), today=TODAY)
    assert [str(wish) for wish in reading.wishes] == ["press +4 genre=Drama"]
    assert reading.unknown == ("weekend",)


# Bounds on numbers


PRICES = [
    ("en", "under 25 euro", "at_most price 25"),
    ("en", "less than €25", "at_most price 25"),
    ("en", "25 euros max", "at_most price 25"),
    ("en", "for 15 euro", "at_most price 15"),
    ("en", "no more than twenty bucks", "at_most price 20"),
    ("en", "nothing over 20 euro", "at_most price 20"),
    ("en", "over 15 euro", "at_least price 15"),
    ("en", "15 euro or more", "at_least price 15"),
    ("en", "between 10 and 25 euro", "at_least price 10; at_most price 25"),
    ("en", "10-25 euro", "at_least price 10; at_most price 25"),
    ("en", "12.50 euro at most", "at_most price 12.5"),
    ("en", "under 25", "at_most price 25"),
    ("nl", "hoogstens 25 euro", "at_most price 25"),
    ("nl", "niet meer dan 12,50 euro", "at_most price 12.5"),
    ("nl", "vanaf 15 euro", "at_least price 15"),
    ("nl", "tussen 15 en 30 euro", "at_least price 15; at_most price 30"),
    ("nl", "van 15 tot 30 euro", "at_least price 15; at_most price 30"),
    ("nl", "voor 15 euro", "at_most price 15"),
    ("nl", "niks boven de 20 euro", "at_most price 20"),
    ("fr", "moins de 25 euros", "at_most price 25"),
    ("fr", "plus de 25 euros", "at_least price 25"),
    ("fr", "25 € maximum", "at_most price 25"),
    ("fr", "entre 15 et 30 euros", "at_least price 15; at_most price 30"),
    ("fr", "de 15 à 30 euros", "at_least price 15; at_most price 30"),
    ("fr", "pas plus de 20 euros par personne", "at_most price 20"),
    ("fr", "à partir de 15 euros", "at_least price 15"),
]
FILMS = [
    ("en", "under 2 hours", "at_most runtime 120"),
    ("en", "shorter than 100 minutes", "at_most runtime 100"),
    ("en", "at most an hour and a half", "at_most runtime 90"),
    ("en", "rated above 8", "at_least rating 8"),
    ("en", "a rating of at least 7.5", "at_least rating 7.5"),
    ("en", "8+ stars", "at_least rating 8"),
    ("en", "between 1 and 2 hours", "at_least runtime 60; at_most runtime 120"),
    ("nl", "korter dan anderhalf uur", "at_most runtime 90"),
    ("nl", "een score van minstens 7", "at_least rating 7"),
    ("nl", "langer dan 2u30", "at_least runtime 150"),
    ("fr", "moins de deux heures", "at_most runtime 120"),
    ("fr", "note supérieure à 8", "at_least rating 8"),
    ("fr", "plus de 2h30", "at_least runtime 150"),
    ("fr", "une heure et demie maximum", "at_most runtime 90"),
]


@pytest.mark.parametrize(("language", "text", "wishes"), PRICES)
def test_prices(language: str, text: str, wishes: str) -> None:
    reading = read(text, vocabulary("events"), language=language, today=TODAY)
    assert "; ".join(map(str, reading.wishes)) == wishes
    assert reading.unknown == ()


@pytest.mark.parametrize(("language", "text", "wishes"), FILMS)
def test_lengths_and_ratings(language: str, text: str, wishes: str) -> None:
    reading = read(text, vocabulary("films"), language=language, today=TODAY)
    assert "; ".join(map(str, reading.wishes)) == wishes
    assert reading.unknown == ()


def test_a_unit_without_a_column_is_not_understood() -> None:
    reading = read("jazz under 90 minutes", vocabulary("events"), today=TODAY)
    assert [str(wish) for wish in reading.wishes] == ["press +4 theme=Jazz"]
    assert reading.unknown == ("under 90 minutes",)


# Items, surnames and years


@pytest.mark.parametrize(
    ("text", "expected", "unknown"),
    [
        ("pulp fiction", "like m0", ""),
        ("Pulp Fiction but older", "like m0; at_most year 1971.5", ""),
        ("like m1", "like m1", ""),
        ("something like m1, no crime", "like m1; without genre=Crime", ""),
        ("no pulp fiction", "", "pulp fiction"),
        ("no black and white", "", "black white"),
        ("no Black", "without actor=Karen Black", ""),
        ("karen black", "press +4 actor=Karen Black", ""),
        ("bergman", "press +4 actor=Ingmar Bergman", ""),
        ("m99", "", "m 99"),
    ],
)
def test_items_and_surnames(text: str, expected: str, unknown: str) -> None:
    reading = read(text, vocabulary("year_numbers"), today=TODAY)
    assert "; ".join(map(str, reading.wishes)) == expected
    assert " ".join(reading.unknown) == unknown


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


# What signs count for


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no jazz and no rock", ["without theme=Jazz", "without theme=Rock"]),
        ("no jazz or rock", ["without theme=Jazz", "without theme=Rock"]),
        ("no jazz; rock", ["without theme=Jazz", "press +4 theme=Rock"]),
        ("no jazz. rock", ["without theme=Jazz", "press +4 theme=Rock"]),
        ("no jazz in Ghent", ["without theme=Jazz", "only town=Ghent"]),
        ("no jazz, Ghent or Bruges", ["without theme=Jazz", "only town=Ghent", "only town=Bruges"]),
        ("near Ghent, Bruges or Kortrijk",
         ["press +4 town=Ghent", "press +4 town=Bruges", "press +4 town=Kortrijk"]),
        ("only in Ghent", ["only town=Ghent"]),
        ("preferably in Ghent", ["press +2 town=Ghent"]),
        ("less in Ghent", ["press -4 town=Ghent"]),
        ("nothing in Ghent", ["without town=Ghent"]),
        ("for a week no jazz", ["never theme=Jazz for week"]),
        ("never jazz this week", ["never theme=Jazz for week"]),
        ("jazz for today", ["press +4 theme=Jazz", "when today"]),
        ("nothing over 20 euro", ["at_most price 20"]),
        ("jazz, not this weekend", ["press +4 theme=Jazz"]),
        ("+jazz -rock", ["press +4 theme=Jazz", "without theme=Rock"]),
        ("under canvas, under 20 euro", ["press +4 setting=Under canvas", "at_most price 20"]),
    ],
)  # fmt: skip
def test_what_signs_count_for(text: str, expected: list[str]) -> None:
    found = read(text, vocabulary("events"), today=TODAY)
    assert list(map(str, found.wishes)) == expected


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("nl", "jazzconcerten", "press +4 theme=Jazz; press +4 type=Concert"),
        ("nl", "kerstmarkt", "press +4 theme=Christmas; press +4 type=Market"),
        ("nl", "gigs in Gand", "press +4 type=Concert; only town=Ghent"),
        ("en", "with materials included", "press +4 labels=materials included"),
    ],
)
def test_compounds_and_names_of_other_languages(language: str, text: str, expected: str) -> None:
    assert wishes(read(text, vocabulary("events"), language=language, today=TODAY)) == expected
