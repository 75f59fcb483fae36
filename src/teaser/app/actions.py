"""The one path of an action, for the site and the API alike.

`act` lets the store call the decision, again if another action came first, so that two actions at
once give what one after the other would.
"""

from collections.abc import Iterable, Mapping

import numpy as np

from teaser.app.people.events import Event, State, checked_presses
from teaser.app.people.store import Decided, Store
from teaser.app.serving.catalogue import Catalogue
from teaser.app.serving.personal_model import PersonalModel, read_about
from teaser.data.ids import ItemId
from teaser.data.tagging.tag import Tag, resolve_tag
from teaser.profile import MAX_PRESSES, check_press
from teaser.profile import press as moved

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
    `PressRangeError`.
    """
    kind, data = asked.kind, asked.data
    if kind in ("view", "hide"):
        items = catalogue.model.items_
        strength = {"strength": x} if (x := data.get("strength", 1)) != 1 else {}
        return Event(kind, {"item": items[items.index_of(data.get("item"))], **strength})
    if kind == "remove":
        return Event(kind, {"item": _stored_id(data.get("item"), state.history)})
    if kind == "unhide":
        return Event(kind, {"item": _stored_id(data.get("item"), state.hidden)})
    if kind == "about":
        return Event(kind, {"about": read_about(data["about"], catalogue)})
    if kind == "press":
        personal = PersonalModel(catalogue, state)
        presses = current_presses(checked_presses(data.get("presses")), catalogue)
        for tag, steps in presses.items():
            if abs(steps) > 1:
                check_press(tag, personal.presses.get(tag, 0) + steps)
        texts = _under_current_names(effective_presses(personal, presses), personal)
        return Event(kind, {"presses": texts}) if texts else None
    return asked


def current_presses(presses: Mapping[Tag, int], catalogue: Catalogue) -> dict[Tag, int]:
    """Return presses by today's names of their tags; those that cancel out are left out."""
    net: dict[Tag, int] = {}
    for tag, steps in presses.items():
        current = catalogue.model.tags_[resolve_tag(tag, catalogue.tag_index)]
        net[current] = net.get(current, 0) + steps
    return {tag: steps for tag, steps in net.items() if steps}


def _under_current_names(presses: Mapping[Tag, int], model: PersonalModel) -> dict[str, int]:
    """Return presses as they are stored, by text; presses under earlier names move along.

    A tag may have been renamed, or several merged, since they were pressed. What is stored under
    the old names goes to today's name, so that the net presses are one number within bounds.
    """
    index = model.catalogue.tag_index
    names: dict[int, dict[str, int]] = {index[tag]: {} for tag in presses}
    for text, count in model.state.presses.items():
        place = index.get(Tag.parse(text))
        if place in names:
            names[place][text] = count
    texts: dict[str, int] = {}
    for tag, steps in presses.items():
        own = names[index[tag]]
        end = model.presses.get(tag, 0) + steps
        texts |= {text: -count for text, count in own.items() if text != str(tag)}
        texts[str(tag)] = end - own.get(str(tag), 0)
    return {text: steps for text, steps in texts.items() if steps}


def effective_presses(model: PersonalModel, presses: Mapping[Tag, int]) -> dict[Tag, int]:
    """Return the presses that move an affinity, with the steps that this takes.

    An affinity stops at a bound, and items viewed since may have carried it there. Presses that
    would move nothing are dropped. Presses that must first undo presses beyond the bound are
    extended by those.
    """
    index, learned = model.catalogue.tag_index, model.learned.values
    found = {}
    for tag, steps in presses.items():
        affinity = float(learned[resolve_tag(tag, index)])
        now = model.presses.get(tag, 0)
        moving = _moving_steps(affinity, now, steps, model.steering.step)
        if moving:
            found[tag] = moving
    return found


def _moving_steps(affinity: float, now: int, steps: int, step: float) -> int:
    """Return the steps, extended until the affinity moves; 0 if it cannot move that way."""
    direction = 1 if steps > 0 else -1
    # values[k + MAX_PRESSES] is the affinity after k net presses.
    every = range(-MAX_PRESSES, MAX_PRESSES + 1)
    values = moved(np.full(len(every), affinity), dict(enumerate(every)), step)
    end = max(-MAX_PRESSES, min(MAX_PRESSES, now + steps))
    while values[end + MAX_PRESSES] == values[now + MAX_PRESSES]:
        end += direction
        if abs(end) > MAX_PRESSES:
            return 0
    return end - now


def _stored_id(item: object, kept: Iterable[ItemId]) -> object:
    """Return the id in a state that has the same text; the catalogue need not have it."""
    return next((known for known in kept if str(known) == str(item)), item)
