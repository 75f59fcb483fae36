"""Examples of schemas: made from values of fields, of nested schemas and of literals."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from teaser.app.api.schema import (
    guidance,
    person_responses,
    reason_responses,
    responses,
    transparency,
)
from teaser.app.api.schema.examples import Schema, example_of


class Inner(Schema):
    kind: Literal["first", "second"]
    tag: str


class Outer(Schema):
    item_id: str
    inner: Inner | None
    tags: Annotated[list[Inner], Field(max_length=3)]
    a_field_without_a_value: int = 3


def test_an_example_is_made_of_the_fields_and_of_nested_schemas() -> None:
    inner = {"kind": "first", "tag": "town=Ghent"}
    expected = {"item_id": "e0004", "inner": inner, "tags": [inner]}
    assert example_of(Outer) == expected
    assert Outer.model_json_schema()["examples"] == [expected]
    assert Outer.model_validate(expected).a_field_without_a_value == 3


def test_plain_models_have_no_example_in_their_schema() -> None:
    class Plain(BaseModel):
        tag: str

    assert "examples" not in Plain.model_json_schema()


def test_every_response_has_an_example_that_is_valid_and_whole() -> None:
    modules = (responses, person_responses, reason_responses, guidance, transparency)
    found = [
        kind
        for module in modules
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, Schema)
        if kind.__module__ == module.__name__
    ]
    assert len(found) > 24
    for kind in found:
        schema = kind.model_json_schema(mode="serialization")
        assert set(schema["required"]) == set(schema["properties"]), kind
        assert schema["examples"], kind
        for example in schema["examples"]:
            assert kind.model_validate(example).model_dump(mode="json") == example, kind
