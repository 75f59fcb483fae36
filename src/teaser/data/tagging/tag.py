"""A tag: one value of one feature."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import polars as pl

from teaser.closeness import closest_names
from teaser.errors import ArtifactError, MalformedTagError, ParameterError, UnknownTagError

# The feature of tags that a fit finds itself: groups of items that the same users choose.
DISCOVERED = "discovered"
# Values that say nothing without their feature: answers, and the labels of bins without a unit.
_ANSWERS = frozenset({"yes", "no", "true", "false", "any", "none", "other", "unknown"})
_NUMBER = r"-?[\d.,]+(?:e[+-]?\d+)?"
_BIN = re.compile(rf"under {_NUMBER}|{_NUMBER} to {_NUMBER}|{_NUMBER} and over|\d+s")
# Where a word of a column's name ends: bookAuthor, ISBNCode.
_HUMPS = re.compile(r"(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_PREFIXED = re.compile(r"\w{1,2}-\w+")
_ABBREVIATION = 4


@dataclass(frozen=True, slots=True, order=True)
class Tag:
    """One value of one feature, the unit of profiles, reasons and presses.

    Examples
    --------
    >>> str(Tag(feature="director", value="Agnès Varda"))
    'director=Agnès Varda'
    """

    feature: str
    value: str

    def __str__(self) -> str:
        return f"{self.feature}={self.value}"

    @property
    def discovered(self) -> bool:
        """Whether a fit found this tag; all others are declared by metadata."""
        return self.feature == DISCOVERED

    @property
    def is_bare(self) -> bool:
        """Whether the value says nothing without its feature: a number, a range, yes, a letter."""
        value = self.value.casefold()
        if self.discovered or value == self.feature.casefold():
            return False
        is_code = len(value) == 1 and "A" <= self.value <= "Z"
        if is_code or not any(letter.isalpha() for letter in value):
            return True
        return value in _ANSWERS or _BIN.fullmatch(value) is not None

    @property
    def label(self) -> str:
        """The value for a reader, after its feature where it says nothing alone.

        Examples
        --------
        >>> Tag("director", "Agnès Varda").label, Tag("min_players", "2").label
        ('Agnès Varda', 'Min players: 2')
        """
        return f"{feature_label(self.feature)}: {self.value}" if self.is_bare else self.value

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse `feature=value`; the value may contain further equal signs."""
        feature, _, value = (part.strip() for part in text.partition("="))
        if not feature or not value:
            raise MalformedTagError(text)
        return cls(feature, value)


def most_frequent(tags: Sequence[Tag], counts: Sequence[int], n: int = 3) -> dict[str, list[str]]:
    """Return the n most frequent values of each feature, given the items of each tag."""
    found: dict[str, list[str]] = {}
    for j in sorted(range(len(tags)), key=lambda j: -counts[j]):
        values = found.setdefault(tags[j].feature, [])
        if len(values) < n:
            values.append(tags[j].value)
    return found


@lru_cache(maxsize=4096)
def feature_label(name: str) -> str:
    """Return the name of a feature for a reader.

    Names of columns become words; names that are words already stay as they are, but for a
    capital at the start.

    Examples
    --------
    >>> feature_label("Year-Of-Publication"), feature_label("startYear"), feature_label("sub_genre")
    ('Year of publication', 'Start year', 'Sub genre')
    """
    words = feature_words(name)
    return words[:1].upper() + words[1:]


def feature_words(name: str) -> str:
    """Return the name of a feature as words that stand before a value.

    They are those of `feature_label`, but for the first letter, which stays as it is.

    Examples
    --------
    >>> feature_words("YearPublished"), feature_words("max_players")
    ('Year published', 'max players')
    """
    name = name.strip()
    words = name if " " in name or _PREFIXED.fullmatch(name) else _column_words(name)
    return name[:1] + words[1:] if words[:1].lower() == name[:1].lower() else words or name


def _column_words(name: str) -> str:
    """Return the words of a column's name; all but abbreviations in lower case."""
    if name.isupper() and len(name) > _ABBREVIATION:
        name = name.lower()
    words = _HUMPS.sub(" ", re.sub(r"[_.-]+", " ", name)).split()
    return " ".join(word.lower() if word[1:].islower() else word for word in words)


def resolve_tag(tag: "Tag | str", index: Mapping[Tag, int]) -> int:
    """Return the position of a `Tag`, `feature=value` or bare name, or raise `UnknownTagError`.

    A bare name is that of a feature with one tag, or the value of one tag; see `find_bare`.
    """
    if isinstance(tag, str) and "=" not in tag:
        # A column may have earlier names too; the last is that of today.
        found = find_bare(tag, {place: known for known, place in index.items()}.values())
        if found is not None:
            return index[found]
        values = [known.value for known in index]
        near = closest_names(tag.strip(), values)
        written = [str(known) for known in index if known.value in near]
        raise MalformedTagError(tag, written[:3])
    wanted = Tag.parse(tag) if isinstance(tag, str) else tag
    try:
        return index[wanted]
    except (KeyError, TypeError):
        near = closest_names(str(wanted), map(str, index))
        raise UnknownTagError(wanted, near) from None


def find_bare(name: str, tags: Iterable[Tag]) -> Tag | None:
    """Return the tag that a name without `=` means, None if there is no such tag.

    It is the one tag of a feature of that name, such as general appeal, or the one tag with that
    value.

    Raises
    ------
    ParameterError
        If several tags have the value.
    """
    name, known = name.strip(), list(tags)
    of_feature = [tag for tag in known if tag.feature == name]
    if len(of_feature) == 1:
        return of_feature[0]
    found = [tag for tag in known if tag.value == name]
    if len(found) > 1:
        raise ParameterError(
            f"{name!r} is the value of several tags: {', '.join(map(str, found))}. "
            "Write one of them."
        )
    return found[0] if found else None


def tag_frame(tags: Sequence[Tag]) -> pl.DataFrame:
    """Return tags as a table of feature and value."""
    return pl.DataFrame(
        {"feature": [t.feature for t in tags], "value": [t.value for t in tags]},
        schema={"feature": pl.String, "value": pl.String},
    )


def tags_from(frame: pl.DataFrame) -> tuple[Tag, ...]:
    """Return the tags of a table that `tag_frame` made; raise `ArtifactError` for another table."""
    named = frame.select("feature", "value")
    if any(column.dtype != pl.String or column.null_count() for column in named):
        raise ArtifactError(f"Its tags must have a feature and a value, found {named.schema}.")
    if named.is_duplicated().any():
        twice = named.filter(named.is_duplicated()).row(0)
        raise ArtifactError(f"The tag {Tag(*twice)} is there more than once.")
    return tuple(Tag(*row) for row in named.rows())
