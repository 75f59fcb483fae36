"""Items that share tags."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from teaser import Dataset, Tag, Teaser
from teaser.errors import ParameterError, UnknownNameError
from teaser.steer import similar


def slow_similarity(model: Teaser, i: int, c: int) -> float:
    """The cosine over weighted tags, by loops over sets."""
    n = len(model.items_)
    S = model.decoder_.toarray()[:, : model.tag_table_.n_personal]
    weight = [np.log(1 + n / S[:, j].sum()) for j in range(S.shape[1])]
    own, other = set(np.flatnonzero(S[i])), set(np.flatnonzero(S[c]))
    both = sum(weight[j] ** 2 for j in own & other)
    sizes = [np.sqrt(sum(weight[j] ** 2 for j in tags)) for tags in (own, other)]
    return float(both / (sizes[0] * sizes[1])) if all(sizes) else 0.0


@given(item=st.integers(0, 39))
def test_similarity_is_the_cosine_of_weighted_tags(model: Teaser, item: int) -> None:
    found = similar(model, f"i{item}", k=40)
    assert f"i{item}" not in [s.item_id for s in found]
    wanted = {c: slow_similarity(model, item, c) for c in range(40) if c != item}
    assert {s.item_id for s in found} == {f"i{c}" for c, x in wanted.items() if x > 0}
    for s in found:
        assert s.similarity == pytest.approx(wanted[int(str(s.item_id)[1:])], abs=1e-11)
        assert 0 < s.similarity <= 1
        assert s.title == f"Event {str(s.item_id)[1:]}"


@given(item=st.integers(0, 39))
def test_shared_tags_are_those_of_both_and_their_shares_sum_to_one(
    model: Teaser, item: int
) -> None:
    own = set(model.explain(f"i{item}", []).tags)
    for s in similar(model, f"i{item}"):
        other = set(model.explain(s.item_id, []).tags)
        assert {tag for tag, _ in s.shared} == {t for t in own & other if t.feature != "popularity"}
        shares = [share for _, share in s.shared]
        assert shares == sorted(shares, reverse=True)
        assert sum(shares) == pytest.approx(1)


def test_the_most_similar_come_first_and_popularity_decides_between_equals(model: Teaser) -> None:
    found = similar(model, "i0", k=40)
    keys = [(-s.similarity, -model.popularity_[int(str(s.item_id)[1:])]) for s in found]
    assert keys == sorted(keys)
    assert len({k for k, _ in keys}) < len(keys)
    assert similar(model, "i0", k=3) == found[:3]


def test_a_rare_tag_counts_more_than_a_common_one() -> None:
    rows = [("a", "x|rare"), ("b", "y|rare"), ("c", "x|z")] + [(f"f{n}", "x") for n in range(8)]
    items = pl.DataFrame(rows, schema=["item_id", "labels"], orient="row")
    people = pl.DataFrame({"user_id": ["u"], "item_id": ["a"]})
    model = Teaser().fit(Dataset.from_tables(people, items))
    by_id = {s.item_id: s for s in similar(model, "a")}
    assert by_id["b"].similarity > by_id["c"].similarity
    assert [tag for tag, _ in by_id["b"].shared] == [Tag("labels", "rare")]


def test_items_without_tags_resemble_nothing(dataset: Dataset) -> None:
    model = Teaser().fit(dataset).add_items({"bare": [], "new": ["town=Deinze", "type=film"]})
    assert similar(model, "bare") == []
    assert similar(model, "new", k=1)[0].similarity > 0.8
    assert "bare" not in [s.item_id for s in similar(model, "i1", k=60)]


def test_bad_questions_are_refused(model: Teaser) -> None:
    with pytest.raises(UnknownNameError, match="'nowhere'"):
        similar(model, "nowhere")
    with pytest.raises(ParameterError, match="k must be"):
        similar(model, "i1", k=0)
