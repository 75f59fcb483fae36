"""Arguments: the bounds of the API, and one of person and own taste."""

import pytest
from pydantic import ValidationError

from teaser.app.mcp.arguments import ME, OnePerson, PressArguments, RecommendArguments, Whose
from teaser.errors import ParameterError


@pytest.mark.parametrize("name", [ME, "a" * 43, "_-Z9" + "b" * 39])
def test_a_person_is_an_id_or_the_one_at_this_computer(name: str) -> None:
    assert OnePerson(person_id=name).person_id == name


@pytest.mark.parametrize("name", ["", "you", "a" * 42, "a" * 44, "a" * 42 + "!", "me\n", None, 7])
def test_anything_else_is_none(name: object) -> None:
    with pytest.raises(ValidationError):
        OnePerson.model_validate({"person_id": name})


def test_a_person_and_an_own_taste_exclude_each_other() -> None:
    Whose(person_id=ME).check()
    Whose(history=["i0"]).check()
    with pytest.raises(ParameterError, match="history and about"):
        Whose(person_id=ME, history=["i0"], about=["age=young"]).check()


def test_what_the_caller_keeps_is_what_the_api_takes() -> None:
    asked = Whose.model_validate(
        {"history": {"i0": -0.5}, "presses": [{"tag": "town=Ghent", "steps": 2}]}
    )
    taste = asked.taste()
    assert taste.history == {"i0": -0.5}
    assert [press.steps for press in taste.presses] == [2]


@pytest.mark.parametrize(
    "given",
    [{"k": 0}, {"k": 501}, {"k": True}, {"variety": 2}, {"first_date": "soon"}, {"kk": 3}],
)
def test_lists_have_the_bounds_of_the_api(given: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        RecommendArguments.model_validate(given)


def test_a_press_of_no_steps_is_refused() -> None:
    with pytest.raises(ValidationError, match="0"):
        PressArguments.model_validate({"tag": "town=Ghent", "steps": 0})
