"""Dates and years in a request: weekdays, months, feasts, figures, and before or after them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache

from teaser.data.tags import Tag
from teaser.words.phrases import PhraseIndex, RequestReader, keys
from teaser.words.vocabulary import Name, decade_names
from teaser.words.wishes import Period, month_days

_DAY = timedelta(days=1)
_FIRST_YEAR, _LAST_YEAR = 1900, 2200
# The years that items can be of.
_OLDEST, _NEWEST = 1850, 2100
# How a word before a date changes it; tried in this order.
_OPENINGS = ("before", "until", "after", "from")


@dataclass(frozen=True)
class _Point:
    """A day or a run of days, and how many words it takes."""

    first: date
    last: date
    length: int
    name: str = ""
    kind: str = "day"


@dataclass(frozen=True)
class Years:
    """A run of years, both ends included; None for an open end."""

    first: int | None
    last: int | None

    @property
    def is_decade(self) -> bool:
        """Whether it is one decade, such as the nineties."""
        return self.first is not None and self.last == self.first + 9 and self.first % 10 == 0

    def opposite(self) -> "Years | None":
        """Return the years that are left, if they are one run."""
        if self.first is None and self.last is not None:
            return Years(self.last + 1, None)
        if self.last is None and self.first is not None:
            return Years(None, self.first - 1)
        return None

    def among(self, bands: Iterable[Tag]) -> list[Tag]:
        """Return the years and decades that lie in this run, decades by their middle."""
        found = []
        for tag in bands:
            year = tag.value.strip().removesuffix("s")
            middle = int(year) + 5 * tag.value.strip().endswith("s") if year.isdigit() else None
            if middle is not None and (self.first or middle) <= middle <= (self.last or middle):
                found.append(tag)
        return found


@dataclass(frozen=True)
class DateReader(RequestReader):
    """Reads dates at places of a request.

    Parameters
    ----------
    today
        The day that it is written.
    names
        The names of tags.
    """

    today: date
    names: PhraseIndex[Name]

    def at(self, place: int) -> tuple[Period | None, int] | None:
        """Return the period that stands at a place, and how many words it takes.

        Days that are no one period, such as every Tuesday, have None for it.
        """
        unread = self.past_years_at(place) or self._repeated(place)
        if unread:
            return None, unread
        readings = (self._range(place), self._opened(place), self._plain(place))
        found = [each for each in readings if each]
        return max(found, key=lambda each: each[1]) if found else None

    def years_at(self, place: int) -> int:
        """Return how many words speak of this year, the next or the last; 0 if none."""
        years = ("this_year", "next_year")
        found = (self.length("date", each, place) for each in years)
        return max(*found, self.past_years_at(place))

    def run_of_years(self, place: int) -> tuple[Years, int] | None:
        """Read `before 1980`, `since 1995`, `between 1990 and 1995`, `from the 90s` at a place.

        Returns
        -------
        The years and the number of words; None for a year alone, which is the name of a tag.
        """
        length = self.length("date", "between", place)
        low = self._year_or_decade(place + length) if length else None
        if low:
            middle = place + length + low[1]
            joint = self.length("date", "to", middle)
            high = self._year_or_decade(middle + joint) if joint else None
            if high and low[0][0] <= high[0][1]:
                return Years(low[0][0], high[0][1]), middle + joint + high[1] - place
        for key in ("before", "until", "after", "from"):
            length = self.length("date", key, place)
            found = self._year_or_decade(place + length) if length else None
            if found is None:
                continue
            (first, last), n = found
            total = length + n
            # "from 1994" is of that year; "from 1994 on" and "since 1994" are not.
            onwards = int(self._word(place + total) in ("on", "onwards"))
            # French "des années 80" is of them, "dès 1980" is since then.
            is_of = self._word(place) == "from" or (self._word(place) == "des" and last > first)
            if key == "from" and is_of and not onwards:
                return (Years(first, last), total) if last > first else None
            if key in ("before", "until"):
                return Years(None, first - 1 if key == "before" else last), total
            # "not before 1980" has 1980 in it.
            is_after = key == "after" and self._word(place) not in ("not", "niet", "pas")
            return Years(last + 1 if is_after else first, None), total + onwards
        found = self._year_or_decade(place)
        return (Years(*found[0]), found[1]) if found and found[0][1] > found[0][0] else None

    def _year_or_decade(self, place: int) -> tuple[tuple[int, int], int] | None:
        """Return the first and the last year at a place, and how many words they take."""
        place_after = place + int(self._word(place) in ("the", "de", "les"))
        phrases = _decade_phrases(self.lexicon.language)
        for start in dict.fromkeys((place, place_after)):
            for length in range(min(4, len(self.words) - start), 0, -1):
                decade = phrases.get(tuple(self.words[start : start + length]))
                if decade:
                    return (decade, decade + 9), start + length - place
        year = self._word(place)
        is_year = len(year) == 4 and year.isdigit() and _OLDEST <= int(year) <= _NEWEST
        return ((int(year), int(year)), 1) if is_year else None

    def _word(self, place: int) -> str:
        return self.words[place] if place < len(self.words) else ""

    def past_years_at(self, place: int) -> int:
        """Return how many words speak of years that are over; 0 if none."""
        return self.length("date", "last_years", place)

    def _repeated(self, place: int) -> int:
        """Return how many words name a day of all weeks: every Tuesday, on Mondays; 0 if none."""
        opening = max(self.length("date", key, place) for key in ("on", "each"))
        for length in dict.fromkeys((opening, 0)):
            start = place + length
            plural = self.length("date", "weekdays", start)
            is_each = length and self.length("date", "each", place) == length
            one = self.find("weekday", start) if is_each else None
            name = plural or (one[1] if one else 0)
            if name and not self.names.single(self.words[start], self.lexicon.language):
                return self._with_part(place, length + name)
        return 0

    def _range(self, place: int) -> tuple[Period, int] | None:
        """Read `from 1 to 10 December`, `between Friday and Sunday`, `5-10 December`."""
        opening = self.length("date", "between", place)
        start = self._point(place + opening) or self._bare_day(place + opening)
        if start is None:
            return None
        middle = place + opening + start.length
        joint = self.length("date", "to", middle)
        if not joint and self.mark(middle) in ("-", "–", "—"):
            joint = 1
        is_list = not joint and start.kind in ("weekday", "bare", "named")
        if is_list:
            joint = self.length("join", "and", middle)
        end = self._point(middle + joint) if joint else None
        # "today or tomorrow" is a period, "from tonight to the weekend" is not read.
        named = {start.kind, end.kind if end else ""} & {"named"}
        if end is None or (named and not is_list):
            return None
        first = start.first
        if start.kind == "bare":
            first = _moved(end.first, start.first.day) or end.last + _DAY
        # Two days of a list are a period if one follows the other: Friday or Saturday.
        is_list = is_list or (not opening and start.kind == "weekday")
        last = first if start.kind == "bare" else start.last
        if first > end.last or (is_list and end.first != last + _DAY):
            return None
        return Period("", first, end.last), middle + joint + end.length - place

    def _opened(self, place: int) -> tuple[Period, int] | None:
        """Read `before Christmas`, `until Friday`, `after new year`, `from 5 December`."""
        if self._from_today(place):  # French "après-demain" is not "after tomorrow"
            return None
        for opening in _OPENINGS:
            length = self.length("date", opening, place)
            point = self._point(place + length) if length else None
            if point is None:
                continue
            # Dutch "voor" is "for" as well as "before".
            is_for = self.length("date", "on", place) == length
            if opening == "before" and is_for and point.kind in ("weekday", "named", "month"):
                continue
            total = length + point.length
            if opening == "before":
                return Period("", None, point.first - _DAY), total
            if opening == "until":
                return Period("", None, point.last), total
            first = point.last + _DAY if opening == "after" else point.first
            return Period("", first, None), total
        return None

    def _plain(self, place: int) -> tuple[Period, int] | None:
        """Read `on Friday`, `in December`, `this weekend`, `5 December`."""
        opening = self.length("date", "on", place)
        for length in dict.fromkeys((opening, 0)):
            point = self._point(place + length)
            if point is None and length:
                point = self._ordinal(place + length)
            if point is None or (point.kind == "feast" and self._is_tag(place + length, point)):
                continue
            if point.name:
                return Period(point.name), length + point.length
            return Period("", point.first, point.last), length + point.length
        return None

    def _is_tag(self, place: int, point: _Point) -> bool:
        """Return whether a feast is the name of a tag, which it then means without `before`."""
        return bool(self.names.exact(" ".join(self.words[place : place + point.length])))

    def _point(self, place: int) -> _Point | None:
        """Read a day, a month, a feast or a named period, the longest of them."""
        if place >= len(self.words):
            return None
        readers = (
            self._named,
            self._from_today,
            self._day,
            self._weekday,
            self._month,
            self._feast,
        )
        found = [point for reader in readers if (point := reader(place))]
        return max(found, key=lambda each: each.length) if found else None

    def _named(self, place: int) -> _Point | None:
        found = self.find("period", place)
        if not found:
            return None
        first, last = Period(found[0]).days(self.today)
        if first is None or last is None:
            return None
        return _Point(first, last, self._with_part(place, found[1]), found[0], "named")

    def _from_today(self, place: int) -> _Point | None:
        """Read `the day after tomorrow`, `this year`, `next year`."""
        year, last = self.today.year, date(self.today.year, 12, 31)
        spans = {
            "after_tomorrow": (self.today + 2 * _DAY, self.today + 2 * _DAY),
            "this_year": (self.today, last),
            "next_year": (date(year + 1, 1, 1), date(year + 1, 12, 31)),
        }
        for key, (first, end) in spans.items():
            length = self.length("date", key, place)
            if length:
                return _Point(first, end, self._with_part(place, length), "", "span")
        return None

    def _weekday(self, place: int) -> _Point | None:
        later = self.length("date", "next", place)
        found = self.find("weekday", place + later)
        if not found:
            return None
        end = place + later + found[1]
        after = self.length("date", "next_after", end)
        ahead = (int(found[0]) - self.today.weekday()) % 7
        if later or after:
            ahead = 7 - self.today.weekday() + int(found[0])
        day, end = self.today + ahead * _DAY, end + after
        end += self.length("date", "coming", end)
        exact = self._day(end)
        if exact is not None:
            return _Point(exact.first, exact.last, end - place + exact.length)
        return _Point(day, day, self._with_part(place, end - place), "", "weekday")

    def _day(self, place: int) -> _Point | None:
        """Read `5 December 2026`, `December 5th`, `5/12`, `2026-12-05`."""
        token = self.token(place)
        if token is None:
            return None
        if token.kind == "number" and ("/" in token.key or token.key.count("-") == 2):
            day = self._figures(token.key)
            return _Point(day, day, self._with_part(place, 1)) if day else None
        number, length = self._number(place)
        if number:
            length += self._of(place + length)
            month = self.find("month", place + length)
            if not month:
                return None
            length += month[1]
        else:
            month = self.find("month", place)
            if not month:
                return None
            length = month[1]
            number, more = self._number(place + length)
            length += more
            if not number or self._is_amount(place + length):
                return None
        year, more = self._year(place + length)
        made = self._next_date(number, int(month[0]), year)
        return _Point(made, made, self._with_part(place, length + more)) if made else None

    def _month(self, place: int) -> _Point | None:
        found = self.find("month", place)
        # "may" and "mars" are other words too; a month follows "in" or stands with a year.
        if not found or (found[1] == 1 and len(self.words[place]) < 3):
            return None
        ambiguous = self.words[place] in ("may", "mars", "mai", "mei", "sep", "sept", "mar")
        opened = place > 0 and self.words[place - 1] in ("in", "en", "op", "vanaf", "de", "of")
        if ambiguous and not opened:
            return None
        year, more = self._year(place + found[1])
        month = int(found[0])
        chosen = year or self.today.year + (month < self.today.month)
        first, last = month_days(chosen, month)
        return _Point(first, last, found[1] + more, "", "month")

    def _feast(self, place: int) -> _Point | None:
        found = self.find("feast", place)
        if not found:
            return None
        month, day = map(int, found[0].split("-"))
        made = self._next_date(day, month, None)
        return _Point(made, made, found[1], "", "feast") if made else None

    def _ordinal(self, place: int) -> _Point | None:
        """Read `the 5th`, `le 12`: the next day of that number."""
        token = self.token(place)
        number, length = self._number(place)
        if not number or token is None or self._is_amount(place + length):
            return None
        has_suffix = length > 1
        if not has_suffix and not (place > 0 and self.words[place - 1] == "le"):
            return None
        day = _moved(self.today, number)
        if day is None or day < self.today:
            later = month_days(self.today.year + self.today.month // 12, self.today.month % 12 + 1)[
                0
            ]
            day = _moved(later, number)
        return _Point(day, day, length) if day else None

    def _bare_day(self, place: int) -> _Point | None:
        number, length = self._number(place)
        if not number:
            return None
        day = _moved(date(2000, 1, 1), number)
        return _Point(day, day, length, "", "bare") if day else None

    def _number(self, place: int) -> tuple[int, int]:
        """Return a day of a month at a place and its length; 0 and 0 if there is none."""
        token = self.token(place)
        if token is None or token.kind != "number" or not token.key.isdigit():
            return 0, 0
        number = int(token.key)
        if not 1 <= number <= 31:
            return 0, 0
        suffix = place + 1 < len(self.tokens) and self.tokens[place + 1].glued
        length = self.length("date", "day_suffix", place + 1) if suffix else 0
        return number, 1 + min(length, 1)

    def _year(self, place: int) -> tuple[int | None, int]:
        token = self.token(place)
        figures = token.key if token is not None and token.kind == "number" else ""
        is_year = figures.isdigit() and _FIRST_YEAR <= int(figures) <= _LAST_YEAR
        return (int(figures), 1) if is_year else (None, 0)

    def _of(self, place: int) -> int:
        return int(place < len(self.words) and self.words[place] in ("of", "de", "van"))

    def _is_amount(self, place: int) -> bool:
        return bool(self.find("unit", place)) or self.mark(place) in "€$£%"

    def _with_part(self, place: int, length: int) -> int:
        """Return a length with the part of the day that follows: Friday night."""
        return length + self.length("date", "part", place + length)

    def _figures(self, text: str) -> date | None:
        parts = [int(part) for part in text.replace("-", "/").split("/")]
        if len(parts) == 3 and parts[0] > 31:
            year, month, day = parts
        elif len(parts) >= 2:
            day, month = parts[:2]
            year = parts[2] if len(parts) == 3 else 0
        else:
            return None
        if year and year < 100:
            year += 2000
        return self._next_date(day, month, year or None)

    def _next_date(self, day: int, month: int, year: int | None) -> date | None:
        """Return a day of a year, or without one the next such day, today included."""
        for chosen in (year,) if year else range(self.today.year, self.today.year + 5):
            try:
                made = date(chosen, month, day)
            except ValueError:
                continue
            if year or made >= self.today:
                return made
        return None


def _moved(day: date, number: int) -> date | None:
    """Return another day of the same month, or None if it has no such day."""
    try:
        return day.replace(day=number)
    except ValueError:
        return None


@cache
def _decade_phrases(language: str) -> Mapping[tuple[str, ...], int]:
    """Return the names of decades in a language, as words; a bare year is none."""
    return {
        keys(phrase): year
        for year in range(1900, 2030, 10)
        for phrase in decade_names(Tag("decade", f"{year}s")).get(language, ())
        if not phrase.isdigit()
    }
