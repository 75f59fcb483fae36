"""The items of a model: positions, titles, further items, saved and read back."""

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from conftest import RULES, small_tables

from teaser import Category, Dataset, Rules, Tag, Teaser, artifact
from teaser.data.matrix import Ids
from teaser.data.new_items import read_new_items
from teaser.errors import ArtifactError, DataError, ParameterError, RuleError
from teaser.model import load
from teaser.model.tables import (
    ItemTable,
    TagTable,
    check_tagged,
    decoder,
    nested_pairs,
)
from teaser.profile import POPULARITY


def test_strengths_belong_to_items(dataset: Dataset) -> None:
    table = ItemTable.from_dataset(dataset)
    found = table.strengths({"i7": 0.5, "i2": 3, "i4": 0})
    assert found == {7: 0.5, 2: 3.0}
    assert list(found) == table.positions({"i7": 0.5, "i2": 3, "i4": 0}) == [7, 2]
    assert table.strengths(["i7", "i2", "i7"]) == {7: 1.0, 2: 1.0}
    rows = table.rows([found, [3, 1]])
    assert rows.toarray()[0, [2, 7]].tolist() == [3.0, 0.5]
    assert rows.toarray()[1].nonzero()[0].tolist() == [1, 3]
    assert rows.nnz == 4
    assert table.strengths({"i7": -0.25, "i2": 1}) == {7: -0.25, 2: 1.0}
    wrong: list[Any] = [float("nan"), float("inf"), float("-inf"), "1", None, True]
    for bad in wrong:
        with pytest.raises(ParameterError, match="'i2'"):
            table.strengths({"i7": 1, "i2": bad})


def test_a_failed_addition_changes_nothing(dataset: Dataset) -> None:
    model = Teaser().fit(dataset)
    with pytest.raises(ParameterError, match="needs a list of tags"):
        model.add_items({"n": "town=Ghent"})
    assert len(model.items_) == model.decoder_.shape[0] == len(model.table_) == 40


def test_a_title_of_spaces_is_none() -> None:
    titles = pl.DataFrame({"item_id": ["a", "b", "c", "d"], "title": [" A ", "  ", "", None]})
    table = ItemTable(Ids(["a", "b", "c", "d"]), titles, np.ones(4), "title")
    assert [table.title(i) for i in range(4)] == [" A ", None, None, None]


def test_a_table_is_read_by_the_rules_and_joined(
    dataset: Dataset, caplog: pytest.LogCaptureFixture
) -> None:
    table = pl.DataFrame(
        {"item_id": ["n1", "n2"], "town": ["Ghent", "Paris"], "type": ["film", None], "x": [1, 2]}
    ).with_columns(labels=pl.lit(None, dtype=pl.String))
    rules = Rules(RULES)
    with caplog.at_level(logging.WARNING, logger="teaser"):
        new = read_new_items(table, dataset.table, dataset.items, dataset.tags, rules)
    assert new.ids == ["n1", "n2"]
    assert [str(dataset.tags[j]) for j in new.S[[0]].indices] == ["type=film", "town=Ghent"]
    assert new.S[[1]].nnz == 0
    assert new.table.columns == dataset.table.columns
    assert new.table["town"].to_list()[-2:] == ["Ghent", "Paris"]
    assert "1 tags of the new items are not known: town=Paris" in caplog.text
    assert "1 of 2 new items carry no known tag" in caplog.text


def test_columns_that_do_not_fit_are_named(dataset: Dataset) -> None:
    table = pl.DataFrame({"item_id": ["n1"], "title": [[1, 2]]})
    with pytest.raises(DataError, match="title"):
        read_new_items(table, dataset.table, dataset.items, (), Rules(()))


def test_near_equal_tags_are_those_on_nearly_the_same_items() -> None:
    rng = np.random.default_rng(0)
    S = (rng.random((60, 12)) < 0.3).astype(float)
    S[:, 3] = S[:, 0]
    S[:1, 3] = 1 - S[:1, 0]
    S[:, 7] = S[:, 3]
    S[1:2, 7] = 1 - S[1:2, 3]
    S[:, 9] = S[:, 5] * 0.4
    S[:, 11] = 0
    tags = tuple(Tag("f", str(j)) for j in range(12))
    D = decoder(sp.csr_array(S), rng.random(60))
    found = TagTable((*tags, POPULARITY), D, Rules(())).near_equal_group
    assert found[-1] == -1
    held = S > 0
    for i in range(12):
        for j in range(12):
            either = (held[:, i] | held[:, j]).sum()
            overlap = (held[:, i] & held[:, j]).sum() / either if either else 0.0
            if overlap > 0.8:
                assert found[i] == found[j]
    assert len(set(found[:12].tolist())) == 9
    assert len({found[0], found[3], found[7]}) == len({found[5], found[9]}) == 1


@pytest.mark.parametrize("share", [0.02, 0.2, 0.6])
def test_nested_pairs_are_found_whether_tags_are_rare_or_common(share: float) -> None:
    rng = np.random.default_rng(3)
    held = rng.random((400, 40)) < share * rng.random(40)
    held[:, 5] = held[:, 2] & (rng.random(400) < 0.5)
    held[:, 9], held[:, 11] = held[:, 8], held[:, 2] & (np.arange(400) % 4 != 0)
    held[:, 12] = False
    held[:3, 13], held[3:, 13] = True, False
    carried = sp.csr_array(held.astype(np.int32))
    carried.data[0] = 0  # stored, but not carried
    held = carried.toarray() > 0
    both, carriers = nested_pairs(carried)
    wanted = held.T.astype(int) @ held.astype(int)
    least = np.minimum.outer(held.sum(axis=0), held.sum(axis=0))
    assert (carriers == held.sum(axis=0)).all()
    assert (both.toarray() == np.where(wanted > 0.8 * least, wanted, 0)).all()


def test_tags_of_one_name_on_shared_items_are_near_equal() -> None:
    names = {
        "category=Wargame": range(10),
        "domain=Wargames": range(4, 16),
        "theme=Zombies": range(20, 23),
        "family=Creatures: Zombies": range(20, 29),
        "theme=Space": range(30, 34),
        "family=space": range(33, 39),
        "players=2": range(40, 44),
        "age=2": range(40, 46),
    }
    S = np.zeros((50, len(names)))
    for j, places in enumerate(names.values()):
        S[places, j] = 1
    tags = tuple(map(Tag.parse, names))
    D = decoder(sp.csr_array(S), np.ones(50))
    table = TagTable((*tags, POPULARITY), D, Rules(()))
    wargame, wargames, zombies, creatures, space, near, players, age, _ = table.near_equal_group
    assert wargame == wargames
    assert zombies == creatures
    # Too few items in common to be one, but never said to be opposites.
    assert space != near
    assert table.nested.toarray()[4, 5]
    # Numbers are no names.
    assert players != age


def test_popularity_and_what_is_not_stated_are_near_nothing(dataset: Dataset) -> None:
    one = replace(dataset, S=dataset.S[:, [0]], tags=dataset.tags[:1])
    table = Teaser().fit(one).tag_table_
    assert [tag.value for tag in table.tags[2:]] == ["not stated", "general appeal"]
    assert table.near_equal_group.tolist() == [0, -1, -1, -1]
    bare = TagTable((POPULARITY,), decoder(sp.csr_array((4, 0)), np.ones(4)), Rules(()))
    assert bare.near_equal_group.tolist() == [-1]


def test_aliases_and_basis_are_saved(dataset: Dataset, tmp_path: Path) -> None:
    model = Teaser().fit(dataset)
    old, new = Tag("town", "Gand"), Tag("town", "Ghent")
    model._tag_table = replace(model.tag_table_, aliases={old: new})
    model.save(tmp_path / "m")
    table = load(tmp_path / "m", Teaser).tag_table_
    assert (table.aliases, table.index[old]) == ({old: new}, table.index[new])
    content = artifact.read(tmp_path / "m")
    more = {name: np.append(content.arrays[name], 0) for name in ("basis.q", "basis.group")}
    artifact.write(
        tmp_path / "m", kind=content.kind, settings=content.settings,
        arrays={**content.arrays, **more}, tables=content.tables,
    )  # fmt: skip
    with pytest.raises(ArtifactError, match="basis does not fit"):
        load(tmp_path / "m")


@pytest.mark.parametrize("name", ["popularity", "general appeal", "discovered"])
def test_a_feature_may_not_have_the_name_of_an_own_column(name: str) -> None:
    interactions, items = small_tables()
    items = items.with_columns(pl.lit("x").alias(name))
    data = Dataset.from_tables(interactions, items, rules=(*RULES, Category(name)))
    with pytest.raises(RuleError, match=f"'{name}'"):
        Teaser().fit(data)
    wrong: Any = None
    with pytest.raises(ParameterError, match="Dataset"):
        check_tagged(wrong)
