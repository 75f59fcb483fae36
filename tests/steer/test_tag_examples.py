"""Examples under a tag: ranks with less and more of it, and the tags beside it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from teaser import Tag, Teaser
from teaser.errors import ParameterError, UnknownNameError
from teaser.steer import TagBeside, tag_examples

IDS = st.integers(0, 39).map(lambda i: f"i{i}")
HISTORIES = st.lists(IDS, max_size=5, unique=True)
TAGS = st.sampled_from(["type=concert", "type=film", "town=Ghent", "town=Liège", "labels=free"])
PRESSES = st.dictionaries(TAGS, st.integers(-5, 5), max_size=3)


def rank_in(model: Teaser, history: list[str], presses: dict[str, int]) -> dict[int | str, int]:
    """Return the rank of every item in a whole list."""
    found = model.recommend(history, presses, k=len(model.items_))
    return {r.item_id: rank for rank, r in enumerate(found, 1)}


@given(TAGS, HISTORIES, PRESSES, st.integers(1, 8), st.integers(1, 12))
def test_ranks_are_those_of_whole_lists(
    model: Teaser, tag: str, history: list[str], presses: dict[str, int], k: int, places: int
) -> None:
    found = tag_examples(model, tag, history, presses, k=k, places=places)
    net = presses.get(tag, 0)
    assert (found.tag, found.presses, found.can_press) == (Tag.parse(tag), net, net < 5)
    now = rank_in(model, history, presses)
    pressed = rank_in(model, history, {**presses, tag: min(5, net + 1)})
    carriers = {i for i in now if found.tag in model.explain(i, []).tags}
    highest = sorted(carriers, key=lambda i: now[i])[:k]
    assert [e.item_id for e in found.brings_up] == highest
    rising = [i for i in carriers if now[i] > places >= pressed[i]]
    rising.sort(key=lambda i: pressed[i])
    assert [e.item_id for e in found.would_bring_up] == rising[:k]
    for e in (*found.brings_up, *found.would_bring_up):
        assert (e.rank, e.rank_pressed) == (now[e.item_id], pressed[e.item_id])
        said = model.explain(e.item_id, history, presses)
        assert e.contribution == pytest.approx(said.tags[found.tag], abs=1e-12)
        assert e.title == said.title
        # Without what the tag adds, the item stands lower or higher by the sign of that.
        assert (e.rank_without - e.rank) * e.contribution >= 0 or not e.contribution


def test_the_rank_without_a_tag_is_that_of_scores_without_its_contributions(model: Teaser) -> None:
    history, tag = ["i1", "i5", "i8"], Tag("town", "Ghent")
    said = {i: model.explain(i, history) for i in model.items_ if i not in history}
    left = {i: each.score - each.tags.get(tag, 0.0) for i, each in said.items()}
    found = tag_examples(model, tag, history, k=40)
    assert found.brings_up
    for e in found.brings_up:
        above = sum(x > left[e.item_id] + 1e-12 for x in left.values())
        level = sum(abs(x - left[e.item_id]) <= 1e-12 for x in left.values())
        assert above < e.rank_without <= above + level


@given(TAGS)
def test_tags_beside_are_those_over_represented_on_its_items(model: Teaser, text: str) -> None:
    tag = Tag.parse(text)
    D = model.decoder_.toarray()[:, : model.tag_table_.n_personal] != 0
    own = D[:, model.tags_.index(tag)]
    wanted = []
    for j in range(D.shape[1]):
        share, all_share = D[own, j].mean(), D[:, j].mean()
        if model.tags_[j] != tag and share > all_share:
            both = int(D[own, j].sum())
            wanted.append(TagBeside(model.tags_[j], both, share, share / all_share))
    wanted.sort(key=lambda b: -b.share * np.log(b.times))
    found = tag_examples(model, tag, k=40)
    assert found.n_items == own.sum()
    assert [b.tag for b in found.comes_with] == [b.tag for b in wanted]
    for b, w in zip(found.comes_with, wanted, strict=True):
        assert (b.n_items, b.share) == (w.n_items, w.share)
        assert b.times == pytest.approx(w.times)
    assert tag_examples(model, tag, k=1).comes_with == found.comes_with[:1]


def test_what_may_not_be_listed_is_no_example(model: Teaser) -> None:
    shown = [e.item_id for e in tag_examples(model, "town=Ghent", k=40).brings_up]
    allowed = np.array([i not in shown[:2] for i in model.items_])
    found = tag_examples(model, "town=Ghent", [shown[2]], k=40, allowed=allowed, exclude=[shown[3]])
    assert {e.item_id for e in found.brings_up} == set(shown[4:])
    assert found.n_items == len(shown)


def test_at_the_bound_no_press_is_left(model: Teaser) -> None:
    found = tag_examples(model, "town=Ghent", ["i1"], {"town=Ghent": 5})
    assert not found.can_press
    assert found.would_bring_up == ()


def test_bad_questions_are_refused(model: Teaser) -> None:
    with pytest.raises(UnknownNameError, match="town=Gent"):
        tag_examples(model, "town=Gent")
    with pytest.raises(ParameterError, match="k must be"):
        tag_examples(model, "town=Ghent", k=0)
    with pytest.raises(ParameterError, match="places must be"):
        tag_examples(model, "town=Ghent", places=0)
