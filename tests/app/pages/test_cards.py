"""The cards on a page equal what the model recommends."""

import math
from dataclasses import replace
from datetime import date

import polars as pl
import pytest
from app.pages.conftest import personal_of

from teaser import Category, Dataset, ListOf, Tag, Teaser, Year
from teaser.app.catalogue import Catalogue, PersonalModel
from teaser.app.i18n.texts import texts_in
from teaser.app.pages.cards import (
    BoostRow,
    ReasonRow,
    TagRow,
    ViewedRow,
    card_views,
    fact_line,
    telling_tags,
)
from teaser.app.state import State
from teaser.explain import BoostReason, Reason
from teaser.extensions import LearnedDecoder
from teaser.profile import GENERAL

EN = texts_in("en")


def test_cards_carry_match_reasons_and_moves(catalogue: Catalogue, model: Teaser) -> None:
    seen = personal_of(catalogue, "i1")
    found = model.recommend(["i1"], k=3)
    cards = card_views(seen, seen.rank(k=3), EN, {found[0].item_id: 2})
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
    seen = personal_of(Catalogue(learned), "i1", "i4")
    found = learned.recommend(["i1", "i4"], k=20)
    marks = [r.matters_more for c in card_views(seen, seen.rank(k=20), EN) for r in c.reasons]
    assert marks == [
        isinstance(r, Reason) and r.matters_more for entry in found for r in entry.reasons
    ]
    assert any(marks)
    assert not all(marks)


def test_facts_are_few_and_once(catalogue: Catalogue) -> None:
    card = catalogue.card("i7")
    said = fact_line(catalogue, card, EN)
    assert said[:2] == (card.facts["type"][0], card.facts["town"][0])
    assert len(said) == len(set(said)) <= 4


@pytest.fixture(scope="module")
def films() -> Catalogue:
    """Films that differ in their actors most, and hardly in their kind."""
    items = pl.DataFrame(
        {
            "item_id": ["a", "b", "c", "d"],
            "kind": ["film", "film", "film", "series"],
            "genres": [["Drama", "War"], ["Drama"], ["Drama"], ["Comedy", "War"]],
            "actors": [["Ada", "Bo", "Cy"], ["Ada"], ["Bo"], ["Di"]],
            "year": [1994, 1994, 2001, 2001],
            "stars": [5, 5, 5, 5],
            "keyword": ["war", None, "war", None],
        }
    )
    rows = {"user_id": [1, 1, 2, 2, 3], "item_id": ["a", "b", "a", "c", "d"]}
    rules = [ListOf("genres"), ListOf("actors"), Year("year"), Category("stars"), Category("kind")]
    rules.append(Category("keyword"))
    made = Dataset.from_tables(pl.DataFrame(rows), items, rules=rules)
    return Catalogue(Teaser(tol=1e-5).fit(made))


def test_facts_begin_with_what_tells_items_apart(films: Catalogue) -> None:
    told = [str(tag) for tag in telling_tags(films, films.card("a"))]
    # The rarer genre leads. Of the actors the second counts half, so that the year comes before.
    told.remove("keyword=war")  # it is said as the genre
    assert told[:3] == ["genres=War", "actors=Cy", "year=1994"]
    assert told[-1] == "stars=5"
    assert fact_line(films, films.card("a"), EN) == ("War", "Cy", "Year: 1994", "Ada")
    # What most items are does not lead, as it says little.
    assert films.bits(Tag("kind", "film")) == pytest.approx(math.log2(4 / 3))
    assert told.index("kind=film") > told.index("actors=Ada")
    assert telling_tags(films, films.card("d"))[0] == Tag("genres", "Comedy")


def test_a_date_ends_the_facts(catalogue: Catalogue) -> None:
    card = replace(catalogue.card("i7"), date=date(2026, 9, 19))
    assert fact_line(catalogue, card, EN)[-1] == "Sat 19 Sep 2026"


def test_somebody_new_is_shown_no_match(catalogue: Catalogue) -> None:
    for seen, is_shown in ((personal_of(catalogue), False), (personal_of(catalogue, film=1), True)):
        for card in card_views(seen, seen.rank(k=3), EN):
            assert (card.match is not None) == bool(card.drawn) == is_shown
            assert (card.general is not None) == is_shown


def test_sides_and_widths_in_the_strip() -> None:
    row = ViewedRow("i1", "Event 1")
    assert (ReasonRow(row, 0.25, 0).side, ReasonRow(row, -0.25, 0).side) == ("up", "down")
    assert ReasonRow(row, -0.25, 0).width == 24.3
    assert ReasonRow(row, 0.001, 0).width == 0.3
    assert ReasonRow(row, 0.25, 0).classes == "up viewed"
    assert ReasonRow(BoostRow("", True), -0.25, 0).classes == "down boost"
    general = TagRow(GENERAL, str(GENERAL), "general appeal", 0.5, 0)
    assert ReasonRow(general, 0.25, 0).classes == "up general"


def test_a_disliked_item_is_a_reason_of_its_own_kind(remainder_model: Teaser) -> None:
    state = State(history=("i1", "i4"), strengths={"i4": -0.5})
    personal = PersonalModel(Catalogue(remainder_model), state)
    cards = card_views(personal, personal.rank(k=38), EN)
    rows = [r.row for card in cards for r in card.reasons if isinstance(r.row, ViewedRow)]
    assert {row.item_id for row in rows if row.disliked} == {"i4"}
    assert {row.item_id for row in rows if not row.disliked} == {"i1"}


def test_what_the_site_adds_is_told_on_a_card_however_small(model: Teaser) -> None:
    boost = {"i9": 0.02, "town=Ghent": 0.01}
    catalogue = Catalogue(model, boost)
    for history in (("i1", "i5"), ()):
        seen = PersonalModel(catalogue, State(history=history))
        found = seen.recommend(k=40)
        cards = {c.card.item_id: c for c in card_views(seen, seen.rank(k=40), EN)}
        assert any(entry.boost for entry in found)
        for entry in found:
            card = cards[entry.item_id]
            told = [r for r in card.reasons if isinstance(r.row, BoostRow)]
            wanted = model.explain(entry.item_id, history, boost=boost)
            boosts = [r for r in wanted.reasons if isinstance(r, BoostReason)]
            assert sorted(r.share for r in told) == pytest.approx(sorted(r.share for r in boosts))
            assert entry.score == pytest.approx(wanted.score)
            if not history:
                assert card.reasons == told  # nothing else is known of the person
        assert sum(isinstance(r.row, BoostRow) for c in cards.values() for r in c.reasons) > 1


def test_an_item_played_down_is_told_so(model: Teaser) -> None:
    seen = PersonalModel(Catalogue(model, {"town=Ghent": -0.5}), State(history=("i1",)))
    cards = card_views(seen, seen.rank(k=40), EN)
    rows = [r for card in cards for r in card.reasons if isinstance(r.row, BoostRow)]
    assert rows
    assert {r.row for r in rows} == {BoostRow("Ghent", promotes=False)}
    assert {r.side for r in rows} == {"down"}
