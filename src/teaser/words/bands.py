"""Features whose tags are bands of numbers, in order: prices, decades, lengths."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from teaser.data.tagging.tag import Tag, feature_label
from teaser.words.phrases.lexicon import Lexicon, feature_kinds
from teaser.words.phrases.tokens import fold, keys

# The share of the bands at either end that "cheap" and "expensive" speak of.
_SHARE = 0.4
_STEPS = 2
_OLDEST, _NEWEST = 1850, 2100
_FIGURE = re.compile(r"-?\d+(?:[.,]\d+)?")
_NOTHING = frozenset({"free", "gratis", "gratuit", "none", "no charge"})
_DECADE = re.compile(r"(\d{3}0)s?")
_UNDER, _OVER = ("under", "below", "less", "up"), ("over", "above", "more")


def kind_of(name: str) -> str | None:
    """Return what a feature or column is about, by its name.

    Examples
    --------
    >>> kind_of("price_band"), kind_of("Directors"), kind_of("theme")
    ('price', 'person', None)
    """
    known = feature_kinds()
    words = fold(feature_label(name))
    for each in (words, words.removesuffix("s")):
        if each in known:
            return known[each]
    parts = [part.removesuffix("s") for part in words.split()]
    return next((known[part] for part in reversed(parts) if part in known), None)


def find_bands(tags: Iterable[Tag]) -> dict[str, tuple[Tag, ...]]:
    """Return the tags of each feature that consists of bands of numbers, the lowest first."""
    by_feature: dict[str, list[Tag]] = {}
    for tag in tags:
        by_feature.setdefault(tag.feature, []).append(tag)
    out = {}
    for feature, own in by_feature.items():
        placed = [(place, tag) for tag in own if (place := band_start(tag.value)) is not None]
        if len(placed) >= 2 and len(placed) == len(own):
            out[feature] = tuple(tag for _, tag in sorted(placed, key=lambda each: each[0]))
    return out


def band_start(value: str) -> tuple[float, int] | None:
    """Return where a band of numbers begins, to sort by; None for a text that is no band.

    Examples
    --------
    >>> band_start("free") < band_start("under 10 euro") < band_start("10 to 20 euro")
    True
    """
    words = keys(value)
    if " ".join(words) in _NOTHING:
        return -1.0, 0
    figures = [float(each.replace(",", ".")) for each in _FIGURE.findall(value)]
    if not figures or len(words) > 6:
        return None
    if words[0] in _UNDER:
        return 0.0, 1
    return figures[0], 3 if words[0] in _OVER or words[-1] in _OVER else 2


def steps_of(bands: tuple[Tag, ...], direction: int) -> dict[Tag, int]:
    """Return the presses for lower bands (direction -1) or higher ones (direction 1).

    The lower 40 % of the bands get two steps and the upper 40 % two back, or the reverse.
    """
    n, step = max(1, int(_SHARE * len(bands))), direction * _STEPS
    low, high = bands[:n], bands[-n:]
    return {
        **dict.fromkeys(low, -step),
        **dict.fromkeys((tag for tag in high if tag not in low), step),
    }


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


def years_at(words: Sequence[str], place: int, lexicon: Lexicon) -> tuple[Years, int] | None:
    """Read `before 1980`, `since 1995`, `between 1990 and 1995`, `from the 90s` at a place.

    Returns
    -------
    The years and the number of words; None for a year alone, which is the name of a tag.
    """
    listed = list(words)

    def opening(key: str, at: int) -> int:
        return lexicon.find_key("date", key, listed, at)

    length = opening("between", place)
    low = _year_or_decade(words, place + length, lexicon.language) if length else None
    if low:
        middle = place + length + low[1]
        joint = opening("to", middle)
        high = _year_or_decade(words, middle + joint, lexicon.language) if joint else None
        if high and low[0][0] <= high[0][1]:
            return Years(low[0][0], high[0][1]), middle + joint + high[1] - place
    for key in ("before", "until", "after", "from"):
        length = opening(key, place)
        found = _year_or_decade(words, place + length, lexicon.language) if length else None
        if found is None:
            continue
        (first, last), n = found
        total = length + n
        # "from 1994" is of that year; "from 1994 on" and "since 1994" are not.
        onwards = int(_word(words, place + total) in ("on", "onwards"))
        # French "des années 80" is of them, "dès 1980" is since then.
        is_of = words[place] == "from" or (words[place] == "des" and last > first)
        if key == "from" and is_of and not onwards:
            return (Years(first, last), total) if last > first else None
        if key in ("before", "until"):
            return Years(None, first - 1 if key == "before" else last), total
        # "not before 1980" has 1980 in it.
        is_after = key == "after" and words[place] not in ("not", "niet", "pas")
        return Years(last + 1 if is_after else first, None), total + onwards
    found = _year_or_decade(words, place, lexicon.language)
    return (Years(*found[0]), found[1]) if found and found[0][1] > found[0][0] else None


def _year_or_decade(
    words: Sequence[str], place: int, language: str
) -> tuple[tuple[int, int], int] | None:
    """Return the first and the last year at a place, and how many words they take."""
    place_after = place + int(_word(words, place) in ("the", "de", "les"))
    phrases = _decade_phrases(language)
    for start in dict.fromkeys((place, place_after)):
        for length in range(min(4, len(words) - start), 0, -1):
            decade = phrases.get(tuple(words[start : start + length]))
            if decade:
                return (decade, decade + 9), start + length - place
    year = _word(words, place)
    is_year = len(year) == 4 and year.isdigit() and _OLDEST <= int(year) <= _NEWEST
    return ((int(year), int(year)), 1) if is_year else None


def _word(words: Sequence[str], place: int) -> str:
    return words[place] if place < len(words) else ""


@cache
def _decade_phrases(language: str) -> Mapping[tuple[str, ...], int]:
    """Return the names of decades in a language, as words; a bare year is none."""
    return {
        keys(phrase): year
        for year in range(1900, 2030, 10)
        for phrase in decade_names(Tag("decade", f"{year}s")).get(language, ())
        if not phrase.isdigit()
    }


def are_decades(tags: Iterable[Tag]) -> bool:
    """Return whether all tags of a feature are decades, such as 1980s."""
    return all(_DECADE.fullmatch(tag.value.strip()) for tag in tags)


def decade_names(tag: Tag) -> Mapping[str, list[str]]:
    """Return the names of a decade in each language; nothing for a tag that is none.

    Examples
    --------
    >>> decade_names(Tag("decade", "1980s"))["nl"]
    ['jaren 80', 'jaren tachtig', 'jaren 1980']
    """
    found = _DECADE.fullmatch(tag.value.strip())
    if not found:
        return {}
    year = int(found[1])
    short, spoken = f"{year % 100:02d}", _SPOKEN.get(year, {})
    names = {
        "en": [f"{year}s"],
        "nl": [f"jaren {year}"],
        "fr": [f"années {year}", f"années {year}s"],
    }
    if 1920 <= year <= 2010:
        names["en"] = [f"{short}s", *spoken.get("en", ()), *names["en"]]
        names["nl"] = [f"jaren {short}", *spoken.get("nl", ()), *names["nl"]]
        names["fr"] = [f"années {short}", *spoken.get("fr", ()), *names["fr"]]
    return names


_SPOKEN: dict[int, dict[str, list[str]]] = {
    1920: {"en": ["twenties"], "nl": ["jaren twintig"], "fr": ["années vingt"]},
    1930: {"en": ["thirties"], "nl": ["jaren dertig"], "fr": ["années trente"]},
    1940: {"en": ["forties"], "nl": ["jaren veertig"], "fr": ["années quarante"]},
    1950: {"en": ["fifties"], "nl": ["jaren vijftig"], "fr": ["années cinquante"]},
    1960: {"en": ["sixties"], "nl": ["jaren zestig", "sixties"], "fr": ["années soixante"]},
    1970: {
        "en": ["seventies"],
        "nl": ["jaren zeventig", "seventies"],
        "fr": ["années septante", "années soixante-dix"],
    },
    1980: {
        "en": ["eighties"],
        "nl": ["jaren tachtig"],
        "fr": ["années quatre-vingt", "années quatre-vingts"],
    },
    1990: {
        "en": ["nineties"],
        "nl": ["jaren negentig", "nineties"],
        "fr": ["années nonante", "années quatre-vingt-dix"],
    },
    2000: {"en": ["noughties", "two thousands"], "nl": ["jaren nul"], "fr": []},
    2010: {"en": ["tens", "twenty tens"], "nl": ["jaren tien"], "fr": []},
}
