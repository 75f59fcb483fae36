"""What pages show of an item in a list: its card, a line of facts, the match and the reasons."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from teaser.app.i18n.texts import Texts
from teaser.app.pages.profile import TagRow, joint_features, joint_names, tag_row
from teaser.app.serving.catalogue import Card, Catalogue, cached_per_catalogue
from teaser.app.serving.personal_model import PersonalModel
from teaser.data.matrix import ItemId
from teaser.data.tags import Tag
from teaser.explain import BoostName, Reason, ViewedReason
from teaser.profile import GENERAL
from teaser.recommend import Recommendation

N_FACTS = 4
# The features of which a value comes first in the line of facts, by the words that data use for
# them: what an item is, where it is, what it costs.
_FIRST_FACTS = (
    frozenset({"type", "kind", "category", "categories", "genre", "genres"}),
    frozenset({"town", "city", "place", "venue", "location"}),
    frozenset({"price", "cost", "fee"}),
)
# A value on more than 7 in 10 items says too little to come first.
_LEAST_BITS = 0.5
_MAX_CACHED = 5_000


@dataclass(frozen=True, slots=True)
class ViewedRow:
    """A viewed item that counts besides its tags; `item_id` is None for several together."""

    item_id: ItemId | None
    title: str
    disliked: bool = False


@dataclass(frozen=True, slots=True)
class BoostRow:
    """What the site adds to an item, or takes from it: `name` is the tag or column, or empty."""

    name: str
    promotes: bool


AnyRow = TagRow | ViewedRow | BoostRow
# What orders a list without matches: nothing is known yet, or the list is without profile.
Order = Literal["popularity", "appeal", "date"]


@dataclass(frozen=True, slots=True)
class ReasonRow:
    """A reason of a card: a tag, viewed item or boost, its share, and its start in the strip."""

    row: AnyRow
    share: float
    start: float
    matters_more: bool = False

    @property
    def width(self) -> float:
        """The width in the strip in percent, less a gap to the next reason."""
        return round(max(100 * abs(self.share) - 0.7, 0.3), 1)

    @property
    def side(self) -> str:
        """`up` for a reason for the item, `down` for one against it."""
        return "up" if self.share > 0 else "down"

    @property
    def kind(self) -> str:
        """What the reason is: `tag`, `viewed` or `boost`."""
        if isinstance(self.row, ViewedRow):
            return "viewed"
        return "boost" if isinstance(self.row, BoostRow) else "tag"

    @property
    def classes(self) -> str:
        """What the part of the strip is about: the side, and what is no usual tag."""
        if isinstance(self.row, TagRow):
            return f"{self.side} general" if self.row.tag == GENERAL else self.side
        return f"{self.side} {self.kind}"


@dataclass(frozen=True, slots=True)
class CardView:
    """An item in a list; without match and reasons if nothing is known about the person.

    `ordered_by` says what orders a list without matches; `general` is what general appeal adds.
    """

    card: Card
    facts: tuple[str, ...]
    match: float | None = None
    reasons: list[ReasonRow] = field(default_factory=list)
    general: ReasonRow | None = None
    moved: int | str | None = None
    ordered_by: Order = "popularity"

    @property
    def drawn(self) -> list[ReasonRow]:
        """The parts of the strip: general appeal first, then the reasons."""
        return self.reasons if self.general is None else [self.general, *self.reasons]


def card_views(
    personal: PersonalModel,
    places: NDArray[np.int64],
    texts: Texts,
    moves: Mapping[ItemId, int | str] | None = None,
) -> list[CardView]:
    """Return the cards of a list, given the positions of its items."""
    catalogue, is_new, order = personal.catalogue, personal.is_new, _ordered_by(personal)
    views = []
    for place, entry in zip(places.tolist(), personal.entries(places), strict=True):
        plain = plain_card(catalogue, entry.item_id, texts)
        views.append(
            replace(
                plain,
                match=None if is_new else personal.scored.match(place),
                reasons=_reasons(entry, personal, texts),
                general=None if is_new else _general(entry, personal, texts),
                moved=moves.get(entry.item_id) if moves else None,
                ordered_by=order,
            )
        )
    return views


def _ordered_by(personal: PersonalModel) -> Order:
    if personal.is_by_date:
        return "date"
    return "popularity" if personal.state.profiling else "appeal"


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


def _fact_rank(feature: str) -> int:
    words = feature.casefold().replace("_", " ").replace("-", " ").split()
    ranks = (rank for rank, names in enumerate(_FIRST_FACTS) if names.intersection(words))
    return next(ranks, len(_FIRST_FACTS))


def _general(entry: Recommendation, personal: PersonalModel, texts: Texts) -> ReasonRow | None:
    """Return what general appeal adds; None if that is nothing, or not told apart."""
    if not entry.general or GENERAL not in personal.catalogue.tag_index:
        return None
    row = tag_row(GENERAL, personal.profile.general, personal, texts)
    return ReasonRow(row, entry.general_share, 0.0)


def _reasons(entry: Recommendation, personal: PersonalModel, texts: Texts) -> list[ReasonRow]:
    """Return the main reasons, then what the site adds, however small.

    Of a person about whom nothing is known it is all there is.
    """
    rows = []
    start = 0.0 if personal.is_new else 100 * abs(entry.general_share)
    for reason in () if personal.is_new else entry.reasons:
        row: AnyRow
        matters_more = False
        if isinstance(reason, Reason):
            matters_more = reason.matters_more
            row = reason_row(reason, personal, texts)
        elif isinstance(reason, ViewedReason):
            title = reason.title or str(reason.item_id)
            row = ViewedRow(reason.item_id, title, reason.disliked)
        else:
            continue
        rows.append(ReasonRow(row, reason.share, round(start, 1), matters_more))
        start += 100 * abs(reason.share)
    place = personal.catalogue.model.items_.index_of(entry.item_id)
    boosts = personal.catalogue.placed.boosts_of(place)
    total = _sum_of_parts(entry) or sum(abs(part) for _, part in boosts)
    for name, part in boosts:
        share = part / total
        row = boost_row(name, part, entry.item_id, texts)
        rows.append(ReasonRow(row, share, round(start, 1)))
        start += 100 * abs(share)
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
        str(reason.tag),
        labels[0],
        reason.affinity,
        personal.presses.get(reason.tag, 0),
        tuple(labels[1:]),
        personal.affinity(reason.tag),
        joint_features(tags, texts),
        joint_names(tags, catalogue, texts)[0],
    )
