"""The one path of an action, for the site and the API alike.

`act` lets the store call the decision, again if another action came first, so that two actions at
once give what one after the other would.
"""

from collections.abc import Callable, Iterable, Mapping

from teaser.app.catalogue import Catalogue, PersonalModel, read_about, read_filters, read_tags
from teaser.app.state import (
    Event,
    State,
    check,
    check_filters,
    checked_presses,
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
from teaser.errors import ParameterError
from teaser.profile import check_press

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
    if asked.kind not in _DECIDE:
        return asked
    return _DECIDE[asked.kind](state, asked, catalogue)


def _view(state: State, asked: Event, catalogue: Catalogue) -> Event:
    strength = {"strength": x} if (x := asked.data.get("strength", 1)) != 1 else {}
    return Event(asked.kind, {"item": _item(asked, catalogue), **strength})


def _remove(state: State, asked: Event, catalogue: Catalogue) -> Event:
    return Event(asked.kind, {"item": _stored_id(asked.data.get("item"), state.history)})


def _hide(state: State, asked: Event, catalogue: Catalogue) -> Event:
    if "tag" not in asked.data:
        return Event(asked.kind, {"item": _item(asked, catalogue), **_until(asked)})
    (tag,) = read_tags(catalogue, [str(asked.data["tag"])])
    return Event(asked.kind, {"tag": tag, **_until(asked)})


def _unhide(state: State, asked: Event, catalogue: Catalogue) -> Event:
    """Return what shows an item or a tag again; a tag may be hidden by several of its names."""
    if "tag" not in asked.data:
        return Event(asked.kind, {"item": _stored_id(asked.data.get("item"), state.hidden)})
    index = catalogue.tag_index
    tag = Tag.parse(str(asked.data["tag"]))
    place = index.get(tag)
    hidden = ((text, Tag.parse(text)) for text in state.hidden_tags)
    names = [
        text
        for text, known in hidden
        if known == tag or (place is not None and index.get(known) == place)
    ]
    parts = [Event(asked.kind, {"tag": name}) for name in names or [str(tag)]]
    return parts[0] if len(parts) == 1 else _combined(parts)


def _press(state: State, asked: Event, catalogue: Catalogue) -> Event | None:
    personal = PersonalModel(catalogue, state).own
    presses = current_presses(checked_presses(asked.data.get("presses")), catalogue)
    for tag, steps in presses.items():
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
    return None if not found else found[0] if len(found) == 1 else _combined(found)


def _filter(state: State, asked: Event, catalogue: Catalogue) -> Event:
    filters = check_filters(asked.data.get("filters"))
    found = read_filters(catalogue, filters, state.filters)
    return Event(asked.kind, {"filters": found.to_json()})


def _about(state: State, asked: Event, catalogue: Catalogue) -> Event:
    return Event(asked.kind, {"about": read_about(asked.data["about"], catalogue)})


def _make_feed(state: State, asked: Event, catalogue: Catalogue) -> Event:
    return Event(asked.kind, {**asked.data, "feed": feed_name(asked.data.get("feed"))})


def _of_feed(state: State, asked: Event, catalogue: Catalogue) -> Event:
    feed = find_feed(state, asked.data.get("feed"))
    name = {"name": feed_name(asked.data.get("name"))} if asked.kind == "rename_feed" else {}
    return Event(asked.kind, {"feed": feed, **name})


def _profiling(state: State, asked: Event, catalogue: Catalogue) -> Event:
    if asked.data.get("order") == "newest" and catalogue.dates is None:
        raise ParameterError(
            "This catalogue has no dates, so its newest items are not known. Take appeal."
        )
    return asked


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


_DECIDE: dict[str, Callable[[State, Event, Catalogue], Event | None]] = {
    "view": _view,
    "remove": _remove,
    "hide": _hide,
    "unhide": _unhide,
    "press": _press,
    "filter": _filter,
    "about": _about,
    "make_feed": _make_feed,
    "switch_feed": _of_feed,
    "rename_feed": _of_feed,
    "drop_feed": _of_feed,
    "profiling": _profiling,
    "import": _import,
    "several": _several,
}


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


def current_presses(presses: Mapping[Tag, int], catalogue: Catalogue) -> dict[Tag, int]:
    """Return presses by today's names of their tags; those that cancel out are left out."""
    net: dict[Tag, int] = {}
    for tag, steps in presses.items():
        current = catalogue.tag(tag)
        net[current] = net.get(current, 0) + steps
    return {tag: steps for tag, steps in net.items() if steps}


def _names_of(tags: Iterable[Tag], model: PersonalModel) -> dict[Tag, list[str]]:
    """Return the texts under which presses on each tag are stored; it may have been renamed."""
    index, state = model.catalogue.tag_index, model.state
    names: dict[int, list[str]] = {index[tag]: [] for tag in tags}
    ending = [str(end.name) for end in state.ends if end.kind == "press"]
    for text in dict.fromkeys((*state.presses, *state.permanent_presses, *ending)):
        place = index.get(Tag.parse(text))
        if place in names:
            names[place].append(text)
    return {tag: names[index[tag]] for tag in tags}


def _permanent(ends: Mapping[Tag, int], model: PersonalModel) -> list[Event]:
    """Return the events after which the net presses on each tag are as wanted, and last.

    Presses under earlier names move along: a tag may have been renamed, or several merged, since
    they were pressed. So the net presses are one number within bounds.

    Where presses the other way end later, more may be needed than can last: with -5 until Sunday,
    +1 for good needs +6 now. +5 of them last, and the sixth ends on Sunday too.
    """
    state, lasting = model.state, model.state.permanent_presses
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
    return sum(state.permanent_presses.get(name, 0) + state.temporary_steps(name) for name in names)


def effective_presses(model: PersonalModel, presses: Mapping[Tag, int]) -> dict[Tag, int]:
    """Return the steps on each tag as far as its range goes; a tag at its end is left out."""
    net = model.presses
    moved = {tag: within_range(net.get(tag, 0) + n) - net.get(tag, 0) for tag, n in presses.items()}
    return {tag: steps for tag, steps in moved.items() if steps}


def _stored_id(item: object, stored: Iterable[ItemId]) -> object:
    """Return the id in a state that has the same text; the catalogue need not have it."""
    return next((known for known in stored if str(known) == str(item)), item)
