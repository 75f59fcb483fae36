"""The arguments of tools as typed JSON; fields and bounds are those of the API."""

from datetime import date
from typing import Annotated, Literal

from pydantic import Field

from teaser.app.api.schema.guidance import Change, OtherId
from teaser.app.api.schema.person_requests import Wishes
from teaser.app.api.schema.requests import (
    MAX_NAME,
    MAX_TAGS,
    AboutTags,
    History,
    Ids,
    ItemChoice,
    K,
    NewPress,
    NewView,
    Press,
    Share,
    StrictSchema,
    TagText,
    Taste,
)
from teaser.errors import ParameterError
from teaser.words.interpreter import LONGEST

ME = "me"
PersonName = Annotated[
    str,
    Field(
        pattern=f"^({ME}|[A-Za-z0-9_-]{{43}})$",
        description="Whose state is used: an id that new_person gave; it opens all that is stored "
        "for the person, so keep it as a secret. A local server knows its own person as me.",
    ),
]
Language = Annotated[
    Literal["en", "nl", "fr"], Field(description="The language of the words.", examples=["en"])
]

Conditions = Annotated[
    list[TagText],
    Field(
        max_length=MAX_TAGS,
        description="Only items with these tags, as feature=value; tags of one feature are "
        "alternatives.",
    ),
]

WishText = Annotated[str, Field(min_length=1, max_length=MAX_NAME + 100)]


class Nothing(StrictSchema):
    """No arguments."""


class OnePerson(StrictSchema):
    """A person whose state is stored."""

    person_id: PersonName


class Whose(StrictSchema):
    """A person whose state is stored, or a history and presses that the caller keeps."""

    person_id: Annotated[
        PersonName | None,
        Field(description="Whose stored state is used; then give no history, presses or about."),
    ] = None
    history: History = Field(default_factory=list)
    presses: Annotated[
        list[Press],
        Field(max_length=MAX_TAGS, description="Net presses on tags, where nothing is stored."),
    ] = Field(default_factory=list)
    about: AboutTags = Field(default_factory=list)

    def taste(self) -> Taste:
        """Return what the caller keeps, as the API takes it."""
        return Taste(history=self.history, presses=self.presses, about=self.about)

    def check(self) -> None:
        """Raise `ParameterError` if a person and something of the caller's own are given.

        One of the two would have no effect.
        """
        own = [name for name in ("history", "presses", "about") if getattr(self, name)]
        if self.person_id is not None and own:
            raise ParameterError(
                f"person_id and {' and '.join(own)} were given. Give a person_id to use what is "
                "stored, or leave it out to use what you give."
            )


class SearchArguments(StrictSchema):
    """Words to search for in names of items and tags."""

    words: Annotated[
        str,
        Field(
            min_length=1,
            max_length=200,
            description="Every word must be in the name; accents and capitals do not matter.",
        ),
    ]
    k: Annotated[K, Field(description="How many items, and how many tags, at most.")] = 10
    language: Language = "en"


class RecommendArguments(Whose):
    """A list for a person, or for a history and presses."""

    k: K = 10
    where: Conditions = Field(default_factory=list)
    first_date: Annotated[date | None, Field(description="No item before this day.")] = None
    last_date: Annotated[date | None, Field(description="No item after this day.")] = None
    exclude: Annotated[Ids, Field(description="None of these items.")] = Field(default_factory=list)
    variety: Annotated[
        Share | None,
        Field(description="0 is the plain ranking, 1 the most variety; by default the person's."),
    ] = None
    wishes: Annotated[
        list[WishText],
        Field(
            max_length=MAX_TAGS,
            description="Wishes for this list alone, as say returns them; nothing is stored.",
        ),
    ] = Field(default_factory=list)


class ProfileArguments(Whose):
    """The profile of a person, or of a history and presses."""

    top: Annotated[K, Field(description="Tags of each feature, at most.")] = 5
    features: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=MAX_NAME)]],
        Field(max_length=MAX_TAGS, description="Only these features; all if empty."),
    ] = Field(default_factory=list)


class PressArguments(Whose, NewPress):
    """A press on a tag: stored for a person, else for the presses that the caller keeps."""


class ViewArguments(OnePerson, NewView):
    """An item that a person viewed, or disliked."""


class SayArguments(StrictSchema):
    """A request in words."""

    text: Annotated[
        str,
        Field(
            min_length=1,
            max_length=LONGEST,
            description="What is wanted, as a person says it: more jazz around Ghent, no "
            "workshops, cheaper, this weekend.",
        ),
    ]
    language: Language = "en"


class ApplyArguments(OnePerson, Wishes):
    """Wishes of a person, applied together."""


class ItemArguments(Whose, ItemChoice):
    """An item, for a person or for a history and presses."""


class CompareArguments(ItemArguments):
    """Two items, for a person or for a history and presses."""

    other_id: OtherId


class LikeArguments(ItemArguments):
    """An item as a start, and what should be otherwise."""

    changes: Annotated[
        list[Change],
        Field(max_length=MAX_TAGS, description="Tags of the item, and what takes their place."),
    ] = Field(default_factory=list)
    where: Conditions = Field(default_factory=list)
    k: K = 10


class LiftArguments(ItemArguments):
    """An item that should rise, and how far."""

    k: Annotated[K, Field(description="The item should be among the first k.")] = 10


class SimilarArguments(ItemChoice):
    """An item, and how many similar ones."""

    k: K = 10
