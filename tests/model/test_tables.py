"""Tags that are near equal or nested, further items, and what a model saves of them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from conftest import RULES, small_tables
from numpy.typing import NDArray

from teaser import Category, Dataset, Rules, Tag, Teaser, artifact
from teaser.data.metadata import read_new_items
from teaser.errors import ArtifactError, DataError, ParameterError, RuleError
from teaser.model import load
from teaser.model.tables import (
    Basis,
    TagTable,
    check_tagged,
    decoder,
    nested_pairs,
)
from teaser.profile import GENERAL, POPULARITY


def test_a_failed_addition_changes_nothing(dataset: Dataset) -> None:
    model = Teaser().fit(dataset)
    with pytest.raises(ParameterError, match="needs a list of tags"):
        model.add_items({"n": "town=Ghent"})
    assert len(model.items_) == model.decoder_.shape[0] == len(model.table_) == 40


def test_columns_that_do_not_fit_are_named(dataset: Dataset) -> None:
    table = pl.DataFrame({"item_id": ["n1"], "title": [[1, 2]]})
    with pytest.raises(DataError, match="title"):
        read_new_items(table, dataset.table, dataset.items, (), Rules(()))


def table_of(tags: tuple[Tag, ...], S: NDArray[Any]) -> TagTable:
    """Return a table of tags that centres nothing."""
    basis, D = Basis.plain(len(tags) + 1), decoder(sp.csr_array(S), np.ones(len(S)))
    return TagTable((*tags, POPULARITY, GENERAL), basis.widen(D), Rules(()), basis)


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
    found = table_of(tags, S).near_equal_group
    assert (found[-2:] == -1).all()
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
    table = table_of(tags, S)
    wargame, wargames, zombies, creatures, space, near, players, age, *_ = table.near_equal_group
    assert wargame == wargames
    assert zombies == creatures
    # Too few items in common to be one, but never said to be opposites.
    assert space != near
    assert table.nested.toarray()[4, 5]
    # Numbers are no names.
    assert players != age


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
    with pytest.raises(ArtifactError, match="does not hold a whole Teaser"):
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
