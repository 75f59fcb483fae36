"""How requests are written in a language: phrases and what they mean, from TOML files."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from teaser.words.phrases.phrase_index import PhraseIndex
from teaser.words.phrases.tokens import keys

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
    """

    language: str
    phrases: PhraseIndex[Meaning]
    sections: Mapping[str, "Section"]

    def find(self, section: str, words: list[str], place: int) -> tuple[str, int] | None:
        """Return the key of the longest phrase of a section at a place, and its length."""
        return self.sections[section].at(words, place)

    def find_key(self, section: str, key: str, words: list[str], place: int) -> int:
        """Return the length of the longest phrase under one key of a section, 0 if none."""
        return self.sections[section].length_of(key, words, place)


class Section:
    """The phrases of a section of a lexicon."""

    def __init__(self) -> None:
        self._keys: dict[tuple[str, ...], list[str]] = {}
        self._longest = 0

    def add(self, phrase: tuple[str, ...], key: str) -> None:
        """Add a phrase under a key."""
        self._keys.setdefault(phrase, []).append(key)
        self._longest = max(self._longest, len(phrase))

    def at(self, words: list[str], place: int) -> tuple[str, int] | None:
        """Return the first key of the longest phrase at a place, and its length."""
        return next(((found[0], length) for found, length in self._found(words, place)), None)

    def length_of(self, key: str, words: list[str], place: int) -> int:
        """Return the length of the longest phrase under a key at a place, 0 if none."""
        return next((length for found, length in self._found(words, place) if key in found), 0)

    def _found(self, words: list[str], place: int) -> Iterator[tuple[list[str], int]]:
        """Yield the keys of phrases at a place, the longest phrase first."""
        for length in range(min(self._longest, len(words) - place), 0, -1):
            found = self._keys.get(tuple(words[place : place + length]))
            if found:
                yield found, length


@cache
def lexicon(language: str) -> Lexicon:
    """Return the lexicon of a language; that of English for one that has none."""
    if language not in LANGUAGES:
        return lexicon("en")
    phrases: PhraseIndex[Meaning] = PhraseIndex({language: ()})
    data = _read(f"{language}.toml")
    sections = {name: Section() for name in SECTIONS}
    for name in SECTIONS:
        for key, listed in data.get(name, {}).items():
            for phrase in listed:
                words = keys(phrase) or (phrase,)
                phrases.add(words, Meaning(name, key))
                sections[name].add(words, key)
    return Lexicon(language, phrases, sections)


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
    path = resources.files("teaser.words.phrases") / "phrasebook" / name
    return tomllib.loads(path.read_text("utf-8"))
