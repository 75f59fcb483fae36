"""The requests of the API as typed JSON; names equal those of the library."""

from datetime import date
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Discriminator, Field
from pydantic import Tag as Shape
from typing_extensions import TypeAliasType

from teaser.app.api.schema.examples import add_example
from teaser.app.api.schema.validation_messages import IDS, STRENGTHS
from teaser.app.people.checks import MAX_STRENGTH
from teaser.app.people.state import AS_FITTED
from teaser.data.tags import Tag
from teaser.errors import ParameterError
from teaser.model.lists.selection import parse_boosts
from teaser.profile import MAX_PRESSES, check_press
from teaser.words.wishes import Lasts

MAX_K = 500
MAX_PICKS = 50
MAX_HISTORY = 1_000
MAX_TAGS = 200
MAX_TEXT = 200
# Ids may be addresses of pages, and groups that the system found are named by titles of items.
MAX_NAME = 2_000
MAX_BOOST = 1e6
MAX_ID = 2**63 - 1
# A text before the first equal sign and one after it, as `Tag.parse` wants them.
_TAG_PATTERN = r"^[^=]*[^=\s][^=]*=[\s\S]*\S"
_BOOST_PATTERN = r"\S[\s\S]*:\s*[+-]?[\d.]"
N = TypeVar("N", int, float)


def _not_zero(value: N) -> N:
    if value == 0:
        raise ValueError("must not be 0")
    return value


def _whole(value: Any) -> Any:
    """Accept 3.0 for 3: JSON has one kind of number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _number(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("must be a number, not true or false")
    return value


def _shape(history: Any) -> str:
    return STRENGTHS if isinstance(history, dict) else IDS


# A named union, so that generated clients have one type for it.
ItemId = TypeAliasType(
    "ItemId",
    Annotated[
        Annotated[int, Field(strict=True, ge=-MAX_ID - 1, le=MAX_ID), BeforeValidator(_whole)]
        | Annotated[str, Field(min_length=1, max_length=MAX_NAME)],
        Field(
            description="The id of an item, as in the data; '17' finds 17 too.",
            examples=["e0001"],
        ),
    ],
)
# The same in responses, which must hold whatever the model has: without bounds.
ModelItemId = TypeAliasType(
    "ModelItemId",
    Annotated[
        int | str, Field(description="The id of an item, as in the data.", examples=["e0001"])
    ],
)
TagText = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_NAME,
        description="A tag as feature=value.",
        examples=["town=Ghent"],
        json_schema_extra={"pattern": _TAG_PATTERN},
    ),
]
Steps = Annotated[int, Field(strict=True, ge=-MAX_PRESSES, le=MAX_PRESSES), BeforeValidator(_whole)]
K = Annotated[
    int, Field(ge=1, le=MAX_K, description="How many items, at most."), BeforeValidator(_number)
]
Share = Annotated[float, Field(ge=0, le=1), BeforeValidator(_number)]
Strength = Annotated[
    float,
    Field(ge=-MAX_STRENGTH, le=MAX_STRENGTH, allow_inf_nan=False),
    BeforeValidator(_number),
]
Scale = Annotated[
    Literal["robust", "paper"],
    Field(description="How raw scores become affinities; `paper` is for comparison with it."),
]


Balance = Annotated[
    Share,
    Field(
        description="Where viewed items count beside their tags: 0 is tags alone, 0.5 the model as "
        "it was fitted, 1 viewed items alone. It changes nothing for other models.",
    ),
]
OwnBalance = Annotated[
    Balance | None, Field(description="Instead of the person's own; see `PUT .../balance`.")
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


class StrictSchema(BaseModel):
    """A request; a misspelt field is refused instead of ignored."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=add_example)


class Press(StrictSchema):
    """Net presses on one tag: + is positive, - is negative."""

    tag: TagText
    steps: Steps


class NewPress(StrictSchema):
    """Press + (positive) or - (negative) on a tag, `steps` times."""

    tag: TagText
    steps: Annotated[
        Steps, AfterValidator(_not_zero), Field(json_schema_extra={"not": {"const": 0}})
    ] = 1
    lasts: LastsText = "always"


class ItemChoice(StrictSchema):
    """One item."""

    item_id: ItemId


class NewView(ItemChoice):
    """An item that was viewed, or disliked."""

    strength: Annotated[
        Strength,
        AfterValidator(_not_zero),
        Field(
            description="How much it counts in the history, other than 0. Below 0 it was disliked; "
            "-0.125 is what data sets with dislikes have.",
            json_schema_extra={"not": {"const": 0}},
            examples=[1.0],
        ),
    ] = 1.0


class Variety(StrictSchema):
    """How much lists are varied: 0 is the plain ranking, 1 the most variety."""

    variety: Share


class NewBalance(StrictSchema):
    """How much tags count, and how much viewed items do beside them."""

    balance: Balance


class About(StrictSchema):
    """Facts about a person, which replace those given before; an empty list removes them."""

    about: AboutTags


# What was viewed: ids, or an object that gives the strength of each. `_shape` decides which of the
# two is checked, so that an error is about the one that was meant.
History = TypeAliasType(
    "History",
    Annotated[
        Annotated[list[ItemId], Field(max_length=MAX_HISTORY), Shape(IDS)]
        | Annotated[
            dict[
                Annotated[str, Field(min_length=1, max_length=MAX_NAME)],
                Strength,
            ],
            Field(max_length=MAX_HISTORY),
            Shape(STRENGTHS),
        ],
        Discriminator(_shape),
        Field(
            description="What was viewed: a list of item ids, or an object that gives each id its "
            "strength. A disliked item has one below 0; an item of strength 0 is not in the "
            "history.",
            examples=[["e0001", "e0002"], {"e0001": 1.0, "e0002": 0.5, "e0003": -0.125}],
        ),
    ],
)


class Taste(StrictSchema):
    """What a person viewed and pressed, and facts about them."""

    history: History = []
    presses: Annotated[
        list[Press],
        Field(max_length=MAX_TAGS, description="The presses on a tag that occurs twice are added."),
    ] = []
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


Ids = Annotated[list[ItemId], Field(max_length=MAX_HISTORY)]
Boosts = Annotated[
    dict[
        Annotated[str, Field(min_length=1, max_length=MAX_NAME)],
        Annotated[
            float,
            Field(ge=-MAX_BOOST, le=MAX_BOOST, allow_inf_nan=False),
            BeforeValidator(_number),
        ],
    ],
    Field(
        max_length=MAX_TAGS,
        description="What is added to scores, by item id or by tag as feature=value. It is shown "
        "as `boost`, and among the reasons.",
        examples=[{"town=Ghent": 0.2}],
    ),
]
BoostTexts = Annotated[
    list[
        Annotated[
            str,
            Field(
                min_length=3,
                max_length=MAX_NAME + 30,
                json_schema_extra={"pattern": _BOOST_PATTERN},
            ),
        ]
    ],
    Field(
        max_length=MAX_TAGS,
        description="What is added to scores, as id:0.2 or feature=value:0.2; repeat it for "
        f"several. The number is from {-MAX_BOOST:,.0f} to {MAX_BOOST:,.0f}. It is shown as "
        "`boost`, and among the reasons.",
        examples=[["town=Ghent:0.2"]],
    ),
]
Unknown = Annotated[
    Literal["raise", "ignore"],
    Field(
        description="What happens to ids and tags that the model does not have; no item passes by "
        "one that is ignored in `items` or `where`."
    ),
]


def read_boosts(texts: list[str]) -> dict[str, float]:
    """Return boosts by id or tag, or raise `ParameterError` for one that is out of bounds."""
    boosts = parse_boosts(texts)
    if len(boosts) > MAX_TAGS:
        raise ParameterError(f"There are at most {MAX_TAGS} boosts, found {len(boosts)}.")
    for name, number in boosts.items():
        if abs(number) > MAX_BOOST:
            raise ParameterError(
                f"The boost of {name!r} must be from {-MAX_BOOST:,.0f} to {MAX_BOOST:,.0f}, "
                f"found {number:g}."
            )
    return boosts


class ListOptions(StrictSchema):
    """Options of a list."""

    k: K = 20
    exclude_history: Annotated[bool, Field(description="Leave out what was viewed.")] = True
    negative_reasons: Annotated[
        bool, Field(description="Include reasons with a negative share.")
    ] = True
    items: Annotated[
        Ids | None, Field(description="Only these items; all of them when not given.")
    ] = None
    exclude: Annotated[Ids, Field(description="None of these items.")] = []
    where: Annotated[
        list[TagText],
        Field(
            max_length=MAX_TAGS,
            description="Only items with these tags; tags of one feature are alternatives.",
        ),
    ] = []
    only_tags: Annotated[
        list[TagText],
        Field(max_length=MAX_TAGS, description="The earlier name of `where`."),
    ] = []
    unknown: Unknown = "raise"
    first_date: Annotated[date | None, Field(description="No item before this day.")] = None
    last_date: Annotated[date | None, Field(description="No item after this day.")] = None


class RecommendRequest(Taste, ListOptions):
    """A list for a history and presses."""

    variety: Share = 0.0
    boost: Boosts = {}


class PersonListOptions(ListOptions):
    """Options of a list for a person."""

    variety: Annotated[Share | None, Field(description="Instead of the person's own.")] = None
    scale: Scale = "robust"
    balance: OwnBalance = None
    boost: BoostTexts = []


class ProfileOptions(StrictSchema):
    """Options of a profile."""

    top: Annotated[K, Field(description="Tags of each feature, at most.")] = 10
    features: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=MAX_NAME)]],
        Field(max_length=MAX_TAGS, description="Only these features; all if empty."),
    ] = []


class PersonProfileOptions(ProfileOptions):
    """Options of the profile of a person."""

    scale: Scale = "robust"
    balance: OwnBalance = None


class ProfileRequest(Taste, ProfileOptions):
    """The profile for a history and presses."""


class ItemOptions(StrictSchema):
    """An item, in the query: in a path, an id such as '..' would be resolved."""

    item_id: Annotated[
        str,
        Field(
            min_length=1,
            max_length=MAX_NAME,
            description="The id of an item; 17 finds the number and the text.",
            examples=["e0001"],
        ),
    ]


class PersonExplainOptions(ItemOptions):
    """The item whose score is explained to a person."""

    scale: Scale = "robust"
    balance: OwnBalance = None
    boost: BoostTexts = []


class PersonOriginsOptions(StrictSchema):
    """Where the affinity of a person with one tag comes from."""

    tag: TagText
    scale: Scale = "robust"


class ExplainRequest(Taste):
    """The whole score of one item for a history and presses."""

    item_id: ItemId
    boost: Boosts = {}


class OriginsRequest(Taste):
    """Where the affinity with one tag comes from."""

    tag: TagText


class SimilarRequest(StrictSchema):
    """Items that resemble one."""

    item_id: ItemId
    k: K = 10


class SearchOptions(StrictSchema):
    """Words to search for in names."""

    q: Annotated[str, Field(min_length=1, max_length=MAX_TEXT, examples=["ghent"])]
    k: Annotated[K, Field(description="How many items, and how many tags, at most.")] = 20


class GroupOptions(StrictSchema):
    """The discovered tag whose group is shown."""

    tag: Annotated[TagText, Field(examples=["discovered=Jazz by the Scheldt, Jazz in the park"])]
    k: Annotated[K, Field(description="How many members, at most.")] = 100


class LiftRequest(Taste):
    """The item that should rise, and how far."""

    item_id: ItemId
    k: Annotated[K, Field(description="The item should be among the first k.")] = 10


class PicksRequest(StrictSchema):
    """The items picked so far, and the items shown beside them."""

    picks: Annotated[list[ItemId], Field(max_length=MAX_HISTORY)] = []
    shown: Annotated[list[ItemId], Field(max_length=MAX_HISTORY)] = []
    # Not a narrower `K`: the document would tell the bound of `K`.
    k: Annotated[
        int,
        Field(ge=1, le=MAX_PICKS, description="How many items, at most."),
        BeforeValidator(_number),
    ] = 6
