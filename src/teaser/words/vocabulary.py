"""What a request can name: tags, columns, bands of numbers and titles of a model."""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from rapidfuzz.distance import Prefix

from teaser.data.rules import Year
from teaser.data.tags import Tag, feature_label
from teaser.errors import ParameterError
from teaser.files import read_toml
from teaser.model.tagged import TaggedModel
from teaser.profile import GENERAL, NOT_STATED, POPULARITY
from teaser.words.phrases import (
    ARTICLES,
    LANGUAGES,
    PhraseIndex,
    Speller,
    TitleIndex,
    feature_kinds,
    fold,
    keys,
    lexicon,
    stem,
)
from teaser.words.wishes import item_numbers, number_columns

# The share of the bands at either end that "cheap" and "expensive" speak of.
_SHARE = 0.4
_STEPS = 2
_FIGURE = re.compile(r"-?\d+(?:[.,]\d+)?")
_NOTHING = frozenset({"free", "gratis", "gratuit", "none", "no charge"})
_DECADE = re.compile(r"(\d{3}0)s?")
# Words that are near too many others to be meant by a misspelt one: tours is no thurs.
_ABBREVIATIONS = {"thurs"}
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
    if any(word in _UNDER for word in words[:-1]):  # also after the name of the column
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
    spoken, names = _SPOKEN.get(str(year)), {}
    for language, pattern in _DECADES.items():
        short = [pattern.format(f"{year % 100:02d}"), *spoken[language]] if spoken else []
        names[language] = [*short, pattern.format(year)]
    names["fr"].append(f"années {year}s")
    return names


_DECADES = {"en": "{}s", "nl": "jaren {}", "fr": "années {}"}
_SPOKEN: dict[str, dict[str, list[str]]] = tomllib.loads(
    (resources.files("teaser.words") / "phrasebook" / "decades.toml").read_text("utf-8")
)

# The names of tags and features by language, as the application translates them.
Translations = Mapping[str, Mapping[Tag | str, str]]
# Words for a tag, by its name and their language.
Synonyms = Mapping[str, Mapping[str, Sequence[str]]]
_PLACES = ("town", "region", "country")
_LONGEST_NAME = 120
# The most words of a name of which parts are known, and the kinds that are named as a whole.
_LONGEST_PART = 7
_WHOLE = frozenset({*_PLACES, "person", "price", "day", "language", "age"})
# The rank of a part of a name.
SURNAME = 2
PART = 3
# Words that only say which number of a column is meant.
_QUALIFIERS = frozenset({"min", "max", "num", "number", "average", "avg", "mean", "total", "count"})
# Endings that related words differ in, after at least so many common letters.
_ENDINGS = frozenset(
    [
        "", "s", "n", "es", "ed", "ing", "ling", "er", "ers", "y", "ies", "ic", "tic", "ical",
        "tical", "al", "ce", "ion", "ions", "ation", "e", "a", "ist", "ive", "ly", "ry", "ous",
    ]
)  # fmt: skip
_COMMON = 5
_KIN = frozenset({"brothers", "sisters", "jr", "sr", "ii", "iii"})


@dataclass(frozen=True)
class Name:
    """A name of a tag.

    Parameters
    ----------
    tag
        The tag.
    language
        The language of the name; empty for the name in the data.
    rank
        0 for the name in the data or its translation, 1 for a synonym, 2 for a surname,
        3 for another part of a name.
    """

    tag: Tag
    language: str
    rank: int


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """What a request can speak of.

    Attributes
    ----------
    counts
        The tags, and how many items carry each; general appeal is among them.
    columns
        The columns of numbers, with their lowest and highest value.
    kinds
        What features and columns are about: town, region, country, person, language, price,
        length, age, rating or day. Others are not in it.
    bands
        The tags of features that are bands of numbers, the lowest first.
    has_dates
        Whether items have dates, so that a period can be asked for.
    appeal
        The tag of general appeal, or None.
    names
        The names of tags in all languages, by their words.
    features
        The names of features in all languages, by their words.
    titles
        The titles of the items.
    unmatched
        The owner's synonyms that are about no tag of the model.
    medians
        The middle value of each column of numbers.
    """

    counts: Mapping[Tag, int]
    columns: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    bands: Mapping[str, tuple[Tag, ...]] = field(default_factory=dict)
    has_dates: bool = False
    appeal: Tag | None = None
    names: PhraseIndex[Name] = field(default_factory=lambda: PhraseIndex(ARTICLES))
    features: PhraseIndex[str] = field(default_factory=lambda: PhraseIndex(ARTICLES))
    titles: TitleIndex = field(default_factory=TitleIndex)
    unmatched: tuple[str, ...] = ()
    medians: Mapping[str, float] = field(default_factory=dict)
    _spellers: dict[str, Speller] = field(default_factory=dict, repr=False)

    @classmethod
    def from_model(
        cls,
        model: TaggedModel,
        *,
        translations: Translations | None = None,
        synonyms: str | Path | Synonyms | None = None,
    ) -> "Vocabulary":
        """Return the vocabulary of a fitted model.

        Parameters
        ----------
        translations
            The names of tags, and of features by their name in the data, by language.
        synonyms
            Further words for tags, as a TOML file or as what it holds: a table for each tag, by
            its name or as `feature=value`, with lists of words by language. The words of common
            tags of events, films, music, books and games are known.
        """
        model.check_fitted()
        table = model.tag_table_
        carried = np.bincount(table.decoder.indices, minlength=len(table.tags)).tolist()
        counted = dict(zip(table.tags, carried, strict=True))
        appeal = next((tag for tag in (GENERAL, POPULARITY) if tag in counted), None)
        counts = {
            tag: n
            for tag, n in counted.items()
            if not tag.discovered and tag not in (GENERAL, POPULARITY) and tag.value != NOT_STATED
        }
        own = read_synonyms(synonyms)
        kinds = {
            name: kind
            for name in (*dict.fromkeys(tag.feature for tag in counts), *model.table_.columns)
            if (kind := kind_of(name))
        }
        for rule in table.rules.tags:
            if isinstance(rule, Year):  # whatever its column is called
                kinds.setdefault(rule.name, "age")
        names = _name_index(counts, kinds, translations or {})
        _add_synonyms(names, counts, common_synonyms(), 1)
        unmatched = _add_synonyms(names, counts, own, 0)
        stated = {name: item_numbers(model, name) for name in number_columns(model)}
        numbers = {name: x[~np.isnan(x)] for name, x in stated.items() if not np.isnan(x).all()}
        order = np.lexsort((np.arange(len(model.items_)), -model.popularity_)).tolist()
        titled = ((str(model.items_[i]), model.title(i) or "") for i in order)
        return cls(
            {**counts, **({appeal: len(model.items_)} if appeal else {})},
            {name: (float(x.min()), float(x.max())) for name, x in numbers.items()},
            kinds,
            find_bands(counts),
            "date" in table.rules.roles,
            appeal,
            names,
            _feature_index(counts, translations or {}),
            TitleIndex(titled, frozenset().union(*ARTICLES.values())),
            tuple(unmatched),
            {name: float(np.median(x)) for name, x in numbers.items()},
        )

    def kind(self, tag: Tag) -> str | None:
        """Return what the feature of a tag is about, or None."""
        return self.kinds.get(tag.feature)

    def is_place(self, tag: Tag) -> bool:
        """Return whether a tag is a place."""
        return self.kind(tag) in _PLACES

    def column_of(self, kind: str) -> str | None:
        """Return the column of numbers that is about something, such as a price."""
        return next((name for name in self.columns if self.kinds.get(name) == kind), None)

    def columns_of(self, kind: str) -> list[str]:
        """Return all columns of numbers that are about something: fewest and most players."""
        return [name for name in self.columns if self.kinds.get(name) == kind]

    def column_named(self, word: str) -> str | None:
        """Return the only column of numbers whose name has a word."""
        if len(word) <= 3 or not word.isalpha():
            return None
        found = [name for name in self.columns if stem(word, "en") in _name_stems(name)]
        return found[0] if len(found) == 1 else None

    def can_scale(self, about: str) -> bool:
        """Return whether items can be ordered by something, such as their price."""
        return self.column_of(about) is not None or bool(self.bands_of(about))

    def related(self, word: str) -> str | None:
        """Return the word of a name that differs from an unknown word in its ending alone."""
        known = self._by_start.get(word[:_COMMON], ()) if len(word) > _COMMON - 1 else ()
        pairs = ((Prefix.similarity(word, each), each) for each in known)
        found = [(n, each) for n, each in pairs if word[n:] in _ENDINGS and each[n:] in _ENDINGS]
        return max(found, default=(0, None))[1]

    @cached_property
    def _by_start(self) -> dict[str, list[str]]:
        out: dict[str, list[str]] = {}
        for word in sorted(self.names.words):
            if len(word) >= _COMMON and word.isalpha():
                out.setdefault(word[:_COMMON], []).append(word)
        return out

    def bands_of(self, kind: str) -> tuple[Tag, ...]:
        """Return the bands of the feature that is about something, the lowest first."""
        found = (bands for feature, bands in self.bands.items() if self.kinds.get(feature) == kind)
        return next(found, ())

    @property
    def has_years(self) -> bool:
        """Whether items can be asked for by their year."""
        return self.column_of("age") is not None or bool(self.bands_of("age"))

    def speller(self, language: str) -> Speller:
        """Return the known words of a language, for misspelt ones; made when first needed."""
        if language not in self._spellers:
            speller = Speller()
            for word in lexicon(language).phrases.words - _ABBREVIATIONS:
                speller.add(word, 40)
            for word, weight in self._weighted_words(language):
                speller.add(word, weight)
            self._spellers[language] = speller
        return self._spellers[language]

    def _weighted_words(self, language: str) -> Iterable[tuple[str, int]]:
        for phrase, names in self.names.items():
            count = max(
                (self.counts.get(n.tag, 0) for n in names if n.language in ("", language)),
                default=0,
            )
            if count:
                yield from ((word, count) for word in phrase.split())


def read_synonyms(given: str | Path | Synonyms | None) -> Synonyms:
    """Return an owner's synonyms; raise `ParameterError` for a file that cannot be read as such."""
    if given is None or given == "":
        return {}
    data: Any = given
    if isinstance(given, str | Path):
        try:
            data, _ = read_toml(given)
        except (OSError, ValueError) as error:
            raise ParameterError(
                f"The synonyms in {str(given)!r} cannot be read: {error}"
            ) from None
    for name, table in data.items():
        listed = table.items() if isinstance(table, Mapping) else [("", None)]
        for language, words in listed:
            if language not in LANGUAGES or not _are_texts(words):
                raise ParameterError(
                    f"The synonyms of {name!r} must be lists of texts by language "
                    f"({', '.join(LANGUAGES)}), found {table!r}."
                )
    return dict(data)


@cache
def common_synonyms() -> dict[str, dict[str, list[str]]]:
    """Return the words for common tags that come with the package."""
    out: dict[str, dict[str, list[str]]] = {}
    folder = resources.files("teaser.words") / "synonyms"
    for path in sorted(folder.iterdir(), key=lambda each: each.name):
        for name, table in tomllib.loads(path.read_text("utf-8")).items():
            known = out.setdefault(name, {})
            for language, words in table.items():
                known.setdefault(language, []).extend(words)
    return out


def _name_index(
    counts: Mapping[Tag, int], kinds: Mapping[str, str], translations: Translations
) -> PhraseIndex[Name]:
    """Return the names of tags in the data and in other languages."""
    index: PhraseIndex[Name] = PhraseIndex(ARTICLES)
    by_feature: dict[str, list[Tag]] = {}
    for tag in counts:
        by_feature.setdefault(tag.feature, []).append(tag)
    # Where 1990 is a year among others, it is not the nineties.
    decades = {feature for feature, tags in by_feature.items() if are_decades(tags)}
    switches = {
        feature
        for feature, tags in by_feature.items()
        if all(keys(tag.value)[-1:] in (("yes",), ("no",)) for tag in tags)
    }
    for tag in counts:
        words = keys(tag.value[:_LONGEST_NAME])
        index.add(words, Name(tag, "", 0))
        if tag.feature in switches and words[-1] == "yes":  # organic alone: organic yes
            index.add(words[:-1], Name(tag, "", 0))
        named = decade_names(tag) if tag.feature in decades else {}
        for language, phrases in named.items():
            for phrase in phrases:
                index.add(keys(phrase), Name(tag, language, 1))
        if kinds.get(tag.feature) == "person":
            for part in _surnames(words):
                index.add(part, Name(tag, "", SURNAME))
    bands = find_bands(counts)
    for feature, tags in by_feature.items():
        if feature not in {*bands, *switches} and kinds.get(feature) not in _WHOLE:
            for part, tag in _parts(tags):
                index.add(part, Name(tag, "", PART))
    for language, translated in translations.items():
        for key, name in translated.items():
            if isinstance(key, Tag) and key in counts:
                index.add(keys(name[:_LONGEST_NAME]), Name(key, language, 0))
    return index


def _add_synonyms(
    index: PhraseIndex[Name], counts: Mapping[Tag, int], synonyms: Synonyms, rank: int
) -> list[str]:
    """Add words for tags, and return the groups that are about no tag."""
    by_name: dict[str, list[Tag]] = {}
    for tag in counts:
        by_name.setdefault(_stemmed(tag.value), []).append(tag)
    unmatched = []
    for group, table in synonyms.items():
        meant = _meant(group, table, by_name, counts)
        if not meant:
            unmatched.append(group)
        for tag in meant:
            for language, listed in table.items():
                for phrase in listed:
                    index.add(keys(phrase[:_LONGEST_NAME]), Name(tag, language, rank))
            if "=" not in group:
                index.add(keys(group), Name(tag, "en", max(rank, 1)))
    return unmatched


def _meant(
    name: str,
    table: Mapping[str, Sequence[str]],
    by_name: Mapping[str, list[Tag]],
    counts: Mapping[Tag, int],
) -> list[Tag]:
    """Return the tags that a group of synonyms is about: by its name, else by one of its words."""
    if "=" in name:
        tag = Tag.parse(name)
        return [tag] if tag in counts else []
    found = [tag for tag in by_name.get(_stemmed(name), ()) if _is_of_group(tag, name)]
    if found:
        return found
    for phrase in (phrase for listed in table.values() for phrase in listed):
        stemmed = _stemmed(phrase)
        # Dutch is a word of the Netherlands, but a tag of that name is the language.
        if stemmed in by_name and stemmed not in _group_stems():
            return by_name[stemmed]
    return []


def _is_of_group(tag: Tag, name: str) -> bool:
    """Return whether no other group has the very name of a tag: Families are not Family."""
    words = keys(tag.value[:_LONGEST_NAME])
    return words == keys(name) or words not in _group_names()


@cache
def _group_names() -> frozenset[tuple[str, ...]]:
    return frozenset(map(keys, common_synonyms()))


@cache
def _group_stems() -> frozenset[str]:
    return frozenset(map(_stemmed, common_synonyms()))


def _parts(tags: Sequence[Tag]) -> Iterable[tuple[tuple[str, ...], Tag]]:
    """Yield the parts of the names of a feature's tags: thematic, of Thematic Games.

    A word of a third of the names, such as games, is no part, nor is a word of the grammar.
    """
    named = [(tag, keys(tag.value[:_LONGEST_NAME])) for tag in tags]
    uses = Counter(word for _, words in named for word in {stem(each, "en") for each in words})
    spoken = lexicon("en").phrases

    def counts_alone(word: str) -> bool:
        common = uses[stem(word, "en")] > max(2, len(named) // 3)
        return len(word) > 2 and word.isalpha() and not common and not spoken.exact(word)

    for tag, words in named:
        if not 1 < len(words) <= _LONGEST_PART:
            continue
        for first in range(len(words)):
            for last in range(first + 1, len(words) + 1):
                part = words[first:last]
                if len(part) < len(words) and all(map(counts_alone, (part[0], part[-1]))):
                    yield part, tag


@cache
def _name_stems(column: str) -> frozenset[str]:
    words = keys(column.replace("_", " "))
    return frozenset(stem(word, "en") for word in words if word not in _QUALIFIERS)


def _surnames(words: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the parts of a person's name that are used alone: De Sica, Sica; Coen."""
    if len(words) > 1 and words[-1] in _KIN:
        return [words[:-1]]
    parts = [words[start:] for start in range(1, len(words))]
    return [part for part in parts if len(part[0]) > 1 and len("".join(part)) > 2]


def _stemmed(name: str) -> str:
    return " ".join(stem(word, "en") for word in keys(name[:_LONGEST_NAME]))


def _feature_index(counts: Mapping[Tag, int], translations: Translations) -> PhraseIndex[str]:
    index: PhraseIndex[str] = PhraseIndex(ARTICLES)
    features = dict.fromkeys(tag.feature for tag in counts)
    for feature in features:
        index.add(keys(feature.replace("_", " ")), feature)
    for table in translations.values():
        for key, name in table.items():
            if isinstance(key, str) and key in features:
                index.add(keys(name), key)
    return index


def _are_texts(words: object) -> bool:
    if not isinstance(words, Sequence) or isinstance(words, str):
        return False
    return all(isinstance(word, str) for word in words)
