"""The route that reads a request in words."""

from typing import Annotated, Literal, Self

from fastapi import APIRouter, Request
from pydantic import Field

from teaser.app.api.schema.examples import Schema
from teaser.app.dependencies import catalogue_of, services_of
from teaser.app.serving.words import read_words
from teaser.words.interpreter import LONGEST
from teaser.words.wishes import Kind, Lasts, Reading
from teaser.words.wishes import Wish as ReadWish

router = APIRouter(tags=["stateless"])


class WordsRequest(Schema):
    """A request in words, and the language it is most likely written in."""

    text: Annotated[str, Field(max_length=LONGEST)]
    language: Literal["en", "nl", "fr"] = "en"


class ReadWishAnswer(Schema):
    """A wish that was read: its text form, its parts, and the words that it was read from."""

    wish: str
    kind: Kind
    name: str
    steps: int
    number: float | None
    lasts: Lasts
    words: str

    @classmethod
    def of(cls, wish: ReadWish) -> Self:
        """Return a wish that was read."""
        return cls(
            wish=str(wish),
            kind=wish.kind,
            name=wish.name,
            steps=wish.steps,
            number=wish.number,
            lasts=wish.lasts,
            words=wish.words,
        )


class WordsAnswer(Schema):
    """What was read: wishes, words that were not understood, and pairs that contradict."""

    wishes: list[ReadWishAnswer]
    unknown: list[str]
    contradictions: list[list[str]]

    @classmethod
    def of(cls, reading: Reading) -> Self:
        """Return what was read."""
        return cls(
            wishes=[ReadWishAnswer.of(wish) for wish in reading.wishes],
            unknown=list(reading.unknown),
            contradictions=[[str(one), str(other)] for one, other in reading.contradictions],
        )


@router.post("/words")
def read_request(request: Request, asked: WordsRequest) -> WordsAnswer:
    """Return the wishes in a request in words; nothing is applied.

    Their text forms can be applied by `POST /people/{person_id}/wishes`.
    """
    settings = services_of(request).settings
    reading = read_words(catalogue_of(request), asked.text, asked.language, settings)
    return WordsAnswer.of(reading)
