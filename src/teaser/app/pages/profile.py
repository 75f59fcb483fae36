"""What pages show of a profile: tags with their names and bars, statements, certainty."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from markupsafe import Markup, escape
from numpy.typing import NDArray

from teaser.app.catalogue import Catalogue, PersonalModel, cached_per_catalogue, known_tags
from teaser.app.i18n.texts import LANGUAGES, Texts
from teaser.data.tags import Tag, differing_names
from teaser.model.scores import top_k
from teaser.profile import GENERAL, NOT_STATED, POPULARITY
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
    glance, and then numbers, such as years, prices and labels. Pressed tags are always among them:
    a tag that was just pressed stays where it was.
    """
    profile, index = personal.profile, personal.catalogue.tag_index
    groups, found = profile.near_equal_group, dict[int, int]()
    named = _named(personal.catalogue)
    strengths = _strengths(personal)
    order = np.lexsort((-strengths, ~(named & (strengths > 0))))
    for place in order[: 4 * N_STRONGEST].tolist():
        group = place if groups is None else int(groups[place])
        if group >= 0 and profile.leaning_values[place]:
            found.setdefault(group, place)
    first = list(found.values())[:N_STRONGEST]
    pressed = [index[tag] for tag in personal.presses if tag != GENERAL]
    return list(dict.fromkeys(first + pressed))


@cached_per_catalogue(1)
def _named(catalogue: Catalogue) -> NDArray[np.bool_]:
    """Return which tags are names or kinds of the metadata."""
    tags = catalogue.model.tags_
    found = [not (tag.discovered or tag.is_bare or tag.is_practical) for tag in tags]
    return np.array(found, dtype=bool)


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
    if statement.tags[0].is_audience:
        tags = texts.html("what is for {tags}", tags=tags)
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


def bold(text: str) -> Markup:
    """Return a text in bold, as markup."""
    return Markup(f"<b>{escape(text)}</b>")  # noqa: S704
