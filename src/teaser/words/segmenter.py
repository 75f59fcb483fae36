"""A request as atoms: names, signs, places, bounds and dates, in order."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Literal, get_args

from teaser.words.dates import DateReader
from teaser.words.phrases import (
    Found,
    Lexicon,
    Meaning,
    RequestReader,
    Token,
    fold,
    lexicon,
    ordinary_words,
    split_compound,
    tokenize,
)
from teaser.words.vocabulary import PART, SURNAME, Name, Vocabulary, are_decades
from teaser.words.wishes import Sign, Wish

Bound = Literal["at_most", "at_least"]

_MINUTES = 60.0
_CURRENCY = frozenset("€$£")
# What a unit is about, and by how much a number is multiplied.
_UNITS = {
    "price": ("price", 1.0),
    "minutes": ("length", 1.0),
    "hours": ("length", _MINUTES),
    "rating": ("rating", 1.0),
    "pages": ("pages", 1.0),
    "episodes": ("episodes", 1.0),
    "players": ("players", 1.0),
    "ages": ("ages", 1.0),
    "other": ("other", 1.0),
}


@dataclass(frozen=True)
class _Amount:
    number: float
    about: str
    length: int


@dataclass(frozen=True)
class LimitReader(RequestReader):
    """Reads bounds at places of a request."""

    vocabulary: Vocabulary

    def at(self, place: int) -> tuple[tuple[Wish, ...], int] | None:
        """Return the bounds that stand at a place, and how many words they take.

        A bound on what the items have no column for is an empty one.
        """
        topic = self.find("about", place)
        named = self.vocabulary.column_named(self.words[place]) if topic is None else None
        if named:
            topic = f"={named}", 1
        if topic:
            start = place + topic[1]
            start += self._fillers(start)
            found = self._range(start, topic[0]) or self._single(start, topic[0])
            if found:
                return found[0], found[1] + start - place
        return self._range(place, "") or self._single(place, "")

    def _range(self, place: int, topic: str) -> tuple[tuple[Wish, ...], int] | None:
        """Read `between 10 and 20 euro`, `10 to 20 euro`, `10-20 euro`."""
        opening = self.length("bound", "between", place)
        low = self._amount(place + opening)
        if low is None:
            return None
        middle = place + opening + low.length
        joint = self.length("bound", "to", middle)
        if not joint and self.mark(middle) in ("-", "–", "—"):
            joint = 1
        high = self._amount(middle + joint) if joint else None
        if high is None:
            return None
        about = high.about or low.about or topic
        about = topic if topic and about == "other" else about
        length = middle + joint + high.length - place
        if (not about and not opening) or low.number > high.number:
            return None
        if not about and self.words[place] not in ("between", "tussen", "entre"):
            return None
        scale = _MINUTES if high.about == "length" and not low.about else 1.0
        hours = high.number / _MINUTES if high.about == "length" else 0.0
        numbers = (low.number * scale if hours and low.number < hours else low.number, high.number)
        if about == "players":
            return self._players("", numbers), length
        column = self._column(about, high.number)
        if column is None:
            return (), length
        least = Wish("at_least", column, number=numbers[0])
        return (least, Wish("at_most", column, number=numbers[1])), length

    def _single(self, place: int, topic: str) -> tuple[tuple[Wish, ...], int] | None:
        """Read `under 20 euro`, `20 euro at most`, `8 stars`, `rating 8`."""
        kind = next((k for k in get_args(Bound) if self.length("bound", k, place)), "")
        opening = self.length("bound", kind, place) if kind else 0
        start = place + opening
        if opening:
            start += self._fillers(start)
        elif not topic:
            # "for 15 euro"
            start += int(self.words[place] in ("for", "voor", "pour"))
            start += int(start > place and self.words[start : start + 1] in (["a"], ["an"]))
        amount = self._amount(start)
        if amount is None:
            return None
        about = topic if topic and amount.about == "other" else amount.about or topic
        end = start + amount.length
        after = self._after(end)
        if after:
            kind, end = after[0], end + after[1]
            unit = None if about else self.find("unit", end)
            if unit:  # 8+ stars
                about, end = _UNITS[unit[0]][0], end + unit[1]
        if not about and not kind:
            return None
        if not about and opening and not after and self.words[place] in _WEAK:
            return None
        if not about and not after and self._counts_items(end):
            return (), end - place
        if about == "players":
            is_up_to = self.words[place : place + 2] == ["up", "to"]
            number = (amount.number, amount.number)
            return self._players("at_least" if is_up_to else kind, number), end - place
        column = self._column(about, amount.number)
        if column is None:
            return ((), end - place) if about else None
        if not kind:
            is_rating = self.vocabulary.kinds.get(column) == "rating"
            kind = "at_least" if is_rating else "at_most"
        named: Bound = "at_most" if kind == "at_most" else "at_least"
        return (Wish(named, column, number=amount.number),), end - place

    def _players(self, kind: str, numbers: tuple[float, float]) -> tuple[Wish, ...]:
        """Return the bounds for a number of players: the fewest and the most that an item takes."""
        columns = self.vocabulary.columns_of("players")
        fewest = [name for name in columns if "max" not in name.casefold()]
        most = [name for name in columns if "min" not in name.casefold()]
        if kind:
            named: Bound = "at_most" if kind == "at_most" else "at_least"
            return tuple(Wish(named, name, number=numbers[0]) for name in most[:1])
        low = tuple(Wish("at_most", name, number=numbers[0]) for name in fewest[:1])
        return low + tuple(Wish("at_least", name, number=numbers[1]) for name in most[:1])

    def _counts_items(self, place: int) -> bool:
        """Return whether a number counts items, by what follows: no more than two concerts."""
        start = place + self._fillers(place)
        found = self.vocabulary.names.at(self.words, start, self.lexicon.language)
        named = [name for each in found for name in each.values]
        return any(not self.vocabulary.is_place(name.tag) for name in named)

    def _after(self, place: int) -> tuple[str, int] | None:
        """Read what follows an amount: at most, or more, +."""
        if self.mark(place) == "+" and self.tokens[place].glued:
            return "at_least", 1
        for key, kind in (("after_at_most", "at_most"), ("after_at_least", "at_least")):
            length = self.length("bound", key, place)
            if length:
                return kind, length
        return None

    def _amount(self, place: int) -> _Amount | None:
        """Read a number with its unit: 20 euro, €20, 2 hours, 1h30, an hour and a half."""
        before = self.mark(place) in _CURRENCY
        start = place + int(before)
        number, length = self._number(start)
        if length == 0:
            return None
        unit = self.find("unit", start + length)
        if before or self.mark(start + length) in _CURRENCY:
            more = int(self.mark(start + length) in _CURRENCY)
            return _Amount(number, "price", length + more + int(before))
        is_percent = self.mark(start + length) == "%"
        if not unit or unit[0] == "other":
            # 13 % alcohol: a number with such a unit is a price only if it is said to be one.
            about = "other" if unit or is_percent else ""
            length += unit[1] if unit else int(is_percent)
            following = self.token(start + length)
            column = self.vocabulary.column_named(following.key) if following else None
            return _Amount(number, f"={column}" if column else about, length + bool(column))
        about, factor = _UNITS[unit[0]]
        total = length + unit[1]
        number *= factor
        if unit[0] == "price":
            # 20 euro per person
            again = self.length("unit", "price", start + total)
            total += again
        if unit[0] == "hours":
            minutes, extra = self._number(start + total)
            if extra and minutes < _MINUTES and self.tokens[start + total].kind == "number":
                number, total = number + minutes, total + extra
                total += self.length("unit", "minutes", start + total)
            else:
                number, total = self._and_a_half(number, start, total)
        return _Amount(number, about, total)

    def _and_a_half(self, number: float, start: int, total: int) -> tuple[float, int]:
        for phrase in _HALVES:
            if tuple(self.words[start + total : start + total + len(phrase)]) == phrase:
                return number + _MINUTES / 2, total + len(phrase)
        return number, total

    def _number(self, place: int) -> tuple[float, int]:
        """Return a number in figures or words and its length; length 0 if there is none."""
        token = self.token(place)
        if token is None:
            return 0.0, 0
        if token.number is not None:
            return token.number, 1
        spoken = self.find("number", place)
        if spoken is None:
            return 0.0, 0
        # "a" and "een" are numbers only before a unit.
        if float(spoken[0]) in (0.5, 1.0) and not self._unit_follows(place + spoken[1]):
            return 0.0, 0
        return float(spoken[0]), spoken[1]

    def _unit_follows(self, place: int) -> bool:
        found = self.find("unit", place)
        return found is not None and found[0] in ("hours", "minutes", "players")

    def _fillers(self, place: int) -> int:
        """Return how many small words stand before a number: a rating of at least ..."""
        length = 0
        while place + length < len(self.words) and self.words[place + length] in _SMALL:
            if self.find("bound", place + length) or self._number(place + length)[1]:
                break
            length += 1
        return length

    def _column(self, about: str, number: float) -> str | None:
        """Return the column that a number is about; without a unit, the one it fits in."""
        if about:
            return about[1:] if about[0] == "=" else self.vocabulary.column_of(about)
        price = self.vocabulary.column_of("price")
        if price:
            return price
        known = ("price", "length", "rating")
        fitting = [
            name
            for name, (low, high) in self.vocabulary.columns.items()
            if low <= number <= high and self.vocabulary.kinds.get(name) in known
        ]
        return fitting[0] if len(fitting) == 1 else None


# Words that open a bound only where a unit says what the number is.
_WEAK = frozenset(
    [
        "in", "from", "until", "within", "inside", "van", "tot", "binnen", "budget", "i", "spend",
        "pay", "dans", "des", "sous", "a",
    ]
)  # fmt: skip
_SMALL = frozenset(
    [
        "of", "is", "at", "the", "a", "an", "om", "op", "van", "de", "le", "la", "les", "un",
        "une", "d", "du", "than", "dan", "que", "with", "met", "avec", "are", "on",
    ]
)  # fmt: skip
_HALVES = (
    ("and", "a", "half"),
    ("en", "een", "half"),
    ("en", "half"),
    ("et", "demie"),
    ("et", "demi"),
)


# What of the lexicon is an atom by itself, and which of them is taken where a phrase has several
# meanings; bounds, units, months and the like are parts of others.
_PRIORITY = {
    "habit": 5.6, "lasts": 5.5, "size": 3.3, "boost": 3.2, "degree": 3.1, "sign": 3.0,
    "variety": 3.0, "appeal": 2.9, "scale": 2.8, "place": 2.6, "join": 2.5, "like": 2.4,
    "feature": 2.2, "filler": 1.5, "number": 1.0,
}  # fmt: skip
_STOPS = frozenset(".;!?:…。؟|")
_COMMAS = frozenset(",()[]{}–—،、")
_ENDS = frozenset({"comma", "stop"})
_JOINS = frozenset("&/+")
# An item id as it is typed: letters and figures.
_ID = re.compile(r"(?=[\w-]*\d)(?=[\w-]*[^\W\d])[\w-]{2,64}")
_LONGEST_TITLE = 16
_SHORTENED = frozenset({"max", "min", "ca", "approx", "env"})
# The most places at which titles are looked for; each may compare many.
_MOST_TITLES = 4


@dataclass(frozen=True)
class Atom:
    """A part of a request with a meaning.

    Parameters
    ----------
    kind
        `name`, `limit`, `date`, `item`, `unknown`, `comma`, `stop`, or a section of the lexicon.
    value
        What it stands for: names of tags, bounds, a period, an item id, a key of the lexicon.
    start, end
        Where it stands in the request, in letters.
    """

    kind: str
    value: Any
    start: int
    end: int


@dataclass(frozen=True)
class _Candidate:
    kind: str
    value: Any
    length: int
    priority: float

    @property
    def cost(self) -> float:
        if self.kind == "unknown":
            return 5.0
        if self.kind == "item" and self.priority == 0:
            # A title alone goes before words that are not understood, and after all others.
            return 4.0
        # Among equally many atoms, the longer name is meant.
        longer = 0.01 * self.length if self.kind == "name" else 0.0
        return 1.0 - 0.02 * self.priority - longer


class Segmenter:
    """Cuts one request into atoms.

    At each word the longest phrase with a meaning is taken; names of tags go before words of the
    lexicon, and words of the request's language before those of others. Words without a meaning
    are read once more as compounds and as misspellings.
    """

    def __init__(self, text: str, vocabulary: Vocabulary, language: str, today: date) -> None:
        self.text, self.vocabulary, self.language = text, vocabulary, language
        self.lexicon: Lexicon = lexicon(language)
        self.tokens: list[Token] = self._respelt(tokenize(text))
        self.words = [token.key if token.kind != "mark" else "" for token in self.tokens]
        self._dates = DateReader(self.tokens, self.words, self.lexicon, today, vocabulary.names)
        self._limits = LimitReader(self.tokens, self.words, self.lexicon, vocabulary)
        self._titles_left = _MOST_TITLES
        bands = vocabulary.bands_of("age")
        self._has_decades = bool(bands) and are_decades(bands)

    def atoms(self) -> list[Atom]:
        """Return the atoms of the request."""
        return self._without_taken_back(self._all_atoms())

    def _without_taken_back(self, atoms: list[Atom]) -> list[Atom]:
        """Return the atoms with each clause that shows something again as one unknown atom."""
        said = [
            (token.start, back[0])
            for place, token in enumerate(self.tokens)
            if (back := self.lexicon.find("back", self.words, place))
        ]
        found: list[Atom] = []
        ends = [i for i, atom in enumerate(atoms) if atom.kind in _ENDS or atom.value == "but"]
        first = 0
        for end in (*ends, len(atoms)):
            clause = atoms[first:end]
            if clause and _takes_back(clause, said):
                text = self.text[clause[0].start : clause[-1].end]
                clause = [Atom("unknown", text, clause[0].start, clause[-1].end)]
            found += [*clause, *atoms[end : end + 1]]
            first = end + 1
        return found

    def _all_atoms(self) -> list[Atom]:
        found: list[Atom] = []
        place, best = 0, self._cheapest()
        while place < len(self.tokens):
            chosen, token = best[place], self.tokens[place]
            if chosen.kind == "mark":
                found += self._mark(place)
            else:
                last = self.tokens[place + chosen.length - 1].end
                found.append(Atom(chosen.kind, chosen.value, token.start, last))
            place += chosen.length
        return found

    def _cheapest(self) -> list[_Candidate]:
        """Return what is read at each place, so that all of the request costs least.

        Each atom costs about one, so that long phrases win, and an unknown word costs several.
        """
        n = len(self.tokens)
        costs, best = [0.0] * (n + 1), [_Candidate("unknown", "", 1, 0.0)] * n
        candidates = [self._at(place) for place in range(n)]
        for place in reversed(range(n)):
            best[place] = min(
                candidates[place], key=lambda each: each.cost + costs[place + each.length]
            )
            costs[place] = best[place].cost + costs[place + best[place].length]
        return best

    def _at(self, place: int) -> list[_Candidate]:
        token = self.tokens[place]
        if token.kind == "mark" and not self._begins_amount(place):
            return [_Candidate("mark", token.key, 1, 0.0)]
        return list(self._candidates(place)) or [_Candidate("unknown", token.key, 1, 0.0)]

    def _candidates(self, place: int) -> Iterator[_Candidate]:
        limits = self._limits.at(place)
        if limits:
            yield _Candidate("limit", limits[0], limits[1], 6)
        dated = self._dates.at(place) if self.vocabulary.has_dates else None
        if dated:
            yield _Candidate("date", dated[0], dated[1], 5)
        elif not self.vocabulary.has_dates and (length := self._dates.years_at(place)):
            yield _Candidate("date", None, length, 5)
        names = self.vocabulary.names.at(self.words, place, self.language)
        years = self._dates.run_of_years(place) if self.vocabulary.has_years else None
        if years and not (years[0].is_decade and self._has_decades):
            yield _Candidate("years", years[0], years[1], 7)
        yield from self._named(names, place)
        for found in self.lexicon.phrases.at(self.words, place, self.lexicon.language):
            for meaning in found.values:
                if meaning.section in _PRIORITY and self._can_be(meaning, found.values):
                    yield self._spoken(meaning, found.length)
                    if meaning.section == "like":
                        yield from self._title(place, found.length)
        yield from self._bare_item(place)
        for each in self.vocabulary.features.at(self.words, place, self.language):
            yield _Candidate("named_feature", each.values, each.length, 2)

    def _named(self, found: list[Found[Name]], place: int) -> Iterator[_Candidate]:
        """Yield names of tags: those of the request's language, else those of others."""
        for each in found:
            values = [name for name in each.values if self._is_meant(name, place, each.length)]
            own = [n for n in values if n.language in ("", self.language)]
            if own:
                is_part = all(name.rank == PART for name in own)
                yield _Candidate("name", tuple(own), each.length, 2.3 if is_part else 4)
            elif values:
                yield _Candidate("name", tuple(values), each.length, 0)

    def _is_meant(self, name: Name, place: int, length: int) -> bool:
        """Return whether a surname is one: an ordinary word is, with a capital: King, no king."""
        is_surname = name.rank == SURNAME and length == 1
        if not is_surname or self.words[place] not in ordinary_words():
            return True
        return self.text[self.tokens[place].start].isupper()

    def _can_be(self, meaning: Meaning, all_of_it: tuple[Meaning, ...]) -> bool:
        """Return whether a phrase has a meaning here: `easy` where nothing is hard is a filler."""
        about = meaning.key.partition(" ")[0]
        is_alone = meaning.section != "scale" or len({each.section for each in all_of_it}) == 1
        return is_alone or self.vocabulary.can_scale(about)

    def _spoken(self, meaning: Meaning, length: int) -> _Candidate:
        # A phrase with several meanings is read by its first section; fillers go last.
        priority = _PRIORITY[meaning.section]
        return _Candidate(meaning.section, meaning.key, length, priority)

    def _bare_item(self, place: int) -> Iterator[_Candidate]:
        """Yield an item that is named by its id, or by its whole title."""
        start = self.tokens[place].start
        written = _ID.match(self.text, start)
        if written and written[0] in self.vocabulary.titles and not self.tokens[place].glued:
            ahead = self.tokens[place : place + len(written[0])]
            length = sum(token.end <= written.end() for token in ahead)
            yield _Candidate("item", written[0], length, 9)
        titled = self.vocabulary.titles.exact(self.words[place : place + _LONGEST_TITLE])
        if titled:
            yield _Candidate("item", titled[0], titled[1], 0)

    def _title(self, place: int, length: int) -> Iterator[_Candidate]:
        """Yield the item whose title follows a word such as `like`."""
        if self._titles_left == 0:
            return
        start = place + length
        spots = [i for i in range(start, min(len(self.words), start + 24)) if self.words[i]]
        titles = self.vocabulary.titles
        # A title is no misspelt tag.
        written = [fold(self.text[self.tokens[i].start : self.tokens[i].end]) for i in spots]
        found = titles.find(written) or titles.find([self.words[i] for i in spots])
        self._titles_left -= 1
        if found:
            item_id, used = found
            yield _Candidate("item", item_id, spots[used - 1] + 1 - place, 9)

    def _mark(self, place: int) -> list[Atom]:
        token = self.tokens[place]
        after = self.tokens[place + 1] if place + 1 < len(self.tokens) else None
        opens = not token.glued and after is not None and after.glued and after.kind == "word"
        if token.key in "+-" and opens:
            kind, value = ("degree", "more") if token.key == "+" else ("sign", "without")
        elif token.key in _JOINS:
            kind, value = "join", "and"
        elif token.key in _STOPS:
            kind, value = "stop", token.key
        elif token.key in _COMMAS or token.key == "-":
            kind, value = "comma", token.key
        else:
            return []
        return [Atom(kind, value, token.start, token.end)]

    def _begins_amount(self, place: int) -> bool:
        return self.tokens[place].key in "€$£" and self._limits.at(place) is not None

    def _respelt(self, tokens: list[Token]) -> list[Token]:
        """Return the tokens with compounds cut in two and misspelt words put right."""
        out: list[Token] = []
        for place, token in enumerate(tokens):
            after = tokens[place + 1] if place + 1 < len(tokens) else None
            is_short = bool(out) and out[-1].key in _SHORTENED
            if token.key == "." and is_short and after is not None and after.kind == "number":
                continue  # max. 20 euro
            if token.kind != "word" or self._is_known(token.key):
                out.append(token)
                continue
            halves = self._halves(token.key) if self.language == "nl" else None
            if halves:
                out += [replace(token, key=half) for half in halves]
                continue
            right = self.vocabulary.related(token.key) if self.language == "en" else None
            right = right or self.vocabulary.speller(self.language).correct(token.key)
            out.append(replace(token, key=right) if right else token)
        return out

    def _is_known(self, word: str) -> bool:
        names = self.vocabulary.names
        return (
            word in self.lexicon.phrases.words
            or word in names.words
            or word in self.vocabulary.features.words
            or bool(names.single(word, self.language))
            or bool(names.joined(word, self.language))
        )

    def _halves(self, word: str) -> tuple[str, str] | None:
        """Return the two known words of a Dutch compound, at least one of them a tag."""
        best: tuple[str, str] | None = None
        for head, rest in split_compound(word):
            named = [self._is_tag(head), self._is_tag(rest)]
            known = [named[0], named[1] or rest in self.lexicon.phrases.words]
            if all(known) and (best is None or len(rest) > len(best[1])):
                best = head, rest
        return best

    def _is_tag(self, word: str) -> bool:
        found = self.vocabulary.names.single(word, "nl")
        return any(name.language in ("", "nl") for name in found)


def _takes_back(clause: list[Atom], said: list[tuple[int, str]]) -> bool:
    """Return whether a clause undoes what was hidden: unhide jazz, show jazz again."""
    start, end = clause[0].start, clause[-1].end
    own = {key for at, key in said if start <= at < end}
    signs = [Sign.parse(atom.value) for atom in clause if atom.kind == "sign"]
    is_negative = any(sign is not None and sign.negative for sign in signs)
    return "alone" in own or ({"show", "with_show"} <= own and not is_negative)
