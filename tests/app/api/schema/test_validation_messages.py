"""What is wrong with a request is said in words of our own."""

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from teaser.app.api.schema import requests as schemas
from teaser.app.api.schema.validation_messages import describe, is_unreadable

FOREIGN = ("Input", "should be", "valid ", "pydantic", "Field required", "Extra inputs")


def errors_of(kind: type, value: Any) -> list[Any]:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(kind).validate_python(value)
    return list(caught.value.errors())


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"k": 0}, "k: must be at least 1, found 0."),
        ({"k": 501}, "k: must be at most 500, found 501."),
        ({"k": "many"}, 'k: must be a whole number, found "many".'),
        ({"k": 1.5}, "k: must be a whole number, found 1.5."),
        ({"k": True}, "k: must be a number, not true or false, found true."),
        ({"variety": "x"}, 'variety: must be a number, found "x".'),
        ({"variety": float("nan")}, "variety: must be at most 1, found NaN."),
        ({"scale": "huge"}, "scale: must be 'robust' or 'paper', found \"huge\"."),
        ({"history": "i0"}, "history: must be a list of ids, [...], or an object of strengths"),
        ({"history": {"a[1]": -2e9}}, "history.a[1]: must be at least -1e+09, found -2000000000."),
        ({"history": {"i0": float("nan")}}, "history.i0: must be a number, found NaN."),
        ({"history": {"x" * 2001: 1}}, "an item id must be"),
        ({"only_tags": "town=Ghent"}, "only_tags: must be a list, [...], found"),
        (
            {"exclude_history": "perhaps"},
            'exclude_history: must be true or false, found "perhaps".',
        ),
        ({"first_date": "soon"}, 'first_date: must be a day, written as 2026-05-01, found "soon".'),
        ({"presses": [3]}, "presses.0: must be a JSON object"),
        ({"presses": [{"steps": 1}]}, "presses.0.tag: is missing. Give a value for it."),
        ({"presses": [{"tag": "", "steps": 1}]}, "presses.0.tag: must have at least 1 character,"),
        ({"presses": [{"tag": "x" * 2001, "steps": 1}]}, "tag: must have at most 2,000 characters"),
        ({"history": ["i0"] * 1001}, "history: must have at most 1,000 entries"),
        ({"presses": [{"tag": 5, "steps": 1}]}, "presses.0.tag: must be a text, found 5."),
        ({"histroy": []}, "histroy: is not a known field"),
    ],
)
def test_each_mistake_has_its_sentence(value: Any, said: str) -> None:
    found = describe(errors_of(schemas.RecommendRequest, value))
    assert said in found
    assert not [word for word in FOREIGN if word in found]


@pytest.mark.parametrize("item", [True, 1.5, None, 2**63, "", "x" * 2001, [], {}])
def test_an_id_is_explained_as_one_thing(item: Any) -> None:
    found = describe(errors_of(schemas.ItemChoice, {"item_id": item}))
    assert found.startswith("item_id: an item id must be a whole number of 64 bits or a text")
    assert "function" not in found


def test_our_own_rules_are_said_as_we_wrote_them() -> None:
    found = describe(errors_of(schemas.NewPress, {"tag": "a=b", "steps": 0}))
    assert found == "steps: must not be 0, found 0."


def test_what_is_shown_of_a_value_is_cut_and_plain() -> None:
    found = describe(errors_of(schemas.Variety, {"variety": "\x1b[31m" + "x" * 5000}))
    assert len(found) < 150
    assert "\x1b" not in found
    assert "type object" in describe(errors_of(schemas.Variety, {"variety": object()}))


def test_no_json_is_told_from_wrong_json() -> None:
    broken = {"type": "json_invalid", "loc": ("body", 7), "ctx": {"error": "Expecting value"}}
    assert is_unreadable([broken])
    assert describe([broken]) == (
        "The body is not JSON: Expecting value at character 7. Correct it and send it again."
    )
    missing = {"type": "missing", "loc": ("body",), "input": None}
    assert not is_unreadable([missing])
    assert "application/json" in describe([missing])


def test_what_nobody_thought_of_is_said_too() -> None:
    odd = {"type": "frozen_set_of_moons", "loc": ("query", "q"), "input": "x"}
    assert describe([odd]) == 'query.q: is not valid, found "x".'
