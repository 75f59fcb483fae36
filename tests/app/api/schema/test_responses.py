"""What the API answers: examples that are valid, and nothing lost on the way from the library."""

import pytest

from teaser import Teaser
from teaser import reason as why
from teaser.app.api.schema import responses
from teaser.app.api.schema.reason_responses import Reason
from teaser.app.api.schema.requests import ProfileOptions
from teaser.errors import UnknownFeatureError


def test_reasons_keep_their_numbers(model: Teaser) -> None:
    found = model.recommend(["i0", "i2"], k=1)[0]
    made = responses.Recommendation.of(found)
    assert made.score == found.score
    for reason, own in zip(made.reasons, found.reasons, strict=True):
        assert isinstance(reason, Reason)
        assert isinstance(own, why.Reason)
        assert (reason.tag, reason.affinity) == (str(own.tag), own.affinity)
        assert (reason.contribution, reason.share) == (own.contribution, own.share)


def test_an_explanation_tells_its_three_parts(remainder_model: Teaser) -> None:
    found = remainder_model.explain("i5", ["i0", "i2"])
    made = responses.Explanation.of_score(found)
    assert made.tags == {str(tag): part for tag, part in found.tags.items()}
    assert made.viewed == found.viewed
    assert (made.general, made.general_share) == (found.general, found.general_share)
    assert made.from_tags == pytest.approx(sum(made.tags.values()))
    assert made.from_viewed == pytest.approx(sum(made.viewed.values()))
    assert 0 not in (made.general, made.from_tags, made.from_viewed)
    assert made.general + made.from_tags + made.from_viewed == pytest.approx(made.score)
    assert "general appeal=general appeal" not in [r.tag for r in made.reasons if r.kind == "tag"]
    assert made.tag_share == found.tag_share < 1


def test_a_profile_has_the_features_asked_for(model: Teaser) -> None:
    profile = model.profile(["i0"], {"town=Ghent": 2})
    made = responses.Profile.of(profile, ProfileOptions(top=1, features=["town"]))
    assert [f.feature for f in made.features] == ["town"]
    assert made.features[0].impact == profile.impacts["town"]
    assert made.general == profile.general != 0
    tag, value = profile.top(1, feature="town")[0]
    assert [(t.tag, t.affinity) for t in made.features[0].tags] == [(str(tag), value)]
    with pytest.raises(UnknownFeatureError) as raised:
        responses.Profile.of(profile, ProfileOptions(features=["towm"]))
    assert (raised.value.feature, raised.value.closest) == ("towm", ("town",))
