"""Like this, but ...: what a form asks for, and the presses that come of it, within bounds."""

from dataclasses import replace

import pytest
from app.pages.conftest import personal_of
from hypothesis import given
from hypothesis import strategies as st

from teaser import Tag, Teaser
from teaser.app.actions import decide
from teaser.app.pages.filters import choices
from teaser.app.pages.item import (
    MAX_CHOICES,
    read_changes,
    tag_choices,
    variation_view,
)
from teaser.app.serving.catalogue import Catalogue
from teaser.app.state import Event, state_after
from teaser.errors import ParameterError, UnknownTagError
from teaser.profile import MAX_PRESSES
from teaser.steer import vary_item

FILM, CONCERT = Tag("type", "film"), Tag("type", "concert")


class TestForm:
    def test_every_tag_of_the_item_can_be_kept_left_out_or_changed(
        self, catalogue: Catalogue
    ) -> None:
        card = catalogue.card("i1")
        found = tag_choices(card, choices(catalogue), {FILM: None})
        assert [c.tag for c in found] == [Tag(f, v) for f, vs in card.facts.items() for v in vs]
        for choice in found:
            assert choice.tag in choice.options
            assert all(other.feature == choice.tag.feature for other in choice.options)
            assert choice.chosen == (None if choice.tag == FILM else choice.tag)

    def test_an_item_of_very_many_tags_shows_the_first(self, catalogue: Catalogue) -> None:
        facts = {"type": tuple(f"t{n}" for n in range(3_000))}
        card = replace(catalogue.card("i1"), facts=facts)
        found = tag_choices(card, choices(catalogue), {})
        assert [choice.tag.value for choice in found] == [f"t{n}" for n in range(MAX_CHOICES)]

    def test_a_tag_that_is_not_offered_stays_chosen(self, catalogue: Catalogue) -> None:
        found = tag_choices(catalogue.card("i1"), {}, {FILM: CONCERT})
        kind = next(choice for choice in found if choice.tag == FILM)
        assert (kind.options, kind.chosen) == ([FILM, CONCERT], CONCERT)

    def test_only_what_is_not_kept_is_a_change(self, catalogue: Catalogue) -> None:
        personal = personal_of(catalogue)
        tags = ["type=film", "town=Ghent"]
        assert read_changes(tags, tags, personal) == {}
        assert read_changes(tags, ["type=concert", ""], personal) == {
            FILM: CONCERT,
            Tag("town", "Ghent"): None,
        }

    def test_odd_forms(self, catalogue: Catalogue) -> None:
        personal = personal_of(catalogue)
        with pytest.raises(ParameterError, match="found 2 and 1"):
            read_changes(["type=film", "town=Ghent"], [""], personal)
        with pytest.raises(UnknownTagError):
            read_changes(["type=film"], ["type=opera"], personal)
        with pytest.raises(ParameterError, match="has no tag"):
            variation_view(personal, "i1", {CONCERT: None})


@given(
    item=st.integers(0, 39),
    pressed=st.dictionaries(st.sampled_from(["film", "concert"]), st.integers(-5, 5), max_size=2),
)
def test_the_presses_lead_to_the_list_that_is_shown(
    model: Teaser, item: int, pressed: dict[str, int]
) -> None:
    catalogue = Catalogue(model)
    personal = personal_of(catalogue, "i2", **{k: n for k, n in pressed.items() if n})
    found = variation_view(personal, f"i{item}", {})
    if found.event is None:
        assert found.after is personal
        return
    # Nothing is left to drop or extend, and no tag goes beyond its bound.
    stored = decide(personal.state, found.event, catalogue)
    assert stored is not None
    assert stored.data == found.event.data
    net = {
        tag: personal.presses.get(tag, 0) + found.presses.get(tag, 0)
        for tag in {**personal.presses, **found.presses}
    }
    assert found.after.presses == {tag: n for tag, n in net.items() if n}
    assert all(abs(n) <= MAX_PRESSES for n in net.values())
    assert found.after.state == state_after(personal.state, stored)


def test_the_presses_are_those_of_the_library(catalogue: Catalogue) -> None:
    found = variation_view(personal_of(catalogue), "i1", {FILM: CONCERT})
    assert found.presses == vary_item(catalogue.model, "i1", {FILM: CONCERT}).start
    assert found.event == Event("press", {"presses": {str(t): n for t, n in found.presses.items()}})
    assert found.presses[CONCERT] > 0
    assert FILM not in found.presses
