"""The profile on a page equals that of the model."""

import pytest
from app.pages.conftest import personal_of

from teaser.app.catalogue import Catalogue, PersonalModel
from teaser.app.i18n.texts import texts_in
from teaser.app.pages.profile import N_STRONGEST, SHOWN_TAGS, feature_views, profile_view
from teaser.app.state import State

EN = texts_in("en")


def test_no_tag_is_lost(catalogue: Catalogue) -> None:
    for feature in feature_views(personal_of(catalogue, "i1", film=1), EN):
        assert len(feature.rows) <= SHOWN_TAGS + 1
        n_tags = len(catalogue.features.get(feature.name, [0]))
        assert len(feature.rows) + feature.n_more == n_tags


def test_the_strongest_tags_are_drawn_by_leaning_and_pressed_ones_stay(
    catalogue: Catalogue,
) -> None:
    personal = personal_of(catalogue, "i1", "i3")
    rows = profile_view(personal, EN).strongest
    leanings = personal.profile.leanings
    assert 0 < len(rows) <= N_STRONGEST
    assert [row.leaning for row in rows] == [leanings[row.tag] for row in rows]
    longest = max(map(abs, leanings.values())) / personal.profile.certainty
    for row in rows:
        assert row.length == pytest.approx(100 * abs(leanings[row.tag]) / longest, abs=0.051)
        assert row.side == ("up" if leanings[row.tag] > 0 else "down")
    shown = {row.tag for row in rows}
    left = next(tag for tag in catalogue.model.tags_ if tag not in shown and tag.feature == "town")
    pressed = State(history=("i1", "i3"), presses={str(left): -1})
    rows = profile_view(PersonalModel(catalogue, pressed), EN).strongest
    assert left in {row.tag for row in rows}


def test_statements_can_be_denied(catalogue: Catalogue) -> None:
    view = profile_view(personal_of(catalogue, "i3", "i5", "i7", "i9", "i11"), EN)
    assert view.statements
    for each in view.statements:
        statement, name, presses = each.statement, each.name, each.denial
        assert presses
        assert name
        assert all(steps * statement.leaning < 0 for steps in presses.values())
