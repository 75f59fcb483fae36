"""Wishes and filters in words, as the chips of a page show them."""

from datetime import date

from teaser.app.i18n.texts import Texts
from teaser.app.pages.view.profile_view import tag_label
from teaser.app.serving.catalogue import Catalogue
from teaser.data.tags import Tag
from teaser.profile import GENERAL
from teaser.words.wishes import BARE, SLIGHT, Period, Wish


def describe_wish(wish: Wish, catalogue: Catalogue, texts: Texts, today: date) -> str:
    """Describe a wish, its duration included."""
    said = _without_end(wish, catalogue, texts, today)
    if wish.lasts == "today":
        return texts("{wish}, for today", wish=said)
    return texts("{wish}, for a week", wish=said) if wish.lasts == "week" else said


def _without_end(wish: Wish, catalogue: Catalogue, texts: Texts, today: date) -> str:
    if wish.kind == "when":
        return describe_period(wish.name, texts, today)
    if wish.kind == "like":
        return texts("like {title}", title=_title(catalogue, wish.name))
    if wish.kind == "variety":
        return texts("variety at {percent}", percent=texts.percent(wish.number or 0.0))
    if wish.kind in ("at_most", "at_least"):
        column, number = texts.feature(wish.name), _number(wish.number or 0.0, texts)
        if wish.kind == "at_most":
            return texts("{column} at most {number}", column=column, number=number)
        return texts("{column} at least {number}", column=column, number=number)
    tag = Tag.parse(wish.name)
    if wish.kind == "press":
        return describe_steps(wish.steps, tag, catalogue, texts)
    label = tag_label(tag, catalogue, texts)
    if wish.kind == "only":
        return texts("only {tag}", tag=label)
    if wish.kind == "without":
        return texts("no {tag}", tag=label)
    if wish.lasts == "always":
        return texts("never {tag}", tag=label)
    return texts("hide {tag}", tag=label)


def describe_steps(steps: int, tag: Tag, catalogue: Catalogue, texts: Texts) -> str:
    """Describe presses on a tag: a bit more, more, much more of it, or less."""
    if tag == GENERAL:
        return texts("more mainstream") if steps > 0 else texts("less mainstream")
    label = tag_label(tag, catalogue, texts)
    if any(letter.isdigit() for letter in label):  # less of "over 40 euro", more of "1990s"
        label = texts("“{name}”", name=label)
    if abs(steps) <= SLIGHT:
        if steps > 0:
            return texts("a bit more {tag}", tag=label)
        return texts("a bit less {tag}", tag=label)
    if abs(steps) <= BARE:
        return texts("more {tag}", tag=label) if steps > 0 else texts("less {tag}", tag=label)
    return texts("much more {tag}", tag=label) if steps > 0 else texts("much less {tag}", tag=label)


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
    return f"{period_name(asked.name, texts)}: {days}" if asked.name else days


def period_name(name: str, texts: Texts) -> str:
    """Return the name of a period that moves with today."""
    return {
        "today": texts("today"),
        "tomorrow": texts("tomorrow"),
        "weekend": texts("this weekend"),
        "next_weekend": texts("next weekend"),
        "week": texts("this week"),
        "next_week": texts("next week"),
        "month": texts("this month"),
        "next_month": texts("next month"),
    }[name]


def _title(catalogue: Catalogue, item: str) -> str:
    items = catalogue.model.items_
    place = items.find(item)
    return item if place is None else catalogue.model.title(place) or str(items[place])


def _number(number: float, texts: Texts) -> str:
    whole = float(number).is_integer()
    return texts.integer(int(number)) if whole else texts.number(number)
