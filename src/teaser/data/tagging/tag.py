"""A tag: one value of one feature."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import polars as pl

from teaser.errors import MalformedTagError, UnknownTagError, closest_names

# The feature of tags that a fit finds itself: groups of items that the same users choose.
DISCOVERED = "discovered"


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

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse `feature=value`; the value may contain further equal signs."""
        feature, _, value = (part.strip() for part in text.partition("="))
        if not feature or not value:
            raise MalformedTagError(text)
        return cls(feature, value)


def label_feature(feature: str) -> str:
    """Return a feature as people read it."""
    return feature.replace("_", " ")


def most_frequent(tags: Sequence[Tag], counts: Sequence[int], n: int = 3) -> dict[str, list[str]]:
    """Return the n most frequent values of each feature, given the items of each tag."""
    found: dict[str, list[str]] = {}
    for j in sorted(range(len(tags)), key=lambda j: -counts[j]):
        values = found.setdefault(tags[j].feature, [])
        if len(values) < n:
            values.append(tags[j].value)
    return found


def resolve_tag(tag: "Tag | str", index: Mapping[Tag, int]) -> int:
    """Return the position of a `Tag` or `feature=value`, or raise `UnknownTagError`."""
    wanted = Tag.parse(tag) if isinstance(tag, str) else tag
    try:
        return index[wanted]
    except (KeyError, TypeError):
        near = closest_names(str(wanted), map(str, index))
        raise UnknownTagError(wanted, near) from None


def tag_frame(tags: Sequence[Tag]) -> pl.DataFrame:
    """Return tags as a table of feature and value."""
    return pl.DataFrame(
        {"feature": [t.feature for t in tags], "value": [t.value for t in tags]},
        schema={"feature": pl.String, "value": pl.String},
    )


def tags_from(frame: pl.DataFrame) -> tuple[Tag, ...]:
    """Return the tags of a table that `tag_frame` made."""
    return tuple(Tag(*row) for row in frame.select("feature", "value").rows())
