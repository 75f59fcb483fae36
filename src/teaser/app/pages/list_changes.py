"""What an action changed in the list: items that rose, fell, entered or left; in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from teaser.app.i18n.texts import MINUS, Texts
from teaser.app.pages.preferences import describe_balance
from teaser.app.pages.view.clock import Clock
from teaser.app.pages.view.feed_view import feed_label, filter_wishes
from teaser.app.pages.view.profile_view import tag_label
from teaser.app.pages.view.wish_view import describe_wish
from teaser.app.serving.catalogue import Catalogue
from teaser.app.state import Event, ListFilter, State, parts_of, read_time
from teaser.data.matrix import ItemId
from teaser.data.tags import Tag

NEW = "new"


@dataclass(frozen=True)
class ListChange:
    """The difference between two lists.

    Attributes
    ----------
    moves
        For each item of the later list, the places it rose (negative: fell), or `NEW`.
    rose, fell, entered, left
        The numbers of such items.
    """

    moves: Mapping[ItemId, int | str]
    rose: int
    fell: int
    entered: int
    left: int


@dataclass(frozen=True)
class ActionSummary:
    """An action and its effect in words; `is_stored` if it can be undone."""

    action: Markup
    effect: str
    change: ListChange
    is_stored: bool = True


def compare(before: Sequence[ItemId], after: Sequence[ItemId]) -> ListChange:
    """Return the difference between a list before and after an action."""
    rank = {item: place for place, item in enumerate(before)}
    moves: dict[ItemId, int | str] = {}
    for place, item in enumerate(after):
        moves[item] = rank[item] - place if item in rank else NEW
    numbers = [n for n in moves.values() if isinstance(n, int)]
    return ListChange(
        moves=moves,
        rose=sum(n > 0 for n in numbers),
        fell=sum(n < 0 for n in numbers),
        entered=len(moves) - len(numbers),
        left=len(set(before) - set(after)),
    )


def describe_action(
    event: Event, before: State, catalogue: Catalogue, texts: Texts, clock: Clock | None = None
) -> Markup:
    """Describe an action; the state before it shows what was undone or redone."""
    clock = clock or Clock.at(catalogue)
    if event.kind == "undo" and before.undoable:
        undone = describe_action(before.undoable, before, catalogue, texts, clock)
        return texts.html("Taken back: {action}", action=undone)
    if event.kind == "redo" and before.redoable:
        redone = describe_action(before.redoable, before, catalogue, texts, clock)
        return texts.html("Done again: {action}", action=redone)
    if event.kind == "several":
        told = (describe_action(e, before, catalogue, texts, clock) for e in parts_of(event))
        return Markup("; ").join(told)
    said = _describe(event, catalogue, texts, clock)
    if "until" not in event.data:
        return said
    end = clock.describe_end(read_time(event.data["until"]), texts)
    return texts.html("{action}, {until}", action=said, until=end.words)


def _describe(event: Event, catalogue: Catalogue, texts: Texts, clock: Clock) -> Markup:
    """Describe a single action, without its end."""
    if event.kind == "press":
        return Markup(", ").join(
            texts.html(
                "{sign} on {tag}",
                sign=texts.steps(steps) if abs(steps) > 1 else MINUS if steps < 0 else "+",
                tag=_bold(tag_label(tag, catalogue, texts)),
            )
            for tag, steps in _net_steps(event, catalogue).items()
        )
    if event.kind == "vary":
        variety = texts.percent(float(event.data["variety"]))
        return texts.html("Variety at {percent}", percent=_bold(variety))
    if event.kind == "balance":
        balance = describe_balance(float(event.data["balance"]), texts)
        return texts.html("Balance: {balance}", balance=_bold(balance))
    if event.kind == "about":
        return _describe_about(event, texts)
    if event.kind == "filter":
        return _describe_filters(event, catalogue, texts, clock)
    if event.kind.endswith("_feed"):
        return _describe_feed(event, texts)
    if event.kind == "profiling":
        on = event.data["on"]
        return texts.html("With your profile") if on else texts.html("Without your profile")
    if event.kind == "import":
        return texts.html("Imported a profile")
    if event.kind == "reset":
        return texts.html("Started again")
    forms = {
        "view": "You looked at {title}",
        "remove": "Removed {title} from what you looked at",
        "hide": "Hid {title}",
        "unhide": "Brought {title} back",
    }
    tag = event.data.get("tag")
    title = tag_label(Tag.parse(tag), catalogue, texts) if tag else ""
    title = title or _title(catalogue, event.data.get("item"))
    return texts.html(forms.get(event.kind, "{title}"), title=_bold(title))


def describe_effect(change: ListChange, texts: Texts) -> str:
    """Describe how the list changed."""
    parts = []
    if change.rose:
        parts.append(texts.count("{n} rose", "{n} rose", change.rose))
    if change.fell:
        parts.append(texts.count("{n} fell", "{n} fell", change.fell))
    if change.entered:
        parts.append(
            texts.count("{n} is new on this page", "{n} are new on this page", change.entered)
        )
    if change.left:
        parts.append(texts.count("{n} left it", "{n} left it", change.left))
    return ", ".join(parts) + "." if parts else texts("the list stays as it was.")


def _net_steps(event: Event, catalogue: Catalogue) -> dict[Tag, int]:
    """Return the steps of a press by today's names: those on earlier names of a tag count too."""
    net: dict[Tag, int] = {}
    for text, steps in event.data["presses"].items():
        tag = Tag.parse(text)
        place = catalogue.tag_index.get(tag)
        known = tag if place is None else catalogue.model.tags_[place]
        net[known] = net.get(known, 0) + steps
    return net


def _describe_about(event: Event, texts: Texts) -> Markup:
    facts = [texts.full_tag(Tag.parse(text)) for text in event.data["about"]]
    if not facts:
        return texts.html("Removed the facts about you")
    return texts.html("About you: {facts}", facts=_bold(texts.join(facts)))


def _describe_filters(event: Event, catalogue: Catalogue, texts: Texts, clock: Clock) -> Markup:
    filters = ListFilter.from_json(event.data["filters"])
    wishes = filter_wishes(filters)
    if not wishes:
        return texts.html("No filters in this list")
    told = [describe_wish(wish, catalogue, texts, clock.today) for wish in wishes]
    return texts.html("Filters of this list: {filters}", filters=_bold(", ".join(told)))


def _describe_feed(event: Event, texts: Texts) -> Markup:
    name = _bold(feed_label(event.data["feed"], texts))
    if event.kind == "make_feed":
        return texts.html("New feed: {name}", name=name)
    if event.kind == "rename_feed":
        new = _bold(event.data["name"])
        return texts.html("Renamed {name} to {new}", name=name, new=new)
    if event.kind == "drop_feed":
        return texts.html("Dropped the feed {name}", name=name)
    return texts.html("Now you see {name}", name=name)


def _title(catalogue: Catalogue, item: object) -> str:
    items = catalogue.model.items_
    place = items.find(item)
    return str(item) if place is None else catalogue.model.title(place) or str(items[place])


def _bold(text: str) -> Markup:
    return Markup(f"<b>{escape(text)}</b>")  # noqa: S704
