"""Dates in three languages, on Monday 16 November 2026."""

import pytest
from words.catalogues import TODAY, vocabulary

from teaser.words.interpreter import read

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
