"""The requests about a person's lists as typed JSON: feeds, filters, wishes, imports."""

from collections import Counter
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from teaser.app.api.schema.examples import add_example
from teaser.app.api.schema.requests import (
    MAX_NAME,
    AboutTags,
    ItemId,
    LastsText,
    Press,
    Share,
    Strength,
    StrictSchema,
    TagText,
)
from teaser.app.api.schema.validation_messages import describe
from teaser.app.http.form_text import read_json
from teaser.app.people.checks import (
    LIMITS,
    MAX_FEED_NAME,
    MAX_FILTER_TAGS,
)
from teaser.app.people.events import Event, read_time
from teaser.app.people.state import AS_FITTED, MAIN, Order
from teaser.app.people.values import FeedValues, Values
from teaser.app.wishes import MAX_WISHES
from teaser.data.matrix import ItemId as OwnItemId
from teaser.errors import ImportedFileError, ParameterError, StateLimitError, TeaserError
from teaser.profile import MAX_PRESSES
from teaser.words.wishes import MAX_BOUND

_TOKEN = 43


def _at_most(kind: str, more: int = 0) -> Any:
    """Return a field with the limit of one list; `check` counts all lists together."""
    return Field(max_length=LIMITS[kind] + more)


# What the lists of an export hold, by the names of their fields.
_KINDS = {
    "history": "viewed items",
    "presses": "pressed tags",
    "lasting": "pressed tags",
    "hidden": "hidden items",
    "hidden_tags": "hidden tags",
    "ends": "things that end by themselves",
    "feeds": "feeds",
}


def _raise_limit(error: ValidationError) -> None:
    """Raise `StateLimitError` if the first fault is a list that is too long."""
    fault = error.errors(include_url=False)[0]
    kind = _KINDS.get(str(fault["loc"][-1])) if fault["loc"] else None
    if fault["type"] == "too_long" and kind:
        raise StateLimitError(kind, fault["ctx"]["actual_length"], LIMITS[kind]) from None


def _real(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("must be a number, not true or false")
    return value


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
FilterTags = Annotated[list[TagText], Field(max_length=MAX_FILTER_TAGS)]
Bounds = Annotated[
    dict[
        Annotated[str, Field(min_length=1, max_length=MAX_NAME)],
        Annotated[
            float,
            Field(ge=-MAX_BOUND, le=MAX_BOUND, allow_inf_nan=False),
            BeforeValidator(_real),
        ],
    ],
    Field(max_length=MAX_FILTER_TAGS, examples=[{"price": 20}]),
]
When = Annotated[
    str,
    Field(
        max_length=40,
        description="A period of dates: today, tomorrow, weekend, next_weekend, week, next_week, "
        "month, next_month, or days as 2026-11-20..2026-11-22 with open ends. Empty for any.",
        examples=["weekend"],
    ),
]


class NewFilters(StrictSchema):
    """The conditions on a list, which replace those that it had."""

    only: Annotated[
        FilterTags, Field(description="Only items with these tags; one of each feature.")
    ] = Field(default_factory=list)
    without: Annotated[FilterTags, Field(description="No item with these tags.")] = Field(
        default_factory=list
    )
    at_most: Annotated[Bounds, Field(description="The largest number in a column.")] = Field(
        default_factory=dict
    )
    at_least: Annotated[Bounds, Field(description="The smallest number in a column.")] = Field(
        default_factory=dict
    )
    when: When = ""


class NewHidden(StrictSchema):
    """An item or a tag, one of them, that is never to be shown."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"tag": "type=Workshop", "lasts": "week"}]}
    )

    item_id: ItemId | None = None
    tag: TagText | None = None
    lasts: LastsText = "always"


class HiddenOptions(StrictSchema):
    """The item or the tag, one of them, that may be shown again."""

    item_id: Annotated[str | None, Field(min_length=1, max_length=MAX_NAME, examples=["e0001"])] = (
        None
    )
    tag: Annotated[TagText | None, Field(examples=[])] = None


class Profiling(StrictSchema):
    """Whether lists follow the person's profile, and what orders them if not."""

    on: bool
    order: Annotated[
        Order | None,
        Field(description="Without profile: by general appeal, or the newest first."),
    ] = None


class Wishes(StrictSchema):
    """Wishes in their text form, which are applied together; undo takes all of them back."""

    wishes: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=MAX_NAME + 100)]],
        Field(
            min_length=1,
            max_length=MAX_WISHES,
            description="Each as `press +4 theme=Jazz for today`, `only town=Ghent`, "
            "`without type=Workshop`, `never type=Workshop for week`, `at_most price 20`, "
            "`at_least price 10`, `when weekend`, `like ID` or `variety 0.6`.",
            examples=[["press +4 town=Ghent", "when weekend"]],
        ),
    ]


class TolerantSchema(BaseModel):
    """A part of an export, which may have more fields: those of other versions are not read."""

    model_config = ConfigDict(extra="ignore", json_schema_extra=add_example)


class GivenEnding(TolerantSchema):
    """A press, or something hidden, that ends by itself; `until` is a time with its zone."""

    kind: Literal["press", "hide"]
    name: ItemId
    steps: Annotated[int, Field(ge=-2 * MAX_PRESSES, le=2 * MAX_PRESSES)] = 0
    until: Annotated[str, Field(max_length=40)]
    is_item: bool = False


Presses = Annotated[list[Press], _at_most("pressed tags")]
Endings = Annotated[list[GivenEnding], _at_most("things that end by themselves")]


class GivenFeed(TolerantSchema):
    """A list as `GET .../feeds` returns it; what is not given is as in a new list."""

    presses: Presses = []
    lasting: Annotated[
        Presses | None, Field(description="Presses that do not end; null if none ends.")
    ] = None
    filters: NewFilters = NewFilters()
    variety: Share = 0.0
    balance: Share = AS_FITTED
    ends: Endings = []

    def stored(self) -> dict[str, Any]:
        """Return the feed as it is stored."""
        lasting = self.presses if self.lasting is None else self.lasting
        passing = [[str(e.name), e.steps, e.until] for e in self.ends if e.kind == "press"]
        return FeedValues.of_json(
            {
                "presses": {press.tag: press.steps for press in lasting},
                "passing": [each for each in passing if each[1]],
                "filters": self.filters.model_dump(exclude_defaults=True),
                "variety": self.variety,
                "balance": self.balance,
            }
        ).to_json()


class NamedFeed(GivenFeed):
    """A list with its name."""

    feed: AnyListName


class NewFeed(StrictSchema):
    """A new list, which becomes the current one; it begins as a copy of the one before."""

    feed: ListName
    start: Annotated[GivenFeed | None, Field(description="What it begins with instead.")] = None


class FeedChoice(StrictSchema):
    """The list that is to be the current one."""

    feed: AnyListName


class FeedOptions(StrictSchema):
    """The list that is to be dropped."""

    feed: ListName


class NewFeedName(StrictSchema):
    """A list, and the name that it is to have."""

    feed: ListName
    name: Annotated[ListName, Field(examples=["Saturday"])]


class SharedFeed(StrictSchema):
    """The link of a shared list, and the name of the copy; that of the list by default."""

    token: Annotated[
        str,
        Field(
            min_length=1,
            max_length=_TOKEN,
            description="The last part of the link's path.",
            examples=["Xz0kq5QJm3n8cQ0W7rT9uVxYzAbEx1Ck0b0s0mA6jH5"],
        ),
    ]
    feed: ListName | None = None


class NewShare(StrictSchema):
    """What a link is to show: one list, or the whole profile if none is named."""

    feed: AnyListName | None = None


class GivenState(TolerantSchema):
    """The state in an export, of this version or an earlier one."""

    history: Annotated[list[ItemId], _at_most("viewed items")]
    presses: Presses
    hidden: Annotated[list[ItemId], _at_most("hidden items")]
    strengths: Annotated[
        dict[Annotated[str, Field(min_length=1, max_length=MAX_NAME)], Strength],
        _at_most("viewed items"),
    ] = {}
    variety: Share = 0.0
    balance: Share = AS_FITTED
    about: AboutTags = []
    lasting: Presses | None = None
    filters: NewFilters = NewFilters()
    hidden_tags: Annotated[list[TagText], _at_most("hidden tags")] = []
    ends: Endings = []
    feed: AnyListName = MAIN
    feeds: Annotated[list[NamedFeed], _at_most("feeds", more=1)] = []
    profiling: bool = True
    order: Order = "appeal"

    def values(self) -> Values:
        """Return the values of the state.

        Raises
        ------
        ParameterError
            If two lists have one name, or a time is none.
        """
        names = Counter(feed.feed for feed in self.feeds)
        if twice := [name for name, n in names.items() if n > 1]:
            raise ParameterError(f"Two of its lists have one name, {twice[0]!r}.")
        ends = {(e.is_item, e.name): read_time(e.until) for e in self.ends if e.kind == "hide"}
        own = GivenFeed(
            presses=self.presses,
            lasting=self.lasting,
            filters=self.filters,
            variety=self.variety,
            balance=self.balance,
            ends=[end for end in self.ends if end.kind == "press"],
        )
        feeds = {MAIN: own.stored()} | {feed.feed: feed.stored() for feed in self.feeds}
        feeds[self.feed] = own.stored()
        return Values(
            history={item: self._strength(item) for item in self.history},
            hidden={item: ends.get((True, item)) for item in self.hidden},
            hidden_tags={tag: ends.get((False, tag)) for tag in self.hidden_tags},
            about=tuple(dict.fromkeys(self.about)),
            profiling=self.profiling,
            order=self.order,
            feed=self.feed,
            feeds={name: FeedValues.of_json(feed) for name, feed in feeds.items()},
        )

    def _strength(self, item: OwnItemId) -> float:
        return self.strengths.get(str(item), 1.0)


class GivenExport(TolerantSchema):
    """An export of a person, of this server or of another; only its state is read."""

    state: GivenState

    @classmethod
    def read(cls, text: bytes | str) -> Self:
        """Return an export that was sent as a file.

        Raises
        ------
        ImportedFileError
            If it is no export, or is damaged.
        StateLimitError
            If a list in it is longer than what can be kept.
        """
        try:
            return cls.model_validate(read_json(text))
        except ParameterError as error:
            raise ImportedFileError(str(error)) from None
        except ValidationError as error:
            _raise_limit(error)
            raise ImportedFileError(describe(error.errors(include_url=False))) from None

    def event(self) -> Event:
        """Return the action that replaces a person's state by this one.

        Raises
        ------
        ImportedFileError
            If a time, a tag or a name in it is none.
        """
        try:
            return Event("import", {"state": self.state.values().to_json()})
        except TeaserError as error:
            raise ImportedFileError(str(error)) from None
