"""The profile on a page equals that of the model."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from app.pages.conftest import personal_of

from teaser import Category, Dataset, Tag, Teaser
from teaser.app.catalogue import Catalogue, PersonalModel
from teaser.app.i18n.texts import texts_in
from teaser.app.models import ModelHolder
from teaser.app.pages.cards import (
    SHOWN_TAGS,
    TagRow,
    describe_certainty,
    feature_rows,
    joint_names,
    plain_card,
    profile_view,
    tag_label,
)
from teaser.app.settings import Settings
from teaser.app.state import State

EN = texts_in("en")


def test_impacts_sum_to_one_and_lead(catalogue: Catalogue) -> None:
    features = profile_view(personal_of(catalogue, "i1", "i4"), EN).features
    impacts = [f.impact for f in features]
    assert sum(impacts) == pytest.approx(1)
    assert impacts == sorted(impacts, reverse=True)
    assert {f.name for f in features} == {"type", "town", "labels", "popularity"}


def test_tags_are_ordered_by_influence_and_equal_the_profile(catalogue: Catalogue) -> None:
    seen = personal_of(catalogue, "i1", "i4", film=2)
    rows = feature_rows(seen, "town", EN)
    sizes = [abs(row.affinity) for row in rows]
    assert sizes == sorted(sizes, reverse=True)
    for row in feature_rows(seen, "type", EN):
        assert row.affinity == seen.profile.affinities[row.tag]
        assert row.presses == (2 if row.tag == Tag("type", "film") else 0)


def test_bars_end_where_numbers_go_on() -> None:
    def row(affinity: float, presses: int = 0) -> TagRow:
        return TagRow(Tag("a", "b"), "a=b", "b", affinity, presses)

    assert row(2.5).length == 100
    assert row(-0.25).length == 25
    assert (row(0, 5).can_rise, row(0, 5).can_fall) == (False, True)
    assert (row(0, -5).can_rise, row(0, -5).can_fall) == (True, False)
    assert (row(1.0).can_rise, row(1.0).can_fall) == (False, True)
    assert (row(-1.5).can_rise, row(-1.5).can_fall) == (True, False)
    assert (row(1.3, -1).can_rise, row(1.0, 2).can_rise) == (True, False)
    assert (row(-1.3, 1).can_fall, row(-1.0, -2).can_fall) == (True, False)


def test_no_tag_is_lost(catalogue: Catalogue) -> None:
    for feature in profile_view(personal_of(catalogue, "i1", film=1), EN).features:
        assert len(feature.rows) <= SHOWN_TAGS + 1
        n_tags = len(catalogue.features.get(feature.name, [0]))
        assert len(feature.rows) + feature.n_more == n_tags
        assert len(feature.more) == feature.n_more


def test_statements_can_be_denied(catalogue: Catalogue) -> None:
    view = profile_view(personal_of(catalogue, "i1", "i3", "i5"), EN)
    assert view.statements
    for statement in view.statements:
        assert statement.presses
        assert len(statement.presses) == len(statement.labels)
        assert all(steps * statement.leaning < 0 for steps in statement.presses.values())


@pytest.mark.parametrize(
    ("history", "words"),
    [
        ((), "I know nothing about you yet"),
        (("i1",), "A first guess: 1 item seen, 0 presses."),
        (("i1", "i2"), "Getting an idea: 2 items seen"),
        (("i1", "i2", "i3"), "Fairly sure: 3 items seen"),
    ],
)
def test_certainty_in_words(catalogue: Catalogue, history: tuple[str, ...], words: str) -> None:
    assert describe_certainty(personal_of(catalogue, *history), EN).startswith(words)


def test_presses_alone_are_spoken_of(catalogue: Catalogue) -> None:
    said = describe_certainty(personal_of(catalogue, film=-2), EN)
    assert said == "Not sure at all: 0 items seen, 2 presses."


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
    assert profile_view(seen, EN).statements[0].labels == ["Min players / Players: 2"]
    card = plain_card(catalogue, catalogue.model.items_[0], EN).facts
    assert "Min players: 1" in card


def slow_feature(seen: PersonalModel, name: str) -> list[Tag]:
    """Return the tags of a feature by influence, by a sort of all of them."""
    common = seen.catalogue.features[name]
    return sorted(common, key=lambda tag: -abs(seen.profile.affinities[tag]))


@pytest.mark.parametrize("inline", [0, 12])
def test_a_feature_leads_with_the_most_influential_and_what_was_pressed(
    catalogue: Catalogue, inline: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("teaser.app.pages.cards.INLINE_TAGS", inline)
    monkeypatch.setattr("teaser.app.pages.cards.SHOWN_TAGS", 1)
    weak = [slow_feature(personal_of(catalogue, "i1", "i4"), "town")[i] for i in (-1, -2)]
    presses = {str(weak[0]): 1, str(weak[1]): -1}
    seen = PersonalModel(catalogue, State(history=("i1", "i4"), presses=presses))
    town = next(f for f in profile_view(seen, EN).features if f.name == "town")
    order = slow_feature(seen, "town")
    wanted = [order[0], *(tag for tag in order[1:] if tag in weak)]
    assert [row.tag for row in town.rows] == wanted
    rest = [tag for tag in order if tag not in wanted]
    assert [row.tag for row in town.more] == (rest if inline else [])
    assert town.n_more == len(rest)
    assert [row.tag for row in feature_rows(seen, "town", EN, rest=True)] == rest
    assert [row.tag for row in feature_rows(seen, "town", EN)] == order
    assert {row.text: row.presses for row in town.rows if row.tag in weak} == presses


def test_a_label_says_its_language(events_folder: Path) -> None:
    catalogue = ModelHolder(Settings(model=events_folder)).current
    rows = {
        code: profile_view(PersonalModel(catalogue, State()), texts_in(code)).features
        for code in ("en", "fr")
    }
    for code, features in rows.items():
        for row in (row for f in features for row in f.rows):
            assert row.label == texts_in(code).tag(row.tag)
            assert row.text == str(row.tag)


def test_the_side_of_a_bar_is_the_sign_of_the_affinity() -> None:
    rows = [TagRow(Tag("a", "b"), "a=b", "b", affinity, 0) for affinity in (0.1, -0.1, 0.0)]
    assert [row.side for row in rows] == ["up", "down", ""]
