"""The state of a person in words: wishes, filters, feeds, what ends, and what an action did."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
from babel.dates import format_date
from markupsafe import Markup
from numpy.typing import NDArray

from teaser.app.catalogue import Catalogue, PersonalModel, net_presses
from teaser.app.i18n.texts import MINUS, Texts
from teaser.app.pages.profile import bold, tag_label
from teaser.app.state import AS_FITTED, Event, ListFilter, State, parts_of, read_time
from teaser.data.matrix import ItemId
from teaser.data.tags import Tag
from teaser.profile import GENERAL, MAX_PRESSES, Steering
from teaser.words.wishes import BARE, SLIGHT, Period, Wish

_WEEK = timedelta(days=7)


@dataclass(frozen=True)
class EndView:
    """When something ends: in words, to the minute, and for programs."""

    words: str
    exact: str
    iso: str


def describe_end(until: datetime, catalogue: Catalogue, texts: Texts) -> EndView:
    """Describe an end: by the last day that it leaves, which is near in most cases."""
    local, today = until.astimezone(catalogue.zone), catalogue.today
    last = (local - timedelta(microseconds=1)).date()
    if last <= today:
        words = texts("today only")
    elif last - today < _WEEK:
        words = texts("until {day}", day=format_date(last, "EEEE", locale=texts.language))
    else:
        words = texts("until {day}", day=texts.date(last))
    day, time = texts.date(local.date()), local.strftime("%H:%M")
    exact = texts("ends on {day} at {time}", day=day, time=time)
    return EndView(words, exact, until.isoformat(timespec="seconds"))


def describe_wish(wish: Wish, catalogue: Catalogue, texts: Texts, today: date | None = None) -> str:
    """Describe a wish, its duration included; periods begin at `today`, that of the site."""
    said = _without_end(wish, catalogue, texts, today or catalogue.today)
    if wish.lasts == "today":
        return texts("{wish}, for today", wish=said)
    return texts("{wish}, for a week", wish=said) if wish.lasts == "week" else said


def _without_end(wish: Wish, catalogue: Catalogue, texts: Texts, today: date) -> str:
    number = wish.number or 0.0
    if wish.kind == "when":
        return describe_period(wish.name, texts, today)
    if wish.kind == "like":
        return texts("like {title}", title=catalogue.title(wish.name))
    if wish.kind == "variety":
        return texts("variety at {percent}", percent=texts.percent(number))
    if wish.kind in ("at_most", "at_least"):
        column, bound = texts.feature(wish.name), texts.number(number)
        bound = texts.integer(int(number)) if float(number).is_integer() else bound
        if wish.kind == "at_most":
            return texts("{column} at most {number}", column=column, number=bound)
        return texts("{column} at least {number}", column=column, number=bound)
    tag = Tag.parse(wish.name)
    if wish.kind == "press":
        return describe_steps(wish.steps, tag, catalogue, texts)
    label = tag_label(tag, catalogue, texts)
    if wish.kind == "only":
        return texts("only {tag}", tag=label)
    if wish.kind == "without":
        return texts("no {tag}", tag=label)
    is_lasting = wish.lasts == "always"
    return texts("never {tag}", tag=label) if is_lasting else texts("hide {tag}", tag=label)


def describe_steps(steps: int, tag: Tag, catalogue: Catalogue, texts: Texts) -> str:
    """Describe presses on a tag: a bit more, more, much more of it, or less."""
    if tag == GENERAL:
        return texts("more mainstream") if steps > 0 else texts("less mainstream")
    label = tag_label(tag, catalogue, texts)
    if any(letter.isdigit() for letter in label):  # less of "over 40 euro", more of "1990s"
        label = texts("“{name}”", name=label)
    if abs(steps) <= SLIGHT:
        more, less = texts("a bit more {tag}", tag=label), texts("a bit less {tag}", tag=label)
    elif abs(steps) <= BARE:
        more, less = texts("more {tag}", tag=label), texts("less {tag}", tag=label)
    else:
        more, less = texts("much more {tag}", tag=label), texts("much less {tag}", tag=label)
    return more if steps > 0 else less


def describe_period(period: str, texts: Texts, today: date) -> str:
    """Describe a period, with the days that it has today."""
    asked = Period.parse(period)
    first, last = asked.days(today)
    if first and last:
        days = texts.date(first) if first == last else f"{texts.date(first)} – {texts.date(last)}"
    elif first:
        days = texts("from {day}", day=texts.date(first))
    else:
        days = texts("until {day}", day=texts.date(last or today))
    names = {
        "today": texts("today"),
        "tomorrow": texts("tomorrow"),
        "weekend": texts("this weekend"),
        "next_weekend": texts("next weekend"),
        "week": texts("this week"),
        "next_week": texts("next week"),
        "month": texts("this month"),
        "next_month": texts("next month"),
    }
    return f"{names[asked.name]}: {days}" if asked.name else days


@dataclass(frozen=True)
class FilterChip:
    """A condition of a list in words, and the conditions that remain without it, as JSON."""

    label: str
    rest: str


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class EndingPress:
    """Presses that end by themselves; `value` takes them back now."""

    tag: Tag
    steps: int
    label: str
    end: EndView
    value: str


def describe_balance(balance: float, texts: Texts) -> str:
    """Describe how much tags count, and how much the viewed items count besides them."""
    steering = Steering(balance=balance)
    if steering.viewed_weight == 0:
        return texts("my tags alone")
    if steering.tags_weight == 0:
        return texts("people like me alone")
    if balance == AS_FITTED:
        return texts("both, as learned")
    return texts(
        "tags {tags}, people {people}",
        tags=texts.percent(steering.tags_weight),
        people=texts.percent(steering.viewed_weight),
    )


def feed_label(name: str, texts: Texts) -> str:
    """Return the name of a feed on screen; that of the main list is empty."""
    return name or texts("For you")


def filter_wishes(filters: ListFilter) -> list[Wish]:
    """Return the conditions of a list one by one."""
    found = [Wish("only", tag) for tag in filters.only]
    found += [Wish("without", tag) for tag in filters.without]
    found += [Wish("at_most", name, number=bound) for name, bound in filters.at_most.items()]
    found += [Wish("at_least", name, number=bound) for name, bound in filters.at_least.items()]
    return found + ([Wish("when", filters.when)] if filters.when else [])


def describe_filters(filters: ListFilter, catalogue: Catalogue, texts: Texts) -> list[str]:
    """Describe the conditions of a list one by one."""
    return [describe_wish(wish, catalogue, texts) for wish in filter_wishes(filters)]


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


def filter_chips(filters: ListFilter, catalogue: Catalogue, texts: Texts) -> list[FilterChip]:
    """Return the conditions of a list as chips that can be taken off."""
    return [
        FilterChip(describe_wish(wish, catalogue, texts), filter_text(without_wish(filters, wish)))
        for wish in filter_wishes(filters)
    ]


def filter_text(filters: ListFilter) -> str:
    """Return the conditions of a list as JSON, for a form."""
    return json.dumps(filters.to_json(), ensure_ascii=False, separators=(",", ":"))


def hidden_rows(state: State, catalogue: Catalogue, texts: Texts) -> list[HiddenRow]:
    """Return what the person does not want to see: tags, then items."""
    ends = {
        (e.is_item, e.name): describe_end(e.until, catalogue, texts)
        for e in state.ends
        if e.kind == "hide"
    }
    rows = []
    for text in state.hidden_tags:
        tag = catalogue.current_tag(text)
        label = tag_label(tag, catalogue, texts)
        rows.append(HiddenRow("unhide_tag", text, label, tag, ends.get((False, text))))
    for item in state.hidden:
        end = ends.get((True, item))
        rows.append(HiddenRow("unhide", str(item), catalogue.title(item), None, end))
    return rows


def ending_presses(state: State, catalogue: Catalogue, texts: Texts) -> list[EndingPress]:
    """Return the presses of the current feed that end by themselves, the first to end first."""
    found = []
    for ending in [end for end in state.ends if end.kind == "press"]:
        tag = catalogue.current_tag(str(ending.name))
        end = describe_end(ending.until, catalogue, texts)
        # The form that takes presses back: their end, the steps, the tag.
        value = f"{end.iso} {-ending.steps:+d} {ending.name}"
        found.append(EndingPress(tag, ending.steps, tag_label(tag, catalogue, texts), end, value))
    return found


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


def compare_lists(before: Sequence[ItemId], after: Sequence[ItemId]) -> ListChange:
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


def describe_action(event: Event, before: State, catalogue: Catalogue, texts: Texts) -> Markup:
    """Describe an action; the state before it shows what was undone or redone."""
    if event.kind == "undo" and before.undoable:
        undone = describe_action(before.undoable, before, catalogue, texts)
        return texts.html("Undone: {action}", action=undone)
    if event.kind == "redo" and before.redoable:
        redone = describe_action(before.redoable, before, catalogue, texts)
        return texts.html("Redone: {action}", action=redone)
    if event.kind == "several":
        told = (describe_action(e, before, catalogue, texts) for e in parts_of(event))
        return Markup("; ").join(told)
    said = _describe(event, catalogue, texts)
    if "until" not in event.data:
        return said
    end = describe_end(read_time(event.data["until"]), catalogue, texts)
    return texts.html("{action}, {until}", action=said, until=end.words)


def _describe(event: Event, catalogue: Catalogue, texts: Texts) -> Markup:
    """Describe a single action, without its end."""
    kind, data = event.kind, event.data
    if kind == "press":
        return Markup(", ").join(
            texts.html(
                "{sign} on {tag}",
                sign=texts.steps(steps) if abs(steps) > 1 else MINUS if steps < 0 else "+",
                tag=bold(tag_label(tag, catalogue, texts)),
            )
            for tag, steps in net_presses(catalogue, data["presses"]).items()
        )
    if kind == "vary":
        variety = texts.percent(float(data["variety"]))
        return texts.html("Variety at {percent}", percent=bold(variety))
    if kind == "balance":
        balance = describe_balance(float(data["balance"]), texts)
        return texts.html("Balance: {balance}", balance=bold(balance))
    if kind == "about":
        facts = texts.join([texts.full_tag(Tag.parse(text)) for text in data["about"]])
        none = texts.html("Removed the facts about you")
        return texts.html("About you: {facts}", facts=bold(facts)) if facts else none
    if kind == "filter":
        told = describe_filters(ListFilter.from_json(data["filters"]), catalogue, texts)
        none = texts.html("No filters in this list")
        filters = bold(", ".join(told))
        return texts.html("Filters of this list: {filters}", filters=filters) if told else none
    if kind == "rename_feed":
        names = {"name": bold(feed_label(data["feed"], texts)), "new": bold(data["name"])}
        return texts.html("Renamed {name} to {new}", **names)
    if kind == "profiling":
        on = data["on"]
        return texts.html("With your profile") if on else texts.html("Without your profile")
    if kind == "import":
        return texts.html("Imported a profile")
    if kind == "reset":
        return texts.html("Started again")
    if kind.endswith("_feed"):
        title = feed_label(data["feed"], texts)
    elif "tag" in data:
        title = tag_label(Tag.parse(data["tag"]), catalogue, texts)
    else:
        title = catalogue.title(data.get("item"))
    forms = {
        "view": "You looked at {title}",
        "remove": "Removed {title} from what you looked at",
        "hide": "Hid {title}",
        "unhide": "Brought {title} back",
        "make_feed": "New feed: {title}",
        "drop_feed": "Dropped the feed {title}",
        "switch_feed": "Now you see {title}",
    }
    return texts.html(forms.get(kind, "{title}"), title=bold(title))


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


def describe_no_effect(
    personal: PersonalModel, earlier: PersonalModel, ranked: NDArray[np.int64], texts: Texts
) -> str:
    """Describe why a press left the list as it was, and how many more would change it.

    Parameters
    ----------
    personal, earlier
        The person after and before the press.
    ranked
        The positions of the list.
    """
    catalogue, now, before = personal.catalogue, personal.presses, earlier.presses
    pressed = [tag for tag in {**before, **now} if now.get(tag, 0) != before.get(tag, 0)]
    if len(pressed) != 1:
        return texts("the list stays as it was.")
    tag, presses = pressed[0], {str(each): steps for each, steps in now.items()}
    net = now.get(tag, 0)
    sign = 1 if net > before.get(tag, 0) else -1
    for n in range(1, MAX_PRESSES - sign * net + 1):
        moved = replace(personal.state, presses={**presses, str(tag): net + sign * n})
        found = personal.at(moved).rank(k=len(ranked))
        if not np.array_equal(found, ranked):
            return texts.count(
                "the list stays as it was; {n} more press would change it.",
                "the list stays as it was; {n} more presses would change it.",
                n,
            )
    carriers = catalogue.model.tag_table_.carriers.items[[catalogue.tag_index[tag]]].indices
    if sign < 0 and not np.isin(ranked, carriers).any():
        return texts("the list stays as it was: nothing on this page has this tag.")
    may_enter = np.setdiff1d(carriers[personal.shown()[carriers]], ranked)
    if sign > 0 and not len(may_enter):
        return texts("the list stays as it was: nothing else that may be shown has this tag.")
    return texts("the list stays as it was: presses on this tag alone cannot change it.")
