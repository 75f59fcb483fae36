"""What pages show of a profile and of items: tags, statements, cards with reasons."""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np
from markupsafe import Markup, escape
from numpy.typing import NDArray

from teaser.app.catalogue import Card, Catalogue, PersonalModel, cached_per_catalogue, known_tags
from teaser.app.i18n.texts import LANGUAGES, Texts
from teaser.data.matrix import ItemId
from teaser.data.tags import KINDS, PLACES, Tag, differing_names
from teaser.explain import BoostName, Reason, ViewedReason
from teaser.model.scores import top_k
from teaser.profile import GENERAL, NOT_STATED, POPULARITY
from teaser.recommend import Recommendation
from teaser.steer import Statement, undo_presses

# The tags of a feature that the profile shows, and those of all features that the list's page does.
SHOWN_TAGS = 6
N_STRONGEST = 6
# A tag that few items carry has a large leaning by chance: it counts n / (n + this) of it.
_FEW_ITEMS = 10
_NO_PLACES = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class TagRow:
    """A tag with its affinity, its leaning, its presses, and a bar of its leaning.

    `leaning` is None where the tag has none; the bar is then that of the affinity. `length` is that
    of the bar, in percent of the longest.

    A row of near-equal tags has the sum of their affinities. `others` are the names of all but the
    first, which presses are on; `features` are those of all.
    `full` is the label where the feature is not shown. `ends` says that some of the presses end by
    themselves, and `is_hidden` that items with the tag are not shown.
    """

    kind: ClassVar = "tag"

    tag: Tag
    label: str
    full: str
    affinity: float
    presses: int
    others: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    ends: bool = False
    is_hidden: bool = False
    leaning: float | None = None
    length: float = 0.0

    @property
    def drawn(self) -> float:
        """The number that the bar shows."""
        return self.affinity if self.leaning is None else self.leaning

    @property
    def side(self) -> str:
        """The direction of the bar: `up`, `down` or empty."""
        return "up" if self.drawn > 0 else "down" if self.drawn < 0 else ""


@dataclass(frozen=True)
class FeatureView:
    """A feature: its impact, its strongest tags, and how many others it has."""

    name: str
    label: str
    impact: float
    rows: list[TagRow]
    n_more: int


@dataclass(frozen=True)
class StatementView:
    """A statement as a sentence, the name of its tags, and the presses that take it back."""

    statement: Statement
    said: Markup
    name: str
    denial: dict[str, int]


@dataclass(frozen=True)
class ProfileView:
    """What was learned of a person in sentences, and the tags that they lean to most."""

    statements: list[StatementView]
    strongest: list[TagRow]
    certainty: str


@cached_per_catalogue(len(LANGUAGES))
def tag_names(catalogue: Catalogue, texts: Texts) -> list[tuple[str, str]]:
    """Return two names of every tag: where its feature is shown, and where it is not.

    The second includes the feature if the value says nothing without it, or if another feature has
    a tag of the same value, and says of a group that it is one.
    """
    counts = Counter(tag.value for tag in catalogue.model.tags_)
    names = []
    for tag in catalogue.model.tags_:
        label = texts.tag(tag)
        full = texts.full_tag(tag)
        if tag.discovered and not tag.is_titles:
            full = texts("the group “{name}”", name=label)
        elif full == label and (counts[tag.value] > 1 or tag.value == NOT_STATED):
            full = f"{label} ({texts.feature(tag.feature)})"
        names.append((label, full))
    return names


def tag_label(tag: Tag, catalogue: Catalogue, texts: Texts) -> str:
    """Return a tag's value, with its feature where the value alone is not enough."""
    place = catalogue.tag_index.get(tag)
    return texts.full_tag(tag) if place is None else tag_names(catalogue, texts)[place][1]


def joint_names(
    tags: Sequence[Tag], catalogue: Catalogue, texts: Texts, *, full: bool = True
) -> list[str]:
    """Return the names of tags that are told together, three at most that share no word.

    A value of several features is named once. `full=False` is for a place that shows the features.
    """
    by_label: dict[str, list[Tag]] = {}
    for tag in tags:
        by_label.setdefault(texts.tag(tag), []).append(tag)
    labels = differing_names(by_label)
    return [_joint_name(by_label[each], catalogue, texts) for each in labels] if full else labels


def _joint_name(tags: Sequence[Tag], catalogue: Catalogue, texts: Texts) -> str:
    """Return the name of tags of one value, which alone is enough if several features have it."""
    label = texts.tag(tags[0])
    # A region and its town: the number is that of the region.
    if len(tags) == 1 or tags[0].is_place:
        return tag_label(tags[0], catalogue, texts)
    if tags[0].is_bare:
        features = " / ".join(joint_features(tags, texts))
        return texts("{feature}: {value}", feature=features, value=label)
    return label


def joint_features(tags: Sequence[Tag], texts: Texts) -> tuple[str, ...]:
    """Return the names of the features of tags, each once."""
    return tuple(dict.fromkeys(texts.feature(tag.feature) for tag in tags))


def tag_row(tag: Tag, personal: PersonalModel, texts: Texts) -> TagRow:
    """Return the row of one tag."""
    return _rows([personal.catalogue.tag_index[tag]], personal, texts)[0]


def profile_view(
    personal: PersonalModel, texts: Texts, *, is_own: bool = True, is_brief: bool = False
) -> ProfileView:
    """Return what a page says of a person.

    `is_own=False` is for a profile that somebody else shared, `is_brief` for the page of the list.
    """
    said = []
    for each in brief(personal.statements) if is_brief else personal.statements:
        denial = undo_presses(each, personal.learned, personal.presses)
        said.append(
            StatementView(
                each,
                _describe_statement(each, personal.catalogue, texts, is_own=is_own),
                _name_of_statement(each, personal.catalogue, texts),
                {str(tag): n for tag, n in denial.items()},
            )
        )
    return ProfileView(
        statements=said,
        strongest=_rows(_strongest(personal), personal, texts),
        certainty=describe_certainty(personal, texts, is_own=is_own),
    )


def brief(told: Sequence[Statement]) -> list[Statement]:
    """Return the statements that stand beside a list: two that are known, a guess, one away."""
    left = {("known", 1): 2, ("guessed", 1): 1, ("known", -1): 1}
    found = []
    for each in told:
        left[each.kind, each.leaning] -= 1
        if left[each.kind, each.leaning] >= 0:
            found.append(each)
    return found


def general_row(personal: PersonalModel, texts: Texts) -> TagRow | None:
    """Return the row of general appeal; None if the model does not tell it apart."""
    return tag_row(GENERAL, personal, texts) if GENERAL in personal.catalogue.tag_index else None


def feature_views(personal: PersonalModel, texts: Texts) -> list[FeatureView]:
    """Return the features, that of most impact first, with their strongest and pressed tags."""
    impacts, index = personal.profile.impacts, personal.catalogue.tag_index
    found = []
    for name, places in _places(personal.catalogue).items():
        pressed = [index[tag] for tag in personal.presses if tag.feature == name]
        size = _strengths(personal)[places]
        first = places[top_k(size, SHOWN_TAGS, exclude=_NO_PLACES, tie=size)].tolist()
        rows = _rows(list(dict.fromkeys(first + pressed)), personal, texts)
        label, impact = texts.feature(name), impacts.get(name, 0.0)
        found.append(FeatureView(name, label, impact, rows, len(places) - len(rows)))
    return sorted(found, key=lambda view: -view.impact)


def feature_rows(personal: PersonalModel, feature: str, texts: Texts) -> list[TagRow]:
    """Return all tags of a feature, the strongest first; ties by number of items."""
    places = _places(personal.catalogue)[feature]
    order = np.argsort(-_strengths(personal)[places], kind="stable")
    return _rows(places[order].tolist(), personal, texts)


def _strongest(personal: PersonalModel) -> list[int]:
    """Return the tags that a person leans to or away from most, one of several near-equal ones.

    Tags of the metadata come first, because groups are named by titles, which say less at a
    glance. Pressed tags are always among them: a tag that was just pressed stays where it was.
    """
    profile, index = personal.profile, personal.catalogue.tag_index
    groups, found = profile.near_equal_group, dict[int, int]()
    named = np.array([not tag.discovered for tag in profile.tags], dtype=bool)
    strengths = _strengths(personal)
    order = np.lexsort((-strengths, ~(named & (strengths > 0))))
    for place in order[: 4 * N_STRONGEST].tolist():
        group = place if groups is None else int(groups[place])
        if group >= 0 and profile.leaning_values[place]:
            found.setdefault(group, place)
    first = list(found.values())[:N_STRONGEST]
    pressed = [index[tag] for tag in personal.presses if tag != GENERAL]
    return list(dict.fromkeys(first + pressed))


def _strengths(personal: PersonalModel) -> NDArray[Any]:
    """Return what orders tags: the size of a leaning, less where few items carry the tag.

    A tag without a leaning is ordered by the size of its affinity.
    """
    sizes = personal.catalogue.tag_sizes
    leanings = np.abs(personal.profile.leaning_values) * sizes / (sizes + _FEW_ITEMS)
    return np.where(leanings > 0, leanings, 1e-9 * np.abs(personal.profile.values))


def describe_certainty(personal: PersonalModel, texts: Texts, *, is_own: bool = True) -> str:
    """Describe how certain the profile is and what it is based on; facts only to its owner."""
    if personal.is_new and is_own:
        return texts("I know nothing about you yet, so I show what many people like.")
    if personal.is_new:
        return texts("Nothing is known of this person yet; the list is what many people like.")
    n_presses = sum(map(abs, personal.presses.values()))
    pressed = texts.count("{n} press", "{n} presses", n_presses)
    if not personal.history and not personal.about:
        return texts("By presses alone: {pressed}.", pressed=pressed)
    sure = texts("{percent} sure", percent=texts.percent(personal.profile.certainty))
    seen = texts.count("{n} item seen", "{n} items seen", len(personal.history))
    if not personal.about or not is_own:
        return texts("{sure}: {seen}, {pressed}.", sure=sure, seen=seen, pressed=pressed)
    known = texts.count("{n} fact about you", "{n} facts about you", len(personal.about))
    return texts(
        "{sure}: {seen}, {pressed}, {known}.", sure=sure, seen=seen, pressed=pressed, known=known
    )


def _rows(places: list[int], personal: PersonalModel, texts: Texts) -> list[TagRow]:
    names, tags, profile = (
        tag_names(personal.catalogue, texts),
        personal.catalogue.model.tags_,
        personal.profile,
    )
    # The less certain the profile, the shorter its bars.
    longest = float(np.abs(profile.leaning_values).max(initial=0.0)) or 1.0
    sure = profile.certainty if personal.history or personal.about else 1.0
    ends = {e.name for e in personal.state.ends if e.kind == "press"}
    ending, hidden = (
        set(known_tags(personal.catalogue, map(str, some)))
        for some in (ends, personal.state.hidden_tags)
    )
    rows = []
    for j in places:
        tag, affinity, leaning = tags[j], float(profile.values[j]), float(profile.leaning_values[j])
        has_leaning = tag not in (GENERAL, POPULARITY)
        length = sure * abs(leaning) / longest if has_leaning else min(1.0, abs(affinity))
        rows.append(
            TagRow(
                tag,
                *names[j],
                affinity,
                personal.presses.get(tag, 0),
                ends=tag in ending,
                is_hidden=tag in hidden,
                leaning=leaning if has_leaning else None,
                length=round(100 * length, 1),
            )
        )
    return rows


@cached_per_catalogue(1)
def _places(catalogue: Catalogue) -> dict[str, NDArray[Any]]:
    """Return the positions of the tags of each feature, the most common first."""
    index = catalogue.tag_index
    common = {**catalogue.features, POPULARITY.feature: [POPULARITY]}
    names = dict.fromkeys(tag.feature for tag in catalogue.model.tags_ if tag != GENERAL)
    return {name: np.array([index[tag] for tag in common[name]]) for name in names}


def _name_of_statement(statement: Statement, catalogue: Catalogue, texts: Texts) -> str:
    # Near-equal tags are named together.
    named = " / ".join(joint_names(statement.tags, catalogue, texts))
    if statement.like:
        named = texts("items like {titles}", titles=texts.join(statement.like))
    if statement.mostly is None:
        return named
    return texts("{items} (mostly {tag})", items=named, tag=texts.full_tag(statement.mostly))


def _describe_statement(
    statement: Statement, catalogue: Catalogue, texts: Texts, *, is_own: bool
) -> Markup:
    """Return a statement as a sentence."""
    tags, evidence = bold(_name_of_statement(statement, catalogue, texts)), statement.evidence
    of = texts.integer(evidence.of)
    if statement.because is not None:
        parts = {
            "tag": bold(_name_of_statement(statement.because, catalogue, texts)),
            "n": texts.integer(statement.because.evidence.own),
            "all": of,
        }
        if is_own:
            why = texts.html("{tag} ({n} of your {all})", **parts)
            return texts.html(
                "A guess: you may like {tags}, because of {why}. None of them has it yet.",
                tags=tags,
                why=why,
            )
        why = texts.html("{tag} ({n} of their {all})", **parts)
        return texts.html(
            "A guess: they may like {tags}, because of {why}. None of them has it yet.",
            tags=tags,
            why=why,
        )
    n, total = map(texts.integer, evidence.in_others)
    numbers = {"tags": tags, "own": texts.integer(evidence.own), "of": of, "n": n, "total": total}
    if statement.is_place and is_own:
        return texts.html(
            "You mostly choose what is in {tags}: {own} of your {of}, {n} in {total} for others.",
            **numbers,
        )
    if statement.is_place:
        return texts.html(
            "They mostly choose what is in {tags}: {own} of their {of}, {n} in {total} for others.",
            **numbers,
        )
    if statement.leaning > 0 and is_own:
        return texts.html(
            "You lean towards {tags}: {own} of your {of}, {n} in {total} for others.", **numbers
        )
    if statement.leaning > 0:
        return texts.html(
            "They lean towards {tags}: {own} of their {of}, {n} in {total} for others.", **numbers
        )
    if is_own:
        return texts.html(
            "You lean away from {tags}: {own} of your {of}, {n} in {total} for others.", **numbers
        )
    return texts.html(
        "They lean away from {tags}: {own} of their {of}, {n} in {total} for others.", **numbers
    )


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
# How many tags and viewed items a card names, and how many tags that these share with the item:
# rare ones, or a kind.
N_TAGS, N_VIEWED, N_SHARED, _SHARED_BITS, _KIND_BITS = 2, 2, 2, 3.0, 1.0
# They are among so many viewed items that add most, each times how alike it is and this.
N_FIRST, _BARE_PART = 4, 0.1
# What they share with the item, places apart, tells at least so much.
_CLEAR_BITS = 2.5
# That two items are in one town tells why where so many of the history are.
_FEWEST_THERE = 3
# A kind that is shared alone is on at least this part of the history; its count is told from the
# second part on.
_SOME, _OFTEN = 0.1, 0.15
# More of the history than this has what it shares with most items.
_MOST_OF_HISTORY = 0.6
# A tag is told that this share of the history's items carry, or so many times the root of their
# number.
_LEAST_SHARE, _LEAST_ROOT = 0.4, 0.65
# Of more names of a feature than this, none is the one that an item is known by.
_FEW_NAMES = 4
# The tags of a feature are names if they are on less than this share of the items in the mean.
_NAMES = 0.01
# A card says that an item lacks a tag only of those that at least one in sixteen has.
_COMMON_BITS = 4.0
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
        alike = _BARE_PART + personal.likeness(places)
        added = (personal.viewed_parts(places) * alike).tolist()
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


def describe_reasons(
    entry: Recommendation,
    personal: PersonalModel,
    texts: Texts,
    viewed: Mapping[ItemId, float],
    *,
    is_own: bool = True,
) -> Markup:
    """Return why an item is in a list, in one short sentence; its page has all reasons.

    Tags that the history has come first, then the viewed items that add most.

    Parameters
    ----------
    viewed
        What each viewed item adds to the score in all, times how alike it is.
    """
    pressed = personal.presses if is_own else {}
    told = _known_reasons(entry, personal) if viewed else []
    said = {tag for reason in told for tag in reason.tags}
    told += [r for r in entry.reasons if isinstance(r, Reason) and said.isdisjoint(r.tags)]
    # A group that is named by items is told by the viewed items, where there are any.
    able = [r for r in told if r.contribution > 0 and not (viewed and r.tag.is_titles)]
    # A bare number, such as a year, tells little.
    known = [r for r in able if _is_own(r) and not (r.tag.is_bare or r.tag.is_practical)]
    tags = [r for r in able if r in known or _is_pressed(r, pressed)]
    there = [r for r in tags if r.tag.is_place and not _is_pressed(r, pressed)]
    tags = [r for r in _without_cast(tags, personal.catalogue) if r not in there[1:]][:N_TAGS]
    clause = _describe_viewed(entry.item_id, viewed, tags, personal, texts, is_own=is_own)
    if not clause:
        clause = _describe_viewed(
            entry.item_id,
            viewed,
            tags,
            personal,
            texts,
            is_own=is_own,
            is_weak=bool(tags),
            is_any=not tags,
        )
    if clause:  # one sentence, that stays short; what was pressed is always told
        tags = [r for r in tags if r is tags[0] or _is_pressed(r, pressed)]
    is_liked = entry.general_share > 0.5
    if not tags and not clause and not is_liked:
        tags = able[:N_TAGS]
    speak_for = [_describe_tags(reason, personal, texts, is_own=is_own) for reason in tags]
    speak_for += [clause] if clause else []
    against = _describe_against(entry, personal, texts, is_own=is_own)
    both = {"reasons": texts.join_html(speak_for), "others": against}
    if speak_for and against and is_liked:
        return texts.html("Liked by many; for you because of {reasons}, despite {others}.", **both)
    if speak_for and against:
        return texts.html("Because of {reasons}, despite {others}.", **both)
    if speak_for and is_liked:
        return texts.html("Liked by many; for you because of {reasons}.", **both)
    if speak_for:
        return texts.html("Because of {reasons}.", **both)
    if entry.general > 0 and against:
        return texts.html("Liked by many, despite {others}.", others=against)
    if against:
        return texts.html("Many small reasons, despite {others}.", others=against)
    if entry.general > 0:
        return texts.html("Liked by many.")
    return texts.html("Many small reasons; none stands out.")


def _without_cast(reasons: Sequence[Reason], catalogue: Catalogue) -> list[Reason]:
    """Return reasons with one name of each feature: that which most people chose."""
    known, best = _known_names(catalogue), dict[str, Reason]()
    for reason in reasons:
        now = best.get(reason.tag.feature)
        if reason.tag in known and (now is None or known[reason.tag] > known[now.tag]):
            best[reason.tag.feature] = reason
    return [r for r in reasons if r.tag not in known or best[r.tag.feature] is r]


def _known_reasons(entry: Recommendation, personal: PersonalModel) -> list[Reason]:
    """Return the tags of what is known of the person that the item has and that speak for it."""
    model, profile = personal.catalogue.model, personal.profile
    row = model.decoder_[[model.items_.index_of(entry.item_id)]]
    added = dict(zip(row.indices.tolist(), row.data.tolist(), strict=True))
    shares, found = {r.tag: r.share for r in entry.reasons if isinstance(r, Reason)}, []
    for each in personal.statements:
        places = [place for tag in each.tags if (place := profile.place_of(tag)) in added]
        part = sum(float(profile.values[place]) * added[place] for place in places)
        if each.kind == "known" and part > 0 and not each.tags[0].discovered:
            tags = tuple(profile.tags[place] for place in places)
            share, own = max(shares.get(tag, 0.0) for tag in tags), each.evidence
            found.append(Reason(tags[0], part, share, part, tags=tags, own=own.own, of=own.of))
    return found


def _describe_against(
    entry: Recommendation, personal: PersonalModel, texts: Texts, *, is_own: bool
) -> Markup:
    """Return the first plain reason against an item: disliked, pressed, or common and missing.

    That an item is like others tells nothing against it, nor does a name that few items carry.
    """
    pressed, bits = personal.presses if is_own else {}, personal.catalogue.bits
    for reason in entry.reasons:
        if isinstance(reason, ViewedReason) and reason.contribution < 0:
            title = bold(reason.title or str(reason.item_id))
            if is_own:
                return texts.html("{title}, which you disliked", title=title)
            return texts.html("{title}, which they disliked", title=title)
        if isinstance(reason, Reason) and reason.contribution < 0:
            is_plain = reason.own == 0 and bits(reason.tag) <= _COMMON_BITS
            if _is_pressed(reason, pressed) or (is_plain and not reason.tag.discovered):
                return _describe_tags(reason, personal, texts, is_own=is_own)
    return Markup()


def _describe_viewed(
    item_id: ItemId,
    viewed: Mapping[ItemId, float],
    told: Sequence[Reason],
    personal: PersonalModel,
    texts: Texts,
    *,
    is_own: bool,
    is_weak: bool = False,
    is_any: bool = False,
) -> Markup:
    """Return what was viewed, adds much to an item and is like it, with what both share.

    It shares something that the told tags do not say; without any there are two, the second sharing
    the same. What tells little, but is no place, is shared only with `is_weak`, and a place alone
    or nothing only with `is_any`.
    """
    model, catalogue = personal.catalogue.model, personal.catalogue
    order = sorted((i for i in viewed if viewed[i] > 0), key=lambda i: -viewed[i])
    said = [tag.value for reason in told for tag in reason.tags]
    shared = dict[ItemId, list[Tag]]()
    for i in order[:N_FIRST]:
        bits = {tag: _bits(tag, personal) for tag in shared_tags(catalogue, item_id, i)}
        new = _differing([tag for tag in bits if bits[tag] > 0], said)
        names = _known_names(catalogue)
        is_clear = sum(bits[t] for t in new if t.is_kind or t in names) >= _CLEAR_BITS
        # A kind alone tells something if more than a few of the history are of it.
        is_thin = len(new) == 1 and not (new[0] in names or new[0].is_place)
        is_thin &= sum(map(personal.count_in_history, new[:1])) < _SOME * len(personal.history)
        # Beside tags that name no title, anything but a place tells something.
        is_clear |= is_weak and not all(tag.is_place for tag in new)
        shared[i] = new if (is_clear or is_any) and not is_thin else []
    named = [i for i in shared if shared[i]][:1] or order[: N_VIEWED * is_any]
    common = shared[named[0]] if named else []
    # A town says its province; of places alone, the count of the widest tells most.
    if common and all(tag.is_place for tag in common):
        common = [max(common, key=personal.count_in_history)]
        n_there = personal.count_in_history(common[0])
        if n_there < min(_FEWEST_THERE, len(personal.history) / 4):
            named, common = order[:N_VIEWED], []
    if common and not told:
        alike = [i for i in shared if i not in named and shared[i] == shared[named[0]]]
        named += alike[: N_VIEWED - 1]
    if not named:
        return Markup()
    titles = texts.join_html([bold(model.title(model.items_.index_of(i)) or str(i)) for i in named])
    if is_own:
        name = texts.html("{titles}, which you viewed", titles=titles)
    else:
        name = texts.html("{titles}, which they viewed", titles=titles)
    both_have = texts.join(joint_names(common, catalogue, texts, full=False))
    if not both_have:
        return texts.html("{items} (often chosen together)", items=name)
    n_like = personal.count_in_history(common[0])
    is_often = n_like > 2 and n_like >= _OFTEN * len(personal.history)
    if len(common) == 1 and is_often and common[0] not in _known_names(catalogue):
        counts = {"n": n_like, "all": len(personal.history)}
        if is_own:
            return texts.html(
                "{items} ({tags}: {n} of your {all})", items=name, tags=both_have, **counts
            )
        return texts.html(
            "{items} ({tags}: {n} of their {all})", items=name, tags=both_have, **counts
        )
    if len(named) > 1:
        return texts.html("{items} (all {tags})", items=name, tags=both_have)
    return texts.html("{item} (both {tags})", item=name, tags=both_have)


def _bits(tag: Tag, personal: PersonalModel) -> float:
    """Return how much it tells why an item is there that it shares a tag with a viewed one.

    What most of the history has does not tell it, nor when or for what price it is, nor a label
    that the person does not lean to. A broad kind without a leaning tells half as much.
    """
    bits, most = personal.catalogue.bits(tag), _MOST_OF_HISTORY * len(personal.history)
    if tag.is_practical or personal.count_in_history(tag) > most:
        return 0.0
    is_narrow = tag.is_kind and bits >= _SHARED_BITS
    if is_narrow or tag in _known_names(personal.catalogue) or personal.leans_to(tag):
        return bits
    return bits / 2 if tag.is_kind else 0.0


def _differing(tags: Sequence[Tag], said: Sequence[str]) -> list[Tag]:
    """Return the first tags whose values share no word with what was said, nor with each other."""
    kept = differing_names([tag.value for tag in tags], N_SHARED, said)
    return [next(tag for tag in tags if tag.value == value) for value in kept]


def _describe_tags(
    reason: Reason, personal: PersonalModel, texts: Texts, *, is_own: bool
) -> Markup:
    """Return the tags of a reason, with how many items of the history carry them.

    Discovered tags are left out where metadata name the same.
    """
    tags = [tag for tag in reason.tags if not tag.discovered] or list(reason.tags)
    name = bold(" / ".join(joint_names(tags, personal.catalogue, texts)))
    if reason.like:
        name = bold(texts("items like {titles}", titles=texts.join(reason.like)))
    if is_own and _is_pressed(reason, personal.presses):
        steps = sum(personal.presses.get(tag, 0) for tag in reason.tags)
        return texts.html("{tag}, which you pressed {steps}", tag=name, steps=texts.steps(steps))
    if reason.is_guess:
        return texts.html("{tag} (a guess)", tag=name)
    if not reason.own or not is_own:
        return name
    return texts.html("{tag} ({n} of your {all})", tag=name, n=reason.own, all=reason.of)


def _is_own(reason: Reason) -> bool:
    """Whether enough items of the history carry the tags: 2 of 5, 3 of 6, 5 of 40."""
    own, of = reason.own or 0, reason.of or 0
    return own > 1 and own >= min(_LEAST_SHARE * of, max(3, _LEAST_ROOT * math.sqrt(of)))


def _is_pressed(reason: Reason, presses: Mapping[Tag, int]) -> bool:
    """Whether the person's own presses are why a reason is there."""
    return any(presses.get(tag, 0) * reason.contribution > 0 for tag in reason.tags)


@cached_per_catalogue(_MAX_CACHED)
def shared_tags(catalogue: Catalogue, one: ItemId, other: ItemId) -> list[Tag]:
    """Return declared tags of two items that at most one in eight has, those that tell most first.

    Of a kind, such as a genre, more may. Names come first, the one of a feature that most people
    chose: Arnold Schwarzenegger goes before the rest of the cast. Then come the rarest, and places
    last. Bare numbers, such as years, are left out.
    """
    model, D = catalogue.model, catalogue.model.decoder_
    places = [model.items_.index_of(item) for item in (one, other)]
    both = np.intersect1d(*(D.indices[D.indptr[i] : D.indptr[i + 1]] for i in places))
    tags = [model.tags_[column] for column in both[both < model.tag_table_.n_personal]]
    found = [
        tag
        for tag in tags
        if not (tag.discovered or tag.is_bare)
        and catalogue.bits(tag) >= (_KIND_BITS if tag.is_kind else _SHARED_BITS)
    ]
    known = _known_names(catalogue)

    # Of a long list, such as all who drew a film, no name is the one.
    own = D.indices[D.indptr[places[0]] : D.indptr[places[0] + 1]]
    n_names = Counter(tag.feature for j in own if (tag := model.tags_[j]) in known)

    def order(tag: Tag) -> tuple[int, float]:
        is_main = tag in known and not tag.is_credit and n_names[tag.feature] <= _FEW_NAMES
        rank = 3 if tag.is_place else 0 if is_main else 1 if tag.is_kind else 2
        return rank, -known.get(tag, catalogue.bits(tag))

    names, first = Counter[str](), list[Tag]()
    for tag in sorted(found, key=order):
        names[tag.feature] += tag in known
        if tag not in known or names[tag.feature] == 1:
            first.append(tag)
    return first


@cached_per_catalogue(1)
def _known_names(catalogue: Catalogue) -> dict[Tag, float]:
    """Return the share of all choices of each tag that is a name.

    The tags of a feature are names if few items carry each, as with actors and authors.
    """
    model = catalogue.model
    rates = model.tag_table_.carriers.rates(model.item_table_.popularity)
    sizes: dict[str, list[int]] = {}
    for tag, size in zip(model.tags_, catalogue.tag_sizes.tolist(), strict=True):
        sizes.setdefault(tag.feature, []).append(size)
    most = _NAMES * len(model.items_)
    are_names = {name for name, own in sizes.items() if sum(own) < most * len(own)}
    pairs = zip(model.tags_, rates.tolist(), strict=True)
    return {
        tag: rate
        for tag, rate in pairs
        if tag.feature in are_names and not (tag.discovered or tag.is_place)
    }


def bold(text: str) -> Markup:
    """Return a text in bold, as markup."""
    return Markup(f"<b>{escape(text)}</b>")  # noqa: S704


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
