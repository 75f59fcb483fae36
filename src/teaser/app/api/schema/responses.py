"""The responses of the API as typed JSON, made from the objects of the library."""

from collections.abc import Callable
from datetime import date as day
from typing import Any, Self

from teaser import explain as why
from teaser import profile as who
from teaser import recommendation as listed
from teaser.app.api.schema.examples import Schema
from teaser.app.api.schema.reason_responses import (
    AnyReason,
    Named,
    named,
    reasons_of,
)
from teaser.app.api.schema.requests import ModelItemId, ProfileOptions, Share
from teaser.app.serving.catalogue import Card as CatalogueCard
from teaser.app.serving.found_group import FoundGroup
from teaser.closeness import closest_names
from teaser.errors import UnknownFeatureError
from teaser.steer.similarity import Similar


class Error(Schema):
    """An error: a code for programs, a sentence for people."""

    code: str
    message: str


class ErrorAnswer(Schema):
    """The shape of every error."""

    error: Error


class Recommendation(Schema):
    """One entry of a list. `match` is the score relative to the highest of all items, 0 to 1.

    `general` is what general appeal adds to the score: what an average person would see in the
    item. It is never among the reasons; `general_share` is its signed share. `boost` is what the
    boosts of the request add, which are among the reasons.
    """

    item_id: ModelItemId
    title: str | None
    score: float
    match: Share
    general: float
    general_share: float
    boost: float
    reasons: list[AnyReason]

    @classmethod
    def of(cls, found: listed.Recommendation) -> Self:
        """Return a recommendation of the library."""
        return cls(**_entry(found))


class Recommendations(Schema):
    """A list, the best first; `ignored` counts unknown names, with `unknown="ignore"`."""

    recommendations: list[Recommendation]
    ignored: int


class Explanation(Recommendation):
    """The whole score of one item: every tag it has, the largest share first.

    If the model has a remainder, every viewed item that adds something is a reason too.
    The score is `general`, the sums of `tags` (by tag) and of `viewed` (by viewed item), which are
    `from_tags` and `from_viewed`, and `boost`. `tag_share` is the share of declared and discovered
    tags in the sum of all absolute contributions; neither popularity nor general appeal counts.
    """

    tags: dict[str, float]
    viewed: dict[str, float]
    from_tags: float
    from_viewed: float
    tag_share: Share

    @classmethod
    def of_score(cls, found: why.Explanation) -> Self:
        """Return an explanation of the library."""
        return cls(
            **_entry(found),
            tags={str(tag): part for tag, part in found.tags.items()},
            viewed={str(item_id): part for item_id, part in found.viewed.items()},
            from_tags=sum(found.tags.values()),
            from_viewed=sum(found.viewed.values()),
            tag_share=min(1.0, found.tag_share),
        )


def _entry(found: listed.Recommendation | why.Explanation) -> dict[str, Any]:
    return {
        "item_id": found.item_id,
        "title": found.title,
        "score": found.score,
        "match": found.match,
        "general": found.general,
        "general_share": found.general_share,
        "boost": found.boost,
        "reasons": reasons_of(found.reasons),
    }


class Affinity(Named):
    """The affinity with a tag, and the net presses that it includes."""

    affinity: float
    presses: int


class FeatureProfile(Schema):
    """One feature: its share of impact on the scores, and its tags, the strongest first."""

    feature: str
    impact: Share
    tags: list[Affinity]


class Profile(Schema):
    """The profile of a person; the impacts of all features sum to 1.

    `general` is the affinity with general appeal, about 1 for the average person at full certainty;
    all others are relative to that person. `tags_weight` is the weight of general appeal and tags
    in scores: 1 unless a balance lowers it. `about` are the facts about the person that were used.
    """

    certainty: Share
    general: float
    tags_weight: Share
    about: list[str]
    features: list[FeatureProfile]

    @classmethod
    def of(cls, profile: who.Profile, options: ProfileOptions) -> Self:
        """Return a profile of the library, the features with most impact first."""
        for feature in options.features:
            if feature not in profile.impacts:
                raise UnknownFeatureError(feature, closest_names(feature, profile.impacts))
        shown = [
            (f, i)
            for f, i in profile.impacts.items()
            if not options.features or f in options.features
        ]
        return cls(
            certainty=profile.certainty,
            general=profile.general,
            tags_weight=profile.tags_weight,
            about=list(map(str, profile.about)),
            features=[
                FeatureProfile(
                    feature=feature,
                    impact=min(1.0, impact),
                    tags=[
                        Affinity(**named(tag), affinity=value, presses=profile.presses.get(tag, 0))
                        for tag, value in profile.top(options.top, feature=feature)
                    ],
                )
                for feature, impact in sorted(shown, key=lambda pair: -pair[1])
            ],
        )


class Origin(Schema):
    """What one item of the history adds to the raw score of a tag."""

    item_id: ModelItemId
    title: str | None
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


class SharedTag(Named):
    """A tag that two items share, and its share of their similarity."""

    share: Share


class SimilarItem(Schema):
    """An item that is similar to another: 0 is no tag in common, 1 the same tags."""

    item_id: ModelItemId
    title: str | None
    similarity: Share
    shared: list[SharedTag]

    @classmethod
    def of(cls, found: Similar) -> Self:
        """Return a similar item of the library."""
        return cls(
            item_id=found.item_id,
            title=found.title,
            similarity=found.similarity,
            shared=[SharedTag(**named(tag), share=min(1.0, s)) for tag, s in found.shared],
        )


class SimilarItems(Schema):
    """Items that are similar to one, the most similar first."""

    similar: list[SimilarItem]


class Card(Schema):
    """The data of an item; what the data do not have is null.

    `facts`: values of declared tags, by feature; `groups`: those that the system found it in.
    """

    item_id: ModelItemId
    title: str
    description: str | None
    link: str | None
    date: day | None
    has_picture: bool
    facts: dict[str, list[str]]
    groups: list[str]

    @classmethod
    def of(cls, card: CatalogueCard) -> Self:
        """Return a card of the catalogue."""
        return cls.model_validate(card, from_attributes=True)


class FoundItem(Schema):
    """An item and its title."""

    item_id: ModelItemId
    title: str


class FoundTag(Named):
    """A tag, and how many items have it."""

    n_items: int


class Found(Schema):
    """Items and tags whose names contain every word, the best matches first."""

    items: list[FoundItem]
    tags: list[FoundTag]


class GroupItem(FoundItem):
    """An item of a group, and how much it belongs to it: 1 and less."""

    weight: float


class Label(Named):
    """The declared tag that is most over-represented in a group; `share` of its items carry it."""

    share: Share


class Group(Named):
    """A group of items that the system found from what people chose: no metadata declare it.

    `n_items`: how many items it has; `grain`: about how many a group of its kind has. `exemplars`:
    the best-known central items, the best first; `members`: the items that belong to it most.
    `label_tag`: null if no declared tag clearly stands out. `aliases`: earlier names, presses on
    which count for it too.
    """

    grain: float
    n_items: int
    exemplars: list[FoundItem]
    members: list[GroupItem]
    label_tag: Label | None
    aliases: list[str]

    @classmethod
    def of(cls, found: FoundGroup, title: Callable[[ModelItemId], str], k: int) -> Self:
        """Return a group of the catalogue, with at most k of its members."""
        group = found.group
        label = None
        if group.label_tag is not None:
            label = Label(**named(group.label_tag), share=min(1.0, group.label_share))
        return cls(
            **named(group.tag),
            grain=group.grain,
            n_items=group.size,
            exemplars=[FoundItem(item_id=i, title=title(i)) for i in group.exemplars],
            members=[
                GroupItem(item_id=i, title=title(i), weight=weight)
                for i, weight in found.members[:k]
            ],
            label_tag=label,
            aliases=list(found.aliases),
        )


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
