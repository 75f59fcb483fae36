"""The items of the served model, and the model applied to one person's state.

Items and tags that the model does not have stay in a person's state and are ignored here.
"""

import base64
import logging
import math
import re
import weakref
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date, datetime, tzinfo
from functools import cached_property, lru_cache, wraps
from itertools import chain
from pathlib import Path
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.app.monitoring import measured
from teaser.app.state import ListFilter, State, within_range
from teaser.data.dataset import Dataset
from teaser.data.matrix import ItemId
from teaser.data.rules import Category, ListOf, Year
from teaser.data.tags import Tag, long_words, resolve_tag
from teaser.errors import ParameterError, SearchTimeoutError, TeaserError
from teaser.model.filters import NO_FILTERS
from teaser.model.scores import Scored
from teaser.model.teaser import Teaser
from teaser.profile import GENERAL, NOT_STATED, POPULARITY, Profile, Steering
from teaser.recommend import Recommendations
from teaser.steer import Lift, Statement, smallest_presses, statements
from teaser.steer.quick_start import QuickStart
from teaser.steer.variety import spread
from teaser.words.wishes import Period, item_dates, item_numbers, matching_items, number_columns

log = logging.getLogger("teaser")

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
    placed_by
        Of an item that nobody has chosen yet, what its place in lists follows from: `"tags"`, or
        `"general appeal"` where nothing else is known of it. None of other items.
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
    placed_by: Literal["tags", "general appeal"] | None = None


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
        self, model: Teaser, boost: Mapping[str, float] | None = None, *, zone: tzinfo | None = None
    ) -> None:
        self.model = model
        self.zone = zone
        self.boost = dict(boost or {})
        self.placed = model.place_filters({"boost": self.boost}) if self.boost else NO_FILTERS
        self.caches: dict[Callable[..., Any], Callable[..., Any]] = {}
        self._roles = model.rules_.roles

    def card(self, item_id: ItemId) -> Card:
        """Return the card of an item."""
        place = self.model.items_.index_of(item_id)
        row = slice(self.model.decoder_.indptr[place], self.model.decoder_.indptr[place + 1])
        facts: dict[str, tuple[str, ...]] = {}
        groups: list[str] = []
        is_new = bool(self.model.item_table_.is_new[place])
        columns = self.model.decoder_.indices[row].tolist()
        link = self._cell("link", place)
        for column in columns:
            tag = self.model.tags_[column]
            if tag.discovered:
                # The groups of a new item are predicted, not found.
                groups += [] if is_new else [tag.value]
            # Popularity, values that are not stated and general appeal come after the tags.
            elif column < self.model.tag_table_.n_personal:
                facts[tag.feature] = (*facts.get(tag.feature, ()), tag.value)
        return Card(
            item_id=self.model.items_[place],
            title=self.model.title(place) or str(self.model.items_[place]),
            description=self._cell("description", place),
            # Anything else a browser might execute.
            link=link if link and link.lower().startswith(("https://", "http://")) else None,
            date=self.dates[place] if self.dates is not None else None,
            has_picture=self.picture(self.model.items_[place]) is not None,
            facts=facts,
            groups=tuple(groups),
            rare=self._rare_values(place, facts),
            placed_by=None if not is_new else "tags" if len(columns) > 1 else "general appeal",
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

    def tag(self, tag: Tag | str) -> Tag:
        """Return a tag by its name of today, or raise `UnknownNameError` if there is none."""
        return self.model.tags_[resolve_tag(tag, self.tag_index)]

    def current_tag(self, tag: Tag | str) -> Tag:
        """Return a stored tag by its name of today, or as it is where the model lacks it."""
        known = Tag.parse(tag) if isinstance(tag, str) else tag
        place = self.tag_index.get(known)
        return known if place is None else self.model.tags_[place]

    def title(self, item_id: object) -> str:
        """Return the title of an item; its id if it has none, or if the model does not have it."""
        place = self.model.items_.find(item_id)
        found = None if place is None else self.model.title(place)
        return found or str(item_id)

    @property
    def over(self) -> NDArray[np.bool_]:
        """A mask of the items whose last day has passed."""
        # NaT is before no day.
        return self._last_days < np.datetime64(self.today)

    @cached_property
    def _last_days(self) -> NDArray[np.datetime64]:
        """The last day of each item, that of its date where it has no end; NaT where none."""
        ends, dates = item_dates(self.model, "end"), item_dates(self.model)
        if ends is None:
            return np.full(len(self.model.items_), np.datetime64("NaT"), dtype="datetime64[D]")
        return (ends if dates is None else ends.fill_null(dates)).to_numpy()

    @property
    def today(self) -> date:
        """The present day at the site."""
        return datetime.now(self.zone).date()

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """The columns of numbers, which bounds can be on; ids are none."""
        return number_columns(self.model)

    @cached_property
    def dates(self) -> list[date | None] | None:
        """The date of each item; None if the data have no dates."""
        dates = item_dates(self.model)
        return None if dates is None else dates.to_list()

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

    def times(self, item_id: ItemId) -> tuple[date, date | None] | None:
        """Return the begin and the end of an item, as days or times; None if it has no date."""
        place = self.model.items_.index_of(item_id)
        begin, end = (_moment(self._cell(role, place)) for role in ("date", "end"))
        return None if begin is None else (begin, end)

    def cell(self, column: str, item_id: ItemId) -> str | None:
        """Return the text of a column of the metadata; None if there is none."""
        if column not in self.model.table_.columns:
            return None
        found = self.model.table_[column][self.model.items_.index_of(item_id)]
        return (str(found).strip() or None) if found is not None else None

    def _cell(self, role: str, place: int) -> str | None:
        column = self._roles.get(role)
        return self.cell(column, self.model.items_[place]) if column else None


def _moment(text: str | None) -> date | None:
    """Return a day or a time that a cell has."""
    for kind in (date, datetime):
        with suppress(ValueError):
            return kind.fromisoformat(text or "")
    return None


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
            if function not in catalogue.caches:
                weak: Callable[[], Any] = weakref.ref(catalogue)
                made = lru_cache(maxsize)(lambda *a, **k: function(weak(), *a, **k))
                catalogue.caches[function] = made
            found: R = catalogue.caches[function](*args, **kwargs)
            return found

        return cached

    return decorate


def _by_feature(tags: Iterable[Tag]) -> dict[str, list[Tag]]:
    found: dict[str, list[Tag]] = {}
    for tag in tags:
        found.setdefault(tag.feature, []).append(tag)
    return found


Mask = NDArray[np.bool_]


def filter_mask(catalogue: Catalogue, filters: ListFilter, today: date | None = None) -> Mask:
    """Return a mask of the items that pass filters; periods begin at `today`, that of the site."""
    first, last = days_of(catalogue, filters, today)
    at_most, at_least = (
        {name: bound for name, bound in bounds.items() if name in catalogue.numbers}
        for bounds in (filters.at_most, filters.at_least)
    )
    return matching_items(
        catalogue.model,
        known_tags(catalogue, filters.only),
        without=known_tags(catalogue, filters.without),
        at_most=at_most,
        at_least=at_least,
        first=first,
        last=last,
    )


def days_of(
    catalogue: Catalogue, filters: ListFilter, today: date | None = None
) -> tuple[date | None, date | None]:
    """Return the first and the last day of the filters' period; None for an open end."""
    if not filters.when or catalogue.dates is None:
        return None, None
    return Period.parse(filters.when).days(today or catalogue.today)


def known_tags(catalogue: Catalogue, texts: Iterable[str]) -> list[Tag]:
    """Return the tags that the catalogue has, by their names of today."""
    return [tag for tag in map(catalogue.current_tag, texts) if tag in catalogue.tag_index]


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
    UnknownNameError
        If the catalogue does not have a tag.
    UnknownNameError
        If it does not have a column.
    ParameterError
        If there are no dates, or all items have a tag.
    """
    for column in filters.columns:
        if column not in kept.columns:
            item_numbers(catalogue.model, column)
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
    """Return tags that not all items have, spelled as the catalogue has them, each once.

    Raises
    ------
    UnknownNameError
        If the catalogue does not have a tag, which is not in `kept` either.
    ParameterError
        If all items have a tag, as with general appeal.
    """
    known, found = set(kept), []
    for text in texts:
        if text in known and Tag.parse(text) not in catalogue.tag_index:
            found.append(text)
            continue
        tag = catalogue.tag(Tag.parse(text))
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


@dataclass(frozen=True)
class PersonalModel:
    """One person's state with the model of one catalogue."""

    catalogue: Catalogue
    state: State

    @property
    def own(self) -> "PersonalModel":
        """The model with the person's profile, also while lists are made without it."""
        # `self` is not kept: a cycle would hold a replaced model until the collector comes.
        return self if self.state.profiling else self._profiling

    @cached_property
    def _profiling(self) -> "PersonalModel":
        return PersonalModel(self.catalogue, replace(self.state, profiling=True))

    def at(self, state: State) -> "PersonalModel":
        """Return the model with another state of the person, which may differ in presses alone."""
        other = PersonalModel(self.catalogue, state)
        if {**self.taste, "presses": None} == {**other.taste, "presses": None}:
            vars(other)["learned"] = self.learned
        return other

    @cached_property
    def history(self) -> list[ItemId] | dict[ItemId, float]:
        """What the profile is made from: `viewed`, or nothing for a list without profile."""
        return self.viewed if self.state.profiling else []

    @cached_property
    def viewed(self) -> list[ItemId] | dict[ItemId, float]:
        """The viewed items that the model has, the latest last; by strength where one is not 1."""
        items, strengths = self.catalogue.model.items_, self.state.strengths
        places = ((i, items.find(i)) for i in self.state.history)
        known = {items[place]: i for i, place in places if place is not None}
        if not any(i in strengths for i in known.values()):
            return list(known)
        return {item: strengths.get(i, 1.0) for item, i in known.items()}

    @cached_property
    def presses(self) -> Mapping[Tag, int]:
        """The presses on tags that the model has, by their names of today; none without profile."""
        if not self.state.profiling:
            return {}
        net, known = net_presses(self.catalogue, self.state.presses), self.catalogue.tag_index
        return {tag: within_range(steps) for tag, steps in net.items() if tag in known}

    @cached_property
    def about(self) -> list[Tag]:
        """The facts about the person that the model has; none without profile."""
        parsed = map(Tag.parse, self.state.about if self.state.profiling else ())
        return [tag for tag in parsed if tag in self.catalogue.user_tag_index]

    @cached_property
    def steering(self) -> Steering:
        """The settings of the state that change scores; without profile there are none."""
        return Steering(balance=self.state.balance) if self.state.profiling else Steering()

    @property
    def taste(self) -> dict[str, Any]:
        """The arguments that most functions of the library take."""
        return {
            "history": self.history,
            "presses": self.presses,
            "about": self.about,
            "steering": self.steering,
        }

    @cached_property
    @measured("model")
    def profile(self) -> Profile:
        """The person's profile, presses included."""
        model = self.catalogue.model
        return model.pressed(self.learned, self.presses) if self.presses else self.learned

    @cached_property
    @measured("model")
    def learned(self) -> Profile:
        """The profile without the presses."""
        return self.catalogue.model.profile(
            self.history, about=self.about or None, steering=self.steering
        )

    @property
    def is_new(self) -> bool:
        """Whether nothing of the person is used, so that general appeal orders the list."""
        return not (self.history or self.presses or self.about)

    @property
    def can_balance(self) -> bool:
        """Whether the balance changes the list: viewed items count besides their tags."""
        return self.catalogue.model.has_remainder and bool(self.history)

    def affinity(self, tag: Tag) -> float:
        """Return the affinity with a tag, general appeal included."""
        return float(self.profile.values[self.catalogue.tag_index[tag]])

    @cached_property
    @measured("model")
    def scores(self) -> NDArray[np.float64]:
        """The score of every item, the boosts of the site included."""
        scores, placed = self.catalogue.model.scores(self.profile), self.catalogue.placed
        return scores if placed.boosts is None else placed.boosted(scores)

    @property
    def is_by_date(self) -> bool:
        """Whether dates order the list: it is without profile, and the newest come first."""
        chosen = not self.state.profiling and self.state.order == "newest"
        return chosen and self.catalogue.dates is not None

    @cached_property
    def hidden(self) -> Mask:
        """A mask of the items that are never shown, by themselves or by a tag."""
        model, tags = self.catalogue.model, known_tags(self.catalogue, self.state.hidden_tags)
        mask = ~matching_items(model, without=tags)
        places = (model.items_.find(item_id) for item_id in self.state.hidden)
        mask[[place for place in places if place is not None]] = True
        return mask

    @cached_property
    def left_out(self) -> Mask:
        """A mask of the items that no list has: hidden, or over."""
        return self.hidden | self.catalogue.over

    def is_hidden(self, item_id: ItemId) -> bool:
        """Return whether an item is never shown, by itself or by one of its tags."""
        place = self.catalogue.model.items_.find(item_id)
        return place is not None and bool(self.hidden[place])

    def shown(self, allowed: Mask | None = None) -> Mask:
        """Return a mask of the items that may be recommended: allowed, not hidden, not over."""
        mask = filter_mask(self.catalogue, self.state.filters) & ~self.left_out
        return mask if allowed is None else mask & allowed

    @measured("model")
    def rank(self, *, k: int = 12) -> NDArray[np.int64]:
        """Return the positions of the list: varied as the state says, of what may be shown."""
        mask = self.shown()
        if self.is_by_date:
            order = by_date(self.catalogue, self.catalogue.today)
            listed: NDArray[np.int64] = order[mask[order]][:k]
            return listed
        model, variety = self.catalogue.model, self.state.variety
        seen = [model.items_.index_of(i) for i in self.history]
        if not variety:
            return model.rank_items(self.scores, k=k, seen=seen, allowed=mask)
        return spread(model, self.scores, variety=variety, k=k, seen=seen, allowed=mask)

    def listed(self, *, k: int = 12) -> list[ItemId]:
        """Return the items of the list."""
        items = self.catalogue.model.items_
        return [items[i] for i in self.rank(k=k).tolist()]

    @measured("model")
    def entries(self, places: NDArray[np.int64]) -> Recommendations:
        """Return the items at some positions with match and reasons."""
        return self.catalogue.model.entries(
            places, self.profile, self.scores, placed=self.catalogue.placed
        )

    @cached_property
    @measured("model")
    def statements(self) -> list[Statement]:
        """What can be said of the person."""
        return statements(self.profile)

    def leans_to(self, tag: Tag) -> bool:
        """Return whether the leaning towards a tag is positive."""
        return float(self.profile.leaning_values[self.catalogue.tag_index[tag]]) > 0

    def count_in_history(self, tag: Tag) -> int:
        """Return how many items of the history have a tag."""
        return int(self._tags_in_history[self.catalogue.tag_index[tag]])

    @cached_property
    def _tags_in_history(self) -> NDArray[Any]:
        """How many items of the history have each tag."""
        return self.catalogue.model.tag_table_.carriers.count_in(
            np.array(self.learned.places, dtype=np.int64)
        )

    @measured("model")
    def likeness(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how alike items and those of the history are (items x history).

        It is the cosine of their tags and of the words of their titles, rare ones counting more,
        and a part of what their being chosen together tells.
        """
        seen = np.array(self.learned.places, dtype=np.int64)
        rows, companions = described(self.catalogue), self.catalogue.model.companions_
        found = np.asarray((rows[places] @ rows[seen].T).todense())
        if companions is not None and len(seen):
            bits = companions.bits(seen, places).T
            found += _TOGETHER * bits / np.maximum(1e-9, bits.max(axis=1, keepdims=True))
        return found

    @measured("model")
    def viewed_parts(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return what each item of the history adds to the scores of some items, in all."""
        return self.catalogue.model.viewed_parts(self.learned, places)

    @cached_property
    def scored(self) -> Scored:
        """The scores, from which matches follow."""
        return Scored(self.scores)


# How much one tag or word tells counts up to this: one actor of a film no more than its kind.
_MOST_BITS, _CIRCUMSTANCE = 4.5, 0.25
# The item that is most often chosen together with another, beyond all users, is so much more like.
_TOGETHER = 0.1
# Books name their series in brackets; films go on after a number or a colon.
_SERIES = re.compile(r"\(([^()#]{4,}?),? #[\d.]+")
_VOLUME = re.compile(r"(?:#| )(\d{1,3})\b")
_FURTHER = re.compile(r"(?:\s+(?:\d+|[ivx]{2,}|v)\b|[:²³]).*")
_BRACKETS = re.compile(r"\([^()]*\)")


@cached_per_catalogue(1)
def described(catalogue: Catalogue) -> sp.csr_array:
    """Return what metadata and titles say of each item, as rows of length 1 (items x terms).

    Where and when something is, or at what price, counts little.
    """
    table, n_items = catalogue.model.tag_table_, len(catalogue.model.items_)
    bits = [
        0.0
        if tag.discovered or tag in (POPULARITY, GENERAL)
        else min(_MOST_BITS, catalogue.bits(tag))
        * (_CIRCUMSTANCE if tag.is_place or tag.is_practical or tag.is_bare else 1.0)
        for tag in table.tags
    ]
    there = set[str]().union(*(long_words(tag.value) for tag in table.tags if tag.is_place))
    terms: list[set[Any]] = []
    for place in range(n_items):
        title = catalogue.model.title(place) or ""
        year = decade_of(catalogue, place)
        eras = set() if year is None else {("era", year // 20), ("era", (year + 10) // 20)}
        terms.append(
            (long_words(title) - there) | {("series", name) for name, _ in series_of(title)} | eras
        )
    index = {term: j for j, term in enumerate(dict.fromkeys(chain.from_iterable(terms)))}
    columns = np.array([index[term] for own in terms for term in own], dtype=np.int64)
    where = np.repeat(np.arange(n_items), [len(own) for own in terms])
    counts = np.bincount(columns, minlength=len(index))
    told = np.minimum(_MOST_BITS, np.log2(n_items / np.maximum(1, counts)))
    others = sp.csr_array((told[columns], (where, columns)), shape=(n_items, len(index)))
    rows = sp.csr_array(sp.hstack([table.carriers.items.T * np.array(bits), others], format="csr"))
    lengths = np.sqrt(np.asarray((rows * rows).sum(axis=1)).ravel())
    return sp.csr_array(sp.diags_array(1.0 / np.maximum(lengths, 1e-9)) @ rows)


def series_of(title: str) -> set[tuple[str, bool]]:
    """Return names of the series that an item may belong to, and whether its title says so.

    Examples
    --------
    >>> sorted(series_of("Cress (The Lunar Chronicles, #3)"))
    [('cress', False), ('the lunar chronicles', True)]
    >>> series_of("The Terminator")
    {('terminator', False)}
    """
    named = _BRACKETS.sub("", title.casefold()).strip().removeprefix("the ")
    stem = _FURTHER.sub("", named).strip()
    found = {(name.strip(), True) for name in _SERIES.findall(title.casefold())}
    return found | ({(stem, stem != named)} if len(stem) >= 4 else set())


def in_one_series(one: str, other: str) -> bool:
    """Return whether the titles of two items say that they belong to one series.

    Remakes and further editions of the same title do not.

    Examples
    --------
    >>> in_one_series("Star Trek IV: The Voyage Home", "Star Trek: Generations")
    True
    >>> in_one_series("Crash", "Crash")
    False
    """
    names = dict(series_of(one))
    return one.casefold() != other.casefold() and any(
        says or names[name] for name, says in series_of(other) if name in names
    )


def volumes_apart(one: str, other: str) -> float:
    """Return how far apart two titles of a series are; infinite without numbers.

    Examples
    --------
    >>> volumes_apart("Winter (The Lunar Chronicles, #4)", "Cress (The Lunar Chronicles, #3)")
    1.0
    """
    found = [_VOLUME.search(title) for title in (one, other)]
    first, second = (float(each[1]) if each else math.inf for each in found)
    return abs(first - second) if math.inf not in (first, second) else math.inf


@cached_per_catalogue(20_000)
def decade_of(catalogue: Catalogue, place: int) -> int | None:
    """Return the first year of the decade of an item, by a rule about years; None without one."""
    D, tags = catalogue.model.decoder_, catalogue.model.tags_
    years = {rule.name for rule in catalogue.model.rules_.tags if isinstance(rule, Year)}
    for column in D.indices[D.indptr[place] : D.indptr[place + 1]].tolist():
        value = tags[column].value.removesuffix("s")
        if tags[column].feature in years and value.isdecimal() and len(value) == 4:
            return int(value) // 10 * 10
    return None


def net_presses(catalogue: Catalogue, presses: Mapping[Any, int]) -> dict[Tag, int]:
    """Return the sums of presses by today's names of their tags, without those that cancel out."""
    net: dict[Tag, int] = {}
    for name, steps in presses.items():
        tag = catalogue.current_tag(name)
        net[tag] = net.get(tag, 0) + steps
    return {tag: steps for tag, steps in net.items() if steps}


@cached_per_catalogue(1)
def _dataset(catalogue: Catalogue) -> Dataset | None:
    """Return the data set that the model was fitted to; None if its folder cannot be used."""
    path = catalogue.model.dataset_path_
    try:
        return Dataset.load(path) if path is not None and Path(path).exists() else None
    except TeaserError as error:
        log.warning("the data set of the model cannot be used, so users begin anew: %s", error)
        return None


def known_history(catalogue: Catalogue, user_id: str) -> dict[ItemId, float]:
    """Return the strengths of what a user of the data chose; empty for anybody else."""
    dataset = _dataset(catalogue)
    if dataset is None or dataset.users.find(user_id) is None:
        return {}
    found = dataset.history(user_id)
    return dict(found) if isinstance(found, dict) else dict.fromkeys(found, 1.0)


def read_about(texts: Iterable[str], catalogue: Catalogue) -> list[str]:
    """Return facts about a person, spelled as in the model; empty texts are dropped.

    Raises
    ------
    ParameterError
        If the model was fitted without user features.
    UnknownNameError
        If the model does not have one of the tags.
    """
    given = [text for text in texts if text]
    index = catalogue.user_tag_index
    if given and not index:
        raise ParameterError(
            f"This model was fitted without user features, so {given[0]} cannot be used. "
            "Leave such facts out."
        )
    known = catalogue.model.user_tags_
    return list(dict.fromkeys(str(known[resolve_tag(text, index)]) for text in given))


def find_lift(model: Teaser, item_id: ItemId, **asked: Any) -> tuple[Lift | None, bool]:
    """Return the fewest presses that bring an item up, and whether the search came to an end.

    It is short, because it takes a whole core.
    """
    try:
        return smallest_presses(model, item_id, seconds=0.1, **asked), True
    except SearchTimeoutError:
        return None, False
