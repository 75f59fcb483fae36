"""What pages show of items: cards with facts and reasons."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from teaser.app.catalogue import Card, Catalogue, PersonalModel, cached_per_catalogue
from teaser.app.i18n.texts import Texts
from teaser.app.pages.profile import TagRow, joint_features, joint_names, tag_row
from teaser.app.pages.why import describe_reasons
from teaser.data.matrix import ItemId
from teaser.data.tags import KINDS, PLACES, Tag
from teaser.explain import BoostName, Reason, ViewedReason
from teaser.profile import GENERAL
from teaser.recommend import Recommendation

REASON_PARTS = ("tags", "viewed", "general", "site")
N_FACTS = 4
# The features of which a value comes first in the line of facts, by the words that data use for
# them: what an item is, where it is, what it costs.
_FIRST_FACTS = (
    KINDS,
    PLACES - {"region", "province"},
    frozenset({"price", "cost", "fee"}),
)
# A value on more than 7 in 10 items says too little to come first.
_LEAST_BITS = 0.5
# A viewed item is told that adds at least this part of what the first adds. How alike it is counts
# beside the second number, and more than what it adds.
_LEAST_PART, _BARE_PART, _PART_POWER = 0.1, 0.02, 0.25
_MAX_CACHED = 5_000


@dataclass(frozen=True)
class ViewedRow:
    """A viewed item that counts besides its tags; `item_id` is None for several together."""

    kind: ClassVar = "viewed"

    item_id: ItemId | None
    title: str
    disliked: bool = False


@dataclass(frozen=True)
class BoostRow:
    """What the site adds to an item, or takes from it: `name` is the tag or column, or empty."""

    kind: ClassVar = "boost"

    name: str
    promotes: bool


AnyRow = TagRow | ViewedRow | BoostRow
# What orders a list without matches: nothing is known yet, or the list is without profile.
Order = Literal["popularity", "appeal", "date"]


@dataclass(frozen=True)
class ReasonRow:
    """A reason of a card: a tag, viewed item or boost, and its share of the score."""

    row: AnyRow
    share: float
    matters_more: bool = False

    @property
    def side(self) -> str:
        """`up` for a reason for the item, `down` for one against it."""
        return "up" if self.share > 0 else "down"


@dataclass(frozen=True)
class CardView:
    """An item in a list; without match if nothing is known about the person.

    `why` is the one sentence of reasons, and `boosts` is what the site adds or takes.
    `ordered_by` says what orders a list without matches.
    """

    card: Card
    facts: tuple[str, ...]
    match: float | None = None
    why: str = ""
    boosts: list[BoostRow] = field(default_factory=list)
    moved: int | str | None = None
    ordered_by: Order = "popularity"


def card_views(
    personal: PersonalModel,
    places: NDArray[np.int64],
    texts: Texts,
    moves: Mapping[ItemId, int | str] | None = None,
    *,
    is_own: bool = True,
    parts: Collection[str] = REASON_PARTS,
) -> list[CardView]:
    """Return the cards of a list, given the positions of its items; `parts` are those of reasons.

    `moves` is how each item moved, see `ListChange`. `is_own=False` is for somebody else's list.
    """
    catalogue, is_new = personal.catalogue, personal.is_new
    order: Order = "popularity" if personal.state.profiling else "appeal"
    views = []
    added: list[list[float]] = [[]] * len(places)
    if "viewed" in parts:
        liked = np.array(personal.learned.strengths or (1.0,)) > 0  # a disliked item is no reason
        parts_of = np.maximum(0.0, personal.viewed_parts(places)) * liked
        much = parts_of >= _LEAST_PART * parts_of.max(axis=1, keepdims=True, initial=0.0)
        alike = _BARE_PART + personal.likeness(places)
        added = np.where(much, parts_of**_PART_POWER * alike, 0.0).tolist()
    for place, whole, by_item in zip(places.tolist(), personal.entries(places), added, strict=True):
        entry = narrowed(whole, parts)
        viewed = dict(zip(personal.history, by_item, strict=False))
        plain = plain_card(catalogue, entry.item_id, texts)
        boosts = catalogue.placed.boosts_of(place) if "site" in parts else ()
        has_why = not is_new and (entry.reasons or "general" in parts)
        views.append(
            replace(
                plain,
                match=None if is_new else personal.scored.match(place),
                why=describe_reasons(entry, personal, texts, viewed, is_own=is_own)
                if has_why
                else "",
                boosts=[boost_row(name, part, entry.item_id, texts) for name, part in boosts],
                moved=moves.get(entry.item_id) if moves else None,
                ordered_by="date" if personal.is_by_date else order,
            )
        )
    return views


def narrowed(entry: Recommendation, parts: Collection[str]) -> Recommendation:
    """Return an entry with some parts of its reasons."""
    kept = tuple(
        reason
        for reason in entry.reasons
        if ("tags" if isinstance(reason, Reason) else reason.kind) in parts
    )
    if "general" in parts:
        return replace(entry, reasons=kept)
    return replace(entry, reasons=kept, general=0.0, general_share=0.0)


@cached_per_catalogue(_MAX_CACHED)
def plain_card(catalogue: Catalogue, item_id: ItemId, texts: Texts) -> CardView:
    """Return an item as a card without match and reasons."""
    card = catalogue.card(item_id)
    return CardView(card, fact_line(catalogue, card, texts))


def fact_line(catalogue: Catalogue, card: Card, texts: Texts) -> tuple[str, ...]:
    """Return the facts under a title: the few values that tell most, and the date."""
    once: dict[str, str] = {}
    for tag in telling_tags(catalogue, card):
        value = texts.full_tag(tag)
        once.setdefault(value.casefold(), value)
    facts = tuple(once.values())[:N_FACTS]
    return (*facts, texts.date(card.date)) if card.date else facts


def telling_tags(catalogue: Catalogue, card: Card) -> list[Tag]:
    """Return the declared tags of an item, those that tell it apart from others first.

    Values that are too rare for a tag are among them. A tag tells log2(items / items that have it)
    bits. One value of the kind, the place and the price leads. Of a feature with several values,
    the second counts half, the third a third and so on, so that a line of facts is not all names
    of actors.
    """
    ranked: list[tuple[int, float, Tag]] = []
    for name, values in (*card.facts.items(), *card.rare.items()):
        tags = [Tag(name, value) for value in values]
        tags.sort(key=catalogue.bits, reverse=True)
        for place, tag in enumerate(tags):
            bits = catalogue.bits(tag)
            leads = place == 0 and bits >= _LEAST_BITS
            rank = _fact_rank(name) if leads else len(_FIRST_FACTS)
            ranked.append((rank, -bits / (1 + place), tag))
    return [tag for _, _, tag in sorted(ranked)]


def _words(feature: str) -> list[str]:
    return feature.casefold().replace("_", " ").replace("-", " ").split()


def _fact_rank(feature: str) -> int:
    words = _words(feature)
    ranks = (rank for rank, names in enumerate(_FIRST_FACTS) if names.intersection(words))
    return next(ranks, len(_FIRST_FACTS))


def reason_rows(entry: Recommendation, personal: PersonalModel, texts: Texts) -> list[ReasonRow]:
    """Return the main reasons of an item, general appeal, then what the site adds."""
    rows, catalogue = [], personal.catalogue
    for reason in entry.reasons:
        if isinstance(reason, Reason):
            row: AnyRow = reason_row(reason, personal, texts)
            rows.append(ReasonRow(row, reason.share, reason.matters_more))
        elif isinstance(reason, ViewedReason):
            title = reason.title or str(reason.item_id)
            rows.append(ReasonRow(ViewedRow(reason.item_id, title, reason.disliked), reason.share))
    if entry.general and GENERAL in catalogue.tag_index:
        rows.append(ReasonRow(tag_row(GENERAL, personal, texts), entry.general_share))
    place = catalogue.model.items_.index_of(entry.item_id)
    boosts = catalogue.placed.boosts_of(place)
    total = _sum_of_parts(entry) or sum(abs(part) for _, part in boosts)
    rows += [ReasonRow(boost_row(n, x, entry.item_id, texts), x / total) for n, x in boosts]
    return rows


def _sum_of_parts(entry: Recommendation) -> float | None:
    """Return the sum of all absolute contributions to an entry; None if none has a share."""
    parts = [(entry.general, entry.general_share)]
    parts += [(reason.contribution, reason.share) for reason in entry.reasons]
    return next((part / share for part, share in parts if share), None)


def boost_row(name: BoostName, part: float, item_id: ItemId, texts: Texts) -> BoostRow:
    """Return the row of a boost that an item has; one by the item's id needs no name."""
    if isinstance(name, Tag):
        return BoostRow(texts.full_tag(name), part >= 0)
    return BoostRow("" if name == item_id else texts.feature(str(name)), part >= 0)


def reason_row(
    reason: Reason, personal: PersonalModel, texts: Texts, *, full: bool = True
) -> TagRow:
    """Return the row of a reason, which may be about several near-equal tags.

    `full=False` is for a place that shows the feature too.
    """
    tags, catalogue = reason.tags, personal.catalogue
    # A group is marked, so that its name need not say that it is one.
    labels = joint_names(tags, catalogue, texts, full=full and not tags[0].discovered)
    return TagRow(
        reason.tag,
        labels[0],
        joint_names(tags, catalogue, texts)[0],
        reason.affinity,
        personal.presses.get(reason.tag, 0),
        tuple(labels[1:]),
        joint_features(tags, texts),
    )
