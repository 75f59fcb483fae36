"""Phrases of requests: tokens, stems, misspellings, an index of phrases, the lexicon, titles."""

import re
import tomllib
import unicodedata
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib import resources
from math import log
from typing import Generic, Literal, TypeVar

from rapidfuzz import process
from rapidfuzz.distance import OSA

# A day, a number with decimals or slashes, a word with apostrophes, or any other letter.
_TOKEN = re.compile(
    r"(?P<day>\d{4}-\d{1,2}-\d{1,2})(?!\d)"
    r"|(?P<number>\d{1,9}(?:[.,/]\d{1,9}){0,2})"
    r"|(?P<word>[^\W\d_]+(?:['’ʼ`´][^\W\d_]+)*)"
    r"|(?P<mark>[^\w\s])"
    r"|(?P<line>\n+)"
)
# French words that lose their last letter before a vowel.
_ELIDED = frozenset(
    ["l", "d", "j", "n", "qu", "s", "c", "m", "t", "jusqu", "lorsqu", "puisqu", "quoiqu"]
)
_APOSTROPHES = re.compile("['’ʼ`´]")
# Letters that do not fall apart into a letter and an accent.
_LIGATURES = str.maketrans(
    {"œ": "oe", "æ": "ae", "ß": "ss", "ø": "o", "ł": "l", "đ": "d", "\N{KELVIN SIGN}": "k"}
)
_QUOTES = frozenset("\"“”„«»‹›'’‘`´*_#")

TokenKind = Literal["word", "number", "mark"]


@dataclass(frozen=True, slots=True)
class Token:
    """A token of a request.

    Parameters
    ----------
    kind
        A word, a number (also a date in figures) or a mark.
    key
        The word without capitals and accents, the figures, or the mark; a new line is ``;``.
    start, end
        Where it stands in the request.
    glued
        Whether no space stands before it.
    """

    kind: TokenKind
    key: str
    start: int
    end: int
    glued: bool = False

    @property
    def number(self) -> float | None:
        """The value of a number with a decimal point or comma; None for all else."""
        if self.kind != "number" or "/" in self.key or self.key.count("-") > 1:
            return None
        text = self.key.replace(",", ".")
        return float(text) if text.count(".") <= 1 else None


def fold(text: str) -> str:
    """Return a text without capitals and accents.

    Examples
    --------
    >>> fold("Liège"), fold("Œuvre")
    ('liege', 'oeuvre')
    """
    if text.isascii():
        return text.lower()
    apart = unicodedata.normalize("NFKD", text.casefold().translate(_LIGATURES))
    return "".join(letter for letter in apart if not unicodedata.combining(letter))


def tokenize(text: str) -> list[Token]:
    """Return the tokens of a text, in its order.

    Hyphens separate words; apostrophes end a French article and vanish from other words. Quotes
    are left out.
    """
    found: list[Token] = []
    last = -1
    for match in _TOKEN.finditer(text):
        kind, start, end = match.lastgroup, match.start(), match.end()
        glued, last = start == last, -1 if kind == "line" else end
        if kind == "word":
            found += _words(match[0], start, glued)
        elif kind == "mark":
            if match[0] not in _QUOTES and not _is_hyphen(text, start):
                found.append(Token("mark", fold(match[0]), start, end, glued))
        elif kind == "line":
            found.append(Token("mark", ";", start, end))
        else:
            found.append(Token("number", match[0], start, end, glued))
    return found


@lru_cache(maxsize=16_384)
def keys(text: str) -> tuple[str, ...]:
    """Return the words and numbers of a name or phrase, without its marks.

    Examples
    --------
    >>> keys("Louvain-la-Neuve"), keys("I don't like")
    (('louvain', 'la', 'neuve'), ('i', 'dont', 'like'))
    """
    return tuple(token.key for token in tokenize(text) if token.kind != "mark")


def _words(text: str, start: int, glued: bool) -> list[Token]:
    """Return the tokens of a word: one, or French articles and what follows them."""
    found: list[Token] = []
    while (mark := _APOSTROPHES.search(text)) and fold(text[: mark.start()]) in _ELIDED:
        end = start + mark.end()
        found.append(Token("word", fold(text[: mark.start()]), start, end, glued))
        text, start, glued = text[mark.end() :], end, True
    key = fold(_APOSTROPHES.sub("", text))
    return [*found, Token("word", key, start, start + len(text), glued)]


def _is_hyphen(text: str, place: int) -> bool:
    """Return whether a mark joins two words, as in stand-up."""
    if text[place] not in "-‐‑_":
        return False
    before, after = text[place - 1 : place], text[place + 1 : place + 2]
    return (before.isalpha() and after.isalpha()) or (before.isdigit() and after.isalpha())


_DIMINUTIVE = re.compile(r"(?:etje|tje|pje|je)s?$")
_DOUBLED = re.compile(r"([^\W\d_])\1")
# The fewest letters that an ending leaves.
_LEAST = 3
# Letters that join the two words of a Dutch compound.
_JOINTS = ("", "s", "en", "n", "e", "er")
_LONGEST_WORD = 40


@lru_cache(maxsize=65_536)
def stem(word: str, language: str) -> str:
    """Return the stem of a word in a language; the word itself for an unknown language.

    Examples
    --------
    >>> stem("families", "en") == stem("family", "en"), stem("koren", "nl") == stem("koor", "nl")
    (True, True)
    """
    rule = _RULES.get(language)
    if rule is None or len(word) <= _LEAST or len(word) > _LONGEST_WORD or not word.isalpha():
        return word
    return rule(word)


def split_compound(word: str) -> Iterator[tuple[str, str]]:
    """Yield the ways to cut a Dutch compound in two, without the letters that join them."""
    if not word.isalpha() or len(word) > _LONGEST_WORD:
        return
    for place in range(_LEAST, len(word) - _LEAST + 1):
        head, rest = word[:place], word[place:]
        for joint in _JOINTS:
            if head.endswith(joint) and len(head) - len(joint) >= _LEAST:
                yield head[: len(head) - len(joint)], rest


def _english(word: str) -> str:
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    if word.endswith("ie"):
        return word[:-1]
    return word[:-1] + "i" if word.endswith("y") and word[-2] not in "aeou" else word


def _dutch(word: str) -> str:
    small = _DIMINUTIVE.search(word)
    if small and small.start() >= _LEAST:
        # After k, p, f, s and g the ending is -je, so that the t belongs to the word: markt-je.
        keeps_t = small[0].startswith("t") and word[small.start() - 1] in "kpfsgcbd"
        word = word[: small.start()] + ("t" if keeps_t else "")
    elif word.endswith("en"):
        word = word[:-2] if len(word) > _LEAST + 1 else word
    elif word.endswith("e") or (
        word.endswith("s") and not word.endswith(("ss", "us", "is", "as", "os"))
    ):
        word = word[:-1]
    word = _DOUBLED.sub(r"\1", word)
    return word[:-1] + {"v": "f", "z": "s"}.get(word[-1], word[-1])


def _french(word: str) -> str:
    if word.endswith("aux") and len(word) > 4:
        word = word[:-3] + "al"
    elif word.endswith(("s", "x")):
        word = word[:-1]
    word = word.rstrip("e") if len(word.rstrip("e")) >= _LEAST else word
    word = _DOUBLED.sub(r"\1", word)
    return word[:-1] + "f" if word.endswith("v") else word


_RULES: dict[str, Callable[[str], str]] = {"en": _english, "nl": _dutch, "fr": _french}


# Words of one of these lengths may differ in one letter, and in two.
ONE_OFF, TWO_OFF, LONGEST = 4, 9, 24
# First letters that are mistaken for each other.
_ALIKE = ({"c", "k"}, {"c", "s"}, {"s", "z"}, {"f", "v"}, {"f", "p"}, {"i", "y"}, {"g", "j"})


@dataclass
class Speller:
    """Known words, and the one that a misspelt word means.

    `weights` says how often each word is meant: it decides between equally near ones.
    """

    weights: dict[str, int] = field(default_factory=dict)
    _by_letter: dict[str, list[str]] = field(default_factory=dict, repr=False)

    def add(self, word: str, weight: int = 1) -> None:
        """Add a known word."""
        if ONE_OFF <= len(word) <= LONGEST and word.isalpha():
            if word not in self.weights:
                self._by_letter.setdefault(word[0], []).append(word)
            self.weights[word] = max(weight, self.weights.get(word, 0))

    def correct(self, word: str) -> str | None:
        """Return the known word that a misspelt one means, or None.

        Words of four letters may lack a letter, have one too many, or two exchanged; words of
        five to eight letters may also have a wrong one; longer ones differ in two. The first
        letter is right, exchanged with the second, or one that sounds alike.
        """
        if not 3 <= len(word) <= LONGEST or not word.isalpha():
            return None
        letters = {*word[:2]}.union(*(pair for pair in _ALIKE if word[0] in pair))
        known = [each for letter in letters for each in self._by_letter.get(letter, ())]
        near = process.extract(word, known, scorer=OSA.distance, score_cutoff=2, limit=None)
        found = ((d, -self.weights[each], each) for each, d, _ in near if _is_near(word, each, d))
        return min(found, default=(0, 0, None))[2]


def _is_near(word: str, known: str, distance: int) -> bool:
    length = min(len(word), len(known))
    sounds_alike = {word[0], known[0]} in _ALIKE and length > ONE_OFF
    if word[0] != known[0] and word[1::-1] != known[:2] and not sounds_alike:
        return False
    if length < ONE_OFF:
        # Three letters are understood if a letter is doubled: jaz.
        return len(known) == len(word) + 1 and any(
            word[:i] + word[i - 1] + word[i:] == known for i in range(1, len(word) + 1)
        )
    if length == ONE_OFF and len(word) == len(known):
        return distance <= 1 and sorted(word) == sorted(known)
    if length < TWO_OFF - 1:
        return distance <= 1
    # Two wrong letters make another word: astrology, astronomy.
    others = sum(abs(word.count(letter) - known.count(letter)) for letter in {*word, *known})
    return distance <= 2 and others <= 3


Value = TypeVar("Value", bound=Hashable)

# Shorter words are understood only as they are: pop is no puppet.
_SHORT = 3
# How many articles may stand in a phrase beyond one for each word.
_ARTICLES = 2


@dataclass(frozen=True)
class Found(Generic[Value]):
    """What stands in an index under the words at a place of a request.

    Parameters
    ----------
    values
        What the phrase was added for, in the order of adding.
    length
        How many words of the request it takes, words that were skipped included.
    """

    values: tuple[Value, ...]
    length: int


class PhraseIndex(Generic[Value]):
    """Phrases of words, and what each stands for.

    Parameters
    ----------
    skipped
        For each language that requests are written in, the words that count for nothing inside a
        phrase, such as articles. Its endings count as the same word.
    """

    def __init__(self, skipped: Mapping[str, Iterable[str]]) -> None:
        self.skipped = {language: frozenset(words) for language, words in skipped.items()}
        self.words: set[str] = set()
        self._phrases: dict[str, dict[Value, None]] = {}
        self._exact: dict[str, dict[str, dict[Value, None]]] = {each: {} for each in skipped}
        self._stemmed: dict[str, dict[str, dict[Value, None]]] = {each: {} for each in skipped}
        self._longest = 1

    def __len__(self) -> int:
        return len(self._phrases)

    def add(self, words: Sequence[str], value: Value) -> None:
        """Add a phrase."""
        if not words:
            return
        self.words.update(words)
        self._longest = max(self._longest, len(words))
        self._phrases.setdefault(" ".join(words), {})[value] = None
        for language, skipped in self.skipped.items():
            # La Louvière is one name: the first word always counts.
            counted = [words[0], *(word for word in words[1:] if word not in skipped)]
            self._exact[language].setdefault(" ".join(counted), {})[value] = None
            known = self._stemmed[language]
            known.setdefault(" ".join(stem(word, language) for word in counted), {})[value] = None
            if len(counted) > 1:
                # Written as one word: standup, sciencefiction.
                known.setdefault("=" + stem("".join(counted), language), {})[value] = None

    def items(self) -> Iterable[tuple[str, tuple[Value, ...]]]:
        """Return the phrases, and what each stands for."""
        return ((phrase, tuple(values)) for phrase, values in self._phrases.items())

    def exact(self, phrase: str) -> tuple[Value, ...]:
        """Return what a phrase stands for, without regard to endings."""
        return tuple(self._phrases.get(phrase, ()))

    def single(self, word: str, language: str) -> tuple[Value, ...]:
        """Return what one word stands for, by itself or by its stem."""
        if word in self._phrases or len(word) <= _SHORT:
            return tuple(self._phrases.get(word, ()))
        return tuple(self._stemmed[language].get(stem(word, language), ()))

    def joined(self, word: str, language: str) -> tuple[Value, ...]:
        """Return what a phrase stands for that is written as one word: standup."""
        return tuple(self._stemmed[language].get("=" + stem(word, language), ()))

    def at(self, words: Sequence[str], place: int, language: str) -> list[Found[Value]]:
        """Return what stands at a place of a request, the longest first."""
        found: list[Found[Value]] = []
        exact, stemmed = self._exact[language], self._stemmed[language]
        exact_key, stem_key, n_words = "", "", 0
        for end in range(place, min(len(words), place + 2 * self._longest + _ARTICLES)):
            word = words[end]
            if not word:
                break
            if n_words and word in self.skipped[language]:
                continue
            n_words += 1
            if n_words > self._longest:
                break
            gap = " " if exact_key else ""
            exact_key += gap + word
            stem_key += gap + stem(word, language)
            length = end - place + 1
            if exact_key in exact:
                found.append(Found(tuple(exact[exact_key]), length))
            elif n_words == 1 and word in self.skipped[language]:
                continue
            elif stem_key in stemmed and len(exact_key) > _SHORT:
                found.append(Found(tuple(stemmed[stem_key]), length))
            elif n_words == 1 and "=" + stem_key in stemmed:
                found.append(Found(tuple(stemmed["=" + stem_key]), length))
        return found[::-1]


# The languages that requests can be written in.
LANGUAGES = ("en", "nl", "fr")

# What a phrase can mean, by section of the files. One that stands in several sections is tried in
# this order, so that fillers go last.
SECTIONS = (
    "sign", "back", "size", "boost", "degree", "lasts", "place", "join", "like", "variety",
    "appeal", "scale", "bound", "unit", "about", "number", "period", "habit", "weekday", "month",
    "feast", "date", "feature", "filler",
)  # fmt: skip
# Words that count for nothing inside the name of a tag, by language.
ARTICLES: Mapping[str, frozenset[str]] = {
    language: frozenset(words.split())
    for language, words in {
        "en": "a an the my our your his her their some any this that these those of",
        "nl": "de het een mijn onze ons uw jouw haar hun t n van wat die dat deze dit den",
        "fr": "le la les l un une des du de d mon ma mes notre nos votre vos ce cet cette ces "
        "son sa ses",
    }.items()
}


@dataclass(frozen=True)
class Meaning:
    """What a phrase means: the section of the lexicon, and the key under it."""

    section: str
    key: str


@dataclass(frozen=True)
class Lexicon:
    """The phrases of one language.

    Parameters
    ----------
    language
        Its code.
    phrases
        What each phrase means.
    sections
        The same by section: a phrase of words, and the keys it stands under.
    longest
        The most words of a phrase.
    """

    language: str
    phrases: PhraseIndex[Meaning]
    sections: Mapping[str, Mapping[tuple[str, ...], list[str]]]
    longest: int

    def find(self, section: str, words: list[str], place: int) -> tuple[str, int] | None:
        """Return the key of the longest phrase of a section at a place, and its length."""
        found = self._found(section, words, place)
        return next(((known[0], length) for known, length in found), None)

    def find_key(self, section: str, key: str, words: list[str], place: int) -> int:
        """Return the length of the longest phrase under one key of a section, 0 if none."""
        found = self._found(section, words, place)
        return next((length for known, length in found if key in known), 0)

    def _found(self, section: str, words: list[str], place: int) -> Iterator[tuple[list[str], int]]:
        """Yield the keys of phrases at a place, the longest phrase first."""
        for length in range(min(self.longest, len(words) - place), 0, -1):
            if known := self.sections[section].get(tuple(words[place : place + length])):
                yield known, length


@dataclass(frozen=True)
class RequestReader:
    """What readers of dates and bounds share.

    Parameters
    ----------
    tokens, words
        The request, and its words as keys; a mark is an empty word.
    lexicon
        The phrases of its language.
    """

    tokens: Sequence[Token]
    words: list[str]
    lexicon: Lexicon

    def find(self, section: str, place: int) -> tuple[str, int] | None:
        """Return the key of the longest phrase of a section at a place, and its length."""
        return self.lexicon.find(section, self.words, place)

    def length(self, section: str, key: str, place: int) -> int:
        """Return the length of the longest phrase under one key of a section, 0 if none."""
        return self.lexicon.find_key(section, key, self.words, place)

    def token(self, place: int) -> Token | None:
        """Return the token at a place; None beyond the end."""
        return self.tokens[place] if 0 <= place < len(self.tokens) else None

    def mark(self, place: int) -> str:
        """Return the mark at a place; a space if there is none."""
        found = self.token(place)
        return found.key if found is not None and found.kind == "mark" else " "


@cache
def lexicon(language: str) -> Lexicon:
    """Return the lexicon of a language; that of English for one that has none."""
    if language not in LANGUAGES:
        return lexicon("en")
    phrases: PhraseIndex[Meaning] = PhraseIndex({language: ()})
    data = _read(f"{language}.toml")
    sections: dict[str, dict[tuple[str, ...], list[str]]] = {}
    for name in SECTIONS:
        known = sections.setdefault(name, {})
        for key, listed in data.get(name, {}).items():
            for phrase in listed:
                words = keys(phrase) or (phrase,)
                phrases.add(words, Meaning(name, key))
                known.setdefault(words, []).append(key)
    longest = max(len(words) for known in sections.values() for words in known)
    return Lexicon(language, phrases, sections, longest)


@cache
def feature_kinds() -> dict[str, str]:
    """Return what a feature or column is about, by its name in words.

    The kinds are town, region, country, person, language, price, length, age, rating and day.
    """
    return {
        name: kind
        for part in _read("features.toml").values()
        for kind, names in part.items()
        for name in names
    }


@cache
def ordinary_words() -> frozenset[str]:
    """Return words that are surnames too: black, young, king."""
    return frozenset(word for words in _read("ordinary.toml").values() for word in words["words"])


def _read(name: str) -> dict[str, dict[str, list[str]]]:
    path = resources.files("teaser.words") / "phrasebook" / name
    return tomllib.loads(path.read_text("utf-8"))


# The most words of a title that are compared, and the most titles.
_LONGEST_TITLE = 16
_MOST_TITLES = 2_000
# The least share of a title's weight that a request has to name.
_ENOUGH = 0.6
_LETTERS = 24


class TitleIndex:
    """The titles of a catalogue by their words; equal ones stand for the first item given.

    Parameters
    ----------
    titles
        Pairs of an item id and a title, the most popular first.
    skipped
        Articles, which may be left out at the start of a title.
    """

    def __init__(
        self, titles: Iterable[tuple[str, str]] = (), skipped: frozenset[str] = frozenset()
    ) -> None:
        self._places: dict[str, int] = {}
        self._words: list[tuple[str, ...]] = []
        self._exact: dict[str, int] = {}
        self._holding: dict[str, list[int]] = {}
        for place, (item_id, title) in enumerate(titles):
            words = keys(title)[:_LONGEST_TITLE]
            self._places[item_id] = place
            self._words.append(words)
            if words:
                self._exact.setdefault(" ".join(words), place)
            if len(words) > 1 and words[0] in skipped:
                self._exact.setdefault(" ".join(words[1:]), place)
            for word in dict.fromkeys(words):
                self._holding.setdefault(word, []).append(place)
        self._ids = list(self._places)

    def __contains__(self, item_id: object) -> bool:
        return item_id in self._places

    def exact(self, words: Sequence[str], least: int = 2) -> tuple[str, int] | None:
        """Return the item whose whole title the first words are, and how many they are.

        The longest title goes first; it has at least so many words.
        """
        longest = next((i for i, word in enumerate(words) if not word), len(words))
        for length in range(longest, least - 1, -1):
            place = self._exact.get(" ".join(words[:length]))
            if place is not None:
                return self._ids[place], length
        return None

    def find(self, words: Sequence[str]) -> tuple[str, int] | None:
        """Return the item that the first words of a text name, and how many words they are.

        The longest exact title goes first; else the title most of which is named, by the weight
        of its words: log(titles / titles with the word).
        """
        words = [word for word in words[: _LONGEST_TITLE + 2] if word]
        return self.exact(words, 1) or self._nearest(words)

    def _nearest(self, words: Sequence[str]) -> tuple[str, int] | None:
        n = len(self._words)
        named = [word for word in words if len(word) > 2]
        candidates: dict[int, None] = {}
        for word in sorted(named, key=lambda each: len(self._holding.get(each, ()))):
            held = self._holding.get(word, ())
            if len(candidates) + len(held) > _MOST_TITLES:
                break
            candidates.update(dict.fromkeys(held))
        best: tuple[float, int, int] | None = None
        for place in candidates:
            title = self._words[place]
            weights = [log(1 + n / len(self._holding[word])) for word in title]
            got, last = 0.0, 0
            for word, weight in zip(title, weights, strict=True):
                at = next((i for i, given in enumerate(words) if _alike(given, word)), None)
                if at is not None and at < len(title) + 2:
                    got, last = got + weight, max(last, at + 1)
            share = got / sum(weights)
            # All words up to the last have to be about the title.
            known = sum(any(_alike(given, word) for word in title) for given in words[:last])
            enough = share >= _ENOUGH and 2 * known > last
            if enough and (best is None or (share, -place) > best[:2]):
                best = share, -place, last
        return (self._ids[-best[1]], best[2]) if best else None


def _alike(given: str, word: str) -> bool:
    """Return whether two words are the same, but for a misspelling of a long one."""
    if given == word:
        return True
    if min(len(given), len(word)) < 5 or abs(len(given) - len(word)) > 1 or given[0] != word[0]:
        return False
    return max(len(given), len(word)) <= _LETTERS and OSA.distance(given, word) <= 1
