"""The sentences that tell results to assistants; `sentences.txt` has their words."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from teaser.app.pages.describe import filter_wishes
from teaser.app.state import Event, parts_of
from teaser.errors import counted
from teaser.explain import (
    affinity_text,
    general_sentence,
    join_names,
    join_values,
    share_text,
    tell_reasons,
)
from teaser.templates import environment


def lines(kind: str, **values: Any) -> list[str]:
    """Return the sentences of a macro of `sentences.txt`."""
    text: str = getattr(_macros(), kind)(**values)
    return [line.strip() for line in text.splitlines() if line.strip()]


@cache
def _macros() -> Any:
    templates = environment(Path(__file__).parent)
    templates.filters |= {
        "affinity": affinity_text,
        "appeal": general_sentence,
        "conditions": lambda filters: list(map(str, filter_wishes(filters))),
        "counted": counted,
        "listed": join_names,
        "named": lambda entry: name_of(entry.item_id, entry.title),
        "other_named": lambda entry: name_of(entry.other_id, entry.other_title),
        "pressed": _presses,
        "share": share_text,
        "told": lambda reasons: tell_reasons(list(reasons)),
        "values": lambda tags: join_values(list(tags)),
    }
    return templates.get_template("sentences.txt").module


def name_of(item_id: int | str, title: str | None) -> str:
    """Return the name of an item: its title and its id."""
    return f"{title} ({item_id})" if title and title != str(item_id) else str(item_id)


def event_text(event: Event) -> str:
    """Return an action in a few words, or several as a list."""
    if event.kind == "several":
        return join_names([event_text(part) for part in parts_of(event)])
    presses = event.data.get("presses")
    if presses:
        return _presses(presses)
    kind = event.kind.replace("_", " ")
    item = event.data.get("item", event.data.get("tag"))
    return kind if item is None else f"{kind} {item}"


def _presses(presses: Any) -> str:
    """Return presses in words: once or several times + or - on each tag."""
    if not isinstance(presses, Mapping):
        presses = {press.tag: press.steps for press in presses}
    times = {1: "once", 2: "twice"}
    return join_names(
        [
            f"{'+' if n > 0 else '-'} {times.get(abs(n), f'{abs(n)} times')} on {tag}"
            for tag, n in presses.items()
        ]
    )
