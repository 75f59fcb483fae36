"""What pages show of a profile and of items: tags, statements, cards with reasons."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from teaser.app.catalogue import Card, Catalogue, PersonalModel, cached_per_catalogue
from teaser.app.i18n.texts import LANGUAGES, Texts
from teaser.data.matrix import ItemId
from teaser.data.tags import Tag
from teaser.explain import BoostName, Reason, ViewedReason
from teaser.model.scores import top_k
from teaser.profile import GENERAL, MAX_PRESSES, NOT_STATED, POPULARITY
from teaser.recommend import Recommendation
from teaser.steer import statements, undo_presses

SHOWN_TAGS = 4
OPEN_FEATURES = 3
INLINE_TAGS = 12
N_STATEMENTS = 3
_NO_PLACES = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class TagRow:
    """A tag with its affinity, its presses, and a bar that ends at -1 and 1.

    A row of near-equal tags has the sum of their affinities. `others` are the names of all but the
    first, which presses are on, and `own` is the affinity of that one; `features` are those of all.
    `full` is the label where the feature is not shown. `ends` says that some of the presses end by
    themselves, and `is_hidden` that items with the tag are not shown.
    """

    tag: Tag
    text: str
    label: str
    affinity: float
    presses: int
    others: tuple[str, ...] = ()
    own: float | None = None
    features: tuple[str, ...] = ()
    full: str = ""
    ends: bool = False
    is_hidden: bool = False

    @property
    def name(self) -> str:
        """The label that can stand alone, such as for a button."""
        return self.full or self.label

    @property
    def is_found(self) -> bool:
        """Whether the system found the tag."""
        return self.tag.discovered

    @property
    def length(self) -> float:
        """The length of the bar in percent."""
        return round(100 * min(1.0, abs(self.affinity)), 1)

    @property
    def side(self) -> str:
        """The direction of the bar: `up`, `down` or empty."""
        return "up" if self.affinity > 0 else "down" if self.affinity < 0 else ""

    @property
    def can_rise(self) -> bool:
        """Whether + moves the affinity; see `teaser.app.actions`."""
        return self.presses < MAX_PRESSES and (self._pressed < 1 or self.presses < 0)

    @property
    def can_fall(self) -> bool:
        """Whether - moves the affinity."""
        return self.presses > -MAX_PRESSES and (self._pressed > -1 or self.presses > 0)

    @property
    def _pressed(self) -> float:
        return self.affinity if self.own is None else self.own


@dataclass(frozen=True, slots=True)
class FeatureView:
    """A feature: its impact, its most influential tags, and the other tags if they are few."""

    name: str
    label: str
    impact: float
    rows: list[TagRow]
    more: list[TagRow]
    n_more: int
    is_open: bool

    @property
    def length(self) -> float:
        """The length of the impact's bar in percent."""
        return round(100 * self.impact, 1)


@dataclass(frozen=True, slots=True)
class StatementView:
    """A sentence about a person's taste, and the presses that take it back."""

    leaning: int
    labels: list[str]
    presses: dict[str, int]


@dataclass(frozen=True, slots=True)
class ProfileView:
    """The profile panel of a page; `general` is None if the model does not tell it apart."""

    general: TagRow | None
    statements: list[StatementView]
    features: list[FeatureView]
    certainty: str


@dataclass(frozen=True, slots=True)
class TagName:
    """The names of a tag: in forms, on screen, and on screen where the feature is not shown.

    `full` includes the feature if the value says nothing without it, or if another feature has a
    tag of the same value, and says of a group that it is one.
    """

    text: str
    label: str
    full: str


@cached_per_catalogue(len(LANGUAGES))
def tag_names(catalogue: Catalogue, texts: Texts) -> list[TagName]:
    """Return the names of every tag of the model."""
    counts = Counter(tag.value for tag in catalogue.model.tags_)
    names = []
    for tag in catalogue.model.tags_:
        label = texts.tag(tag)
        full = label
        if tag.discovered:
            full = texts("the group “{name}”", name=label)
        elif tag.is_bare:
            full = texts.full_tag(tag)
        elif counts[tag.value] > 1 or tag.value == NOT_STATED:
            full = f"{label} ({texts.feature(tag.feature)})"
        names.append(TagName(str(tag), label, full))
    return names


def tag_label(tag: Tag, catalogue: Catalogue, texts: Texts) -> str:
    """Return a tag's value, with its feature where the value alone is not enough."""
    place = catalogue.tag_index.get(tag)
    return texts.full_tag(tag) if place is None else tag_names(catalogue, texts)[place].full


def joint_names(
    tags: Sequence[Tag], catalogue: Catalogue, texts: Texts, *, full: bool = True
) -> list[str]:
    """Return the names of tags that are told together; a value that all share is named once.

    `full=False` is for a place that shows the features too.
    """
    labels = list(dict.fromkeys(texts.tag(tag) for tag in tags))
    if len(labels) == 1 and len(tags) > 1 and full:
        features = " / ".join(joint_features(tags, texts))
        if tags[0].is_bare:
            return [texts("{feature}: {value}", feature=features, value=labels[0])]
        return [f"{labels[0]} ({features})"]
    return [tag_label(tag, catalogue, texts) for tag in tags] if full else labels


def joint_features(tags: Sequence[Tag], texts: Texts) -> tuple[str, ...]:
    """Return the names of the features of tags, each once."""
    return tuple(dict.fromkeys(texts.feature(tag.feature) for tag in tags))


def tag_row(tag: Tag, affinity: float, personal: PersonalModel, texts: Texts) -> TagRow:
    """Return the row of one tag."""
    place = personal.catalogue.tag_index[tag]
    name, presses = tag_names(personal.catalogue, texts)[place], personal.presses.get(tag, 0)
    ends, hidden = _marked(personal)
    return TagRow(
        tag,
        name.text,
        name.label,
        affinity,
        presses,
        full=name.full,
        ends=place in ends,
        is_hidden=place in hidden,
    )


def profile_view(personal: PersonalModel, texts: Texts, *, is_own: bool = True) -> ProfileView:
    """Return the profile, the feature of most impact first.

    `is_own=False` is for a profile that somebody else shared.
    """
    impacts = personal.profile.impacts
    names = sorted(_places(personal.catalogue), key=lambda name: -impacts.get(name, 0.0))
    pressed = {tag.feature for tag in personal.presses}
    features = []
    for place, name in enumerate(names):
        rows, more = _feature_tags(name, personal, texts)
        n_tags = len(_places(personal.catalogue)[name])
        is_open = place < OPEN_FEATURES or name in pressed
        impact = impacts.get(name, 0.0)
        label = texts.feature(name)
        features.append(FeatureView(name, label, impact, rows, more, n_tags - len(rows), is_open))
    has_general = GENERAL in personal.catalogue.tag_index
    return ProfileView(
        general=tag_row(GENERAL, personal.profile.general, personal, texts)
        if has_general
        else None,
        statements=_statements(personal, texts),
        features=features,
        certainty=describe_certainty(personal, texts, is_own=is_own),
    )


def feature_rows(
    personal: PersonalModel, feature: str, texts: Texts, *, rest: bool = False
) -> list[TagRow]:
    """Return all tags of a feature, the most influential first; ties by number of items.

    `rest=True` leaves out those that the profile panel shows above the others.
    """
    places = _places(personal.catalogue)[feature]
    shown = set(_shown(personal, feature)) if rest else set()
    left = [j for j in places.tolist() if j not in shown]
    return _rows(_by_influence(personal, left), personal, texts)


def describe_certainty(personal: PersonalModel, texts: Texts, *, is_own: bool = True) -> str:
    """Describe how certain the profile is and what it is based on; facts only to its owner."""
    if personal.is_new and is_own:
        return texts("I know nothing about you yet, so I show what many people like.")
    if personal.is_new:
        return texts("Nothing is known of this person yet; the list is what many people like.")
    certainty = personal.profile.certainty
    if certainty < 0.35:
        sure = texts("Not sure at all")
    elif certainty < 0.5:
        sure = texts("A first guess")
    elif certainty < 0.7:
        sure = texts("Getting an idea")
    else:
        sure = texts("Fairly sure")
    seen = texts.count("{n} item seen", "{n} items seen", len(personal.history))
    n_presses = sum(map(abs, personal.presses.values()))
    pressed = texts.count("{n} press", "{n} presses", n_presses)
    if not personal.about or not is_own:
        return texts("{sure}: {seen}, {pressed}.", sure=sure, seen=seen, pressed=pressed)
    known = texts.count("{n} fact about you", "{n} facts about you", len(personal.about))
    return texts(
        "{sure}: {seen}, {pressed}, {known}.", sure=sure, seen=seen, pressed=pressed, known=known
    )


def _feature_tags(
    name: str, personal: PersonalModel, texts: Texts
) -> tuple[list[TagRow], list[TagRow]]:
    """Return the tags of a feature that are shown first, and the others if they are few."""
    places, shown = _places(personal.catalogue)[name], _shown(personal, name)
    rest = [j for j in places.tolist() if j not in shown] if _is_short(places) else []
    more = _by_influence(personal, rest)
    return _rows(shown, personal, texts), _rows(more, personal, texts)


def _is_short(places: NDArray[Any]) -> bool:
    """Return whether all tags of a feature fit into the panel."""
    return len(places) <= SHOWN_TAGS + INLINE_TAGS


def _shown(personal: PersonalModel, feature: str) -> list[int]:
    """Return the tags of a feature that are shown first: the most influential, and pressed ones."""
    places = _places(personal.catalogue)[feature]
    index = personal.catalogue.tag_index
    if _is_short(places):
        first = _by_influence(personal, places.tolist())[:SHOWN_TAGS]
    else:
        first = _leading(personal, places)
    pressed = {index[tag] for tag in personal.presses if tag.feature == feature}.difference(first)
    common = sorted(pressed, key=_ranks(personal.catalogue).__getitem__)
    return first + _by_influence(personal, common)


def _by_influence(personal: PersonalModel, places: list[int]) -> list[int]:
    """Return tags by the size of their affinity; the order of ties is kept."""
    size = dict(zip(places, np.abs(personal.profile.values[places]).tolist(), strict=True))
    return sorted(places, key=size.__getitem__, reverse=True)


def _leading(personal: PersonalModel, places: NDArray[Any]) -> list[int]:
    """Return the first tags of `_by_influence` without sorting the rest."""
    size = np.abs(personal.profile.values[places])
    found: list[int] = places[top_k(size, SHOWN_TAGS, exclude=_NO_PLACES, tie=size)].tolist()
    return found


def _rows(places: list[int], personal: PersonalModel, texts: Texts) -> list[TagRow]:
    names, tags = tag_names(personal.catalogue, texts), personal.catalogue.model.tags_
    affinities = personal.profile.values[places].tolist()
    ends, hidden = _marked(personal)
    rows = []
    for j, affinity in zip(places, affinities, strict=True):
        name, presses = names[j], personal.presses.get(tags[j], 0)
        row = TagRow(tags[j], name.text, name.label, affinity, presses, full=name.full)
        is_marked = j in ends or j in hidden
        rows.append(replace(row, ends=j in ends, is_hidden=j in hidden) if is_marked else row)
    return rows


def _marked(personal: PersonalModel) -> tuple[set[int], set[int]]:
    """Return the tags with presses that end by themselves, and those that are never shown."""
    state, index = personal.state, personal.catalogue.tag_index
    if not state.ends and not state.hidden_tags:
        return set(), set()
    ends = {index.get(Tag.parse(str(e.name)), -1) for e in state.ends if e.kind == "press"}
    return ends, {index.get(Tag.parse(text), -1) for text in state.hidden_tags}


@cached_per_catalogue(1)
def _places(catalogue: Catalogue) -> dict[str, NDArray[Any]]:
    """Return the positions of the tags of each feature, the most common first."""
    index = catalogue.tag_index
    common = {**catalogue.features, POPULARITY.feature: [POPULARITY]}
    names = dict.fromkeys(tag.feature for tag in catalogue.model.tags_ if tag != GENERAL)
    return {name: np.array([index[tag] for tag in common[name]]) for name in names}


@cached_per_catalogue(1)
def _ranks(catalogue: Catalogue) -> dict[int, int]:
    """Return the place of each tag among those of its feature, by its position in the model."""
    return {j: n for places in _places(catalogue).values() for n, j in enumerate(places.tolist())}


def _statements(personal: PersonalModel, texts: Texts) -> list[StatementView]:
    found = []
    for statement in statements(personal.profile, k=N_STATEMENTS):
        presses = undo_presses(statement, personal.learned, personal.presses)
        # A tag is named together with the near-equal tags that it stands for.
        named = [(tag, *statement.near_equal.get(tag, ())) for tag in statement.tags]
        labels = [" / ".join(joint_names(tags, personal.catalogue, texts)) for tags in named]
        found.append(
            StatementView(statement.leaning, labels, {str(tag): n for tag, n in presses.items()})
        )
    return found


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
