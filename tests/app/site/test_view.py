"""What a page shows equals what the model says."""

from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from teaser import Category, Dataset, LearnedDecoder, Tag, Teaser
from teaser.app.i18n.texts import texts_in
from teaser.app.people.events import State
from teaser.app.serving.catalogue import Card, Catalogue, Holder
from teaser.app.serving.personal_model import Session
from teaser.app.site.view import (
    SHOWN_TAGS,
    ReasonRow,
    TagRow,
    card_of,
    card_views,
    facts,
    facts_of,
    feature_rows,
    plain_card,
    profile_view,
    say_certainty,
    tag_label,
)
from teaser.explain import Reason

EN = texts_in("en")


@pytest.fixture(scope="module")
def catalogue(model: Teaser) -> Catalogue:
    return Catalogue(model)


def session(catalogue: Catalogue, *history: str, **presses: int) -> Session:
    named = {f"type={name}": steps for name, steps in presses.items()}
    return Session(catalogue, State(history=history, presses=named))


def test_impacts_sum_to_one_and_lead(catalogue: Catalogue) -> None:
    features = profile_view(session(catalogue, "i1", "i4"), EN).features
    impacts = [f.impact for f in features]
    assert sum(impacts) == pytest.approx(1)
    assert impacts == sorted(impacts, reverse=True)
    assert {f.name for f in features} == {"type", "town", "labels", "popularity"}


def test_tags_are_ordered_by_influence_and_equal_the_profile(catalogue: Catalogue) -> None:
    seen = session(catalogue, "i1", "i4", film=2)
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
    for feature in profile_view(session(catalogue, "i1", film=1), EN).features:
        assert len(feature.rows) <= SHOWN_TAGS + 1
        n_tags = len(catalogue.features.get(feature.name, [0]))
        assert len(feature.rows) + feature.n_more == n_tags
        assert len(feature.more) == feature.n_more


def test_statements_can_be_denied(catalogue: Catalogue) -> None:
    view = profile_view(session(catalogue, "i1", "i3", "i5"), EN)
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
    assert say_certainty(session(catalogue, *history), EN).startswith(words)


def test_presses_alone_are_spoken_of(catalogue: Catalogue) -> None:
    said = say_certainty(session(catalogue, film=-2), EN)
    assert said == "Not sure at all: 0 items seen, 2 presses."


def test_cards_carry_match_reasons_and_moves(catalogue: Catalogue, model: Teaser) -> None:
    seen = session(catalogue, "i1")
    found = model.recommend(["i1"], k=3)
    cards = card_views(seen, found, EN, {found[0].item_id: 2})
    assert [c.card.item_id for c in cards] == [r.item_id for r in found]
    assert [c.moved for c in cards] == [2, None, None]
    for card, entry in zip(cards, found, strict=True):
        assert card.match == entry.match
        assert [r.share for r in card.reasons] == [r.share for r in entry.reasons]
        ends = [r.start + 100 * abs(r.share) for r in card.reasons]
        starts = [r.start for r in card.reasons[1:]]
        assert starts == pytest.approx(ends[:-1], abs=0.1)


def test_a_tag_that_matters_more_to_an_item_is_marked_on_its_card(dataset: Dataset) -> None:
    learned = Teaser(l2_weights=5.0, l2_encoder=5.0, decoder=LearnedDecoder(l2=0.3), tol=1e-5).fit(
        dataset
    )
    seen = session(Catalogue(learned), "i1", "i4")
    found = learned.recommend(["i1", "i4"], k=20)
    marks = [r.matters_more for c in card_views(seen, found, EN, {}) for r in c.reasons]
    assert marks == [
        isinstance(r, Reason) and r.matters_more for entry in found for r in entry.reasons
    ]
    assert any(marks)
    assert not all(marks)


def test_cards_are_remembered_for_one_catalogue(catalogue: Catalogue, model: Teaser) -> None:
    assert card_of(catalogue, "i1") is card_of(catalogue, "i1")
    assert card_of(Catalogue(model), "i1") is not card_of(catalogue, "i1")
    assert plain_card(catalogue, "i1", EN).card == catalogue.card("i1")


def test_facts_are_few_and_once(catalogue: Catalogue) -> None:
    card = catalogue.card("i7")
    said = facts(card, EN)
    assert said[:2] == [card.facts["type"][0], card.facts["town"][0]]
    assert len(said) == len(set(said)) <= 4


def test_facts_say_what_where_and_how_dear_first() -> None:
    given = {"theme": ("Jazz",), "region": ("Hainaut",), "price_band": ("free",)}
    given |= {"town": ("Mouscron",), "type": ("Concert",)}
    card = Card("e1", "Jazz", None, None, date(2026, 9, 19), False, given)
    assert facts(card, EN) == ["Concert", "Mouscron", "free", "Jazz", "Sat 19 Sep 2026"]
    films = replace(card, facts={"director": ("A",), "genres": ("Drama", "War")}, date=None)
    assert facts(films, EN) == ["Drama", "War", "A"]


def test_somebody_new_is_shown_no_match(catalogue: Catalogue) -> None:
    for seen, is_shown in ((session(catalogue), False), (session(catalogue, film=1), True)):
        for card in card_views(seen, seen.recommend(k=3), EN):
            assert (card.match is not None) == bool(card.reasons) == is_shown


def test_equal_values_of_two_features_are_told_apart(tables: tuple[Any, Any]) -> None:
    interactions, items = tables
    doubled = items.with_columns(region=pl.col("town").replace({"Deinze": "Ghent"}))
    rules = (Category("town"), Category("region"))
    data = Dataset.from_tables(interactions, doubled, rules=rules)
    catalogue = Catalogue(Teaser(l2_weights=5.0, l2_encoder=5.0).fit(data))
    assert tag_label(Tag("town", "Ghent"), catalogue, EN) == "Ghent (Town)"
    assert tag_label(Tag("region", "Ghent"), catalogue, EN) == "Ghent (Region)"
    assert tag_label(Tag("town", "Deinze"), catalogue, EN) == "Deinze"


def slow_feature(seen: Session, name: str) -> list[Tag]:
    """Return the tags of a feature by influence, by a sort of all of them."""
    common = seen.catalogue.features[name]
    return sorted(common, key=lambda tag: -abs(seen.profile.affinities[tag]))


@pytest.mark.parametrize("inline", [0, 12])
def test_a_feature_leads_with_the_most_influential_and_what_was_pressed(
    catalogue: Catalogue, inline: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("teaser.app.view.INLINE_TAGS", inline)
    monkeypatch.setattr("teaser.app.view.SHOWN_TAGS", 1)
    weak = [slow_feature(session(catalogue, "i1", "i4"), "town")[i] for i in (-1, -2)]
    presses = {str(weak[0]): 1, str(weak[1]): -1}
    seen = Session(catalogue, State(history=("i1", "i4"), presses=presses))
    town = next(f for f in profile_view(seen, EN).features if f.name == "town")
    order = slow_feature(seen, "town")
    wanted = [order[0], *(tag for tag in order[1:] if tag in weak)]
    assert [row.tag for row in town.rows] == wanted
    rest = [tag for tag in order if tag not in wanted]
    assert [row.tag for row in town.more] == (rest if inline else [])
    assert town.n_more == len(rest)
    assert {row.text: row.presses for row in town.rows if row.tag in weak} == presses


def test_facts_are_remembered_by_language(events_folder: Path) -> None:
    catalogue = Holder(events_folder).current
    item = catalogue.model.items_[0]
    for language in ("en", "nl", "fr"):
        texts = texts_in(language)
        wanted = tuple(facts(catalogue.card(item), texts))
        assert facts_of(catalogue, item, texts) == wanted
        assert facts_of(catalogue, item, texts) is facts_of(catalogue, item, texts)
    assert len({facts_of(catalogue, item, texts_in(code)) for code in ("en", "nl", "fr")}) == 3


def test_a_label_says_its_language(events_folder: Path) -> None:
    catalogue = Holder(events_folder).current
    rows = {
        code: profile_view(Session(catalogue, State()), texts_in(code)).features
        for code in ("en", "fr")
    }
    for code, features in rows.items():
        for row in (row for f in features for row in f.rows):
            assert row.label == texts_in(code).tag(row.tag)
            assert row.text == str(row.tag)


def test_sides_and_widths_of_what_is_drawn() -> None:
    def row(affinity: float) -> TagRow:
        return TagRow(Tag("a", "b"), "a=b", "b", affinity, 0)

    assert [row(a).side for a in (0.1, -0.1, 0.0)] == ["up", "down", ""]
    assert (ReasonRow(row(1), 0.25, 0).side, ReasonRow(row(1), -0.25, 0).side) == ("up", "down")
    assert ReasonRow(row(1), -0.25, 0).width == 24.3
    assert ReasonRow(row(1), 0.001, 0).width == 0.3
