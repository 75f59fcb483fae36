"""What a page shows of a profile and a list, as plain values that a template only writes down."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from teaser.app.i18n.texts import Texts
from teaser.app.people.events import AS_FITTED
from teaser.app.serving.catalogue import Card, Catalogue
from teaser.app.serving.personal_model import Session
from teaser.data.ids import ItemId
from teaser.data.tagging.tag import Tag
from teaser.explain import AnyReason, Reason, Recommendation
from teaser.guide import statements, undo_presses
from teaser.model.base import top_k
from teaser.profile import MAX_PRESSES, POPULARITY, Steering

SHOWN_TAGS = 4
OPEN_FEATURES = 3
INLINE_TAGS = 12
N_FACTS = 4
# What people ask first of an item, in the words that data commonly have for it.
_FIRST_FACTS = (
    frozenset({"type", "kind", "category", "categories", "genre", "genres"}),
    frozenset({"town", "city", "place", "venue", "location"}),
    frozenset({"price", "cost", "fee"}),
)
_MOST_REMEMBERED = 5_000
K = TypeVar("K")
V = TypeVar("V")
_NONE = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class TagRow:
    """A tag with its affinity, its presses, and its bar, which ends at -1 and 1."""

    tag: Tag
    text: str
    label: str
    affinity: float
    presses: int

    @property
    def length(self) -> float:
        """The length of the bar, of 100."""
        return round(100 * min(1.0, abs(self.affinity)), 1)

    @property
    def side(self) -> str:
        """Where the bar goes: `up`, `down` or nowhere."""
        return "up" if self.affinity > 0 else "down" if self.affinity < 0 else ""

    @property
    def can_rise(self) -> bool:
        """Whether + moves the affinity; see `teaser.app.actions`."""
        return self.presses < MAX_PRESSES and (self.affinity < 1 or self.presses < 0)

    @property
    def can_fall(self) -> bool:
        """Whether - moves the affinity."""
        return self.presses > -MAX_PRESSES and (self.affinity > -1 or self.presses > 0)


@dataclass(frozen=True, slots=True)
class FeatureView:
    """A feature: its impact, its most influential tags, and the rest where they are few."""

    name: str
    label: str
    impact: float
    rows: list[TagRow]
    more: list[TagRow]
    n_more: int
    is_open: bool

    @property
    def length(self) -> float:
        """The length of the impact's bar, of 100."""
        return round(100 * self.impact, 1)


@dataclass(frozen=True, slots=True)
class StatementView:
    """A sentence about a person's taste, and the presses by which they disagree."""

    leaning: int
    labels: list[str]
    presses: dict[str, int]


@dataclass(frozen=True, slots=True)
class ProfileView:
    """All that is said about a person."""

    statements: list[StatementView]
    features: list[FeatureView]
    certainty: str
    n_presses: int


@dataclass(frozen=True, slots=True)
class ViewedRow:
    """A viewed item that counts beside its tags; several of them together have no id."""

    item_id: ItemId | None
    title: str


@dataclass(frozen=True, slots=True)
class ReasonRow:
    """A reason of a card: how much, for what, and its place in the strip of all reasons."""

    row: TagRow | ViewedRow
    share: float
    start: float
    matters_more: bool = False

    @property
    def width(self) -> float:
        """How wide it is in the strip, of 100, less a gap to the next."""
        return round(max(100 * abs(self.share) - 0.7, 0.3), 1)

    @property
    def side(self) -> str:
        """Whether it is for the item or against it: `up` or `down`."""
        return "up" if self.share > 0 else "down"

    @property
    def is_viewed(self) -> bool:
        """Whether it is an item that was viewed, not a tag."""
        return isinstance(self.row, ViewedRow)


@dataclass(frozen=True, slots=True)
class CardView:
    """An item in a list; without match and reasons where nothing is known of the person."""

    card: Card
    facts: tuple[str, ...]
    match: float | None
    reasons: list[ReasonRow]
    moved: int | str | None


def tag_row(tag: Tag, affinity: float, session: Session, texts: Texts) -> TagRow:
    """Return what is shown of one tag."""
    name = _names(session.catalogue, texts)[session.catalogue.tag_index[tag]]
    return TagRow(tag, name.text, name.label, affinity, session.presses.get(tag, 0))


def tag_label(tag: Tag, catalogue: Catalogue, texts: Texts) -> str:
    """Return a tag's value, with its feature where another feature has the same value."""
    place = catalogue.tag_index.get(tag)
    return texts.tag(tag) if place is None else _names(catalogue, texts)[place].full


@dataclass(frozen=True, slots=True)
class _Name:
    """A tag as forms name it, as people read it, and so that no other tag reads the same."""

    text: str
    label: str
    full: str


@dataclass(frozen=True, slots=True)
class _Kept:
    """What is remembered of one catalogue while it is served; names and facts by language."""

    names: dict[str, list[_Name]] = field(default_factory=dict)
    cards: dict[ItemId, Card] = field(default_factory=dict)
    facts: dict[tuple[str, ItemId], tuple[str, ...]] = field(default_factory=dict)


@lru_cache(maxsize=1)
def _kept(_: Catalogue) -> _Kept:
    return _Kept()


def _names(catalogue: Catalogue, texts: Texts) -> list[_Name]:
    """Return the names of every tag of the model."""
    known = _kept(catalogue).names
    if texts.language not in known:
        counts = Counter(tag.value for tag in catalogue.model.tags_)
        known[texts.language] = [
            _name(tag, texts, is_alone=counts[tag.value] < 2) for tag in catalogue.model.tags_
        ]
    return known[texts.language]


def _name(tag: Tag, texts: Texts, *, is_alone: bool) -> _Name:
    label = texts.tag(tag)
    return _Name(str(tag), label, label if is_alone else f"{label} ({texts.feature(tag.feature)})")


def profile_view(session: Session, texts: Texts, *, is_own: bool = True) -> ProfileView:
    """Return the profile, the feature of most impact first; of the reader or of somebody else."""
    profile = session.profile
    pressed = {tag.feature for tag in session.presses}
    names = list(_places(session.catalogue))
    names.sort(key=lambda name: -profile.impacts.get(name, 0.0))
    features = [
        _feature_view(name, session, texts, is_open=place < OPEN_FEATURES or name in pressed)
        for place, name in enumerate(names)
    ]
    return ProfileView(
        statements=_statements(session, texts),
        features=features,
        certainty=say_certainty(session, texts, is_own=is_own),
        n_presses=sum(map(abs, session.presses.values())),
    )


def feature_rows(session: Session, feature: str, texts: Texts) -> list[TagRow]:
    """Return all tags of a feature, the most influential first, then the commonest."""
    return _rows(_ordered(session, _places(session.catalogue)[feature].tolist()), session, texts)


def _feature_view(name: str, session: Session, texts: Texts, *, is_open: bool) -> FeatureView:
    places = _places(session.catalogue)[name]
    index = session.catalogue.tag_index
    is_short = len(places) <= SHOWN_TAGS + INLINE_TAGS
    ordered = _ordered(session, places.tolist()) if is_short else _leading(session, places)
    first = ordered[:SHOWN_TAGS]
    pressed = {index[tag] for tag in session.presses if tag.feature == name}.difference(first)
    common = [j for j in places.tolist() if j in pressed] if pressed else []
    shown = first + _ordered(session, common)
    rest = [j for j in ordered if j not in shown] if is_short else []
    return FeatureView(
        name=name,
        label=texts.feature(name),
        impact=session.profile.impacts.get(name, 0.0),
        rows=_rows(shown, session, texts),
        more=_rows(rest, session, texts),
        n_more=len(places) - len(shown),
        is_open=is_open,
    )


def _ordered(session: Session, places: list[int]) -> list[int]:
    """Return tags in order of influence; equals stay as they are."""
    size = dict(zip(places, np.abs(session.profile.values[places]).tolist(), strict=True))
    return sorted(places, key=size.__getitem__, reverse=True)


def _leading(session: Session, places: NDArray[Any]) -> list[int]:
    """Return what `_ordered` begins with, for many tags."""
    size = np.abs(session.profile.values[places])
    found: list[int] = places[top_k(size, SHOWN_TAGS, exclude=_NONE, tie=size)].tolist()
    return found


def _rows(places: list[int], session: Session, texts: Texts) -> list[TagRow]:
    names, tags = _names(session.catalogue, texts), session.catalogue.model.tags_
    affinities = session.profile.values[places].tolist()
    presses = session.presses
    return [
        TagRow(tags[j], names[j].text, names[j].label, affinity, presses.get(tags[j], 0))
        for j, affinity in zip(places, affinities, strict=True)
    ]


@lru_cache(maxsize=2)
def _places(catalogue: Catalogue) -> dict[str, NDArray[Any]]:
    """Return where the tags of each feature are, the commonest first."""
    index = catalogue.tag_index
    common = {**catalogue.features, POPULARITY.feature: [POPULARITY]}
    names = dict.fromkeys(tag.feature for tag in catalogue.model.tags_)
    return {name: np.array([index[tag] for tag in common[name]]) for name in names}


def _statements(session: Session, texts: Texts) -> list[StatementView]:
    found = []
    for statement in statements(session.profile, limit=3):
        presses = undo_presses(statement, session.learnt, session.presses)
        found.append(
            StatementView(
                leaning=statement.leaning,
                labels=[tag_label(tag, session.catalogue, texts) for tag in statement.tags],
                presses={str(tag): steps for tag, steps in presses.items()},
            )
        )
    return found


def say_certainty(session: Session, texts: Texts, *, is_own: bool = True) -> str:
    """Say in words how sure the profile is, and what it rests on; others are told less."""
    certainty = session.profile.certainty
    if session.is_new and is_own:
        return texts("I know nothing about you yet, so I show what many people like.")
    if session.is_new:
        return texts("Nothing is known of this person yet; the list is what many people like.")
    if certainty < 0.35:
        sure = texts("Not sure at all")
    elif certainty < 0.5:
        sure = texts("A first guess")
    elif certainty < 0.7:
        sure = texts("Getting an idea")
    else:
        sure = texts("Fairly sure")
    seen = texts.count("{n} item seen", "{n} items seen", len(session.history))
    n_presses = sum(map(abs, session.presses.values()))
    pressed = texts.count("{n} press", "{n} presses", n_presses)
    if not session.about or not is_own:
        return texts("{sure}: {seen}, {pressed}.", sure=sure, seen=seen, pressed=pressed)
    known = texts.count("{n} fact about you", "{n} facts about you", len(session.about))
    return texts(
        "{sure}: {seen}, {pressed}, {known}.", sure=sure, seen=seen, pressed=pressed, known=known
    )


def say_balance(balance: float, texts: Texts) -> str:
    """Say in words how much tags count, and how much what others viewed beside."""
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


def card_views(
    session: Session,
    found: Iterable[Recommendation],
    texts: Texts,
    moves: Mapping[ItemId, int | str] | None = None,
) -> list[CardView]:
    """Return the cards of a list."""
    return [
        CardView(
            card=card_of(session.catalogue, entry.item_id),
            facts=facts_of(session.catalogue, entry.item_id, texts),
            match=None if session.is_new else entry.match,
            reasons=[] if session.is_new else _reasons(entry.reasons, session, texts),
            moved=(moves or {}).get(entry.item_id),
        )
        for entry in found
    ]


def card_of(catalogue: Catalogue, item_id: ItemId) -> Card:
    """Return what is shown of an item, remembered while the catalogue is served."""
    known = _kept(catalogue).cards
    found = known.get(item_id)
    if found is None:
        found = _remember(known, item_id, catalogue.card(item_id))
    return found


def facts_of(catalogue: Catalogue, item_id: ItemId, texts: Texts) -> tuple[str, ...]:
    """Return the line of facts of an item, remembered as its card is."""
    known = _kept(catalogue).facts
    found = known.get((texts.language, item_id))
    if found is None:
        said = tuple(facts(card_of(catalogue, item_id), texts))
        found = _remember(known, (texts.language, item_id), said)
    return found


def _remember(known: dict[K, V], key: K, value: V) -> V:
    if len(known) > _MOST_REMEMBERED:
        known.clear()
    known[key] = value
    return value


def plain_card(catalogue: Catalogue, item_id: ItemId, texts: Texts) -> CardView:
    """Return an item as a card without match and reasons."""
    said = facts_of(catalogue, item_id, texts)
    return CardView(card_of(catalogue, item_id), said, None, [], None)


def facts(card: Card, texts: Texts) -> list[str]:
    """Return the line of facts under a title: a few values, what and where first, and the day."""
    values = [
        texts.tag(Tag(name, value))
        for name in sorted(card.facts, key=_late)
        for value in card.facts[name]
    ]
    said = list(dict.fromkeys(values))[:N_FACTS]
    return [*said, texts.date(card.date)] if card.date else said


def _late(feature: str) -> int:
    """Return how far back a feature stands in the line of facts; equals stay as they are."""
    words = feature.casefold().replace("_", " ").replace("-", " ").split()
    ranks = (rank for rank, names in enumerate(_FIRST_FACTS) if names.intersection(words))
    return next(ranks, len(_FIRST_FACTS))


def _reasons(reasons: Iterable[AnyReason], session: Session, texts: Texts) -> list[ReasonRow]:
    names = _names(session.catalogue, texts)
    rows = []
    start = 0.0
    for reason in reasons:
        row: TagRow | ViewedRow
        matters_more = False
        if isinstance(reason, Reason):
            matters_more = reason.matters_more
            name = names[session.catalogue.tag_index[reason.tag]]
            presses = session.presses.get(reason.tag, 0)
            row = TagRow(reason.tag, name.text, name.full, reason.affinity, presses)
        else:
            row = ViewedRow(reason.item_id, reason.title or str(reason.item_id))
        rows.append(ReasonRow(row, reason.share, round(start, 1), matters_more))
        start += 100 * abs(reason.share)
    return rows
