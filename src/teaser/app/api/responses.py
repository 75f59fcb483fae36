"""The responses of the API as typed JSON: the dataclasses of the library, by their attributes."""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import date as day
from datetime import datetime
from typing import Annotated, Any, Literal, Self, TypeVar, get_type_hints

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model, model_validator
from pydantic.main import IncEx
from typing_extensions import TypeAliasType

from teaser import explain, profile, recommend, steer, transparency
from teaser.app import catalogue as serving
from teaser.app import state as states
from teaser.app.api.requests import ProfileOptions
from teaser.app.catalogue import Catalogue, net_presses, unknown_columns, unknown_tags
from teaser.app.search import FoundGroup, NameMatches
from teaser.app.state import Kind, State, within_range
from teaser.app.store import Store, StoredEvent, StoredShare
from teaser.data.matrix import ItemId
from teaser.data.tags import Tag
from teaser.errors import UnknownNameError, closest_names
from teaser.words import wishes
from teaser.words.wishes import Reading


class Schema(BaseModel):
    """A response: made by `model_validate` from an object of the library, or from a dict."""

    model_config = ConfigDict(from_attributes=True)


S = TypeVar("S", bound=Schema)


def of(kind: type[Any], *left_out: str) -> Callable[[type[S]], type[S]]:
    """Give a response the fields of a dataclass of the library, each with its documentation.

    A field that the response declares itself stays; those in `left_out` are not answered.
    """

    def complete(schema: type[S]) -> type[S]:
        hints, texts = get_type_hints(kind), _attribute_texts(kind)
        found: dict[str, Any] = {
            each.name: (
                _JSON_TYPES.get(hints[each.name], hints[each.name]),
                Field(description=texts.get(each.name)),
            )
            for each in fields(kind)
            if each.name not in {*left_out, *schema.model_fields}
        }
        name, module = schema.__name__, schema.__module__
        return create_model(
            name, __base__=schema, __module__=module, __doc__=schema.__doc__, **found
        )

    return complete


def _attribute_texts(kind: type[Any]) -> dict[str, str]:
    """Return what a docstring in numpy's style says of each attribute."""
    _, _, section = (inspect.getdoc(kind) or "").partition("Attributes\n----------\n")
    entries = [entry.partition("\n") for entry in re.split(r"\n(?=\S)", section)]
    return {
        name.strip(): " ".join(text.split())
        for names, _, text in entries
        for name in names.split(",")
    }


def _text(name: Any) -> Any:
    return str(name) if isinstance(name, Tag) else name


def _as_steps(presses: Any) -> Any:
    if not isinstance(presses, Mapping):
        return presses
    return [{"tag": str(tag), "steps": steps} for tag, steps in presses.items()]


# An id in a response has no bounds: it must hold whatever the model has.
ModelItemId = TypeAliasType(
    "ModelItemId",
    Annotated[
        int | str, Field(description="The id of an item, as in the data.", examples=["e0001"])
    ],
)
TagName = Annotated[str, BeforeValidator(_text)]
ByText = Annotated[
    dict[str, float], BeforeValidator(lambda found: {str(n): value for n, value in found.items()})
]


class Error(Schema):
    """An error: a code for programs, a sentence for people."""

    code: str
    message: str


class ErrorAnswer(Schema):
    """The shape of every error."""

    error: Error


class Named(Schema):
    """A tag: its text, its feature and value, and whether the system found it."""

    tag: str
    feature: str
    value: str
    discovered: bool

    @model_validator(mode="before")
    @classmethod
    def _split_tag(cls, data: Any) -> Any:
        """Accept a `Tag`, or an object or dict with one."""
        if isinstance(data, Tag):
            data = {"tag": data}
        elif not isinstance(data, dict):
            data = {name: getattr(data, name) for name in cls.model_fields if hasattr(data, name)}
        tag = data.get("tag")
        if not isinstance(tag, Tag):
            return data
        own = {"feature": tag.feature, "value": tag.value, "discovered": tag.discovered}
        return {**data, "tag": str(tag), **own}


class Steps(Schema):
    """Steps on one tag: + is positive, - is negative."""

    tag: TagName
    steps: int


Presses = Annotated[list[Steps], BeforeValidator(_as_steps)]
# How JSON has what the library has.
_JSON_TYPES: dict[Any, Any] = {
    ItemId: ModelItemId,
    Tag: TagName,
    explain.BoostName: Annotated[ModelItemId, BeforeValidator(_text)],
    tuple[Tag, ...]: list[Named],
    Mapping[Tag, int]: Presses,
    Mapping[str, int]: Presses,
    Mapping[str, int] | None: Presses | None,
    Mapping[Tag, float]: ByText,
    Mapping[ItemId, float]: ByText,
}


# Lists, profiles and explanations


@of(explain.Reason, "usual")
class Reason(Named):
    """The contribution of one tag, or of near-equal tags together, to the score of an item.

    General appeal and the contributions of all reasons sum to the score. `share` is signed, and the
    absolute shares, that of general appeal included, sum to 1.
    """

    kind: Literal["tag"]


@of(explain.ViewedReason)
class ViewedReason(Schema):
    """The contribution of one viewed item to the score of an item, beside the tags.

    Only models with a remainder have such reasons.
    """

    kind: Literal["viewed"]


@of(explain.BoostReason)
class BoostReason(Schema):
    """What a boost of the request adds to the score of an item; `name` is the id or tag boosted."""

    kind: Literal["boost"]


# A named union, so that generated clients have one type for it.
AnyReason = TypeAliasType(
    "AnyReason",
    Annotated[
        Reason | ViewedReason | BoostReason,
        Field(discriminator="kind", description="A tag, a viewed item or a boost, as `kind` says."),
    ],
)


@of(recommend.Recommendation, "cover")
class Recommendation(Schema):
    """One entry of a list. `match` is the score relative to the highest of all items, 0 to 1.

    General appeal, what an average person would see in the item, is never among the reasons.
    General appeal, the reasons and `other` sum to the score. An explanation has all reasons, and no
    other.
    """

    other: float = 0.0
    other_share: float = 0.0
    reasons: list[AnyReason]


class Recommendations(Schema):
    """A list, the best first; `ignored` counts unknown names, with `unknown="ignore"`."""

    recommendations: list[Recommendation]
    ignored: int

    @classmethod
    def from_library(cls, found: recommend.Recommendations) -> Self:
        """Return a list of the library."""
        return cls.model_validate({"recommendations": list(found), "ignored": found.ignored})


@of(explain.Explanation, "cover")
class Explanation(Recommendation):
    """The whole score of one item: every tag it has, the largest share first.

    If the model has a remainder, every viewed item that adds something is a reason too.
    The score is `general`, the sums of `tags` (by tag) and of `viewed` (by viewed item), which are
    `from_tags` and `from_viewed`, and `boost`. `tag_share` is the share of declared and discovered
    tags in the sum of all absolute contributions; neither popularity nor general appeal counts.
    """

    from_tags: float
    from_viewed: float
    tag_share: float


@of(explain.DifferencePart, "title")
class DifferencePart(Schema):
    """What one part of two scores does to their difference; `label` is its name for a reader."""

    label: str


@of(explain.Difference, "cover", "other_cover")
class Difference(Schema):
    """Why one item stands above another: the differences of all parts sum to `difference`.

    `difference` is `score` less `other_score`. Parts that both items have in the same measure have
    a difference of 0; they come last.
    """

    difference: float
    said: str
    parts: list[DifferencePart]

    @classmethod
    def from_library(cls, found: explain.Difference) -> Self:
        """Return a difference of the library."""
        labelled = zip(found.parts, found.labels(), strict=True)
        parts = [{**vars(part), "label": label} for part, label in labelled]
        own = {"difference": found.difference, "said": found.sentence(), "parts": parts}
        return cls.model_validate({**vars(found), **own})


class Affinity(Named):
    """The leaning towards a tag, the affinity with it, and the net presses that both include.

    The leaning is how far the items with the tag stand above the person's average item; null for
    popularity, and for tags that no item carries. The affinity is what the tag adds by itself.
    """

    leaning: float | None
    affinity: float
    presses: int


class FeatureProfile(Schema):
    """One feature: its share of impact on the scores, and its tags, the strongest first."""

    feature: str
    impact: float
    tags: list[Affinity]


class Profile(Schema):
    """The profile of a person; the impacts of all features sum to 1.

    `general` is the affinity with general appeal, about 1 for the average person at full certainty;
    all others are relative to that person. `tags_weight` is the weight of general appeal and tags
    in scores: 1 unless a balance lowers it. `about` are the facts about the person that were used.
    """

    certainty: float
    general: float
    tags_weight: float
    about: list[TagName]
    features: list[FeatureProfile]

    @classmethod
    def from_library(cls, found: profile.Profile, options: ProfileOptions) -> Self:
        """Return a profile of the library, the features with most impact first."""
        for feature in options.features:
            if feature not in found.impacts:
                raise UnknownNameError("feature", feature, closest_names(feature, found.impacts))
        features = [
            {
                "feature": feature,
                "impact": impact,
                "tags": [
                    {
                        "tag": tag,
                        "leaning": found.leanings.get(tag),
                        "affinity": affinity,
                        "presses": found.presses.get(tag, 0),
                    }
                    for tag, _, affinity in found.top(options.top, feature=feature)
                ],
            }
            for feature, impact in sorted(found.impacts.items(), key=lambda pair: -pair[1])
            if not options.features or feature in options.features
        ]
        own = {"general": found.general, "features": features}
        return cls.model_validate({**vars(found), **own})


class FoundItem(Schema):
    """An item and its title."""

    item_id: ModelItemId
    title: str | None


class Origin(FoundItem):
    """What one item of the history adds to the raw score of a tag."""

    part: float


class AboutOrigin(Named):
    """What one fact about the person adds to the raw score of a tag."""

    part: float


class Origins(Named):
    """Where an affinity comes from: all parts sum to `raw`, and the affinity is a multiple of it.

    `origins` are items of the history, `about` facts about the person.
    """

    affinity: float
    raw: float
    origins: list[Origin]
    about: list[AboutOrigin]


class TagShare(Named):
    """A tag and its share: of the similarity of two items, or of the items of a group."""

    share: float


@of(steer.Similar)
class SimilarItem(Schema):
    """An item that is similar to another: 0 is no tag in common, 1 the same tags."""

    shared: Annotated[
        list[TagShare],
        BeforeValidator(lambda pairs: [{"tag": tag, "share": share} for tag, share in pairs]),
    ]


class SimilarItems(Schema):
    """Items that are similar to one, the most similar first."""

    similar: list[SimilarItem]


@of(steer.Lift)
class Lift(Schema):
    """The presses to add to the present ones; none if the item is among the first already."""

    total: int


class LiftAnswer(Schema):
    """The fewest presses; null if ten are not enough, or the item was viewed.

    `finished` is false if no answer was found quickly; more than ten presses may be needed, or
    fewer.
    """

    lift: Lift | None
    finished: bool


@of(steer.Variation)
class Variation(Schema):
    """A list that starts from an item, without the item itself."""

    recommendations: list[Recommendation]
    ignored: int

    @classmethod
    def from_library(cls, found: steer.Variation) -> Self:
        """Return a list of the library."""
        made = Recommendations.from_library(found.recommendations)
        return cls.model_validate({**vars(found), **dict(made)})


@of(steer.TagBeside)
class TagBeside(Named):
    """A tag that `share` of the items with another carry: `times` as many as of all items."""


@of(steer.TagExamples)
class TagExamples(Named):
    """What a tag does in a list: what it brings up, what it would, and which tags come with it."""

    comes_with: list[TagBeside]


class Picks(Schema):
    """Items to offer, the most informative first."""

    picks: list[FoundItem]


@of(steer.Statement, "like", "mostly")
class Statement(Schema):
    """One sentence about a profile; `denial` are the presses by which a person disagrees.

    What is known agrees with the history; a guess is of tags that no item of it carries.
    """

    leaning: Literal["towards", "away"]
    said: str
    denial: Presses


class Statements(Schema):
    """At most three that are known, a guess and two of what is avoided; each may be empty."""

    statements: list[Statement]


@of(wishes.Wish)
class Wish(Schema):
    """A wish that was read: its text form, its parts, and the words that it was read from."""

    wish: str


class WordsAnswer(Schema):
    """What was read: wishes, words that were not understood, and pairs that contradict."""

    wishes: list[Wish]
    unknown: list[str]
    contradictions: list[list[str]]

    @classmethod
    def from_reading(cls, reading: Reading) -> Self:
        """Return what was read."""
        return cls(
            wishes=[Wish.model_validate({"wish": str(w), **vars(w)}) for w in reading.wishes],
            unknown=list(reading.unknown),
            contradictions=[[str(one), str(other)] for one, other in reading.contradictions],
        )


# The catalogue and the model


@of(serving.Card, "rare")
class Card(Schema):
    """The data of an item; what the data do not have is null."""


class FoundTag(Named):
    """A tag, and how many items have it."""

    n_items: int


class Found(Schema):
    """Items and tags whose names contain every word, the best matches first."""

    items: list[FoundItem]
    tags: list[FoundTag]

    @classmethod
    def from_matches(cls, found: NameMatches, catalogue: Catalogue, k: int) -> Self:
        """Return at most k items and k tags of a search."""
        index, sizes = catalogue.tag_index, catalogue.tag_sizes
        return cls.model_validate(
            {
                "items": [_titled(catalogue, item_id) for item_id in found.items[:k]],
                "tags": [{"tag": tag, "n_items": int(sizes[index[tag]])} for tag in found.tags[:k]],
            }
        )


class GroupItem(FoundItem):
    """An item of a group, and how much it belongs to it: 1 and less."""

    weight: float


class Group(Named):
    """A group of items that the system found from what people chose: no metadata declare it.

    `n_items`: how many items it has; `grain`: about how many a group of its kind has. `exemplars`:
    the best-known central items, the best first; `members`: the items that belong to it most.
    `label_tag`: the declared tag that is most over-represented, and the share of its items that
    carry it; null if none clearly stands out. `aliases`: earlier names, presses on which count for
    it too.
    """

    grain: float
    n_items: int
    exemplars: list[FoundItem]
    members: list[GroupItem]
    label_tag: TagShare | None
    aliases: list[str]

    @classmethod
    def from_group(cls, found: FoundGroup, catalogue: Catalogue, k: int) -> Self:
        """Return a group of the catalogue, with at most k of its members."""
        group = found.group
        label = {"tag": group.label_tag, "share": group.label_share}
        return cls.model_validate(
            {
                "tag": group.tag,
                "grain": group.grain,
                "n_items": group.size,
                "exemplars": [_titled(catalogue, item_id) for item_id in group.exemplars],
                "members": [
                    {**_titled(catalogue, item_id), "weight": weight}
                    for item_id, weight in found.members[:k]
                ],
                "label_tag": None if group.label_tag is None else label,
                "aliases": list(found.aliases),
            }
        )


def _titled(catalogue: Catalogue, item_id: int | str) -> dict[str, Any]:
    return {"item_id": item_id, "title": catalogue.title(item_id)}


class Remainder(Schema):
    """The size of the remainder: how many items it has, and how many entries are stored.

    `neighbours`: how many others may explain an item; null if all may. `without_neighbours`: how
    many items have none, as nobody chose them together with another.
    """

    items: int
    entries: int
    sparse: bool
    neighbours: int | None
    without_neighbours: int | None


class Discovered(Schema):
    """The groups that the system found: how many there are, by grain, and how many have a label.

    `items`: how many items are in one.
    """

    groups: int
    grains: dict[str, int]
    labelled: int
    items: int


class Model(Schema):
    """The model that is served. `tags`: their number, by feature; `roles`: the column of each role.

    `user_tags`: the facts about a person that can be given, by feature; `remainder` and
    `discovered`: null if the model has none; `weights`: how users and items were weighed in the
    fit, null if they were not; `recipe`: which recipes were tried and why one was chosen, null if
    the fit did not choose.
    """

    kind: str
    items: int
    tags: dict[str, int]
    user_tags: dict[str, list[str]]
    parameters: dict[str, Any]
    iterations: int
    residual: float
    converged: bool
    remainder: Remainder | None
    discovered: Discovered | None
    weights: dict[str, float] | None
    recipe: dict[str, Any] | None
    roles: dict[str, str]

    @classmethod
    def from_catalogue(cls, catalogue: Catalogue) -> Self:
        """Return what the API tells about the model of a catalogue."""
        described = catalogue.model.describe()
        user_tags = {f: [tag.value for tag in tags] for f, tags in catalogue.user_features.items()}
        own = {"user_tags": user_tags, "weights": described["parameters"].get("weights")}
        return cls.model_validate({"recipe": None, **described, **own})


class PartShare(Schema):
    """The mean share of one part in the scores of lists.

    `feature`: null for parts that are none. `press_change`: how many items of a list one press on
    a tag of it exchanges, on average; null where none was tried.
    """

    part: Literal["feature", "general", "popularity", "discovered", "viewed"]
    feature: str | None
    share: float
    press_change: float | None


@of(transparency.Impacts, *transparency.OTHER_PARTS, "features", "press_changes")
class Impacts(Schema):
    """What decides in the first `k` of the lists of `n_people` people; the shares sum to 1."""

    shares: list[PartShare]


class Transparency(Schema):
    """What decides here: made from the model that is served, and from the settings of the site.

    `impacts`, `sources`, `version` and `date` are of the fit of the model; null for a model
    without histories. `learns_from_views`: whether what visitors view here is used for the next
    model, of those who allow it. `boosts`: what the site adds to scores, for everybody alike.
    """

    impacts: Impacts | None
    sources: transparency.DataSources | None
    version: str | None
    date: day | None
    learns_from_views: bool
    boosts: dict[str, float]

    @classmethod
    def from_catalogue(cls, catalogue: Catalogue, *, learns: bool) -> Self:
        """Return what decides in a catalogue; `learns` is the setting of the site."""
        found = catalogue.model.transparency_
        own = {"learns_from_views": learns, "boosts": catalogue.boost}
        if found is None:
            missing = dict.fromkeys(("impacts", "sources", "version", "date"))
            return cls.model_validate({**missing, **own})
        shares = found.to_frame().rows(named=True)
        impacts = {**vars(found.impacts), "shares": shares}
        return cls.model_validate({**vars(found), "impacts": impacts, **own})


# Persons


@of(states.Feed)
class Feed(Schema):
    """One list of a person; the main list has an empty name. Tags have the names of today."""

    feed: str
    presses: Presses


class Feeds(Schema):
    """The lists of a person, the main one first, and the name of the current one."""

    feed: str
    feeds: list[Feed]


@of(State, "undoable", "redoable")
class Person(Feed):
    """The state of a person.

    `presses`, `lasting`, `filters`, `variety` and `balance` are those of the current list, `feed`;
    `feeds` has all lists. `ends` tells what of all this ends by itself, and when.
    `unknown_items`, `unknown_tags`, `unknown_columns` and `unknown_about` are the names in it that
    the present model does not have; they are stored and have no effect until a model has them.
    `note` says why an action was not stored.
    """

    person_id: str
    feeds: list[Feed]
    can_undo: bool
    can_redo: bool
    unknown_items: list[ModelItemId]
    unknown_tags: list[str]
    unknown_columns: list[str]
    unknown_about: list[str]
    note: str | None

    @classmethod
    def from_state(
        cls, person_id: str, state: State, catalogue: Catalogue, *, note: str | None = None
    ) -> Self:
        """Return the response for a state; names that the catalogue lacks are listed as unknown."""
        feeds = state.feeds.values()
        filters = [feed.filters for feed in feeds]
        pressed = [text for feed in feeds for text in (*feed.presses, *(feed.lasting or ()))]
        ending = [str(end.name) for feed in feeds for end in feed.ends]
        named = [text for conditions in filters for text in conditions.tags]
        columns = [name for each in filters for name in unknown_columns(catalogue, each)]
        items = catalogue.model.items_
        return cls.model_validate(
            {
                **vars(state),
                **_feed(state.feed, state.current, catalogue),
                "ends": state.ends,
                "person_id": person_id,
                "feeds": _feeds(state, catalogue),
                "can_undo": state.undoable is not None,
                "can_redo": state.redoable is not None,
                "unknown_items": [i for i in (*state.history, *state.hidden) if i not in items],
                "unknown_tags": unknown_tags(
                    catalogue, [*pressed, *ending, *named, *state.hidden_tags]
                ),
                "unknown_columns": list(dict.fromkeys(columns)),
                "unknown_about": [
                    text for text in state.about if Tag.parse(text) not in catalogue.user_tag_index
                ],
                "note": note,
            }
        )

    def unmatched_names(self) -> list[str]:
        """Return all names in it that the model does not have."""
        names = (*map(str, self.unknown_items), *self.unknown_tags, *self.unknown_columns)
        return list(dict.fromkeys((*names, *self.unknown_about)))


class Imported(Person):
    """The state after an import; `unmatched` are the names in it that the model does not have.

    They are stored, and have no effect until a model has them.
    """

    unmatched: list[str]


def _feeds(state: State, catalogue: Catalogue) -> list[dict[str, Any]]:
    return [_feed(name, feed, catalogue) for name, feed in state.feeds.items()]


def _feed(name: str, feed: states.Feed, catalogue: Catalogue) -> dict[str, Any]:
    lasting = None if feed.lasting is None else _presses(feed.lasting, catalogue)
    own = {"presses": _presses(feed.presses, catalogue), "lasting": lasting}
    return {**vars(feed), "feed": name, **own}


def _presses(presses: Mapping[str, int], catalogue: Catalogue) -> dict[str, int]:
    """Return net presses by today's names of tags; of tags that the model lacks, as stored."""
    net = net_presses(catalogue, presses)
    return {str(tag): within_range(steps) for tag, steps in net.items()}


@of(StoredShare)
class Link(Schema):
    """A link that shows a person's state or one list, read-only, as it was after `place` actions.

    `feed` is the list that it shows, null for the whole profile.
    """


class NewLink(Link):
    """A new link: the site shows the state at `path`."""

    path: str


class Links(Schema):
    """The links of a person that are in use, the oldest first."""

    shares: list[Link]


class ExportedEvent(Schema):
    """One action, with its place among the person's actions and its time.

    `data` has what no other field tells, as it is stored.
    """

    place: int
    at: datetime
    kind: Kind
    item_id: ModelItemId | None
    strength: float | None
    presses: Presses
    variety: float | None
    balance: float | None
    about: list[str] | None
    data: dict[str, Any]

    @classmethod
    def from_event(cls, event: StoredEvent) -> Self:
        """Return the response for a stored event."""
        data = event.data
        return cls(
            place=event.place,
            at=event.at,
            kind=event.kind,
            item_id=data.get("item"),
            strength=data.get("strength", 1.0) if event.kind == "view" else None,
            presses=data.get("presses", {}),
            variety=data.get("variety"),
            balance=data.get("balance"),
            about=data.get("about"),
            data={name: value for name, value in data.items() if name not in _FIELDS},
        )


# The data of an event that the other fields of an exported one have.
_FIELDS = {"item", "strength", "presses", "variety", "balance", "about"}


class Export(Schema):
    """All that is stored for a person, and the state that follows from it.

    These are the time of creation (null for a visitor who has done nothing yet), links in use, and
    every action in order.
    """

    person_id: str
    created_at: datetime | None
    state: Person
    shares: list[Link]
    events: list[ExportedEvent]


def export_of(
    store: Store, person_id: str | None, catalogue: Catalogue, *, with_id: bool = True
) -> str:
    """Return an `Export` as JSON; nothing is stored of a visitor without a person.

    `with_id=False` leaves the person's id out.
    """
    stored = store.export(person_id) if person_id else None
    export = Export(
        person_id=person_id or "",
        created_at=stored.created_at if stored else None,
        state=Person.from_state(person_id or "", stored.state if stored else State(), catalogue),
        shares=[Link.model_validate(share) for share in stored.shares] if stored else [],
        events=[ExportedEvent.from_event(event) for event in stored.events] if stored else [],
    )
    hidden: dict[str, IncEx | bool] = {"person_id": True, "state": {"person_id"}}
    return export.model_dump_json(exclude=None if with_id else hidden)
