"""What the API answers: examples that are valid, and nothing lost on the way from the library."""

import pytest
from pydantic import BaseModel

from teaser import Teaser
from teaser.app import answers
from teaser.app.schemas import ProfileOptions
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
    assert schema["examples"]
    for example in schema["examples"]:
        made = answer.model_validate(example)
        assert made.model_dump(mode="json") == example


def test_answers_were_looked_at() -> None:
    assert len(ANSWERS) > 15


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
