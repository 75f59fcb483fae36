"""Tools: schemas without examples, typed results, and every error as a sentence."""

import logging
from typing import Any

import anyio
import pytest
from app.mcp.conftest import found, refused

from teaser.app.api.schema.examples import Schema
from teaser.app.mcp.arguments import LiftArguments, Nothing, OnePerson
from teaser.app.mcp.source import Source
from teaser.app.mcp.tool import Answer, Tool, without_examples
from teaser.errors import ParameterError, StoreError, TeaserError


class Number(Schema):
    """A number."""

    number: int
    title: str = "field"


def tool(answer: Any, arguments: Any = Nothing) -> Tool:
    return Tool("count", "Count", "Counts.", arguments, Number, answer)


def call(source: Source, chosen: Tool, **given: Any) -> Any:
    return anyio.run(lambda: chosen.call(source, given))


def raising(error: Exception) -> Tool:
    def fail(_: Source, asked: object) -> Answer:
        raise error

    return tool(fail)


def test_a_result_has_numbers_and_sentences(source: Source) -> None:
    counted = tool(lambda _, asked: Answer(Number(number=3), ["There are 3."]))
    assert found(call(source, counted)) == {
        "sentences": ["There are 3."],
        "number": 3,
        "title": "field",
    }


def test_the_description_tells_what_is_read_and_what_is_changed() -> None:
    described = tool(None).described
    assert described.annotations is not None
    assert described.annotations.read_only_hint
    assert described.output_schema is not None
    assert set(described.output_schema["properties"]) == {"number", "title", "sentences"}
    assert described.input_schema == {
        "type": "object",
        "properties": {},
        "additionalProperties": False,
        "description": "No arguments.",
    }


def test_examples_are_left_out_and_fields_of_that_name_are_not() -> None:
    text = str(without_examples(LiftArguments.model_json_schema()))
    assert "examples" not in text
    assert "e0001" not in text
    kept = {"properties": {"title": {"type": "string"}, "examples": {"type": "array"}}}
    assert without_examples({**kept, "title": "T", "examples": [1]}) == kept


def test_wrong_arguments_are_one_sentence(source: Source) -> None:
    never = tool(None, OnePerson)
    assert refused(call(source, never)) == "person_id: is missing. Give a value for it."
    assert "not a known field" in refused(call(source, never, person_id="me", k=1))
    assert "must be a text" in refused(call(source, never, person_id=["me"]))


@pytest.mark.parametrize("error", [ParameterError("k is odd."), TeaserError("No.")])
def test_an_expected_error_is_its_sentence(source: Source, error: TeaserError) -> None:
    assert refused(call(source, raising(error))) == str(error)


def test_what_a_database_said_stays_here(source: Source, caplog: pytest.LogCaptureFixture) -> None:
    said = refused(call(source, raising(StoreError("host db.internal is down"))))
    assert "internal" not in said
    assert "db.internal" in caplog.text


def test_an_unexpected_error_is_logged_and_tells_nothing(
    source: Source, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, "teaser"):
        said = refused(call(source, raising(KeyError("secret"))))
    assert "secret" not in said
    assert "a tool failed" in caplog.text
