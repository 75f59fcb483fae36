"""A list of recommended items as cards with their reasons."""

from collections.abc import Sequence
from dataclasses import dataclass

from teaser.notebook.markup import (
    Html,
    element,
    join,
    listed,
    number,
    panel,
    paragraph,
    percent,
    title,
)

# More would be a wall; the frame has all of them.
SHOWN = 24


@dataclass(frozen=True)
class Card:
    """One recommended item.

    Attributes
    ----------
    name, item_id
        Its title, or its id where it has none.
    match
        Its score as a share of the best score.
    reasons
        The signed share of each reason, and what it is.
    note
        A sentence on the score, or nothing.
    """

    name: str
    item_id: str
    match: float
    reasons: Sequence[tuple[float, str]]
    note: str = ""


def draw_list(cards: Sequence[Card], *, notes: Sequence[str] = ()) -> str:
    """Return a list as HTML, best first.

    Parameters
    ----------
    notes
        Sentences on the whole list.
    """
    n = len(cards)
    said = [paragraph(note) for note in notes]
    if n > SHOWN:
        said.append(paragraph(f"{n - SHOWN:,} more; to_frame() has all of them."))
    if not n:
        said.append(paragraph("Nothing can be recommended: every item is excluded."))
    head = title(f"{n:,} recommended item{'' if n == 1 else 's'}", "best first")
    drawn = map(_card, cards[:SHOWN])
    return panel(head, element("ol", *drawn, class_="cards") if n else "", *said)


def _card(card: Card) -> Html:
    named = card.item_id if card.item_id != card.name else ""
    head = element("p", element("strong", card.name))
    match = element("p", number(percent(card.match), 1.0), " match ", _soft(named))
    reasons = [
        join([number(percent(share), share), " ", element("span", text)])
        for share, text in card.reasons
    ]
    why = listed(reasons, class_="reasons", aria_label=f"Why {card.name}") if reasons else ""
    return element("li", head, match, why, paragraph(card.note) if card.note else "")


def _soft(text: str) -> Html | str:
    return element("span", text, class_="soft") if text else ""
