"""The profile on a page equals that of the model."""

from typing import Any

import polars as pl
import pytest
from app.pages.conftest import personal_of

from teaser import Category, Dataset, Tag, Teaser
from teaser.app.catalogue import Catalogue, PersonalModel
from teaser.app.i18n.texts import texts_in
from teaser.app.pages.cards import (
    N_STRONGEST,
    SHOWN_TAGS,
    feature_rows,
    feature_views,
    joint_names,
    plain_card,
    profile_view,
    tag_label,
)
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


def test_nothing_is_strong_of_somebody_new(catalogue: Catalogue) -> None:
    assert profile_view(personal_of(catalogue), EN).strongest == []


def test_statements_can_be_denied(catalogue: Catalogue) -> None:
    view = profile_view(personal_of(catalogue, "i1", "i3", "i5"), EN)
    assert view.statements
    for statement in view.statements:
        assert statement.presses
        assert len(statement.presses) == len(statement.labels)
        assert all(steps * statement.leaning < 0 for steps in statement.presses.values())


def test_equal_values_of_two_features_are_told_apart(tables: tuple[Any, Any]) -> None:
    interactions, items = tables
    doubled = items.with_columns(region=pl.col("town").replace({"Deinze": "Ghent"}))
    rules = (Category("town"), Category("region"))
    data = Dataset.from_tables(interactions, doubled, rules=rules)
    catalogue = Catalogue(Teaser(l2_weights=5.0, l2_encoder=5.0).fit(data))
    assert tag_label(Tag("town", "Ghent"), catalogue, EN) == "Ghent (Town)"
    assert tag_label(Tag("region", "Ghent"), catalogue, EN) == "Ghent (Region)"
    assert tag_label(Tag("town", "Deinze"), catalogue, EN) == "Deinze"


def test_a_number_is_told_with_its_feature(tables: tuple[Any, Any]) -> None:
    interactions, items = tables
    numbered = items.with_columns(
        min_players=pl.int_range(pl.len()) % 3 + 1, players=pl.int_range(pl.len()) % 3 + 1
    )
    rules = (Category("min_players"), Category("players"), Category("town"))
    data = Dataset.from_tables(interactions, numbered, rules=rules)
    catalogue = Catalogue(Teaser(l2_weights=5.0, l2_encoder=5.0, tol=1e-5).fit(data))
    two = Tag("min_players", "2")
    assert tag_label(two, catalogue, EN) == "Min players: 2"
    assert tag_label(two, catalogue, texts_in("fr")) == "Min players\N{NARROW NO-BREAK SPACE}: 2"
    assert tag_label(Tag("players", "9"), catalogue, EN) == "Players: 9"
    both = (two, Tag("players", "2"))
    assert joint_names(both, catalogue, EN) == ["Min players / Players: 2"]
    assert joint_names(both, catalogue, EN, full=False) == ["2"]
    seen = PersonalModel(catalogue, State(presses={str(two): 2}))
    (row,) = [row for row in feature_rows(seen, "min_players", EN) if row.tag == two]
    assert (row.label, row.name) == ("2", "Min players: 2")
    card = plain_card(catalogue, catalogue.model.items_[0], EN).facts
    assert "Min players: 1" in card
