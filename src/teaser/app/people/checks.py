"""Whether an event is possible in a state."""

import math
from collections.abc import Callable, Mapping
from typing import Any, get_args

from teaser.app.people.events import KINDS, WHOLE_KINDS, Event, facts_of, parts_of, read_time
from teaser.app.people.fold import state_after
from teaser.app.people.state import MAIN, ListFilter, Order, State
from teaser.app.people.values import FeedValues, Values
from teaser.data.tags import Tag
from teaser.errors import (
    FeedExistsError,
    FeedLimitError,
    FeedNameError,
    ImportedFileError,
    NotHiddenError,
    NothingToRedoError,
    NothingToUndoError,
    NotInHistoryError,
    ParameterError,
    PressRangeError,
    StateLimitError,
    TagNotHiddenError,
    TeaserError,
    UnknownFeedError,
    closest_names,
    shortened,
)
from teaser.profile import MAX_PRESSES, check_press
from teaser.words.wishes import MAX_BOUND, Period

MAX_ABOUT = 200
MAX_PRESS_TAGS = 20
MAX_STRENGTH = 1e9
MAX_FEEDS = 20
MAX_FEED_NAME = 60
MAX_FILTER_TAGS = 50
MAX_ACTIONS = 100
# The most that is kept for a person, by kind: with more, pages would be slow.
LIMITS = {
    "viewed items": 10_000,
    "pressed tags": 2_000,
    "hidden items": 1_000,
    "hidden tags": 1_000,
    "things that end by themselves": 200,
    "feeds": MAX_FEEDS,
}
_GROWING = ("view", "press", "hide", "make_feed")
_ITEM_KINDS = ("view", "remove", "hide", "unhide")
_FILTER_PARTS = ("only", "without", "at_most", "at_least", "when")


def check(state: State, event: Event) -> None:
    """Raise `ParameterError` if the event is not possible in this state."""
    if event.kind not in KINDS:
        raise ParameterError(f"Unknown action {event.kind!r}. Known: {', '.join(KINDS)}.")
    if event.kind in _ITEM_KINDS and "tag" not in event.data:
        _check_item(event.data.get("item"), event.kind)
    if event.kind in _CHECKS:
        _CHECKS[event.kind](state, event.data)
    if "until" in event.data:
        read_time(event.data["until"])
    if event.kind in _GROWING:
        _check_growth(state, event)


def counts_of(state: State) -> dict[str, int]:
    """Return how much of each kind in `LIMITS` there is in a state, in all of its feeds."""
    feeds = {**state.feeds, state.feed: state.current}.values()
    n_pressed = sum(len(f.presses if f.lasting is None else f.lasting) for f in feeds)
    hidden_for_now = sum(end.kind == "hide" for end in state.ends)
    return {
        "viewed items": len(state.history),
        "pressed tags": n_pressed,
        "hidden items": len(state.hidden),
        "hidden tags": len(state.hidden_tags),
        "things that end by themselves": hidden_for_now + sum(len(feed.ends) for feed in feeds),
        "feeds": len(feeds) - 1,
    }


def checked_presses(presses: Any) -> dict[Tag, int]:
    """Return the steps of a press by tag.

    Raises
    ------
    ParameterError
        Unless there are 1 to `MAX_PRESS_TAGS` tags, and each has a whole number of steps other than
        0.
    """
    if isinstance(presses, Mapping):
        _check_n_tags(len(presses))
    return _steps_by_tag(presses)


def feed_name(name: Any) -> str:
    """Return a name for a feed, with single spaces.

    Raises
    ------
    FeedNameError
        Unless it has 1 to `MAX_FEED_NAME` letters that can be printed.
    """
    found = " ".join(name.split()) if isinstance(name, str) else ""
    if not 0 < len(found) <= MAX_FEED_NAME or not found.isprintable():
        raise FeedNameError(name, MAX_FEED_NAME)
    return found


def find_feed(state: State, name: Any) -> str:
    """Return the name of a feed as it is stored; upper and lower case are the same.

    Raises
    ------
    UnknownFeedError
        If the person has no such feed.
    """
    if name == MAIN:
        return MAIN
    named = {known.casefold(): known for known in state.feeds if known != MAIN}
    wanted = " ".join(name.split()).casefold() if isinstance(name, str) else ""
    if wanted not in named:
        raise UnknownFeedError(name, closest_names(str(name), named.values()))
    return named[wanted]


def check_filters(filters: Any) -> ListFilter:
    """Return conditions on a list, given as they are stored.

    Raises
    ------
    ParameterError
        If they are no conditions.
    """
    if not isinstance(filters, Mapping):
        raise ParameterError(
            f"filters must be an object of conditions, found {shortened(repr(filters))}."
        )
    for part in filters:
        if part not in _FILTER_PARTS:
            known = ", ".join(_FILTER_PARTS)
            raise ParameterError(f"filters has no part {shortened(part)!r}. It has {known}.")
    for part in ("only", "without"):
        _check_tags(part, filters.get(part, ()), MAX_FILTER_TAGS)
    for part in ("at_most", "at_least"):
        _check_bounds(part, filters.get(part, {}))
    when = filters.get("when", "")
    if not isinstance(when, str):
        raise ParameterError(f"when must be a period as a text, found {shortened(repr(when))}.")
    if when:
        Period.parse(when)
    found = ListFilter.of_json(filters)
    if both := sorted(set(found.only) & set(found.without)):
        raise ParameterError(
            f"The filters want only {shortened(both[0])} and nothing of it. Take one off."
        )
    for column, least in found.at_least.items():
        if least > found.at_most.get(column, math.inf):
            most = found.at_most[column]
            raise ParameterError(
                f"The filters want {shortened(column)} from {least:g} "
                f"and up to {most:g}, which is nothing."
            )
    return found


def check_actions(data: Mapping[str, Any]) -> None:
    """Raise `ParameterError` unless the data of a `several` are actions that can be part of one."""
    actions = data.get("actions")
    if not isinstance(actions, list | tuple) or not 0 < len(actions) <= MAX_ACTIONS:
        raise ParameterError(f"One step can have 1 to {MAX_ACTIONS} actions.")
    for pair in actions:
        if not (isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[1], Mapping)):
            raise ParameterError(
                f"Each of several actions has a kind and data, found {shortened(repr(pair))}."
            )
        if pair[0] in WHOLE_KINDS:
            raise ParameterError(f"{pair[0]!r} cannot be one of several actions.")


def _check_growth(state: State, event: Event) -> None:
    """Check that an action leaves as much as can be kept; what was more before may stay."""
    before = counts_of(state)
    # One action adds few things, but for a copy of a feed.
    if event.kind == "make_feed" or any(2 * n > LIMITS[kind] for kind, n in before.items()):
        _check_counts(state_after(state, event), before)


def _check_counts(state: State, before: Mapping[str, int]) -> None:
    for kind, n in counts_of(state).items():
        if n > max(LIMITS[kind], before.get(kind, 0)):
            raise StateLimitError(kind, n, LIMITS[kind])


def _check_item(item: Any, kind: str) -> None:
    if not isinstance(item, int | str) or isinstance(item, bool):
        raise ParameterError(f"The action {kind!r} needs an item.")


def _check_view(state: State, data: Mapping[str, Any]) -> None:
    strength = data.get("strength", 1)
    if not _is_number(strength) or not 0 < abs(strength) <= MAX_STRENGTH:
        raise ParameterError(
            f"The strength of a view must be a number other than 0 within {MAX_STRENGTH:g} of it, "
            f"found {strength!r}. It is 1 by default, and below 0 for a disliked item."
        )


def _check_remove(state: State, data: Mapping[str, Any]) -> None:
    if data.get("item") not in state.history:
        raise NotInHistoryError(data.get("item"))


def _check_hide(state: State, data: Mapping[str, Any]) -> None:
    if "tag" in data:
        _check_tags("tag", [data["tag"]], 1)


def _check_unhide(state: State, data: Mapping[str, Any]) -> None:
    _check_hide(state, data)
    if "tag" in data and data["tag"] not in state.hidden_tags:
        raise TagNotHiddenError(data["tag"])
    if "tag" not in data and data["item"] not in state.hidden:
        raise NotHiddenError(data["item"])


def _check_press(state: State, data: Mapping[str, Any]) -> None:
    """Check presses as they are to be stored.

    Presses on earlier names of a tag are taken back in the same event, so those that end at 0 are
    not counted.
    """
    # One action may take back presses the other way: more than MAX_PRESSES steps.
    presses = _steps_by_tag(data.get("presses"))
    if "until" in data:
        for tag, steps in presses.items():
            _check_passing(str(tag), state.passing_steps(str(tag)) + steps)
        _check_n_tags(len(presses))
        return
    lasting = state.lasting_presses
    ends = [check_press(tag, lasting.get(str(tag), 0) + n) for tag, n in presses.items()]
    _check_n_tags(sum(end != 0 for end in ends))


def _check_vary(state: State, data: Mapping[str, Any]) -> None:
    _check_share("variety", data.get("variety"))


def _check_balance(state: State, data: Mapping[str, Any]) -> None:
    _check_share("balance", data.get("balance"))


def _check_about(state: State, data: Mapping[str, Any]) -> None:
    _check_tags("about", facts_of(data), MAX_ABOUT)


def _check_filter(state: State, data: Mapping[str, Any]) -> None:
    check_filters(data.get("filters"))


def _check_make_feed(state: State, data: Mapping[str, Any]) -> None:
    _check_new_name(state, data.get("feed"))
    if len(state.feeds) > MAX_FEEDS:  # the main list is one of them
        raise FeedLimitError(MAX_FEEDS)
    if data.get("copy") is not None:
        _check_feed(data["copy"])


def _check_known_feed(state: State, data: Mapping[str, Any]) -> None:
    if data.get("feed") not in state.feeds:
        find_feed(state, data.get("feed"))


def _check_own_feed(state: State, data: Mapping[str, Any]) -> None:
    _check_known_feed(state, data)
    if data["feed"] == MAIN:
        raise ParameterError("The main list stays as it is: it has no name and cannot be dropped.")


def _check_rename(state: State, data: Mapping[str, Any]) -> None:
    _check_own_feed(state, data)
    _check_new_name(state, data.get("name"), but=data["feed"])


def _check_profiling(state: State, data: Mapping[str, Any]) -> None:
    if not isinstance(data.get("on"), bool):
        raise ParameterError(f"on must be true or false, found {data.get('on')!r}.")
    if data.get("order", "appeal") not in get_args(Order):
        known = " or ".join(get_args(Order))
        raise ParameterError(f"order must be {known}, found {data['order']!r}.")


def _check_several(state: State, data: Mapping[str, Any]) -> None:
    check_actions(data)
    for part in parts_of(Event("several", data)):
        check(state, part)
        state = state_after(state, part)


def _check_import(state: State, data: Mapping[str, Any]) -> None:
    try:
        values = Values.of_json(data["state"])
        _check_values(values)
        for _, feed in data["state"]["feeds"]:
            _check_feed(feed)
        _check_counts(values.state_at(None), {})
    except StateLimitError:
        raise  # it is an export, and as large as it is
    except TeaserError as error:
        raise ImportedFileError(str(error)) from None
    except (LookupError, TypeError, ValueError, AttributeError):
        raise ImportedFileError("It lacks a part, or a part has another form.") from None


def _check_undo(state: State, data: Mapping[str, Any]) -> None:
    if state.undoable is None:
        raise NothingToUndoError


def _check_redo(state: State, data: Mapping[str, Any]) -> None:
    if state.redoable is None:
        raise NothingToRedoError


_CHECKS: dict[str, Callable[[State, Mapping[str, Any]], None]] = {
    "view": _check_view,
    "remove": _check_remove,
    "press": _check_press,
    "hide": _check_hide,
    "unhide": _check_unhide,
    "vary": _check_vary,
    "balance": _check_balance,
    "about": _check_about,
    "filter": _check_filter,
    "make_feed": _check_make_feed,
    "switch_feed": _check_known_feed,
    "rename_feed": _check_rename,
    "drop_feed": _check_own_feed,
    "profiling": _check_profiling,
    "several": _check_several,
    "import": _check_import,
    "undo": _check_undo,
    "redo": _check_redo,
}


def _check_values(values: Values) -> None:
    """Check what an import would store, but for its feeds."""
    for strength in values.history.values():
        _check_view(State(), {"strength": strength})
    for item in (*values.history, *values.hidden):
        _check_item(item, "import")
    _check_tags("hidden_tags", list(values.hidden_tags))
    _check_tags("about", values.about, MAX_ABOUT)
    _check_profiling(State(), {"on": values.profiling, "order": values.order})
    names = [name for name in values.feeds if name != MAIN]
    if values.feed not in values.feeds or next(iter(values.feeds)) != MAIN:
        raise ParameterError("It lacks its main list or its current one.")
    for name in names:
        if feed_name(name) != name:
            raise FeedNameError(name, MAX_FEED_NAME)
    if len({name.casefold() for name in names}) < len(names):
        raise ParameterError("Two of its lists have one name.")


def _check_feed(data: Any) -> None:
    """Check a feed as it is stored."""
    if not isinstance(data, Mapping):
        raise ParameterError(
            f"A list to begin with must be an object, found {shortened(repr(data))}."
        )
    presses = data.get("presses", {})
    if presses:
        _check_tags("presses", list(presses))
        if any(isinstance(n, bool) or not isinstance(n, int) for n in presses.values()):
            raise ParameterError("Presses must be whole numbers.")
        for tag, steps in presses.items():
            check_press(tag, steps)
    _check_share("variety", data.get("variety", 0.0))
    _check_share("balance", data.get("balance", 0.0))
    check_filters(data.get("filters", {}))
    feed = FeedValues.of_json(data)
    _check_tags("passing", [tag for tag, _ in feed.passing])
    for (tag, _), steps in feed.passing.items():
        _check_passing(tag, steps)


def _check_new_name(state: State, name: Any, *, but: str = MAIN) -> None:
    """Check a name that a feed is to have; `but` is the one that it has."""
    if feed_name(name) != name:
        raise FeedNameError(name, MAX_FEED_NAME)
    if any(n.casefold() == name.casefold() for n in state.feeds if n not in (MAIN, but)):
        raise FeedExistsError(name)


def _steps_by_tag(presses: Any) -> dict[Tag, int]:
    if not isinstance(presses, Mapping) or not presses:
        raise ParameterError("A press needs a tag and a number of steps.")
    for tag, steps in presses.items():
        if isinstance(steps, bool) or not isinstance(steps, int) or steps == 0:
            raise ParameterError(
                f"A press on {shortened(tag)} needs a whole number of steps other than 0, found "
                f"{shortened(repr(steps))}."
            )
    return {Tag.parse(str(tag)): steps for tag, steps in presses.items()}


def _check_passing(tag: str, steps: int) -> None:
    """Check presses that end: they may lead from one end of the range to the other."""
    if abs(steps) > 2 * MAX_PRESSES:
        raise PressRangeError(tag, steps, 2 * MAX_PRESSES)


def _check_n_tags(n: int) -> None:
    if n > MAX_PRESS_TAGS:
        raise ParameterError(
            f"One action can press at most {MAX_PRESS_TAGS} tags, found {n}. Press them in parts."
        )


def _check_tags(name: str, tags: Any, most: float = math.inf) -> None:
    if not isinstance(tags, list | tuple):
        raise ParameterError(f"{name} must be a list of tags, which may be empty.")
    if len(tags) > most:
        raise ParameterError(f"{name} can hold at most {most} tags, found {len(tags)}.")
    for text in tags:
        if not isinstance(text, str):
            raise ParameterError(f"A tag is a text, found {shortened(repr(text))}.")
        Tag.parse(text)


def _check_bounds(name: str, bounds: Any) -> None:
    if not isinstance(bounds, Mapping) or len(bounds) > MAX_FILTER_TAGS:
        raise ParameterError(f"{name} must give at most {MAX_FILTER_TAGS} columns a number each.")
    for column, bound in bounds.items():
        if not isinstance(column, str) or not _is_number(bound) or not abs(bound) <= MAX_BOUND:
            raise ParameterError(
                f"{name} of {shortened(column)} must be a number from {-MAX_BOUND:g} to "
                f"{MAX_BOUND:g}, found {shortened(repr(bound))}."
            )


def _check_share(name: str, value: Any) -> None:
    if not _is_number(value) or not 0 <= value <= 1:
        raise ParameterError(f"{name} must be from 0 to 1, found {shortened(repr(value))}.")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
