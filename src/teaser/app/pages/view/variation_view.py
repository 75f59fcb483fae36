"""Like this, but ...: the tags of an item as a form, and the presses that come of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from teaser.app.actions import decide
from teaser.app.serving.catalogue import Card
from teaser.app.serving.personal_model import PersonalModel
from teaser.app.state import Event, state_after
from teaser.data.matrix import ItemId
from teaser.data.tags import Tag, resolve_tag
from teaser.errors import ParameterError
from teaser.profile import MAX_PRESSES
from teaser.steer import vary_item

# What a form says of a tag that is left out.
LEFT_OUT = ""
# The tags of an item that a form shows; those that it does not show stay as they are.
MAX_CHOICES = 40


@dataclass(frozen=True, slots=True)
class TagChoice:
    """A tag of the item: what can take its place, and what does; None if it is left out."""

    tag: Tag
    options: Sequence[Tag]
    chosen: Tag | None


@dataclass(frozen=True, slots=True)
class VariationView:
    """What the changes come to.

    Attributes
    ----------
    presses
        The steps on each tag; presses that move nothing are not among them.
    event
        The action that makes the presses; None if there is none to make.
    after
        The model with the visitor's state after it.
    """

    presses: Mapping[Tag, int]
    event: Event | None
    after: PersonalModel


def tag_choices(
    card: Card, options: Mapping[str, Sequence[Tag]], changes: Mapping[Tag, Tag | None]
) -> list[TagChoice]:
    """Return the tags of an item with what can take their place.

    `options` are the tags to choose from, by feature. The item's own tag is always one of them,
    and so is a tag that was chosen. Only the first `MAX_CHOICES` are returned.
    """
    found = []
    tags = (Tag(feature, value) for feature, values in card.facts.items() for value in values)
    for tag in islice(tags, MAX_CHOICES):
        chosen = changes.get(tag, tag)
        known = list(options.get(tag.feature, ()))
        known += [other for other in (tag, chosen) if other and other not in known]
        found.append(TagChoice(tag, known, chosen))
    return found


def read_changes(
    tags: Sequence[str], others: Sequence[str], personal: PersonalModel
) -> dict[Tag, Tag | None]:
    """Return the changes that a form asks for: those tags of the item that are not kept.

    Parameters
    ----------
    tags, others
        For each tag of the item the tag in its place: the same, another, or `LEFT_OUT`.

    Raises
    ------
    ParameterError
        Unless each tag has one in its place.
    UnknownTagError
        If the model does not have a tag.
    """
    if len(tags) != len(others):
        raise ParameterError(
            f"Each tag needs one in its place: found {len(tags)} and {len(others)}. "
            "Use the form of the page."
        )
    changes: dict[Tag, Tag | None] = {}
    for text, other in zip(tags, others, strict=True):
        tag = _known(text, personal)
        new = None if other == LEFT_OUT else _known(other, personal)
        if new != tag:
            changes[tag] = new
    return changes


def variation_view(
    personal: PersonalModel, item_id: ItemId, changes: Mapping[Tag, Tag | None]
) -> VariationView:
    """Return the presses that make a list like an item, with its changes."""
    catalogue, state = personal.catalogue, personal.state
    given: dict[Tag | str, Tag | str | None] = dict(changes.items())
    start = vary_item(catalogue.model, item_id, given, personal.history, k=1).start
    before = _net_presses(personal)
    wanted = {
        str(tag): n for tag, steps in start.items() if (n := _left(steps, before.get(tag, 0)))
    }
    event = decide(state, Event("press", {"presses": wanted}), catalogue) if wanted else None
    if event is None:
        return VariationView({}, None, personal)
    after = PersonalModel(catalogue, state_after(state, event))
    end = _net_presses(after)
    moved = {tag: end.get(tag, 0) - before.get(tag, 0) for tag in (*start, *end, *before)}
    return VariationView({tag: n for tag, n in moved.items() if n}, event, after)


def _net_presses(personal: PersonalModel) -> Mapping[Tag, int]:
    """Return the presses of a state, also where its lists do without the profile."""
    return PersonalModel(personal.catalogue, replace(personal.state, profiling=True)).presses


def _left(steps: int, net: int) -> int:
    """Return the steps that are left up to the bound of a tag."""
    return max(-MAX_PRESSES, min(MAX_PRESSES, net + steps)) - net


def _known(text: str, personal: PersonalModel) -> Tag:
    catalogue = personal.catalogue
    return catalogue.model.tags_[resolve_tag(Tag.parse(text), catalogue.tag_index)]
