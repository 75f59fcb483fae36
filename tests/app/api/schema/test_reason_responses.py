"""Both kinds of reason as JSON: examples that are valid, and nothing lost from the library."""

import pytest
from pydantic import TypeAdapter, ValidationError

from teaser import Tag, Teaser
from teaser.app.api.schema import reason_responses as reason
from teaser.app.api.schema.examples import example_of
from teaser.data.tags import DISCOVERED
from teaser.profile import Steering
from teaser.reason import Reason, ViewedReason

Any_: TypeAdapter[object] = TypeAdapter(reason.AnyReason)


def test_the_kind_tells_which_it_is() -> None:
    assert isinstance(Any_.validate_python(example_of(reason.Reason)), reason.Reason)
    assert isinstance(Any_.validate_python(example_of(reason.ViewedReason)), reason.ViewedReason)
    with pytest.raises(ValidationError, match="kind"):
        Any_.validate_python({**example_of(reason.ViewedReason), "kind": "guess"})


def test_a_tag_keeps_its_parts() -> None:
    tag = Tag("town", "Liège=Luik")
    expected = {"tag": str(tag), "feature": "town", "value": "Liège=Luik", "discovered": False}
    assert reason.named(tag) == expected
    assert reason.named(Tag(DISCOVERED, "Jazz, Blues"))["discovered"] is True


@pytest.mark.parametrize("balance", [0.0, 0.3, 0.5, 1.0])
def test_reasons_keep_their_numbers(remainder_model: Teaser, balance: float) -> None:
    steering = Steering(balance=balance)
    why = remainder_model.explain("i5", ["i0", "i2", "i3"], steering=steering)
    made = reason.reasons_of(why.reasons)
    added = why.general + sum(r.contribution for r in made)
    assert added == pytest.approx(why.score, abs=1e-9)
    assert abs(why.general_share) + sum(abs(r.share) for r in made) <= 1 + 1e-9
    for one, own in zip(made, why.reasons, strict=True):
        assert (one.contribution, one.share) == (own.contribution, own.share)
        if isinstance(own, Reason):
            assert isinstance(one, reason.Reason)
            assert (one.tag, one.affinity, one.weight) == (str(own.tag), own.affinity, own.weight)
            assert [tag.tag for tag in one.tags] == list(map(str, own.tags))
        else:
            assert isinstance(own, ViewedReason)
            assert isinstance(one, reason.ViewedReason)
            assert (one.item_id, one.title) == (own.item_id, own.title)
    assert any(r.kind == "viewed" for r in made) == (balance > 0)
    # Concerts are in Ghent, so the two are told together.
    assert any(isinstance(r, reason.Reason) and len(r.tags) > 1 for r in made)
