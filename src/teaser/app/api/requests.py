"""The requests of the API as typed JSON; names equal those of the library."""

from datetime import date, datetime
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, ValidationError
from pydantic import Tag as Shape
from typing_extensions import TypeAliasType

from teaser.app.actions import MAX_WISHES
from teaser.app.api.validation import IDS, STRENGTHS, describe
from teaser.app.http import read_json
from teaser.app.state import (
    AS_FITTED,
    MAIN,
    MAX_FEED_NAME,
    MAX_FILTER_TAGS,
    MAX_STRENGTH,
    Draft,
    Event,
    Order,
    no_export,
    read_feed,
    read_time,
    time_text,
)
from teaser.data.tags import Tag
from teaser.errors import ParameterError, TeaserError
from teaser.model.filters import parse_boosts
from teaser.profile import MAX_PRESSES, check_press
from teaser.steer.variation import N_TAGS, STEPS
from teaser.words.interpreter import LONGEST
from teaser.words.wishes import MAX_BOUND, Lasts

MAX_K = 500
MAX_PICKS = 50
MAX_VIEWS = 100
MAX_HISTORY = 1_000
MAX_TAGS = 200
# Ids may be addresses of pages, and discovered tags are named by titles of items.
MAX_NAME = 2_000
MAX_BOOST = 1e6
MAX_ID = 2**63 - 1

# The example of a request is made of the values of its fields.
_EXAMPLES: dict[str, Any] = {
    "about": [],
    "balance": 0.4,
    "feed": "Friday night",
    "hidden": [],
    "history": ["e0001", "e0002", "e0003"],
    "item_id": "e0004",
    "kind": "press",
    "name": "Saturday",
    "on": False,
    "other_id": "e0007",
    "presses": [{"tag": "town=Ghent", "steps": 3}],
    "q": "ghent",
    "state": {"history": ["e0001"], "presses": [], "hidden": []},
    "steps": 3,
    "tag": "town=Ghent",
    "text": "more concerts in Ghent",
    "token": "Xz0kq5QJm3n8cQ0W7rT9uVxYzAbEx1Ck0b0s0mA6jH5",
    "until": "2026-05-01T12:00:00Z",
    "variety": 0.3,
    "old": "town=Waremme",
    "new": "town=Ghent",
    "wishes": ["press +4 town=Ghent", "when weekend"],
}


def _add_example(schema: dict[str, Any], model: type[BaseModel]) -> None:
    schema["examples"] = [{n: _EXAMPLES[n] for n in model.model_fields if n in _EXAMPLES}]


class StrictSchema(BaseModel):
    """A request; a misspelt field is refused instead of ignored."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra=_add_example, use_attribute_docstrings=True
    )


class BodySchema(StrictSchema):
    """A request in JSON, whose types are as its schema says; in a query all values are texts."""

    model_config = ConfigDict(strict=True)


class TolerantSchema(BodySchema):
    """A part of an export; fields that are not known are not read."""

    model_config = ConfigDict(extra="ignore")


def _whole(value: Any) -> Any:
    """Accept 3.0 for 3: JSON has one kind of number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


_WHOLE = BeforeValidator(_whole)


def _day(value: Any) -> Any:
    """Read a day: pydantic alone would take numbers for seconds since 1970."""
    try:
        return date.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        raise ValueError("must be a day, such as 2026-01-31") from None


def _shape(history: Any) -> str:
    return STRENGTHS if isinstance(history, dict) else IDS


NAME = Annotated[str, Field(min_length=1, max_length=MAX_NAME)]
# A named union, so that generated clients have one type for it.
ItemId = TypeAliasType(
    "ItemId",
    Annotated[
        Annotated[int, Field(strict=True, ge=-MAX_ID - 1, le=MAX_ID), _WHOLE] | NAME,
        Field(
            description="The id of an item, as in the data; '17' finds 17 too.", examples=["e0001"]
        ),
    ],
)
TagText = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_NAME,
        description="A tag as feature=value.",
        examples=["town=Ghent"],
    ),
]
Steps = Annotated[int, Field(strict=True, ge=-MAX_PRESSES, le=MAX_PRESSES), _WHOLE]
K = Annotated[int, Field(ge=1, le=MAX_K), _WHOLE]
Share = Annotated[float, Field(ge=0, le=1)]
Strength = Annotated[float, Field(ge=-MAX_STRENGTH, le=MAX_STRENGTH, allow_inf_nan=False)]
Day = Annotated[date, Field(strict=True), BeforeValidator(_day)]
Scale = Annotated[
    Literal["robust", "paper"],
    Field(description="How raw scores become affinities; `paper` is for comparison with it."),
]
Balance = Annotated[
    Share,
    Field(
        description="Where viewed items count beside their tags: 0 is tags alone, 0.5 the model as "
        "it was fitted, 1 viewed items alone. It changes nothing for other models."
    ),
]
AboutTags = Annotated[
    list[TagText],
    Field(
        max_length=MAX_TAGS,
        description="Facts about the person, as feature=value of the model's `user_tags`; "
        "a model without user features refuses any.",
    ),
]
LastsText = Annotated[
    Lasts,
    Field(
        description="Until midnight, for a week, or until it is taken back.", examples=["always"]
    ),
]
# What was viewed: ids, or an object that gives the strength of each. `_shape` decides which of the
# two is checked, so that an error is about the one that was meant.
History = TypeAliasType(
    "History",
    Annotated[
        Annotated[list[ItemId], Field(max_length=MAX_HISTORY), Shape(IDS)]
        | Annotated[dict[NAME, Strength], Field(max_length=MAX_HISTORY), Shape(STRENGTHS)],
        Discriminator(_shape),
        Field(
            description="What was viewed: a list of item ids, or an object that gives each id its "
            "strength. A disliked item has one below 0; an item of strength 0 is not in the "
            "history.",
            examples=[["e0001", "e0002"], {"e0001": 1.0, "e0002": 0.5, "e0003": -0.125}],
        ),
    ],
)
Ids = Annotated[list[ItemId], Field(max_length=MAX_HISTORY)]
Conditions = Annotated[
    list[TagText],
    Field(
        max_length=MAX_TAGS,
        description="Only items with these tags; tags of one feature are alternatives.",
    ),
]
Boosts = Annotated[
    dict[NAME, Annotated[float, Field(ge=-MAX_BOOST, le=MAX_BOOST, allow_inf_nan=False)]],
    Field(
        max_length=MAX_TAGS,
        description="What is added to scores, by item id or by tag as feature=value. It is shown "
        "as `boost`, and among the reasons.",
        examples=[{"town=Ghent": 0.2}],
    ),
]
BoostTexts = Annotated[
    list[Annotated[str, Field(min_length=3, max_length=MAX_NAME + 30)]],
    Field(
        max_length=MAX_TAGS,
        description="What is added to scores, as id:0.2 or feature=value:0.2; repeat it for "
        f"several. The number is from {-MAX_BOOST:,.0f} to {MAX_BOOST:,.0f}. It is shown as "
        "`boost`, and among the reasons.",
        examples=[["town=Ghent:0.2"]],
    ),
]
OtherId = Annotated[ItemId, Field(description="The item to compare it with.", examples=["e0007"])]
WishTexts = list[Annotated[str, Field(min_length=1, max_length=MAX_NAME + 100)]]
# In the query: in a path, an id such as '..' would be resolved.
ItemText = Annotated[
    NAME,
    Field(description="The id of an item; 17 finds the number and the text.", examples=["e0001"]),
]


# Lists, profiles and explanations


class Press(BodySchema):
    """Net presses on one tag: + is positive, - is negative."""

    tag: TagText
    steps: Steps


class Taste(BodySchema):
    """What a person viewed and pressed, and facts about them."""

    history: History = []
    presses: Annotated[list[Press], Field(max_length=MAX_TAGS)] = []
    """The presses on a tag that occurs twice are added."""
    scale: Scale = "robust"
    balance: Balance = AS_FITTED
    about: AboutTags = []

    def net_presses(self) -> dict[Tag, int]:
        """Return the presses by tag, those on one tag added up and checked."""
        net: dict[Tag, int] = {}
        for press in self.presses:
            tag = Tag.parse(press.tag)
            net[tag] = check_press(tag, net.get(tag, 0) + press.steps)
        return net


class PersonOptions(StrictSchema):
    """How the model is used for a person."""

    scale: Scale = "robust"
    balance: Annotated[
        Balance | None, Field(description="Instead of the person's own; see `PUT .../balance`.")
    ] = None


class PersonBoostOptions(PersonOptions):
    """How the model is used for a person, with boosts."""

    boost: BoostTexts = []

    def boosts(self) -> dict[str, float]:
        """Return boosts by id or tag, or raise `ParameterError` for one that is out of bounds."""
        boosts = parse_boosts(self.boost)
        if len(boosts) > MAX_TAGS or any(abs(number) > MAX_BOOST for number in boosts.values()):
            raise ParameterError(
                f"There are at most {MAX_TAGS} boosts, from {-MAX_BOOST:,.0f} to {MAX_BOOST:,.0f}."
            )
        return boosts


class ListOptions(StrictSchema):
    """Options of a list: how long it is, and what may be in it."""

    k: K = 20
    """How many items, at most."""
    exclude: Ids = []
    """None of these items."""
    where: Conditions = []
    first_date: Day | None = None
    """No item before this day."""
    last_date: Day | None = None
    """No item after this day."""
    exclude_history: bool = True
    """Leave out what was viewed."""
    negative_reasons: bool = True
    """Include reasons with a negative share."""
    items: Ids | None = None
    """Only these items; all of them when not given."""
    unknown: Literal["raise", "ignore"] = "raise"
    """What happens to ids and tags that the model does not have; no item passes by one that is
    ignored in `items` or `where`."""


FilterTags = Annotated[list[TagText], Field(max_length=MAX_FILTER_TAGS)]
Bounds = Annotated[
    dict[NAME, Annotated[float, Field(ge=-MAX_BOUND, le=MAX_BOUND, allow_inf_nan=False)]],
    Field(max_length=MAX_FILTER_TAGS, examples=[{"price": 20}]),
]


class NewFilters(BodySchema):
    """The conditions on a list, which replace those that it had."""

    only: FilterTags = []
    """Only items with these tags; one of each feature."""
    without: FilterTags = []
    """No item with these tags."""
    at_most: Bounds = {}
    """The largest number in a column."""
    at_least: Bounds = {}
    """The smallest number in a column."""
    when: Annotated[str, Field(max_length=40, examples=["weekend"])] = ""
    """A period of dates: today, tomorrow, weekend, next_weekend, week, next_week, month,
    next_month, or days as 2026-11-20..2026-11-22 with open ends. Empty for any."""


class FilteredList(ListOptions):
    """Options of a list, with the conditions that a stored list can have."""

    filters: NewFilters = NewFilters()
    """Conditions as `PUT /people/{person_id}/filters` takes them, besides the other options.
    Unknown names in them are always refused."""


class RecommendRequest(Taste, FilteredList):
    """A list for a history and presses."""

    variety: Share = 0.0
    boost: Boosts = {}


class PersonListOptions(PersonBoostOptions, ListOptions):
    """Options of a list for a person."""

    variety: Share | None = None
    """Instead of the person's own."""


class ProfileOptions(StrictSchema):
    """Options of a profile."""

    top: K = 10
    """Tags of each feature, at most."""
    features: Annotated[list[NAME], Field(max_length=MAX_TAGS)] = []
    """Only these features; all if empty."""


class PersonProfileOptions(PersonOptions, ProfileOptions):
    """Options of the profile of a person."""


class ProfileRequest(Taste, ProfileOptions):
    """The profile for a history and presses."""


class ItemOptions(StrictSchema):
    """An item, in the query."""

    item_id: ItemText


class PersonExplainOptions(PersonBoostOptions, ItemOptions):
    """The item whose score is explained to a person."""


class ExplainRequest(Taste):
    """The whole score of one item for a history and presses."""

    item_id: ItemId
    boost: Boosts = {}


class PersonCompareOptions(PersonExplainOptions):
    """Two items whose scores are compared for a person."""

    other_id: Annotated[NAME, Field(examples=["e0007"])]
    """The id of the item to compare it with."""


class CompareRequest(ExplainRequest):
    """Two items whose scores are compared for a history and presses."""

    other_id: OtherId


class PersonOriginsOptions(StrictSchema):
    """Where the affinity of a person with one tag comes from."""

    tag: TagText
    scale: Scale = "robust"


class OriginsRequest(Taste):
    """Where the affinity with one tag comes from."""

    tag: TagText


class Change(BodySchema):
    """A tag of the item, and the tag that takes its place; null leaves it out."""

    old: TagText
    new: TagText | None = None
    """null leaves the tag out."""


Changes = Annotated[
    list[Change],
    Field(max_length=MAX_TAGS, description="Tags of the item, and what takes their place."),
]


class VariationRequest(Taste, FilteredList):
    """A list like an item, with some of its tags changed."""

    # The tags of the example's item are not known here: nothing is changed in it.
    model_config = ConfigDict(json_schema_extra={"examples": [{"item_id": "e0004"}]})

    item_id: ItemId
    changes: Changes = []
    n: Annotated[int, Field(ge=1, le=20), _WHOLE] = N_TAGS
    """How many tags of the item count, at most."""
    steps: Annotated[int, Field(ge=1, le=MAX_PRESSES), _WHOLE] = STEPS
    """How often each of them is pressed."""


class TagExamplesOptions(StrictSchema):
    """The tag whose examples are wanted."""

    tag: TagText
    k: K = 6
    """How many items, and how many tags, at most."""
    places: K = 20
    """How many items count as the first of a list."""


class PersonTagExamplesOptions(PersonOptions, TagExamplesOptions):
    """The tag whose examples a person wants."""


class TagExamplesRequest(Taste, TagExamplesOptions):
    """The tag whose examples are wanted, for a history and presses."""


class LiftRequest(Taste):
    """The item that should rise, and how far."""

    item_id: ItemId
    k: K = 10
    """The item should be among the first k."""


class ItemChoice(BodySchema):
    """One item."""

    item_id: ItemId


class SimilarRequest(ItemChoice):
    """Items that resemble one."""

    k: K = 10
    """How many items, at most."""


class PicksRequest(BodySchema):
    """The items picked so far, and the items shown beside them."""

    picks: Ids = []
    shown: Ids = []
    # Not a narrower `K`: the document would tell the bound of `K`.
    k: Annotated[int, Field(ge=1, le=MAX_PICKS), _WHOLE] = 6
    """How many items, at most."""


class SearchOptions(StrictSchema):
    """Words to search for in names."""

    q: Annotated[str, Field(min_length=1, max_length=200, examples=["ghent"])]
    k: K = 20
    """How many items, and how many tags, at most."""


class GroupOptions(StrictSchema):
    """The discovered tag whose group is shown."""

    tag: Annotated[TagText, Field(examples=["discovered=Jazz by the Scheldt, Jazz in the park"])]
    k: K = 100
    """How many members, at most."""


class WordsRequest(BodySchema):
    """A request in words, and the language it is most likely written in."""

    text: Annotated[str, Field(max_length=LONGEST)]
    language: Literal["en", "nl", "fr"] = "en"


# Actions of a person


class NewPress(BodySchema):
    """Press + (positive) or - (negative) on a tag, `steps` times."""

    tag: TagText
    steps: Steps = 1
    lasts: LastsText = "always"


class NewView(ItemChoice):
    """An item that was viewed, or disliked."""

    strength: Annotated[Strength, Field(examples=[1.0])] = 1.0
    """How much it counts in the history, other than 0. Below 0 it was disliked; -0.125 is what data
    sets with dislikes have."""


class NewViews(BodySchema):
    """Items that were viewed or disliked, the latest last."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"views": [{"item_id": "e0001"}]}]})

    views: Annotated[list[NewView], Field(min_length=1, max_length=MAX_VIEWS)]
    unknown: Literal["raise", "ignore"] = "raise"
    """What happens to items that the model does not have."""


class NewHidden(BodySchema):
    """An item or a tag, one of them, that is never to be shown."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"tag": "type=Workshop", "lasts": "week"}]}
    )

    item_id: ItemId | None = None
    tag: TagText | None = None
    lasts: LastsText = "always"


class HiddenOptions(StrictSchema):
    """The item or the tag, one of them, that may be shown again."""

    item_id: Annotated[NAME | None, Field(examples=["e0001"])] = None
    tag: Annotated[TagText | None, Field(examples=[])] = None


class Variety(BodySchema):
    """How much lists are varied: 0 is the plain ranking, 1 the most variety."""

    variety: Share


class NewBalance(BodySchema):
    """How much tags count, and how much viewed items do beside them."""

    balance: Balance


class About(BodySchema):
    """Facts about a person, which replace those given before; an empty list removes them."""

    about: AboutTags


class Profiling(BodySchema):
    """Whether lists follow the person's profile, and what orders them if not."""

    on: bool
    order: Order | None = None
    """Without profile: by general appeal, or the newest first."""


class Wishes(BodySchema):
    """Wishes in their text form, which are applied together; undo takes all of them back."""

    wishes: Annotated[
        WishTexts,
        Field(
            min_length=1, max_length=MAX_WISHES, examples=[["press +4 town=Ghent", "when weekend"]]
        ),
    ]
    """Each as `press +4 theme=Jazz for today`, `only town=Ghent`, `without type=Workshop`, `never
    type=Workshop for week`, `at_most price 20`, `at_least price 10`, `when weekend`, `like ID`
    or `variety 0.6`."""


# Lists of a person, and imports. The size of a body bounds an import; `state.check` counts.


ListName = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_FEED_NAME,
        description="The name of a list; upper and lower case are the same.",
        examples=["Friday night"],
    ),
]
AnyListName = Annotated[
    str,
    Field(
        max_length=MAX_FEED_NAME,
        description="The name of a list; empty for the main one.",
        examples=[""],
    ),
]


class GivenEnding(TolerantSchema):
    """A press, or something hidden, that ends by itself; `until` is a time with its zone."""

    kind: Literal["press", "hide"]
    name: ItemId
    steps: Annotated[int, Field(ge=-2 * MAX_PRESSES, le=2 * MAX_PRESSES), _WHOLE] = 0
    until: Annotated[datetime, BeforeValidator(read_time)]
    is_item: bool = False


class GivenFeed(TolerantSchema):
    """A list as `GET .../feeds` returns it; what is not given is as in a new list."""

    presses: list[Press] = []
    lasting: list[Press] | None = None
    """Presses that do not end; null if none ends."""
    filters: NewFilters = NewFilters()
    variety: Share = 0.0
    balance: Share = AS_FITTED
    ends: list[GivenEnding] = []

    def stored(self) -> dict[str, Any]:
        """Return the feed as it is stored."""
        lasting = self.presses if self.lasting is None else self.lasting
        ends = [e for e in self.ends if e.kind == "press" and e.steps]
        return read_feed(
            {
                "presses": {press.tag: press.steps for press in lasting},
                "temporary": [[str(e.name), e.steps, time_text(e.until)] for e in ends],
                "filters": self.filters.model_dump(exclude_defaults=True),
                "variety": self.variety,
                "balance": self.balance,
            }
        )


class NamedFeed(GivenFeed):
    """A list with its name."""

    feed: AnyListName


class NewFeed(BodySchema):
    """A new list, which becomes the current one; it begins as a copy of the one before."""

    feed: ListName
    start: GivenFeed | None = None
    """What it begins with instead."""


class FeedChoice(BodySchema):
    """The list that is to be the current one."""

    feed: AnyListName


class FeedOptions(StrictSchema):
    """The list that is to be dropped."""

    feed: ListName


class NewFeedName(BodySchema):
    """A list, and the name that it is to have."""

    feed: ListName
    name: ListName


class SharedFeed(BodySchema):
    """The link of a shared list, and the name of the copy; that of the list by default."""

    token: Annotated[str, Field(min_length=1, max_length=43)]
    """The last part of the link's path."""
    feed: ListName | None = None


class NewShare(BodySchema):
    """What a link is to show: one list, or the whole profile if none is named."""

    feed: AnyListName | None = None


class GivenState(GivenFeed):
    """The state in an export: the current list, and what holds for all lists."""

    history: list[ItemId]
    presses: list[Press]
    hidden: list[ItemId]
    strengths: dict[NAME, Strength] = {}
    about: AboutTags = []
    hidden_tags: list[TagText] = []
    feed: AnyListName = MAIN
    feeds: list[NamedFeed] = []
    profiling: bool = True
    order: Order = "appeal"

    def draft(self) -> Draft:
        """Return the state as it is stored."""
        ends = {(e.is_item, e.name): time_text(e.until) for e in self.ends if e.kind == "hide"}
        feeds = {MAIN: self.stored()} | {feed.feed: feed.stored() for feed in self.feeds}
        feeds[self.feed] = self.stored()
        return Draft(
            history={item: self.strengths.get(str(item), 1.0) for item in self.history},
            hidden={item: ends.get((True, item)) for item in self.hidden},
            hidden_tags={tag: ends.get((False, tag)) for tag in self.hidden_tags},
            about=tuple(dict.fromkeys(self.about)),
            profiling=self.profiling,
            order=self.order,
            feed=self.feed,
            feeds=feeds,
        )


class GivenExport(TolerantSchema):
    """An export of a person, of this server or of another; only its state is read."""

    state: GivenState

    @classmethod
    def read(cls, text: bytes | str) -> Self:
        """Return an export that was sent as a file.

        Raises
        ------
        ParameterError
            If it is no export, or is damaged.
        """
        try:
            return cls.model_validate(read_json(text))
        except ParameterError as error:
            raise no_export(str(error)) from None
        except ValidationError as error:
            raise no_export(describe(error.errors(include_url=False))) from None

    def event(self) -> Event:
        """Return the action that replaces a person's state by this one."""
        try:
            return Event("import", {"state": self.state.draft().to_json()})
        except TeaserError as error:
            raise no_export(str(error)) from None
