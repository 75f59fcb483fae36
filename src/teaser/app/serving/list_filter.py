"""A person's filters, hidden items and hidden tags, on the items of one catalogue.

Names that the catalogue does not have stay in the state and have no effect here.
"""

from collections.abc import Iterable, Mapping
from datetime import date

import numpy as np
from numpy.typing import NDArray

from teaser.app.serving.catalogue import Catalogue, cached_per_catalogue
from teaser.app.state import ListFilter
from teaser.data.matrix import ItemId
from teaser.data.tags import Tag, resolve_tag
from teaser.errors import ParameterError
from teaser.words.wishes import Period

# A mask has a byte for each item, and people of one site like the same filters.
_MAX_CACHED = 32
Mask = NDArray[np.bool_]
_Bounds = tuple[tuple[str, float], ...]


def passing(catalogue: Catalogue, filters: ListFilter, today: date | None = None) -> Mask | None:
    """Return a mask of the items that pass filters, not to be changed; None if all pass.

    Parameters
    ----------
    today
        The day from which periods are counted; that of the site by default.
    """
    if not filters:
        return None
    first, last = days_of(catalogue, filters, today)
    return _mask(
        catalogue,
        tuple(known_tags(catalogue, filters.only)),
        tuple(known_tags(catalogue, filters.without)),
        _known_bounds(catalogue, filters.at_most),
        _known_bounds(catalogue, filters.at_least),
        (first, last),
    )


def without_tags(catalogue: Catalogue, texts: Iterable[str]) -> Mask | None:
    """Return a mask of the items that have none of some tags, not to be changed; None if all."""
    tags = tuple(sorted(set(known_tags(catalogue, texts)), key=str))
    return _mask(catalogue, (), tags, (), (), (None, None)) if tags else None


def days_of(
    catalogue: Catalogue, filters: ListFilter, today: date | None = None
) -> tuple[date | None, date | None]:
    """Return the first and the last day of the filters' period; None for an open end."""
    if not filters.when or catalogue.dates is None:
        return None, None
    return Period.parse(filters.when).days(today or catalogue.today)


def known_tags(catalogue: Catalogue, texts: Iterable[str]) -> list[Tag]:
    """Return the tags that the catalogue has, by their names of today."""
    index, tags = catalogue.tag_index, catalogue.model.tags_
    places = (index.get(Tag.parse(text)) for text in texts)
    return [tags[place] for place in places if place is not None]


def unknown_tags(catalogue: Catalogue, texts: Iterable[str]) -> list[str]:
    """Return the tags that the catalogue does not have, each once."""
    index = catalogue.tag_index
    return [text for text in dict.fromkeys(texts) if Tag.parse(text) not in index]


def unknown_columns(catalogue: Catalogue, filters: ListFilter) -> list[str]:
    """Return the columns of filters that the catalogue does not have; `date` for a period."""
    found = [name for name in filters.columns if name not in catalogue.numbers]
    return [*found, *(["date"] if filters.when and catalogue.dates is None else [])]


def read_filters(catalogue: Catalogue, filters: ListFilter, kept: ListFilter) -> ListFilter:
    """Return filters with tags as the catalogue names them.

    Parameters
    ----------
    kept
        The filters so far; what they name may stay, also if the catalogue does not have it.

    Raises
    ------
    UnknownTagError
        If the catalogue does not have a tag.
    UnknownNameError
        If it does not have a column.
    ParameterError
        If there are no dates, or all items have a tag.
    """
    for column in filters.columns:
        if column not in kept.columns:
            catalogue.number(column)
    if filters.when and catalogue.dates is None and filters.when != kept.when:
        raise ParameterError(
            f"This catalogue has no dates, so {filters.when} means nothing in it. Leave it out."
        )
    return ListFilter(
        only=tuple(read_tags(catalogue, filters.only, kept.tags)),
        without=tuple(read_tags(catalogue, filters.without, kept.tags)),
        at_most=filters.at_most,
        at_least=filters.at_least,
        when=filters.when,
    )


def read_tags(catalogue: Catalogue, texts: Iterable[str], kept: Iterable[str] = ()) -> list[str]:
    """Return tags by which items are told apart, spelled as the catalogue has them, each once.

    Raises
    ------
    UnknownTagError
        If the catalogue does not have a tag, which is not in `kept` either.
    ParameterError
        If all items have a tag, as with general appeal.
    """
    known, found = set(kept), []
    index, tags = catalogue.tag_index, catalogue.model.tags_
    for text in texts:
        if text in known and Tag.parse(text) not in index:
            found.append(text)
            continue
        tag = tags[resolve_tag(Tag.parse(text), index)]
        if tag.feature not in catalogue.features:
            raise ParameterError(f"All items have {tag}, so no list can be made by it. Press it.")
        found.append(str(tag))
    return list(dict.fromkeys(found))


@cached_per_catalogue(4)
def by_date(catalogue: Catalogue, today: date) -> NDArray[np.int64]:
    """Return the positions of items: those to come by nearness, past ones from the newest."""
    dates = catalogue.dates or []
    far = len(dates) and max((abs((d - today).days) for d in dates if d), default=0) + 1
    order = [
        2 * far if d is None else (d - today).days if d >= today else far + (today - d).days
        for d in dates
    ]
    return np.argsort(np.array(order), kind="stable")


def places_of(catalogue: Catalogue, item_ids: Iterable[ItemId]) -> list[int]:
    """Return the positions of the items that the catalogue has."""
    found = (catalogue.model.items_.find(item_id) for item_id in item_ids)
    return [place for place in found if place is not None]


@cached_per_catalogue(_MAX_CACHED)
def _mask(
    catalogue: Catalogue,
    only: tuple[Tag, ...],
    without: tuple[Tag, ...],
    at_most: _Bounds,
    at_least: _Bounds,
    days: tuple[date | None, date | None],
) -> Mask:
    found = catalogue.allowed(
        only,
        without=without,
        at_most=dict(at_most),
        at_least=dict(at_least),
        first=days[0],
        last=days[1],
    )
    found.setflags(write=False)
    return found


def _known_bounds(catalogue: Catalogue, bounds: Mapping[str, float]) -> _Bounds:
    return tuple((name, bound) for name, bound in bounds.items() if name in catalogue.numbers)
