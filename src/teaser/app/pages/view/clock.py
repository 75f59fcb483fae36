"""The time on a page: when something ends, in words."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Self

from babel.dates import format_date

from teaser.app.i18n.texts import Texts
from teaser.app.serving.catalogue import Catalogue

_WEEK = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class EndView:
    """When something ends: in words, to the minute, and for programs."""

    words: str
    exact: str
    iso: str


@dataclass(frozen=True, slots=True)
class Clock:
    """The time of a request, in the time zone of the site."""

    now: datetime
    zone: tzinfo | None = None

    @classmethod
    def at(cls, catalogue: Catalogue) -> Self:
        """Return the present, at the site of a catalogue."""
        return cls(datetime.now(UTC), catalogue.zone)

    @property
    def today(self) -> date:
        """The day of the request."""
        return self.now.astimezone(self.zone).date()

    def describe_end(self, until: datetime, texts: Texts) -> EndView:
        """Describe an end: by the last day that it leaves, which is near in most cases."""
        local = until.astimezone(self.zone)
        last = (local - timedelta(microseconds=1)).date()
        if last <= self.today:
            words = texts("today only")
        elif last - self.today < _WEEK:
            weekday = str(format_date(last, "EEEE", locale=texts.language))
            words = texts("until {day}", day=weekday)
        else:
            words = texts("until {day}", day=texts.date(last))
        exact = texts(
            "ends on {day} at {time}", day=texts.date(local.date()), time=local.strftime("%H:%M")
        )
        return EndView(words, exact, until.isoformat(timespec="seconds"))
