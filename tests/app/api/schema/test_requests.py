"""What the API is asked: bounds, kinds of ids, presses that add up, examples that are valid."""

from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from teaser import Tag
from teaser.app.api.schema import requests as schemas
from teaser.errors import ParameterError, UnknownTagError

REQUESTS = [
    found
    for found in vars(schemas).values()
    if isinstance(found, type) and issubclass(found, BaseModel) and found is not BaseModel
]
ItemIds: TypeAdapter[Any] = TypeAdapter(schemas.ItemId)


@pytest.mark.parametrize("request_type", REQUESTS, ids=lambda t: t.__name__)
def test_examples_are_valid_and_unknown_names_are_not(request_type: type[BaseModel]) -> None:
    for example in request_type.model_json_schema().get("examples", []):
        made = request_type.model_validate(example)
        assert made.model_dump(exclude_unset=True, mode="json") == example
        with pytest.raises(ValidationError, match="Extra inputs"):
            request_type.model_validate({**example, "extra": 1})


def test_requests_were_looked_at() -> None:
    assert len(REQUESTS) > 12


@pytest.mark.parametrize("item_id", [0, 17, -3, 2**63 - 1, -(2**63), "17", "a b/c", "☂", "x" * 200])
def test_ids_stay_what_they_are(item_id: int | str) -> None:
    found = ItemIds.validate_python(item_id)
    assert (type(found), found) == (type(item_id), item_id)


def test_a_whole_number_may_be_written_with_a_point() -> None:
    found = ItemIds.validate_json("17.0")
    assert (type(found), found) == (int, 17)
    assert schemas.Press.model_validate({"tag": "a=b", "steps": -2.0}).steps == -2


@pytest.mark.parametrize(
    "item_id", [True, None, 1.5, float("inf"), float("nan"), "", "x" * 2001, 2**63, [], "\ud800"]
)
def test_what_is_no_id_is_refused(item_id: object) -> None:
    with pytest.raises(ValidationError):
        ItemIds.validate_python(item_id)


def taste(*presses: tuple[str, int]) -> schemas.Taste:
    return schemas.Taste(presses=[schemas.Press(tag=tag, steps=n) for tag, n in presses])


def test_presses_on_one_tag_add_up() -> None:
    found = taste(("town=Ghent", 2), ("type=film", -1), ("town = Ghent", 3)).net_presses()
    assert found == {Tag("town", "Ghent"): 5, Tag("type", "film"): -1}


def test_presses_that_leave_the_range_together_are_refused() -> None:
    with pytest.raises(ParameterError, match="out of range"):
        taste(("town=Ghent", 3), ("town=Ghent", 3)).net_presses()


def test_a_tag_has_two_parts() -> None:
    with pytest.raises(UnknownTagError, match="feature=value"):
        taste(("Ghent", 1)).net_presses()


@pytest.mark.parametrize("steps", [-5, -1, 1, 5])
def test_presses_within_bounds(steps: int) -> None:
    assert schemas.NewPress(tag="a=b", steps=steps).steps == steps


@pytest.mark.parametrize("steps", [-6, 0, 6, 0.5, True, "1"])
def test_presses_out_of_bounds(steps: Any) -> None:
    with pytest.raises(ValidationError):
        schemas.NewPress(tag="a=b", steps=steps)
