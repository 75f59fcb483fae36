"""What an action did: which items rose, fell, came and left, and a sentence that says so."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from teaser.app.i18n.texts import MINUS, Texts
from teaser.app.people.events import Event, State, told_about
from teaser.app.serving.catalogue import Catalogue
from teaser.app.site.view import say_balance, tag_label
from teaser.data.ids import ItemId
from teaser.data.tagging.tag import Tag

NEW = "new"


@dataclass(frozen=True)
class Change:
    """The difference between two lists.

    Attributes
    ----------
    moves
        By item of the later list: places risen (negative: fallen), or `NEW`.
    """

    moves: Mapping[ItemId, int | str]
    rose: int
    fell: int
    came: int
    left: int


def compare(before: Sequence[ItemId], after: Sequence[ItemId]) -> Change:
    """Return how a list changed."""
    rank = {item: place for place, item in enumerate(before)}
    moves: dict[ItemId, int | str] = {}
    for place, item in enumerate(after):
        moves[item] = rank[item] - place if item in rank else NEW
    numbers = [n for n in moves.values() if isinstance(n, int)]
    return Change(
        moves=moves,
        rose=sum(n > 0 for n in numbers),
        fell=sum(n < 0 for n in numbers),
        came=len(moves) - len(numbers),
        left=len(set(before) - set(after)),
    )


def say_action(event: Event, before: State, catalogue: Catalogue, texts: Texts) -> Markup:
    """Say what was done; the state before tells what undo and redo were about."""
    if event.kind == "undo" and before.undoable:
        return texts.html(
            "Taken back: {action}", action=say_action(before.undoable, before, catalogue, texts)
        )
    if event.kind == "redo" and before.redoable:
        return texts.html(
            "Done again: {action}", action=say_action(before.redoable, before, catalogue, texts)
        )
    if event.kind == "press":
        return Markup(", ").join(
            texts.html(
                "{sign} on {tag}",
                sign=texts.steps(steps) if abs(steps) > 1 else MINUS if steps < 0 else "+",
                tag=_bold(tag_label(Tag.parse(text), catalogue, texts)),
            )
            for text, steps in event.data["presses"].items()
        )
    if event.kind == "vary":
        variety = texts.percent(float(event.data["variety"]))
        return texts.html("Variety at {percent}", percent=_bold(variety))
    if event.kind == "balance":
        balance = say_balance(float(event.data["balance"]), texts)
        return texts.html("Balance: {balance}", balance=_bold(balance))
    if event.kind == "about":
        return _say_about(event, texts)
    if event.kind == "reset":
        return texts.html("Started again")
    forms = {
        "view": "You looked at {title}",
        "remove": "Removed {title} from what you looked at",
        "hide": "Hid {title}",
        "unhide": "Brought {title} back",
    }
    title = _bold(_title(catalogue, event.data.get("item")))
    return texts.html(forms.get(event.kind, "{title}"), title=title)


def say_effect(change: Change, texts: Texts) -> str:
    """Say what the action did to the list."""
    parts = []
    if change.rose:
        parts.append(texts.count("{n} rose", "{n} rose", change.rose))
    if change.fell:
        parts.append(texts.count("{n} fell", "{n} fell", change.fell))
    if change.came:
        parts.append(
            texts.count("{n} is new on this page", "{n} are new on this page", change.came)
        )
    if change.left:
        parts.append(texts.count("{n} left it", "{n} left it", change.left))
    return ", ".join(parts) + "." if parts else texts("the list stays as it was.")


def _say_about(event: Event, texts: Texts) -> Markup:
    told = [texts.tag(Tag.parse(text)) for text in told_about(event.data)]
    if not told:
        return texts.html("Nothing told about you any more")
    return texts.html("About you: {facts}", facts=_bold(texts.join(told)))


def _title(catalogue: Catalogue, item: object) -> str:
    items = catalogue.model.items_
    place = items.find(item)
    return str(item) if place is None else catalogue.model.title(place) or str(items[place])


def _bold(text: str) -> Markup:
    return Markup("<b>{}</b>").format(text)
