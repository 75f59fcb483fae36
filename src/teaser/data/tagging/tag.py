"""A tag: one value of one feature."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from teaser.errors import MalformedTagError, UnknownTagError, closest_names


@dataclass(frozen=True, slots=True, order=True)
class Tag:
    """One value of one feature: what a profile, a reason and a press are about.

    Examples
    --------
    >>> str(Tag(feature="director", value="Agnès Varda"))
    'director=Agnès Varda'
    """

    feature: str
    value: str

    def __str__(self) -> str:
        return f"{self.feature}={self.value}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `feature=value`; the value may hold further equal signs."""
        feature, _, value = (part.strip() for part in text.partition("="))
        if not feature or not value:
            raise MalformedTagError(text)
        return cls(feature, value)


def resolve_tag(tag: "Tag | str", index: Mapping[Tag, int]) -> int:
    """Return the position of a `Tag` or `feature=value`; name the closest otherwise."""
    wanted = Tag.parse(tag) if isinstance(tag, str) else tag
    try:
        return index[wanted]
    except (KeyError, TypeError):
        near = closest_names(str(wanted), map(str, index))
        raise UnknownTagError(wanted, near) from None
