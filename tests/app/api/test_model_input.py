"""The input of the model: from a request and from a person, which give the same answers."""

from typing import Any

import numpy as np
import pytest

from teaser import Teaser
from teaser.app.api.model_input import ModelInput
from teaser.app.api.schema import requests
from teaser.app.people.state import State
from teaser.app.serving.catalogue import Catalogue
from teaser.app.serving.personal_model import PersonalModel
from teaser.errors import (
    MalformedTagError,
    ParameterError,
    UnknownFeatureError,
    UnknownTagError,
)

HISTORY: list[int | str] = ["i0", "i2", "i4"]
PRESSES = [requests.Press(tag="town=Ghent", steps=3)]


@pytest.fixture(scope="module")
def catalogue(model: Teaser) -> Catalogue:
    return Catalogue(model)


def test_a_request_and_a_person_with_the_same_state_give_the_same_answers(
    catalogue: Catalogue, model: Teaser
) -> None:
    asked = requests.Taste(history=HISTORY, presses=PRESSES, scale="paper")
    state = State(history=tuple(HISTORY), presses={"town=Ghent": 3})
    by_request = ModelInput.of_request(catalogue, asked)
    by_person = ModelInput.of_person(PersonalModel(catalogue, state), "paper")
    options = requests.ListOptions(k=5)
    assert by_request.recommend(options, 0.3) == by_person.recommend(options, 0.3)
    assert by_request.explain("i6") == by_person.explain("i6")
    assert by_request.origins("town=Ghent") == by_person.origins("town=Ghent")
    learned = by_request.profile({})
    assert not np.array_equal(learned.values, by_request.profile().values)
    assert dict(learned.presses) == {}


def test_items_that_a_person_hid_are_left_out(catalogue: Catalogue) -> None:
    hidden = ("i6", "i7")
    personal = PersonalModel(catalogue, State(hidden=hidden))
    found = ModelInput.of_person(personal, "robust").recommend(requests.ListOptions(k=40), 0.0)
    assert len(found.recommendations) == 38
    assert not {r.item_id for r in found.recommendations} & set(hidden)


def test_a_balance_that_is_given_replaces_the_person_s_own(catalogue: Catalogue) -> None:
    personal = PersonalModel(catalogue, State(balance=0.2))
    assert ModelInput.of_person(personal, "robust").steering.balance == 0.2
    assert ModelInput.of_person(personal, "robust", 0.0).steering.balance == 0.0


def test_unknown_tags_and_dates_that_the_data_lack_are_refused(catalogue: Catalogue) -> None:
    given = ModelInput.of_request(catalogue, requests.Taste())
    with pytest.raises(UnknownTagError) as raised:
        given.recommend(requests.ListOptions(only_tags=["town=Gent"]), 0.0)
    assert raised.value.closest[0] == "town=Ghent"
    dated = requests.ListOptions.model_validate({"first_date": "2026-01-01"})
    with pytest.raises(ParameterError, match="first_date"):
        given.recommend(dated, 0.0)


def listed(catalogue: Catalogue, **asked: Any) -> set[Any]:
    given = ModelInput.of_request(catalogue, requests.Taste())
    found = given.recommend(requests.ListOptions(k=40, **asked), 0.0)
    return {r.item_id for r in found.recommendations}


@pytest.mark.parametrize(
    "where",
    [
        ["town=Ghent"],
        ["town=Ghent", "town=Deinze"],
        ["town=Ghent", "town=Deinze", "labels=free"],
        ["labels=free", "labels=late", "type=film"],
        ["town=Nowhere"],
        ["town=Nowhere", "town=Ghent"],
        ["town=Nowhere", "type=film"],
    ],
)
def test_where_means_the_same_as_in_the_library(
    catalogue: Catalogue, model: Teaser, where: list[str]
) -> None:
    found = model.recommend([], k=40, where=where, unknown="ignore")
    wanted = {r.item_id for r in found}
    assert listed(catalogue, where=where, unknown="ignore") == wanted
    assert listed(catalogue, only_tags=where, unknown="ignore") == wanted
    assert bool(wanted) == any("Nowhere" not in text for text in where if "town" in text) or (
        where[0].startswith("labels")
    )


def test_an_unknown_feature_or_a_text_that_is_no_tag_is_never_ignored(catalogue: Catalogue) -> None:
    with pytest.raises(UnknownFeatureError, match=r"'twon'.*town"):
        listed(catalogue, where=["twon=Ghent"], unknown="ignore")
    with pytest.raises(MalformedTagError, match="feature=value"):
        listed(catalogue, where=["Ghent"], unknown="ignore")
