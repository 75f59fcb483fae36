"""The one path of an action, for the site and the API alike; wishes are one action together.

`act` lets the store call the decision, again if another action came first, so that two actions at
once give what one after the other would.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from itertools import islice
from typing import Any

from teaser.app.catalogue import (
    Catalogue,
    PersonalModel,
    net_presses,
    read_about,
    read_filters,
    read_tags,
)
from teaser.app.state import (
    MAX_PRESS_TAGS,
    Event,
    ListFilter,
    State,
    check,
    check_filters,
    checked_presses,
    ending,
    feed_name,
    find_feed,
    parts_of,
    read_time,
    state_after,
    time_text,
    within_range,
)
from teaser.app.store import Decided, Store
from teaser.data.matrix import ItemId
from teaser.data.tags import Tag
from teaser.errors import LimitError, ParameterError
from teaser.profile import check_press
from teaser.steer.variation import start_presses
from teaser.words.wishes import Period, Wish, refuse_contradictions

# The most wishes that are applied together: on the site, over the API and by assistants.
MAX_WISHES = 50
_Action = tuple[str, dict[str, Any]]

LIMIT = "that is as far as it goes."
TAGS_OFF = (
    "Only people like you count now, so no press moves the list. "
    "Move the slider towards your tags first."
)


def act(store: Store, person_id: str, asked: Event, catalogue: Catalogue) -> Decided:
    """Make one action of a person and store it.

    Parameters
    ----------
    store
        Where the person's events are.
    person_id
        Whose action it is.
    asked
        The action, with items and tags named as the caller named them.
    catalogue
        Which items and tags there are.

    Returns
    -------
    Decided
        The states before and after; its event is None if the action was a press that moves
        nothing, which is not stored.

    Raises
    ------
    UnknownNameError
        If the catalogue does not have an item or a tag, or nobody has the id.
    ParameterError
        If the action is not possible in the person's state.
    """
    return store.decide(person_id, lambda state: decide(state, asked, catalogue))


def decide(state: State, asked: Event, catalogue: Catalogue) -> Event | None:
    """Return the event to store: names as the catalogue has them, presses that move something.

    A single press beyond the range moves nothing; several at once are refused with
    `LimitError`. Names that the catalogue does not have are refused, unless they are taken
    back, or were in the filters before, or are in what is copied or imported.
    """
    data, kind = asked.data, asked.kind
    match kind:
        case "view":
            strength = {"strength": x} if (x := data.get("strength", 1)) != 1 else {}
            return Event(kind, {"item": _item(asked, catalogue), **strength})
        case "remove":
            return Event(kind, {"item": _stored_id(data.get("item"), state.history)})
        case "hide" if "tag" in data:
            (tag,) = read_tags(catalogue, [str(data["tag"])])
            return Event(kind, {"tag": tag, **_until(asked)})
        case "hide":
            return Event(kind, {"item": _item(asked, catalogue), **_until(asked)})
        case "unhide" if "tag" in data:
            return _unhide_tag(state, Tag.parse(str(data["tag"])), catalogue)
        case "unhide":
            return Event(kind, {"item": _stored_id(data.get("item"), state.hidden)})
        case "press":
            return _press(state, asked, catalogue)
        case "filter":
            found = read_filters(catalogue, check_filters(data.get("filters")), state.filters)
            return Event(kind, {"filters": found.to_json()})
        case "about":
            return Event(kind, {"about": read_about(data["about"], catalogue)})
        case "make_feed":
            return Event(kind, {**data, "feed": feed_name(data.get("feed"))})
        case "switch_feed" | "rename_feed" | "drop_feed":
            name = {"name": feed_name(data.get("name"))} if kind == "rename_feed" else {}
            return Event(kind, {"feed": find_feed(state, data.get("feed")), **name})
        case "profiling" if data.get("order") == "newest" and catalogue.dates is None:
            raise ParameterError(
                "This catalogue has no dates, so its newest items are not known. Take appeal."
            )
        case "import":
            return _import(state, asked, catalogue)
        case "several":
            return _several(state, asked, catalogue)
    return asked


def _unhide_tag(state: State, tag: Tag, catalogue: Catalogue) -> Event:
    """Return what shows a tag again, which may be hidden by several of its names."""
    current = catalogue.current_tag(tag)
    names = [text for text in state.hidden_tags if catalogue.current_tag(text) == current]
    return _one([Event("unhide", {"tag": name}) for name in names or [str(tag)]])


def _press(state: State, asked: Event, catalogue: Catalogue) -> Event | None:
    personal = PersonalModel(catalogue, state).own
    presses = net_presses(catalogue, checked_presses(asked.data.get("presses")))
    for tag, steps in presses.items():
        catalogue.tag(tag)  # the catalogue must have it
        if abs(steps) > 1:
            check_press(tag, personal.presses.get(tag, 0) + steps)
    moving = effective_presses(personal, presses)
    ends = {tag: personal.presses.get(tag, 0) + steps for tag, steps in moving.items()}
    if until := _until(asked):
        names = _names_of(ends, personal)
        texts = {str(tag): end - _total(names[tag], state) for tag, end in ends.items()}
        found = [Event("press", {"presses": {t: n for t, n in texts.items() if n}, **until})]
    else:
        found = _permanent(ends, personal)
    found = [event for event in found if event.data["presses"]]
    return _one(found) if found else None


def _import(state: State, asked: Event, catalogue: Catalogue) -> Event:
    """Return an import whose items are those of the catalogue, where it has them."""
    check(state, asked)
    items, given = catalogue.model.items_, asked.data["state"]

    def spelled(name: ItemId) -> ItemId:
        place = items.find(name)
        return name if place is None else items[place]

    known = {part: [(spelled(n), x) for n, x in given[part]] for part in ("history", "hidden")}
    return Event(asked.kind, {"state": {**given, **known}})


def _several(state: State, asked: Event, catalogue: Catalogue) -> Event | None:
    """Return the actions that change something, each decided on the state after those before."""
    found = []
    for part in parts_of(asked):
        decided = decide(state, part, catalogue)
        for event in parts_of(decided) if decided else ():
            check(state, event)
            state = state_after(state, event)
            found.append(event)
    return _combined(found) if found else None


def _one(events: Sequence[Event]) -> Event:
    """Return an event alone as it is, and several as one."""
    return events[0] if len(events) == 1 else _combined(events)


def _combined(events: Iterable[Event]) -> Event:
    return Event("several", {"actions": [[event.kind, dict(event.data)] for event in events]})


def _until(asked: Event) -> dict[str, str]:
    """Return when an action ends, as it is stored."""
    until = asked.data.get("until")
    return {} if until is None else {"until": time_text(read_time(until))}


def _item(asked: Event, catalogue: Catalogue) -> ItemId:
    items = catalogue.model.items_
    found: ItemId = items[items.index_of(asked.data.get("item"))]
    return found


def _names_of(tags: Iterable[Tag], model: PersonalModel) -> dict[Tag, list[str]]:
    """Return the texts under which presses on each tag are stored; it may have been renamed."""
    state, names = model.state, {tag: list[str]() for tag in tags}
    ending = [str(end.name) for end in state.ends if end.kind == "press"]
    for text in dict.fromkeys((*state.presses, *state.permanent, *ending)):
        tag = model.catalogue.current_tag(text)
        if tag in names:
            names[tag].append(text)
    return names


def _permanent(ends: Mapping[Tag, int], model: PersonalModel) -> list[Event]:
    """Return the events after which the net presses on each tag are as wanted, and last.

    Presses under earlier names move along: a tag may have been renamed, or several merged, since
    they were pressed. So the net presses are one number within bounds.

    Where presses the other way end later, more may be needed than can last: with -5 until Sunday,
    +1 for good needs +6 now. +5 of them last, and the sixth ends on Sunday too.
    """
    state, lasting = model.state, model.state.permanent
    texts: dict[str, int] = {}
    temporary: dict[str, dict[str, int]] = {}
    for tag, names in _names_of(ends, model).items():
        wanted = ends[tag] - sum(map(state.temporary_steps, names))
        net = within_range(wanted)
        texts |= {text: -lasting.get(text, 0) for text in names if text != str(tag)}
        texts[str(tag)] = net - lasting.get(str(tag), 0)
        if beyond := wanted - net:
            until = max(e.until for e in state.ends if e.name in names and e.steps * beyond < 0)
            temporary.setdefault(time_text(until), {})[str(tag)] = beyond
    found = [Event("press", {"presses": {text: n for text, n in texts.items() if n}})]
    return found + [
        Event("press", {"presses": presses, "until": until}) for until, presses in temporary.items()
    ]


def _total(names: Iterable[str], state: State) -> int:
    """Return all presses on a tag, also beyond the range of net presses."""
    return sum(state.permanent.get(name, 0) + state.temporary_steps(name) for name in names)


def effective_presses(model: PersonalModel, presses: Mapping[Tag, int]) -> dict[Tag, int]:
    """Return the steps on each tag as far as its range goes; a tag at its end is left out."""
    net = model.presses
    moved = {tag: within_range(net.get(tag, 0) + n) - net.get(tag, 0) for tag, n in presses.items()}
    return {tag: steps for tag, steps in moved.items() if steps}


def _stored_id(item: object, stored: Iterable[ItemId]) -> object:
    """Return the id in a state that has the same text; the catalogue need not have it."""
    return next((known for known in stored if str(known) == str(item)), item)


# Wishes


def check_n_wishes(n: int) -> None:
    """Raise `LimitError` for more wishes than apply together."""
    if n > MAX_WISHES:
        raise LimitError(
            "{n:,} wishes are too many at once; at most {limit} apply together. Say it in parts.",
            problem="wishes",
            n=n,
            limit=MAX_WISHES,
        )


def event_of(
    wishes: Iterable[Wish], state: State, catalogue: Catalogue, *, now: datetime | None = None
) -> Event:
    """Return the action that some wishes are together; it is one step of undo.

    Presses go as far as their tags go. Conditions come to those of the current feed; one that the
    feed has and that a new one contradicts makes way. Of two bounds among the wishes on one side
    of a column, and of two periods that share days, both hold: the tighter bound, the shared days.

    Parameters
    ----------
    wishes
        What is wished, at least one wish.
    state
        The person's present state.
    catalogue
        Which items and tags there are.
    now
        The present by default.

    Raises
    ------
    UnknownNameError
        If the catalogue does not have a tag, an item or a column.
    LimitError
        If there are more than `MAX_WISHES`.
    ParameterError
        If there is no wish, or if two of them cannot both hold.
    """
    each = tuple(dict.fromkeys(wishes))
    if not each:
        raise ParameterError("Nothing is wished. Say at least one thing.")
    check_n_wishes(len(each))
    zone = catalogue.zone
    today = (now or datetime.now(zone)).astimezone(zone).date()
    refuse_contradictions(each, today=today)
    actions: list[_Action] = []
    filters = _with_wishes(each, state.filters, today)
    if filters != state.filters:
        actions.append(("filter", {"filters": filters.to_json()}))
    for wish in each:
        if wish.kind == "never":
            actions.append(("hide", {"tag": wish.name, **ending(wish.lasts, zone, now=now)}))
        elif wish.kind == "variety":
            actions.append(("vary", {"variety": wish.number}))
    for lasts, presses in _wished_presses(each, state, catalogue).items():
        ends = ending(lasts, zone, now=now)
        left = iter(presses.items())
        while part := dict(islice(left, MAX_PRESS_TAGS)):
            actions.append(("press", {"presses": part, **ends}))
    if not actions:  # all of it is in the filters already
        actions.append(("filter", {"filters": filters.to_json()}))
    return Event("several", {"actions": [list(action) for action in actions]})


def decide_wishes(wishes: Iterable[Wish], state: State, catalogue: Catalogue) -> Event | None:
    """Return the event that applies wishes to what holds now; None if they move nothing."""
    return decide(state, event_of(wishes, state, catalogue), catalogue)


def _with_wishes(wishes: Sequence[Wish], current: ListFilter, today: date) -> ListFilter:
    """Return the conditions of a list with those of wishes."""
    only, without = dict.fromkeys(current.only), dict.fromkeys(current.without)
    at_most, at_least = dict(current.at_most), dict(current.at_least)
    # The loosest bound first, so that the tightest one stays.
    for wish in sorted(wishes, key=_tightness):
        number = wish.number or 0.0
        if wish.kind in ("only", "without"):
            own, opposite = (only, without) if wish.kind == "only" else (without, only)
            opposite.pop(wish.name, None)
            own[wish.name] = None
        elif wish.kind == "at_most":
            at_most[wish.name] = number
            if at_least.get(wish.name, number) > number:
                del at_least[wish.name]
        elif wish.kind == "at_least":
            at_least[wish.name] = number
            if at_most.get(wish.name, number) < number:
                del at_most[wish.name]
    periods = [wish.name for wish in wishes if wish.kind == "when"]
    when = _shared_days(periods, today) if periods else current.when
    return ListFilter(tuple(only), tuple(without), at_most, at_least, when)


def _tightness(wish: Wish) -> float:
    """Return a number that grows as a bound becomes tighter; 0 for other wishes."""
    number = wish.number or 0.0
    return {"at_most": -number, "at_least": number}.get(wish.kind, 0.0)


def _shared_days(periods: Sequence[str], today: date) -> str:
    """Return the days that all periods have, as the period among them that has no others."""
    days = [Period.parse(period).days(today) for period in periods]
    first = max((day for day, _ in days if day is not None), default=None)
    last = min((day for _, day in days if day is not None), default=None)
    if (first, last) in days:
        return periods[days.index((first, last))]
    return str(Period("", first, last))


def _wished_presses(
    wishes: Iterable[Wish], state: State, catalogue: Catalogue
) -> dict[str, dict[str, int]]:
    """Return the steps on each tag by how long they last, as far as its range goes.

    One step stays for a tag at its limit, so that the visitor is told.
    """
    wanted: dict[str, Counter[Tag]] = {}
    for wish in wishes:
        if wish.kind == "press":
            pressed = {catalogue.tag(Tag.parse(wish.name)): wish.steps}
            wanted.setdefault(wish.lasts, Counter()).update(pressed)
        elif wish.kind == "like":
            start = start_presses(catalogue.model, wish.name)
            wanted.setdefault("always", Counter()).update(start)
    net = dict(PersonalModel(catalogue, state).own.presses)
    found: dict[str, dict[str, int]] = {}
    for lasts, presses in wanted.items():
        for tag, steps in presses.items():
            if steps:
                now = net.get(tag, 0)
                net[tag] = within_range(now + steps)
                least = 1 if steps > 0 else -1
                found.setdefault(lasts, {})[str(tag)] = net[tag] - now or least
    return found
