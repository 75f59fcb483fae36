"""The cards on a page equal what the model recommends."""

import itertools
import math
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from app.pages.conftest import personal_of

from teaser import Category, Dataset, ListOf, Rules, Tag, Teaser, Year, load
from teaser.app.catalogue import Catalogue, PersonalModel, in_one_series, volumes_apart
from teaser.app.i18n.texts import texts_in
from teaser.app.pages.cards import (
    BoostRow,
    ViewedRow,
    card_views,
    fact_line,
    reason_rows,
    telling_tags,
)
from teaser.app.pages.profile import joint_names, tag_row
from teaser.app.pages.why import N_SHARED, N_TAGS, describe_reasons, shared_tags
from teaser.app.state import State
from teaser.explain import Reason
from teaser.extensions import LearnedDecoder, Remainder
from teaser.profile import GENERAL
from teaser.recommend import Recommendation

EN = texts_in("en")


def test_a_tag_that_matters_more_to_an_item_is_marked(dataset: Dataset) -> None:
    learned = Teaser(l2_weights=5.0, l2_encoder=5.0, decoder=LearnedDecoder(l2=0.3), tol=1e-5).fit(
        dataset
    )
    seen = personal_of(Catalogue(learned), "i1", "i4")
    found = learned.recommend(["i1", "i4"], k=20)
    rows = [r for e in seen.entries(seen.rank(k=20)) for r in reason_rows(e, seen, EN)]
    marks = [r.matters_more for r in rows if r.row != tag_row(GENERAL, seen, EN)]
    assert marks == [
        isinstance(r, Reason) and r.matters_more for entry in found for r in entry.reasons
    ]
    assert any(marks)
    assert not all(marks)


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


def test_a_disliked_item_is_a_reason_of_its_own_kind(remainder_model: Teaser) -> None:
    state = State(history=("i1", "i4"), strengths={"i4": -0.5})
    personal = PersonalModel(Catalogue(remainder_model), state)
    entries = personal.entries(personal.rank(k=38))
    reasons = [r.row for entry in entries for r in reason_rows(entry, personal, EN)]
    rows = [row for row in reasons if isinstance(row, ViewedRow)]
    assert {row.item_id for row in rows if row.disliked} == {"i4"}
    assert {row.item_id for row in rows if not row.disliked} == {"i1"}
    said = [card.why for card in card_views(personal, personal.rank(k=38), EN)]
    assert any("<b>Event 4</b>, which you disliked" in sentence for sentence in said)
    told = [card.why for card in card_views(personal, personal.rank(k=38), EN, is_own=False)]
    assert any("<b>Event 4</b>, which they disliked" in sentence for sentence in told)


def test_one_sentence_names_the_reasons_of_a_card(catalogue: Catalogue) -> None:
    personal = personal_of(catalogue, "i1", "i3", "i5", film=-5)
    places = personal.rank(k=40)
    cards = card_views(personal, places, EN)
    for card, entry in zip(cards, personal.entries(places), strict=True):
        tags = [r for r in entry.reasons if isinstance(r, Reason) and r.contribution > 0]
        for reason in [r for r in tags if (r.own or 0) > 1][:N_TAGS]:
            name = f"<b>{' / '.join(joint_names(reason.tags, catalogue, EN))}</b>"
            assert f"{name} ({reason.own} of your 3)" in card.why
    assert any("despite <b>film</b>, which you pressed" in card.why for card in cards)
    assert {card.why for card in card_views(personal_of(catalogue), places, EN)} == {""}


def test_every_card_of_a_person_with_a_history_has_a_reason_about_the_person(
    catalogue: Catalogue,
) -> None:
    personal = personal_of(catalogue, "i1", "i3", "i5")
    for card in card_views(personal, personal.rank(k=12), EN):
        assert "because of <b>" in card.why.casefold()


def test_an_item_played_down_is_told_so(model: Teaser) -> None:
    seen = PersonalModel(Catalogue(model, {"town=Ghent": -0.5}), State(history=("i1",)))
    cards = card_views(seen, seen.rank(k=40), EN)
    assert {row for card in cards for row in card.boosts} == {BoostRow("Ghent", promotes=False)}
    entries = seen.entries(seen.rank(k=40))
    rows = [r for entry in entries for r in reason_rows(entry, seen, EN) if r.row.kind == "boost"]
    assert {r.side for r in rows} == {"down"}


def test_a_viewed_item_is_told_with_what_it_shares(events_folder: Path) -> None:
    catalogue = Catalogue(load(events_folder, Teaser))
    catalogue.model.companions_ = None
    items = catalogue.model.items_
    one, other, alone = next(
        (items[0], second, third)
        for second, third in itertools.permutations(items[1:], 2)
        if shared_tags(catalogue, items[0], second) and not shared_tags(catalogue, items[0], third)
    )
    personal = PersonalModel(catalogue, State(history=(other, alone)))
    entry = Recommendation(item_id=one, score=1.0, match=1.0, reasons=())
    tags = shared_tags(catalogue, one, other)
    (label, *_) = joint_names(tags[:N_SHARED], catalogue, EN, full=False)
    told = describe_reasons(entry, personal, EN, {other: 0.6, alone: 0.8})
    names = {item: catalogue.card(item).title for item in (other, alone)}
    assert f"<b>{names[other]}</b>, which you viewed (both {label}" in told
    assert names[alone] not in told  # the other tells more
    told = describe_reasons(entry, personal, EN, {alone: 0.8})
    assert told == f"Because of <b>{names[alone]}</b>, which you viewed."
    liked = replace(entry, general=3.0, general_share=0.8)
    told = describe_reasons(liked, personal, EN, {other: 0.8})
    assert told.startswith(f"Liked by many; for you because of <b>{names[other]}</b>")
    cards = [catalogue.card(item) for item in (one, other)]
    assert all(tag.value in card.facts[tag.feature] for tag in tags for card in cards)


@pytest.mark.parametrize(
    ("one", "other", "are_one"),
    [
        ("Cress (The Lunar Chronicles, #3)", "Winter (The Lunar Chronicles, #4)", True),
        ("Star Trek IV: The Voyage Home", "Star Trek: Generations", True),
        ("The Terminator", "Terminator 2: Judgment Day", True),
        ("Alien³", "Alien", True),
        ("Toy Story 2", "Toy Story", True),
        ("American Beauty", "American Pie", False),
        ("Dead Man", "Dead Man Walking", False),
        ("The Girl with the Dragon Tattoo", "The Girl Next Door", False),
        ("It: Chapter One", "It: Chapter Two", False),
        ("Crash", "Crash", False),
        ("Crash (1996)", "Crash (2004)", False),
        ("The Avengers (1998)", "The Avengers (2012)", False),
        ("Toy Story (1995)", "Toy Story 2 (1999)", True),
        ("Invisible Man", "The Invisible Man", False),
        ("Hard Time", "Hard Times", False),
        ("When I Fall in Love", "When I Loved Myself Enough", False),
        ("", "", False),
    ],
)
def test_a_series_is_read_from_titles(one: str, other: str, are_one: bool) -> None:
    assert in_one_series(one, other) == in_one_series(other, one) == are_one


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        ("Cress (The Lunar Chronicles, #3)", "Winter (The Lunar Chronicles, #4)", 1),
        ("Toy Story 2", "Toy Story 4", 2),
        ("Toy Story 2", "Toy Story", math.inf),
        ("Star Trek IV: The Voyage Home", "Star Trek: Generations", math.inf),
    ],
)
def test_volumes_of_a_series_are_apart_by_their_numbers(one: str, other: str, apart: float) -> None:
    assert volumes_apart(one, other) == volumes_apart(other, one) == apart


def test_a_series_and_an_old_decade_are_told() -> None:
    titles = ["Alien", "Alien: Resurrection", "Laura", "Gilda"]
    years = ["1979", "1997", "1944", "1946"]
    titles += [f"Film of the {name}" for name in ("sea", "sun", "sky", "ice", "oak", "elm", "ash")]
    titles += [f"Song of the {name}" for name in ("sea", "sun", "sky", "ice", "oak", "elm", "ash")]
    ids = list(range(len(titles)))
    items = {"item_id": ids, "title": titles, "year": [*years, *["1999"] * (len(ids) - 4)]}
    items["genre"] = ["Noir" if item in (2, 3) else "Drama" for item in ids]
    pairs = [(user, item) for user in range(6) for item in ids[user % 3 :: 2]]
    users, chosen = zip(*pairs, strict=True)
    made = Dataset.from_tables(
        pl.DataFrame({"user_id": users, "item_id": chosen}),
        pl.DataFrame(items),
        rules=Rules((Year("year"), Category("genre")), roles={"title": "title"}),
    )
    personal = PersonalModel(Catalogue(Teaser().fit(made)), State(history=(0, 2)))
    for item, viewed, why in ((1, 0, "same series"), (3, 2, "both Noir and the 1940s")):
        entry = Recommendation(item_id=item, score=1.0, match=1.0, reasons=())
        told = describe_reasons(entry, personal, EN, {viewed: 1.0})
        assert told == f"Because of <b>{titles[viewed]}</b>, which you viewed ({why})."


def test_a_viewed_item_that_shares_little_is_told_with_those_who_chose_both() -> None:
    # Of forty people ten chose a, and eight of these b; two others chose b as well.
    pairs = [(user, "a") for user in range(10)] + [(user, "b") for user in range(2, 12)]
    pairs += [(user, other) for user in range(40) for other in ("c" if user % 2 else "d", "e")]
    users, items = zip(*pairs, strict=True)
    kinds = {"item_id": list("abcde"), "kind": ["film", "play", "walk", "walk", "film"]}
    made = Dataset.from_tables(
        pl.DataFrame({"user_id": users, "item_id": items}),
        pl.DataFrame(kinds),
        rules=[Category("kind")],
    )
    personal = personal_of(Catalogue(Teaser().fit(made)), "a")
    cards = {card.card.item_id: card.why for card in card_views(personal, personal.rank(), EN)}
    told = "<b>a</b>, which you viewed (4 in 5 who chose it also chose this, 1 in 4 of all)"
    assert told in cards["b"]


def test_a_disliked_item_is_no_reason_for_another(catalogue: Catalogue) -> None:
    state = State(history=("i1", "i3"), strengths={"i1": -1.0, "i3": -1.0})
    personal = PersonalModel(catalogue, state)
    for card in card_views(personal, personal.rank(k=20), EN):
        assert "which you viewed" not in card.why


def test_items_without_tags_have_cards() -> None:
    pairs = {"user_id": [u for u in range(8) for _ in "abc"], "item_id": [*"abc", *"abd"] * 4}
    made = Dataset.from_tables(pl.DataFrame(pairs), rules=())
    model = Teaser(remainder=Remainder(), l2_weights=5.0).fit(made)
    personal = personal_of(Catalogue(model), "a")
    cards = card_views(personal, personal.rank(k=3), EN)
    assert any("<b>a</b>, which you viewed" in card.why for card in cards)


def test_what_a_person_pressed_is_told_and_is_no_guess(catalogue: Catalogue) -> None:
    personal = PersonalModel(catalogue, State(history=("i1",), presses={"type=film": 5}))
    cards = card_views(personal, personal.rank(k=5), EN)
    assert any("<b>film</b>, which you pressed +5" in card.why for card in cards)
    assert not any("<b>film</b> (a guess)" in card.why for card in cards)


def test_the_shares_under_more_and_that_of_all_else_sum_to_the_score(catalogue: Catalogue) -> None:
    personal = personal_of(catalogue, "i1", "i3", "i5", film=2)
    for entry in personal.entries(personal.rank(k=12)):
        rows = reason_rows(entry, personal, EN)
        parts = catalogue.model.explain(entry.item_id, **personal.taste)
        shown = sum(row.share for row in rows) + entry.other_share
        assert shown == pytest.approx(parts.score / parts.total, abs=1e-9)
