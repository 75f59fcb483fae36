"""What a page shows of a profile and a list, as plain values that a template only writes down."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from teaser.app.catalogue import Card, Catalogue
from teaser.app.session import Session
from teaser.app.texts import Texts
from teaser.data.dataset import ItemId
from teaser.data.tags import Tag
from teaser.explain import Reason, Recommendation
from teaser.guide import statements, undo_presses
from teaser.profile import MAX_PRESSES, POPULARITY

SHOWN_TAGS = 4
OPEN_FEATURES = 3
INLINE_TAGS = 12
N_FACTS = 4
_MOST_REMEMBERED = 5_000


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
    def can_rise(self) -> bool:
        """Whether + can be pressed."""
        return self.presses < MAX_PRESSES

    @property
    def can_fall(self) -> bool:
        """Whether - can be pressed."""
        return self.presses > -MAX_PRESSES


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
class ReasonRow:
    """A reason of a card: how much, for which tag, and its place in the strip of all reasons."""

    row: TagRow
    share: float
    start: float


@dataclass(frozen=True, slots=True)
class CardView:
    """An item in a list."""

    card: Card
    facts: list[str]
    match: float
    reasons: list[ReasonRow]
    moved: int | str | None


def tag_row(tag: Tag, affinity: float, session: Session, texts: Texts) -> TagRow:
    """Return what is shown of one tag."""
    return TagRow(tag, str(tag), texts.tag(tag), affinity, session.presses.get(tag, 0))


def tag_label(tag: Tag, catalogue: Catalogue, texts: Texts) -> str:
    """Return a tag's value, with its feature where another feature has the same value."""
    label = texts.tag(tag)
    if tag.value not in _ambiguous(catalogue):
        return label
    return f"{label} ({texts.feature(tag.feature)})"


@lru_cache(maxsize=2)
def _ambiguous(catalogue: Catalogue) -> frozenset[str]:
    counts = Counter(tag.value for tag in catalogue.model.tags_)
    return frozenset(value for value, n in counts.items() if n > 1)


def profile_view(session: Session, texts: Texts) -> ProfileView:
    """Return the profile, the feature of most impact first."""
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
        certainty=say_certainty(session, texts),
        n_presses=sum(map(abs, session.presses.values())),
    )


def feature_rows(session: Session, feature: str, texts: Texts) -> list[TagRow]:
    """Return all tags of a feature, the most influential first, then the commonest."""
    return [_row_at(j, session, texts) for j in _ordered(session, feature).tolist()]


def _feature_view(name: str, session: Session, texts: Texts, *, is_open: bool) -> FeatureView:
    ordered = _ordered(session, name).tolist()
    tags = session.catalogue.model.tags_
    shown = ordered[:SHOWN_TAGS]
    shown += [j for j in ordered[SHOWN_TAGS:] if tags[j] in session.presses]
    rest = (
        [j for j in ordered if j not in shown] if len(ordered) <= SHOWN_TAGS + INLINE_TAGS else []
    )
    return FeatureView(
        name=name,
        label=texts.feature(name),
        impact=session.profile.impacts.get(name, 0.0),
        rows=[_row_at(j, session, texts) for j in shown],
        more=[_row_at(j, session, texts) for j in rest],
        n_more=len(ordered) - len(shown),
        is_open=is_open,
    )


def _row_at(j: int, session: Session, texts: Texts) -> TagRow:
    affinity = float(session.profile.values[j])
    return tag_row(session.catalogue.model.tags_[j], affinity, session, texts)


def _ordered(session: Session, feature: str) -> NDArray[Any]:
    places = _places(session.catalogue)[feature]
    size = np.abs(session.profile.values[places])
    return np.asarray(places[np.argsort(-size, kind="stable")])


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
        presses = undo_presses(statement, session.presses)
        found.append(
            StatementView(
                leaning=statement.leaning,
                labels=[tag_label(tag, session.catalogue, texts) for tag in statement.tags],
                presses={str(tag): steps for tag, steps in presses.items()},
            )
        )
    return found


def say_certainty(session: Session, texts: Texts) -> str:
    """Say in words how sure the profile is, and what it rests on."""
    certainty = session.profile.certainty
    if not session.history and not session.presses:
        return texts("I know nothing about you yet, so I show what many people like.")
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
    return texts("{sure}: {seen}, {pressed}.", sure=sure, seen=seen, pressed=pressed)


def card_views(
    session: Session,
    found: Iterable[Recommendation],
    texts: Texts,
    moves: Mapping[ItemId, int | str] | None = None,
) -> list[CardView]:
    """Return the cards of a list."""
    return [
        CardView(
            card=(card := card_of(session.catalogue, entry.item_id)),
            facts=facts(card, texts),
            match=entry.match,
            reasons=_reasons(entry.reasons, session, texts),
            moved=(moves or {}).get(entry.item_id),
        )
        for entry in found
    ]


def card_of(catalogue: Catalogue, item_id: ItemId) -> Card:
    """Return what is shown of an item, remembered while the catalogue is served."""
    known = _cards(catalogue)
    found = known.get(item_id)
    if found is None:
        if len(known) > _MOST_REMEMBERED:
            known.clear()
        found = known[item_id] = catalogue.card(item_id)
    return found


@lru_cache(maxsize=1)
def _cards(_: Catalogue) -> dict[ItemId, Card]:
    return {}


def plain_card(catalogue: Catalogue, item_id: ItemId, texts: Texts) -> CardView:
    """Return an item as a card without match and reasons."""
    card = card_of(catalogue, item_id)
    return CardView(card, facts(card, texts), 0.0, [], None)


def facts(card: Card, texts: Texts) -> list[str]:
    """Return the line of facts under a title: a few values, and the day."""
    values = [
        texts.tag(Tag(name, value)) for name, all_of in card.facts.items() for value in all_of
    ]
    said = list(dict.fromkeys(values))[:N_FACTS]
    return [*said, texts.date(card.date)] if card.date else said


def _reasons(reasons: Iterable[Reason], session: Session, texts: Texts) -> list[ReasonRow]:
    rows = []
    start = 0.0
    for reason in reasons:
        label = tag_label(reason.tag, session.catalogue, texts)
        row = replace(tag_row(reason.tag, reason.affinity, session, texts), label=label)
        rows.append(ReasonRow(row, reason.share, round(start, 1)))
        start += 100 * abs(reason.share)
    return rows
