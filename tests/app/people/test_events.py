"""Events: when they end, and their times as they are stored."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teaser.app.people.events import Event, ending, parts_of, read_time, time_text
from teaser.errors import ParameterError

BRUSSELS = ZoneInfo("Europe/Brussels")


@pytest.mark.parametrize(
    ("now", "today", "week"),
    [
        # Half an hour before midnight in Brussels, in winter and in summer.
        ("2026-11-16T22:30+00:00", "2026-11-16T23:00", "2026-11-23T23:00"),
        ("2026-07-01T21:30+00:00", "2026-07-01T22:00", "2026-07-08T22:00"),
        # The clock goes back on 25 October: the week is an hour longer.
        ("2026-10-20T12:00+00:00", "2026-10-20T22:00", "2026-10-27T23:00"),
    ],
)
def test_a_day_ends_at_midnight_at_the_site(now: str, today: str, week: str) -> None:
    at = datetime.fromisoformat(now)
    assert ending("today", BRUSSELS, now=at) == {"until": f"{today}:00+00:00"}
    assert ending("week", BRUSSELS, now=at) == {"until": f"{week}:00+00:00"}
    assert ending("always", BRUSSELS, now=at) == {}


@given(
    st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1)), st.sampled_from([UTC, BRUSSELS, None])
)
def test_what_lasts_ends_later_and_a_week_lasts_a_week(at: datetime, zone: Any) -> None:
    now = at.replace(tzinfo=UTC)
    until = {lasts: read_time(ending(lasts, zone, now=now)["until"]) for lasts in ("today", "week")}
    assert now < until["today"] <= now + timedelta(hours=25)
    assert now + timedelta(days=7) - timedelta(hours=1) <= until["week"]
    for each in until.values():
        assert each.astimezone(zone).time().isoformat() in ("00:00:00", "01:00:00")


def test_the_present_is_the_default() -> None:
    assert read_time(ending("today")["until"]) > datetime.now(UTC)
    with pytest.raises(ParameterError, match="'for ever'"):
        ending("for ever")


def test_times_are_stored_in_utc() -> None:
    at = datetime(2026, 5, 1, 12, tzinfo=timezone(timedelta(hours=2)))
    assert time_text(at) == "2026-05-01T10:00:00+00:00"
    assert read_time(time_text(at)) == at
    for text in ("2026-05-01T10:00:00", "tomorrow", 7, None, ""):
        with pytest.raises(ParameterError, match="until"):
            read_time(text)


def test_the_parts_of_one_action_are_itself() -> None:
    undo = Event("undo")
    assert parts_of(undo) == [undo]
    assert parts_of(Event("several", {"actions": [["vary", {"variety": 1}]]})) == [
        Event("vary", {"variety": 1})
    ]
