"""The filters of a list: tags, dates, and its length."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from urllib.parse import urlencode, urlsplit

import numpy as np
from fastapi import Request
from numpy.typing import NDArray
from starlette.datastructures import QueryParams

from teaser.app.serving.catalogue import Catalogue, cached_per_catalogue
from teaser.app.state import ListFilter
from teaser.data.tags import Tag

N_CARDS = 12
MAX_CARDS = 96
MAX_VALUES = 150
_MAX_TAGS = 50


@dataclass(frozen=True)
class Filters:
    """The filters of one request; tags that the catalogue does not have are ignored."""

    tags: tuple[Tag, ...] = ()
    first: date | None = None
    last: date | None = None
    k: int = N_CARDS

    @classmethod
    def read(cls, query: QueryParams, catalogue: Catalogue) -> "Filters":
        """Read the filters in the query of an address."""
        tags = _tags_by_text(catalogue)
        asked = dict.fromkeys(query.getlist("only")[:_MAX_TAGS])
        has_dates = catalogue.dates is not None
        days = [_day(query.get(name)) if has_dates else None for name in ("from", "to")]
        if days[0] and days[1] and days[0] > days[1]:
            days.reverse()
        return cls(
            tags=tuple(tags[text] for text in asked if text in tags),
            first=days[0],
            last=days[1],
            k=_count(query.get("n")),
        )

    @classmethod
    def of_list(cls, request: Request, catalogue: Catalogue) -> "Filters":
        """Return the filters of the list that an item page belongs to.

        They are in its own address, or else in the address of the list that it was opened from.
        """
        own = cls.read(request.query_params, catalogue)
        came_from = _list_address(request)
        return own if own.is_active or came_from is None else cls.read(came_from, catalogue)

    def allowed(self, catalogue: Catalogue) -> NDArray[np.bool_] | None:
        """Return a mask of the items that pass, or None if all do."""
        if not self.is_active:
            return None
        return catalogue.allowed(self.tags, first=self.first, last=self.last)

    @property
    def is_active(self) -> bool:
        """Whether any item is left out."""
        return bool(self.tags or self.first or self.last)

    def kept_in(self, kept: ListFilter) -> ListFilter:
        """Return the conditions of a list with these filters among them."""
        tags = dict.fromkeys((*kept.only, *map(str, self.tags)))
        days = f"{self.first or ''}..{self.last or ''}" if self.first or self.last else kept.when
        return replace(kept, only=tuple(tags), when=days)

    def pairs(self, *, without: Tag | None = None) -> list[tuple[str, str]]:
        """Return the filters as the parameters of an address, without one tag."""
        pairs = [("only", str(tag)) for tag in self.tags if tag != without]
        for name, day in (("from", self.first), ("to", self.last)):
            pairs += [(name, day.isoformat())] if day else []
        return pairs

    def path(self, *, without: Tag | None = None, k: int | None = None) -> str:
        """Return the address of the list, without one tag, or with another length."""
        pairs = self.pairs(without=without)
        count = k or self.k
        pairs += [("n", str(count))] if count != N_CARDS else []
        return "/?" + urlencode(pairs) if pairs else "/"


@cached_per_catalogue(1)
def choices(catalogue: Catalogue) -> Mapping[str, list[Tag]]:
    """Return the tags to choose from, by feature, in the order of numbers or the alphabet.

    Of many tags these are the most common. Groups that the system found are not among them: there
    are many, and their pages have a link.
    """
    names = dict.fromkeys(tag.feature for tag in catalogue.model.tags_ if not tag.discovered)
    found = {name: catalogue.features.get(name, [])[:MAX_VALUES] for name in names}
    return {name: sorted(tags, key=reading_order) for name, tags in found.items() if len(tags) > 1}


def reading_order(tag: Tag) -> tuple[float, bool, str]:
    """Return what orders tags for a reader: under 10, 10 to 20, 20 and over; then words."""
    value = tag.value.casefold()
    found = re.match(r"(under )?(-?\d+(?:\.\d+)?)", value)
    if not found:
        return math.inf, True, value
    return float(found[2]), not found[1], value


@cached_per_catalogue(1)
def _tags_by_text(catalogue: Catalogue) -> dict[str, Tag]:
    tags = catalogue.model.tags_
    named = catalogue.tag_index.items()
    return {str(tag): tags[j] for tag, j in named if tags[j].feature in catalogue.features}


def _list_address(request: Request) -> QueryParams | None:
    """Return the query of the list in the Referer header; None for any other page."""
    try:
        source = urlsplit(request.headers.get("referer", ""))
    except ValueError:
        return None
    is_list = source.path == "/" and source.netloc == request.headers.get("host")
    return QueryParams(source.query) if is_list else None


def _day(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        return None


def _count(text: str | None) -> int:
    is_number = text is not None and text.isascii() and text.isdigit() and len(text) < 4
    return min(MAX_CARDS, max(N_CARDS, int(text or 0))) if is_number else N_CARDS
