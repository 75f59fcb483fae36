"""What the API answers: examples that are valid, and nothing lost on the way from the library."""

from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

import pytest
from pydantic import BaseModel

from teaser import Teaser
from teaser.app import answers
from teaser.app.catalogue import Holder
from teaser.app.schemas import ProfileOptions
from teaser.app.state import KINDS, Event, fold
from teaser.app.store import StoredEvent
from teaser.errors import UnknownTagError

ANSWERS = [
    found
    for found in vars(answers).values()
    if isinstance(found, type)
    and issubclass(found, BaseModel)
    and found.__module__ == answers.__name__
]


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda t: t.__name__)
def test_examples_are_valid_and_whole(answer: type[BaseModel]) -> None:
    schema = answer.model_json_schema(mode="serialization")
    assert set(schema["required"]) == set(schema["properties"])
    for example in schema.get("examples", []):
        made = answer.model_validate(example)
        assert made.model_dump(mode="json") == example


def test_answers_were_looked_at() -> None:
    assert len(ANSWERS) > 18


def test_reasons_keep_their_numbers(model: Teaser) -> None:
    found = model.recommend(["i0", "i2"], k=1)[0]
    made = answers.Recommendation.of(found)
    assert made.score == found.score
    assert [(r.tag, r.contribution, r.share, r.affinity) for r in made.reasons] == [
        (str(r.tag), r.contribution, r.share, r.affinity) for r in found.reasons
    ]


def test_a_profile_has_the_features_asked_for(model: Teaser) -> None:
    profile = model.profile(["i0"], {"town=Ghent": 2})
    made = answers.Profile.of(profile, ProfileOptions(top=1, features=["town"]))
    assert [f.feature for f in made.features] == ["town"]
    assert made.features[0].impact == profile.impacts["town"]
    tag, value = profile.top(1, feature="town")[0]
    assert [(t.tag, t.affinity) for t in made.features[0].tags] == [(str(tag), value)]
    with pytest.raises(UnknownTagError, match="Closest: town"):
        answers.Profile.of(profile, ProfileOptions(features=["towm"]))


def test_a_state_names_what_the_model_does_not_know(model_folder: Path) -> None:
    state = fold(
        [
            Event("view", {"item": "gone"}),
            Event("view", {"item": "i1"}),
            Event("hide", {"item": 99}),
            Event("press", {"presses": {"colour=red": 1, "town=Ghent": -1}}),
        ]
    )
    made = answers.Person.of("p", state, Holder(model_folder).current)
    assert made.history == ["gone", "i1"]
    assert made.unknown_items == ["gone", 99]
    assert made.unknown_tags == ["colour=red"]
    assert [(p.tag, p.steps) for p in made.presses] == [("colour=red", 1), ("town=Ghent", -1)]


def test_every_kind_of_event_can_be_exported() -> None:
    kinds = get_args(answers.ExportedEvent.model_fields["kind"].annotation)
    assert kinds == KINDS
    at = datetime(2026, 5, 1, tzinfo=UTC)
    for kind in KINDS:
        assert answers.ExportedEvent.of(StoredEvent(1, at, kind, {})).kind == kind
