"""What pages show of a profile: features with their tags, statements, certainty."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from teaser.app.i18n.texts import LANGUAGES, Texts
from teaser.app.serving.catalogue import Catalogue, cached_per_catalogue
from teaser.app.serving.personal_model import PersonalModel
from teaser.data.tags import Tag
from teaser.model.ranking import top_k
from teaser.profile import GENERAL, MAX_PRESSES, NOT_STATED, POPULARITY
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
