"""What pages show of feeds: their names, their filters as chips, and what ends by itself."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from teaser.app.i18n.texts import Texts
from teaser.app.pages.view.card_view import cached_card
from teaser.app.pages.view.clock import Clock, EndView
from teaser.app.pages.view.profile_view import tag_label
from teaser.app.pages.view.wish_view import describe_wish
from teaser.app.serving.catalogue import Catalogue
from teaser.app.state import MAIN, Ending, ListFilter, State
from teaser.data.matrix import ItemId
from teaser.data.tags import Tag
from teaser.words.wishes import Wish

# The hidden things, and the presses for now, that a page lists; it says how many more there are.
MAX_LISTED = 100


@dataclass(frozen=True, slots=True)
class FilterChip:
    """A condition of a list in words, and the conditions that remain without it, as JSON."""

    label: str
    rest: str


@dataclass(frozen=True, slots=True)
class FeedName:
    """The name of a feed, empty for the main list, and on screen."""

    name: str
    label: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class FeedView:
    """A feed and what it holds, in words."""

    feed: FeedName
    n_presses: int
    filters: tuple[str, ...]
    variety: float


@dataclass(frozen=True, slots=True)
class HiddenRow:
    """An item or a tag that is never shown, or not until a time.

    Attributes
    ----------
    field, value
        What a form sends to show it again.
    label
        Its name.
    tag
        The tag by its name of today; None for an item.
    end
        When it is shown again by itself, if ever.
    """

    field: str
    value: str
    label: str
    tag: Tag | None
    end: EndView | None


@dataclass(frozen=True, slots=True)
class EndingPress:
    """Presses that end by themselves; `value` takes them back now."""

    tag: Tag
    steps: int
    label: str
    end: EndView
    value: str


def feed_label(name: str, texts: Texts) -> str:
    """Return the name of a feed on screen."""
    return texts("For you") if name == MAIN else name


def feed_names(state: State, texts: Texts) -> list[FeedName]:
    """Return the names of a person's feeds, the main list first."""
    return [FeedName(n, feed_label(n, texts), n == state.feed) for n in state.feeds]


def feed_views(state: State, catalogue: Catalogue, texts: Texts, clock: Clock) -> list[FeedView]:
    """Return all feeds of a person with what they hold, the main list first."""
    return [
        FeedView(
            feed=named,
            n_presses=sum(map(abs, feed.presses.values())),
            filters=tuple(
                describe_wish(wish, catalogue, texts, clock.today)
                for wish in filter_wishes(feed.filters)
            ),
            variety=feed.variety,
        )
        for named, feed in zip(feed_names(state, texts), state.feeds.values(), strict=True)
    ]


def filter_wishes(filters: ListFilter) -> list[Wish]:
    """Return the conditions of a list one by one."""
    found = [Wish("only", tag) for tag in filters.only]
    found += [Wish("without", tag) for tag in filters.without]
    found += [Wish("at_most", name, number=bound) for name, bound in filters.at_most.items()]
    found += [Wish("at_least", name, number=bound) for name, bound in filters.at_least.items()]
    return found + ([Wish("when", filters.when)] if filters.when else [])


def without_wish(filters: ListFilter, wish: Wish) -> ListFilter:
    """Return the conditions of a list without one of them."""
    if wish.kind == "when":
        return replace(filters, when="")
    held: Any = getattr(filters, wish.kind)
    if isinstance(held, Mapping):
        left: Any = {name: bound for name, bound in held.items() if name != wish.name}
    else:
        left = tuple(tag for tag in held if tag != wish.name)
    return replace(filters, **{wish.kind: left})


def filter_chips(
    filters: ListFilter, catalogue: Catalogue, texts: Texts, clock: Clock
) -> list[FilterChip]:
    """Return the conditions of a list as chips that can be taken off."""
    return [
        FilterChip(
            describe_wish(wish, catalogue, texts, clock.today),
            filter_text(without_wish(filters, wish)),
        )
        for wish in filter_wishes(filters)
    ]


def filter_text(filters: ListFilter) -> str:
    """Return the conditions of a list as JSON, for a form."""
    return json.dumps(filters.to_json(), ensure_ascii=False, separators=(",", ":"))


def hidden_rows(
    state: State, catalogue: Catalogue, texts: Texts, clock: Clock, *, most: int | None = None
) -> list[HiddenRow]:
    """Return what the person does not want to see: tags, then items; at most so many."""
    tags = state.hidden_tags[:most]
    ends = {(e.is_item, e.name): e.until for e in state.ends if e.kind == "hide"}

    def end_of(is_item: bool, name: ItemId) -> EndView | None:
        until = ends.get((is_item, name))
        return None if until is None else clock.describe_end(until, texts)

    rows = []
    for text in tags:
        tag = _of_today(text, catalogue)
        label = tag_label(tag, catalogue, texts)
        rows.append(HiddenRow("unhide_tag", text, label, tag, end_of(False, text)))
    for item in state.hidden[: None if most is None else most - len(tags)]:
        known = item in catalogue.model.items_
        title = cached_card(catalogue, item).title if known else str(item)
        rows.append(HiddenRow("unhide", str(item), title, None, end_of(True, item)))
    return rows


def ending_presses(
    state: State, catalogue: Catalogue, texts: Texts, clock: Clock, *, most: int | None = None
) -> list[EndingPress]:
    """Return the presses of the current feed that end by themselves, the first to end first.

    `most` is the number of them to return, if not all.
    """
    found = []
    for ending in islice((end for end in state.ends if end.kind == "press"), most):
        tag = _of_today(str(ending.name), catalogue)
        label, end = tag_label(tag, catalogue, texts), clock.describe_end(ending.until, texts)
        found.append(EndingPress(tag, ending.steps, label, end, _taking_back(ending)))
    return found


def _of_today(text: str, catalogue: Catalogue) -> Tag:
    """Return a stored tag by its name of today; the model may not have it any more."""
    tag = Tag.parse(text)
    place = catalogue.tag_index.get(tag)
    return tag if place is None else catalogue.model.tags_[place]


def _taking_back(end: Ending) -> str:
    """Return the text of a form that takes presses back: their end, the steps, the tag."""
    return f"{end.until.isoformat(timespec='seconds')} {-end.steps:+d} {end.name}"
