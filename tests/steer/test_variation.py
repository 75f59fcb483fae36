"""Like this, but ...: presses that stand for an item, and lists with some of them changed."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from teaser import Category, Dataset, ListOf, Tag, Teaser
from teaser.errors import LimitError, ParameterError, UnknownNameError
from teaser.extensions import LearnedDecoder
from teaser.steer import similar, start_presses, vary_item
from teaser.steer.variation import STEPS

IDS = st.integers(0, 39).map(lambda i: f"i{i}")
GHENT, LIEGE = Tag("town", "Ghent"), Tag("town", "Liège")


def own_tags(model: Teaser, item: str) -> list[Tag]:
    """The declared tags of an item."""
    row = model.decoder_.toarray()[int(item[1:]), : model.tag_table_.n_personal]
    return [model.tags_[j] for j in np.flatnonzero(row)]


def rarity(model: Teaser, tag: Tag) -> float:
    carriers = (model.decoder_.toarray()[:, model.tags_.index(tag)] > 0).sum()
    return float(np.log(1 + len(model.items_) / carriers))


@pytest.fixture(scope="module")
def films() -> Teaser:
    """Films with tags of each kind: common, rare, on one film only, on nearly the same films."""
    rows = [
        ("a", "drama|war", "Varda", "1990s", "once"),
        ("b", "drama|war", "Varda", "1990s", ""),
        ("c", "drama|comedy", "Akin", "2000s", ""),
        ("d", "comedy", "Akin", "2000s", ""),
        ("e", "drama", "Lean", "1960s", ""),
        ("f", "drama|war", "Lean", "1960s", ""),
        ("g", "", "", "", "alone"),
        ("h", "", "", "", ""),
    ]
    items = pl.DataFrame(
        rows, schema=["item_id", "genre", "director", "decade", "label"], orient="row"
    )
    users = [("u1", "a"), ("u1", "b"), ("u2", "c"), ("u2", "d"), ("u3", "e"), ("u3", "f")]
    interactions = pl.DataFrame(users, schema=["user_id", "item_id"], orient="row")
    rules = [ListOf("genre"), Category("director"), Category("decade"), Category("label")]
    return Teaser(l2_weights=1.0, l2_encoder=1.0).fit(
        Dataset.from_tables(interactions, items, rules=rules)
    )


@given(IDS, st.integers(1, 6), st.integers(1, 5))
def test_presses_are_on_the_rarest_tags_one_of_each_feature_first(
    model: Teaser, item: str, n: int, steps: int
) -> None:
    found = start_presses(model, item, n, steps=steps)
    own = own_tags(model, item)
    assert set(found) <= set(own)
    assert set(found.values()) == {steps}
    together = model.tag_table_.near_equal_group
    groups = {together[model.tags_.index(tag)] for tag in own}
    assert len(found) == min(n, len(groups))
    assert len({together[model.tags_.index(tag)] for tag in found}) == len(found)
    ranked = sorted(own, key=lambda tag: -rarity(model, tag))
    first = {tag.feature: tag for tag in reversed(ranked)}
    told = [rarity(model, tag) for tag in found if first[tag.feature] == tag]
    assert told == sorted(told, reverse=True)
    seconds = [first[tag.feature] != tag for tag in found]
    assert seconds == sorted(seconds)


def test_of_near_equal_tags_one_is_pressed_and_a_tag_of_one_item_is_not(films: Teaser) -> None:
    found = start_presses(films, "a")
    # Varda and 1990s lie on the same films.
    assert list(found) == [Tag("director", "Varda"), Tag("genre", "war"), Tag("genre", "drama")]
    assert start_presses(films, "g") == {Tag("label", "alone"): 1}


def test_a_tag_that_counts_against_the_item_is_not_pressed(dataset: Dataset) -> None:
    weighted = Teaser(l2_weights=5.0, l2_encoder=5.0, decoder=LearnedDecoder(l2=0.1)).fit(dataset)
    D = weighted.decoder_.toarray()[:, : weighted.tag_table_.n_personal]
    for i, item in enumerate(weighted.items_):
        against = {weighted.tags_[j] for j in np.flatnonzero(D[i] < 0)}
        assert not against & set(start_presses(weighted, item))
    assert (D < 0).any()


@given(IDS, st.lists(IDS, max_size=4, unique=True), st.integers(1, 8))
def test_without_changes_the_list_is_that_of_the_items_presses(
    model: Teaser, item: str, history: list[str], k: int
) -> None:
    found = vary_item(model, item, {}, history, {"town=Ghent": 4, "labels=free": -1}, k=k)
    start = start_presses(model, item, steps=STEPS)
    net = {GHENT: 4, Tag("labels", "free"): -1}
    for tag, steps in start.items():
        net[tag] = min(5, net.get(tag, 0) + steps)
    assert found.start == start
    assert found.presses == {tag: steps for tag, steps in net.items() if steps}
    wanted = model.recommend(history, net, k=k, exclude=[item])
    assert [r.item_id for r in found.recommendations] == [r.item_id for r in wanted]
    assert [r.score for r in found.recommendations] == [r.score for r in wanted]
    assert found.item_id == item
    assert found.title == f"Event {item[1:]}"


def test_a_changed_tag_gives_its_presses_to_another(model: Teaser) -> None:
    item = next(i for i in model.items_ if GHENT in own_tags(model, str(i)))
    before = start_presses(model, item, steps=STEPS)
    found = vary_item(model, item, {GHENT: LIEGE})
    assert found.start[LIEGE] == STEPS
    assert GHENT not in found.start
    assert set(found.start) - {LIEGE} <= set(before)
    without = vary_item(model, item, {GHENT: None})
    more, fewer = (
        sum(LIEGE in own_tags(model, str(r.item_id)) for r in each.recommendations[:5])
        for each in (found, without)
    )
    assert more > fewer
    left_out = vary_item(model, item, {"town=Ghent": None})
    assert set(left_out.start) == set(before) - {GHENT}


def test_tags_that_no_item_has_with_the_new_one_are_left_out(films: Teaser) -> None:
    found = vary_item(films, "b", {"decade=1990s": "decade=2000s"})
    # The director's films are of the 1990s, and no film of the 2000s is about war.
    assert found.start == {Tag("decade", "2000s"): STEPS, Tag("genre", "drama"): STEPS}
    assert found.recommendations[0].item_id == "c"
    # A change of a near-equal tag takes the other with it, also where nothing takes its place.
    gone = vary_item(films, "b", {"director=Varda": None}).start
    assert set(gone) == {Tag("genre", "war"), Tag("genre", "drama")}


def test_the_list_looks_like_the_item(model: Teaser) -> None:
    for item in ("i0", "i5", "i9"):
        near = {s.item_id: s.similarity for s in similar(model, item, k=40)}
        found = vary_item(model, item, {}, k=5).recommendations
        assert len(found) == 5
        listed = np.mean([near.get(r.item_id, 0.0) for r in found])
        assert listed > np.mean([near.get(i, 0.0) for i in model.items_ if i != item]) + 0.1


def test_bad_questions_are_refused(films: Teaser) -> None:
    with pytest.raises(ParameterError, match="'h' has no tags, so it cannot be a start"):
        start_presses(films, "h")
    with pytest.raises(ParameterError, match="Choose another item"):
        vary_item(films, "h", {})
    with pytest.raises(UnknownNameError, match="'nowhere'"):
        start_presses(films, "nowhere")
    with pytest.raises(ParameterError, match=r"'b' has no tag genre=comedy.* It has: director"):
        vary_item(films, "b", {"genre=comedy": None})
    with pytest.raises(UnknownNameError, match="decade=1890s"):
        vary_item(films, "b", {"decade=1990s": "decade=1890s"})
    wrong: Any = [("decade=1990s", None)]
    with pytest.raises(ParameterError, match="changes must map tags"):
        vary_item(films, "b", wrong)
    with pytest.raises(ParameterError, match="n must be a whole number"):
        start_presses(films, "b", 0)
    with pytest.raises(ParameterError, match="steps must be a whole number of at least 1"):
        vary_item(films, "b", {}, steps=0)
    with pytest.raises(LimitError):
        start_presses(films, "b", steps=6)
