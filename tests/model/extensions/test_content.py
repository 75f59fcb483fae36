"""Content: items count as alike by their tags and by words of texts, which become no tags."""

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from conftest import RULES, small_tables
from numpy.testing import assert_allclose
from oracles import Array, content_of, exact_encoder, slow_content

import teaser
from teaser import Dataset, Teaser
from teaser.data.rules import STOP_WORDS
from teaser.errors import ParameterError
from teaser.extensions import Content, DiscoveredTags, Remainder
from teaser.model.extensions.content import content_rows
from teaser.model.prediction import NEAREST

EXACT: dict[str, Any] = {"l2_weights": 3.0, "l2_encoder": 2.0, "tol": 1e-12, "dtype": "float64"}
STORIES = (
    "A detective of Antwerp looks for the lost painting, and the painting looks back.",
    "The lost <b>painting</b> of a quiet village",
    "Une histoire de la mer, un village et ses marins",
    "Twee marins zoeken een detective in een village",
    "",
    None,
)


def with_stories(seed: int = 3) -> Dataset:
    """Few users and items, with a text for some items."""
    interactions, items = small_tables(seed, n_users=50, n_items=14)
    stories = [STORIES[k % len(STORIES)] for k in range(items.height)]
    items = items.with_columns(pl.Series("story", stories, dtype=pl.String))
    return Dataset.from_tables(interactions, items, rules=RULES)


@pytest.fixture(scope="module")
def told() -> Dataset:
    return with_stories()


def gram(data: Dataset, content: Array) -> Array:
    X = data.X.toarray().astype(float)
    G = X.T @ X
    return np.asarray(G + G.diagonal().mean() * content @ content.T)


def words_of(told: Dataset) -> list[list[str]]:
    """The words of each story, one at a time, without stop words and words of one item."""
    stop = set().union(*STOP_WORDS.values())
    texts = [(text or "").replace("<b>", "").replace("</b>", "") for text in told.table["story"]]
    found = [[word.strip(",.").lower() for word in text.split()] for text in texts]
    found = [[w for w in own if len(w) > 2 and w not in stop] for own in found]
    return [[w for w in own if sum(w in other for other in found) > 1] for own in found]


def test_words_of_texts_count_beside_tags_and_become_no_tags(told: Dataset) -> None:
    content = Content(weight=0.7, text=("story",))
    model = Teaser(content=content, **EXACT).fit(told)
    tags, words = content_of(told.S.toarray()), slow_content(words_of(told))
    T = np.hstack([tags, words])
    T /= np.maximum(np.linalg.norm(T, axis=1, keepdims=True), 1e-300)
    assert (words.any(axis=1) != tags.any(axis=1)).any()  # some items have tags alone
    wanted = exact_encoder(
        gram(told, np.sqrt(0.7) * T), model.tag_table_.learned_decoder.toarray(), 3.0, 2.0
    )
    assert_allclose(model.encoder_, wanted, atol=1e-8)
    assert model.tags_ == Teaser(**EXACT).fit(told).tags_


def test_texts_alone_are_content_where_there_are_no_tags(told: Dataset) -> None:
    interactions, _ = small_tables(3, n_users=50, n_items=14)
    plain = Dataset.from_tables(interactions, told.table, rules=())
    model = Teaser(content=Content(text=("story",)), **EXACT).fit(plain)
    words = slow_content(words_of(plain))
    wanted = exact_encoder(gram(plain, words), model.tag_table_.learned_decoder.toarray(), 3.0, 2.0)
    assert_allclose(model.encoder_, wanted, atol=1e-8)


def test_a_weight_of_zero_is_no_content(told: Dataset) -> None:
    none = Teaser(content=Content(weight=0.0), **EXACT).fit(told)
    assert_allclose(none.encoder_, Teaser(**EXACT).fit(told).encoder_, atol=1e-12)


def test_an_item_that_nobody_chose_has_neighbours_by_its_content() -> None:
    interactions, items = small_tables(3, n_users=50, n_items=14)
    alone = interactions.filter(pl.col("item_id") != "i5")
    data = Dataset.from_tables(alone, items, rules=RULES)
    place = data.items.index_of("i5")
    remainder = Remainder(neighbours=4)
    without = Teaser(remainder=remainder).fit(data).remainder_[:, [place]]
    with_content = Teaser(remainder=remainder, content=Content()).fit(data).remainder_[:, [place]]
    # Without content in the fit, the items of the nearest tags take the place of neighbours.
    assert without.nnz <= NEAREST
    assert with_content.nnz == 4


def test_a_saved_model_and_added_items_keep_it(told: Dataset, tmp_path: Path) -> None:
    content = Content(weight=0.3, text=("story",))
    model = Teaser(content=content, discovered=DiscoveredTags(grains=(5,), factors=4)).fit(told)
    model.save(tmp_path / "m")
    again = teaser.load(tmp_path / "m", Teaser)
    assert again.content == content
    row = told.table.tail(1).with_columns(item_id=pl.lit("new"), story=pl.lit("A lost painting"))
    again.add_items(row)
    assert again.table_["story"][-1] == "A lost painting"
    assert again.recommend(["i1"], k=20)
    assert again.clone().fit(told).content == content


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"weight": -1.0}, r"content\.weight must be .* at least 0, found -1"),
        ({"weight": float("nan")}, r"content\.weight"),
        ({"weight": True}, r"content\.weight"),
        ({"text": "story"}, r"tuple of different columns, such as \('description',\)"),
        ({"text": ("story", "story")}, "different columns"),
        ({"text": ("stori",)}, r"'stori', which the items do not have.*story"),
        ({"text": ("blank",)}, r"no two items share a word in blank\. Are the texts empty"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    told: Dataset, options: dict[str, Any], said: str
) -> None:
    items = told.table.with_columns(blank=pl.lit("  "))
    data = Dataset.from_tables(small_tables(3, n_users=50, n_items=14)[0], items, rules=RULES)
    with pytest.raises(ParameterError, match=said):
        Teaser(content=Content(**options)).fit(data)


def test_content_without_tags_or_texts_is_refused_with_the_ways_out(told: Dataset) -> None:
    plain = Dataset.from_tables(small_tables(3)[0], rules=())
    for groups in (None, DiscoveredTags(grains=(5,), factors=4)):
        with pytest.raises(ParameterError, match=r"content needs tags or words.*leave content out"):
            Teaser(content=Content(), discovered=groups).fit(plain)
    same = sp.csr_array(np.ones((told.n_items, 1), dtype=np.float32))
    alike = replace(told, S=same, tags=told.tags[:1])
    with pytest.raises(ParameterError, match="tags or words that tell items apart"):
        content_rows(Content(), alike)


def test_a_weight_that_drowns_interactions_is_said(
    told: Dataset, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="teaser"):
        content_rows(Content(weight=10.0), told)
        assert "drowns" not in caplog.text
        Teaser(content=Content(weight=1000.0)).fit(told)
    assert "1000 times as much as the choices of an average item, which drowns" in caplog.text
