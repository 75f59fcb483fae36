"""The tags of items: decoder, look-ups, and what may be learned from."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from conftest import RULES, small_tables
from numpy.testing import assert_allclose, assert_array_equal

from teaser import Category, Dataset, Tag, Teaser, artifact
from teaser.data.rules import Rules
from teaser.errors import ArtifactError, ParameterError, RuleError
from teaser.explain import PARTS
from teaser.model import load
from teaser.model.tables import TagTable, check_tagged, decoder, nested_pairs, popularity
from teaser.profile import POPULARITY


def test_the_decoder_is_tags_and_popularity(dataset: Dataset) -> None:
    D = decoder(dataset.S, np.linspace(0, 1, 40))
    assert D.dtype == np.float64
    assert_array_equal(D.toarray()[:, :-1], dataset.S.toarray())
    assert_array_equal(D.toarray()[:, -1], np.linspace(0, 1, 40))
    table = TagTable.from_dataset(dataset)
    assert_array_equal(table.decoder.toarray()[:, -1], popularity(dataset))
    assert table.tags == (*dataset.tags, POPULARITY)


def test_look_ups_follow_from_tags_and_decoder(dataset: Dataset) -> None:
    table = TagTable.from_dataset(dataset, -decoder(dataset.S, popularity(dataset)))
    assert [table.tags[i] for i in table.index.values()] == list(table.index)
    assert_allclose(table.mass, abs(table.decoder.toarray()).sum(axis=0))
    names, numbers = table.features
    assert [names[n] for n in numbers] == [tag.feature for tag in table.tags]
    assert (table.n_learned, table.general) == (len(table.tags), None)
    assert_array_equal(table.direction(2), np.arange(len(table.tags)) == 2)
    longer = table.extended(decoder(dataset.S[:2], np.zeros(2)))
    assert longer.decoder.shape == (42, len(table.tags))
    assert (longer.mass > table.mass).any()


def test_a_basis_adds_columns_that_are_told_apart(model: Teaser, dataset: Dataset) -> None:
    table = model.tag_table_
    n = len(dataset.tags)
    assert (table.n_personal, table.popularity, table.n_learned, table.general) == (
        *(n, n, n + 1, n + 1),
    )
    assert table.learned_tags == (*dataset.tags, POPULARITY)
    assert table.learned_decoder.shape == (40, n + 1)
    assert (table.mass[:-1] > 0).all()
    assert table.mass[-1] == 0
    kinds = [PARTS[kind] for kind in table.kinds]
    assert kinds == ["declared"] * n + ["popularity", "general"]


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
    found = TagTable((*tags, POPULARITY), D, Rules(())).together
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


def test_nested_tags_are_those_of_which_one_lies_inside_the_other() -> None:
    rng = np.random.default_rng(1)
    S = (rng.random((60, 8)) < 0.4).astype(float)
    S[:, 5] = S[:, 2] * (rng.random(60) < 0.5)
    table = TagTable(
        (*(Tag("f", str(j)) for j in range(8)), POPULARITY),
        decoder(sp.csr_array(S), rng.random(60)),
        Rules(()),
    )
    held = S > 0
    shared = held.T.astype(int) @ held.astype(int)
    least = np.minimum.outer(held.sum(axis=0), held.sum(axis=0))
    assert table.nested.toarray().tolist() == (shared > 0.8 * least).tolist()
    assert table.nested[5, 2]


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


def test_popularity_and_what_is_not_stated_are_near_nothing(dataset: Dataset) -> None:
    one = replace(dataset, S=dataset.S[:, [0]], tags=dataset.tags[:1])
    table = Teaser().fit(one).tag_table_
    assert [tag.value for tag in table.tags[2:]] == ["not stated", "general appeal"]
    assert table.together.tolist() == [0, -1, -1, -1]
    bare = TagTable((POPULARITY,), decoder(sp.csr_array((4, 0)), np.ones(4)), Rules(()))
    assert bare.together.tolist() == [-1]


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
