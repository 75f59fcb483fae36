"""The items as served: the cards of a fitted model, its tags by feature, and filters."""

import base64
import math
import weakref
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, tzinfo
from functools import cached_property, lru_cache, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from teaser.data.matrix import ItemId
from teaser.data.rules import Category, ListOf
from teaser.data.tags import Tag
from teaser.errors import UnknownNameError, closest, shortened
from teaser.model.filters import NOTHING_ASKED
from teaser.model.teaser import Teaser
from teaser.profile import GENERAL, NOT_STATED, POPULARITY
from teaser.steer.quick_start import QuickStart

# What browsers show; of other types they would show a broken picture.
_PICTURES = {f"image/{kind}" for kind in ("svg+xml", "png", "jpeg", "gif", "webp", "avif")}
P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class Card:
    """What is shown of an item; None for what the data do not have.

    Attributes
    ----------
    facts
        The values of its declared tags, by feature.
    groups
        The names of the groups that the system found it in.
    rare
        Values that are no tags because too few items have them, by features without a tag.
    """

    item_id: ItemId
    title: str
    description: str | None
    link: str | None
    date: date | None
    has_picture: bool
    facts: Mapping[str, tuple[str, ...]]
    groups: tuple[str, ...] = ()
    rare: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class Catalogue:
    """The items and tags of one model, as the application shows and filters them.

    Parameters
    ----------
    model
        The fitted model.
    boost
        What the site adds to scores, by id, tag or column; see `Filters`.
    zone
        The time zone of the site's days; that of the machine by default.

    Attributes
    ----------
    placed
        The boosts, by the positions of items.
    caches
        What `cached_per_catalogue` keeps of this catalogue, by function.
    """

    def __init__(
        self,
        model: Teaser,
        boost: Mapping[str, float] | None = None,
        *,
        zone: tzinfo | None = None,
    ) -> None:
        self.model = model
        self.zone = zone
        self.boost = dict(boost or {})
        self.placed = model.place_filters({"boost": self.boost}) if self.boost else NOTHING_ASKED
        self.caches: dict[Callable[..., Any], Callable[..., Any]] = {}
        self._roles = model.rules_.roles

    def card(self, item_id: ItemId) -> Card:
        """Return the card of an item."""
        place = self.model.items_.index_of(item_id)
        row = slice(self.model.decoder_.indptr[place], self.model.decoder_.indptr[place + 1])
        facts: dict[str, tuple[str, ...]] = {}
        groups: list[str] = []
        for column in self.model.decoder_.indices[row].tolist():
            tag = self.model.tags_[column]
            if tag.discovered:
                groups.append(tag.value)
            # Popularity, values that are not stated and general appeal come after the tags.
            elif column < self.model.tag_table_.n_personal:
                facts[tag.feature] = (*facts.get(tag.feature, ()), tag.value)
        return Card(
            item_id=self.model.items_[place],
            title=self.model.title(place) or str(self.model.items_[place]),
            description=self._cell("description", place),
            link=_safe_link(self._cell("link", place)),
            date=self.dates[place] if self.dates is not None else None,
            has_picture=self.picture(self.model.items_[place]) is not None,
            facts=facts,
            groups=tuple(groups),
            rare=self._rare_values(place, facts),
        )

    def picture(self, item_id: ItemId) -> tuple[str, bytes] | str | None:
        """Return an item's picture: media type and bytes if the data contain it, or its address.

        An address without https is None: a page over https cannot show what comes over http.
        """
        cell = self._cell("picture", self.model.items_.index_of(item_id))
        if cell is None:
            return None
        if cell.startswith("<svg"):
            return "image/svg+xml", cell.encode()
        kind, is_encoded, body = cell.removeprefix("data:").partition(";base64,")
        if is_encoded and kind in _PICTURES:
            try:
                return kind, base64.b64decode(body, validate=True)
            except ValueError:
                return None
        if cell.startswith("//"):
            return f"https:{cell}"
        return cell if cell[:8].lower() == "https://" else None

    def allowed(
        self,
        tags: Iterable[Tag] = (),
        *,
        without: Iterable[Tag] = (),
        at_most: Mapping[str, float] | None = None,
        at_least: Mapping[str, float] | None = None,
        first: date | None = None,
        last: date | None = None,
    ) -> NDArray[np.bool_]:
        """Return a mask of the items in a range of dates that pass the tags and bounds.

        An item passes if it has at least one of the tags of every feature that they name, none of
        those of `without`, and a number within the bounds in each column that they name.

        Raises
        ------
        UnknownNameError
            If a bound is on what is no column of numbers.
        """
        mask = np.ones(len(self.model.items_), dtype=bool)
        by_feature: dict[str, list[int]] = {}
        index = self.tag_index
        for tag in tags:
            by_feature.setdefault(tag.feature, []).extend([index[tag]] if tag in index else [])
        for columns in by_feature.values():
            mask &= np.diff(self.model.decoder_[:, columns].indptr) > 0
        if excluded := [index[tag] for tag in without if tag in index]:
            mask &= np.diff(self.model.decoder_[:, excluded].indptr) == 0
        # A number that is missing is NaN, which is within no bound.
        for column, bound in (at_most or {}).items():
            mask &= self.number(column) <= bound
        for column, bound in (at_least or {}).items():
            mask &= self.number(column) >= bound
        if self.dates is not None and (first or last):
            mask &= np.array(
                [d is not None and (first or d) <= d <= (last or d) for d in self.dates], dtype=bool
            )
        return mask

    @property
    def today(self) -> date:
        """The present day at the site."""
        return datetime.now(self.zone).date()

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """The columns of numbers, which bounds can be on; ids are none."""
        table = self.model.table_
        return tuple(name for name in table.columns[1:] if table[name].dtype.is_numeric())

    def number(self, column: str) -> NDArray[np.float64]:
        """Return the number of each item in a column, NaN where there is none.

        Raises
        ------
        UnknownNameError
            If it is no column of numbers.
        """
        if column not in self.numbers:
            near = closest(column, self.numbers)
            raise UnknownNameError(
                f"There is no column of numbers named {shortened(column)!r}.{near}"
            )
        return self.model.table_[column].cast(pl.Float64).fill_null(math.nan).to_numpy()

    @cached_property
    def dates(self) -> list[date | None] | None:
        """The date of each item; None if the data have no dates."""
        column = self._roles.get("date")
        if column is None:
            return None
        cells = self.model.table_[column]
        if cells.dtype == pl.String:
            cells = cells.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)
        return cells.cast(pl.Date, strict=False).to_list()

    @cached_property
    def tag_index(self) -> dict[Tag, int]:
        """The position of every tag of the model, also by its earlier names."""
        return self.model.tag_table_.index

    @cached_property
    def user_tag_index(self) -> dict[Tag, int]:
        """The position of every user tag; empty if the model has none."""
        return {tag: i for i, tag in enumerate(self.model.user_tags_)}

    @cached_property
    def user_features(self) -> dict[str, list[Tag]]:
        """The user tags of each feature, in the order of the data."""
        return _by_feature(self.model.user_tags_)

    @cached_property
    def quick_start(self) -> QuickStart:
        """What chooses the items to ask a new visitor about."""
        return QuickStart(self.model)

    @cached_property
    def tag_sizes(self) -> NDArray[Any]:
        """The number of items of each tag."""
        return np.bincount(self.model.decoder_.indices, minlength=len(self.model.tags_))

    def bits(self, tag: Tag) -> float:
        """Return how much a tag tells of an item: log2(items / items that have it).

        A value that is no tag counts as one of a single item.
        """
        place = self.tag_index.get(tag)
        size = 1 if place is None else max(1, int(self.tag_sizes[place]))
        return math.log2(len(self.model.items_) / size)

    @cached_property
    def features(self) -> dict[str, list[Tag]]:
        """The tags of each feature, the most common first.

        Popularity and general appeal, which all items have, are left out. What is not stated comes
        last.
        """
        common = [self.model.tags_[i] for i in np.argsort(-self.tag_sizes, kind="stable").tolist()]
        common.sort(key=lambda tag: tag.value.startswith(NOT_STATED))
        return _by_feature(tag for tag in common if tag not in (POPULARITY, GENERAL))

    def _rare_values(self, place: int, known: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
        """Return what an item states of features of which it has no tag."""
        found: dict[str, tuple[str, ...]] = {}
        for name, column in self._stated.items():
            cell = None if name in known else column[place]
            stated = [] if cell is None else cell.drop_nulls().to_list()
            values = (" ".join(value.split()) for value in stated)
            if texts := tuple(value for value in values if value):
                found[name] = texts
        return found

    @cached_property
    def _stated(self) -> dict[str, pl.Series]:
        """What the items state of each feature of words, whether it became a tag or not."""
        table = self.model.table_
        rules = [r for r in self.model.rules_.tags if isinstance(r, Category | ListOf)]
        return {r.name: r.values(table) for r in rules if set(r.columns) <= set(table.columns)}

    def _cell(self, role: str, place: int) -> str | None:
        column = self._roles.get(role)
        found = self.model.table_[column][place] if column else None
        return (str(found).strip() or None) if found is not None else None


def cached_per_catalogue(
    maxsize: int,
) -> Callable[[Callable[Concatenate[Catalogue, P], R]], Callable[Concatenate[Catalogue, P], R]]:
    """Cache a function of a catalogue and further arguments, as long as the catalogue lives.

    The cache refers to the catalogue weakly: a model that is no longer served can be freed.
    """

    def decorate(
        function: Callable[Concatenate[Catalogue, P], R],
    ) -> Callable[Concatenate[Catalogue, P], R]:
        @wraps(function)
        def cached(catalogue: Catalogue, /, *args: P.args, **kwargs: P.kwargs) -> R:
            cache: Callable[..., R] | None = catalogue.caches.get(function)
            if cache is None:
                reference: Callable[[], Any] = weakref.ref(catalogue)
                made = lru_cache(maxsize)(lambda *a, **k: function(reference(), *a, **k))
                cache = catalogue.caches.setdefault(function, made)
            return cache(*args, **kwargs)

        return cached

    return decorate


def _by_feature(tags: Iterable[Tag]) -> dict[str, list[Tag]]:
    found: dict[str, list[Tag]] = {}
    for tag in tags:
        found.setdefault(tag.feature, []).append(tag)
    return found


def _safe_link(text: str | None) -> str | None:
    """Return a web address, and None for anything else, which a browser might execute."""
    if text is None or not text.lower().startswith(("https://", "http://")):
        return None
    return text
