"""When something ends, in words: by its last day, at the site's own midnight."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from teaser.app.i18n.texts import texts_in
from teaser.app.pages.view.clock import Clock
from teaser.app.state import ending, read_time

BRUSSELS = ZoneInfo("Europe/Brussels")
# A Monday, already the next day in Brussels.
LATE = datetime(2026, 11, 15, 23, 30, tzinfo=UTC)
CLOCK = Clock(LATE, BRUSSELS)


def said(lasts: str, clock: Clock, language: str = "en") -> str:
    until = read_time(ending(lasts, clock.zone, now=clock.now)["until"])
    return clock.describe_end(until, texts_in(language)).words


def test_the_day_is_that_of_the_site() -> None:
    assert CLOCK.today == date(2026, 11, 16)
    assert Clock(LATE, UTC).today == date(2026, 11, 15)


def test_what_ends_at_midnight_is_for_today_only() -> None:
    assert said("today", CLOCK) == "today only"
    assert said("today", CLOCK, "fr") == "aujourd’hui seulement"


def test_a_week_ends_on_a_day_that_is_named() -> None:
    assert said("week", CLOCK) == "until Mon 23 Nov 2026"
    tuesday = Clock(LATE + timedelta(days=1), BRUSSELS)
    until = read_time(ending("week", BRUSSELS, now=LATE)["until"])
    assert tuesday.describe_end(until, texts_in("en")).words == "until Monday"
    assert tuesday.describe_end(until, texts_in("nl")).words == "tot en met maandag"


def test_the_exact_end_is_there_for_people_and_programs() -> None:
    until = read_time(ending("week", BRUSSELS, now=LATE)["until"])
    found = CLOCK.describe_end(until, texts_in("en"))
    assert found.exact == "ends on Tue 24 Nov 2026 at 00:00"
    assert datetime.fromisoformat(found.iso) == until


@pytest.mark.parametrize("days", range(1, 9))
def test_each_end_is_told_by_the_last_day_before_it(days: int) -> None:
    midnight = datetime(2026, 11, 16, tzinfo=BRUSSELS) + timedelta(days=days)
    last = date(2026, 11, 15) + timedelta(days=days)
    words = CLOCK.describe_end(midnight, texts_in("en")).words
    if days == 1:
        assert words == "today only"
    elif days <= 7:
        assert words == f"until {last:%A}"
    else:
        assert words == f"until {texts_in('en').date(last)}"
