"""Discovered tags: what is found, what it is called, and that names last over refits."""

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from oracles import content_of, exact_encoder

from teaser import Category, Dataset, Rules, Tag, Teaser, load
from teaser.data.matrix import Ids
from teaser.data.tags import DISCOVERED
from teaser.errors import ParameterError, RuleError
from teaser.extensions import Content
from teaser.model.extensions.discovered import (
    DiscoveredTags,
    cluster,
    declared_columns,
    discover,
    draw_centroids,
    n_declared,
    nearest_groups,
    unit_rows,
)
from teaser.model.extensions.groups import Groups
from teaser.profile import POPULARITY
from teaser.testing import TaggedModelContract

N_ITEMS, N_GROUPS = 240, 12


FEW = DiscoveredTags(grains=(20, 60), factors=16)


def make(seed: int = 0, n_users: int = 1200) -> Dataset:
    """Return users who choose mostly items of two of twelve groups; item i is of group i % 12.

    The style of an item is its group's. Nobody chooses the last item.
    """
    rng = np.random.default_rng(seed)
    items = pl.DataFrame(
        {
            "item_id": [f"i{i}" for i in range(N_ITEMS)],
            "title": [f"Item {i} ({i % N_GROUPS})" for i in range(N_ITEMS)],
            "style": [f"style {i % N_GROUPS}" for i in range(N_ITEMS)],
        }
    )
    known = 1 / (1 + np.arange(N_ITEMS) // N_GROUPS) ** 0.7
    rows = []
    for user in range(n_users):
        tastes = rng.choice(N_GROUPS, 2, replace=False)
        p = np.where(np.isin(np.arange(N_ITEMS) % N_GROUPS, tastes), 1.0, 0.02) * known
        p[-1] = 0
        chosen = rng.choice(N_ITEMS, rng.integers(4, 16), replace=False, p=p / p.sum())
        rows += [(f"u{user}", f"i{i}") for i in chosen]
    interactions = pl.DataFrame(rows, schema=["user_id", "item_id"], orient="row")
    rules = Rules((Category("style"),), {"title": "title"})
    return Dataset.from_tables(interactions, items, rules=rules)


@pytest.fixture(scope="module")
def crowd() -> Dataset:
    return make()


@pytest.fixture(scope="module")
def found(crowd: Dataset) -> tuple[Dataset, Groups]:
    return discover(crowd, FEW)


@pytest.mark.parametrize(
    "bad",
    [
        {"grains": ()}, {"grains": (20, 20)}, {"grains": [20]}, {"grains": (1,)},
        {"grains": (0.5,)}, {"grains": (float("nan"),)}, {"grains": ("20",)},
        {"grains": (True,)}, {"factors": 0}, {"nearest": 0}, {"least_count": 1.5},
        {"max_groups": 1}, {"names": 3},
    ],
)  # fmt: skip
def test_options_that_make_no_sense_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=f"discovered.{next(iter(bad))}"):
        DiscoveredTags(**bad).check()
    DiscoveredTags().check()


def test_a_missing_file_is_named() -> None:
    with pytest.raises(RuleError, match=r"There is no file of groups none\.toml"):
        DiscoveredTags(names="none.toml").check()


def test_the_groups_that_made_the_data_are_found(
    crowd: Dataset, found: tuple[Dataset, Groups]
) -> None:
    data, groups = found
    assert data.tags == (*crowd.tags, *groups.tags)
    assert all(tag.feature == DISCOVERED and tag.discovered for tag in groups.tags)
    assert n_declared(data.tags) == crowd.n_tags
    assert_array_equal(declared_columns(data).toarray(), crowd.S.toarray())
    assert_allclose(data.S[:, crowd.n_tags :].toarray(), groups.members.toarray(), rtol=1e-6)
    fine = [j for j, group in enumerate(groups.groups) if group.grain == 20]
    # The number of items that were chosen often enough, over the grain.
    assert len(fine) >= N_GROUPS - 1
    shares = []
    # k-means may end with two of the twelve in one.
    assert len({groups.groups[j].label_tag for j in fine} & set(crowd.tags)) >= N_GROUPS - 2
    for j in fine:
        group = groups.groups[j]
        members = groups.members[:, [j]].toarray().ravel()
        own = np.flatnonzero(members == 1)
        style = int(str(group.label_tag).rsplit(" ", 1)[1])
        shares.append((own % N_GROUPS == style).mean())
        # Named by its best-known items, titles without what stands in brackets.
        first = [crowd.items.index_of(name) for name in group.exemplars[:3]]
        assert group.tag.value.startswith(", ".join(f"Item {i}" for i in first))
        assert np.mean([crowd.item_counts[i] for i in first]) > crowd.item_counts.mean()
        assert group.size == (members > 0).sum()
    assert np.mean(shares) > 0.9


def test_weights_are_relative_to_the_nearest_group_of_a_grain(
    crowd: Dataset, found: tuple[Dataset, Groups]
) -> None:
    groups = found[1]
    grains = np.array([group.grain for group in groups.groups])
    for grain in (20, 60):
        members = groups.members[:, np.flatnonzero(grains == grain)]
        assert (np.diff(members.indptr) <= 3).all()
        chosen = crowd.item_counts >= 3
        assert_array_equal(np.diff(members.indptr) > 0, chosen)
        assert_allclose(members.max(axis=1).toarray().ravel()[chosen], 1.0)
        assert (np.bincount(members.indices, minlength=members.shape[1]) > 1).all()
    # Nobody chose the last item.
    assert crowd.item_counts[-1] == 0
    one = discover(crowd, replace(FEW, nearest=1, least_count=20))[1]
    assert (one.members.data == 1).all()
    assert_array_equal(np.diff(one.members.indptr) > 0, crowd.item_counts >= 20)


def test_the_same_seed_gives_the_same_groups_and_names_are_unique(
    crowd: Dataset, found: tuple[Dataset, Groups]
) -> None:
    again = discover(crowd, FEW, rng=np.random.default_rng(0))[1]
    assert again.found == found[1].found
    assert_array_equal(again.members.toarray(), found[1].members.toarray())
    names = [tag.value.casefold() for tag in found[1].tags]
    assert len(set(names)) == len(names)
    other = discover(crowd, FEW, rng=1)[1]
    assert other.found != found[1].found


def test_tiny_data_have_no_groups(dataset: Dataset, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="teaser"):
        data, groups = discover(dataset, DiscoveredTags(grains=(100,)))
    assert len(groups) == 0
    assert data.tags == dataset.tags
    assert_array_equal(data.S.toarray(), dataset.S.toarray())
    assert "left out" in caplog.text
    # More factors than items, and more groups than half of the items.
    assert len(discover(dataset, DiscoveredTags(grains=(1.5,)))[1]) <= 20
    with pytest.raises(ParameterError, match="has discovered tags already"):
        discover(discover(dataset, DiscoveredTags(grains=(6,)))[0], DiscoveredTags())


def thinned(dataset: Dataset, share: float, seed: int = 1) -> Dataset:
    """Return a data set as it was before a share of the interactions."""
    X = sp.coo_array(dataset.X)
    kept = np.random.default_rng(seed).random(X.nnz) >= share
    rows, columns = (place[kept] for place in X.coords)
    earlier = sp.csr_array((X.data[kept], (rows, columns)), shape=X.shape)
    return replace(dataset, X=earlier)


@pytest.mark.parametrize(("share", "least"), [(0.01, 0.95), (0.2, 0.8)])
def test_groups_keep_their_names_when_interactions_are_added(
    crowd: Dataset, share: float, least: float
) -> None:
    options = replace(FEW, grains=(60, 20, 6))
    before = discover(thinned(crowd, share), options)[1]
    after = discover(crowd, options, previous=before)[1]
    kept = set(before.tags) & set(after.tags)
    assert len(kept) >= least * len(before)
    assert set(after.retired) == {tag.value for tag in set(before.tags) - set(after.tags)}
    overlaps = []
    for tag in kept:
        a, b = (
            set(g.members[:, [g.tags.index(tag)]].nonzero()[0].tolist()) for g in (before, after)
        )
        overlaps.append(len(a & b) / len(a | b))
    assert np.mean(overlaps) > 0.5
    alone = discover(crowd, options)[1]
    assert len(set(before.tags) & set(alone.tags)) < len(kept)


def test_items_that_come_and_go_and_change_places_do_not_matter(crowd: Dataset) -> None:
    before = discover(crowd, FEW)[1]
    order = np.random.default_rng(0).permutation(N_ITEMS)[:-10]
    moved = replace(
        crowd,
        X=crowd.X[:, order],
        S=crowd.S[order],
        items=Ids(crowd.items[i] for i in order.tolist()),
        table=crowd.table[order.tolist()],
    )
    after = discover(moved, FEW, previous=before)[1]
    assert len(set(before.tags) & set(after.tags)) >= 0.9 * len(before)
    for group in after.groups:
        if group.tag in before.tags and group.grain == 20:  # coarser ones hold several styles
            assert group.label_tag == before.of(group.tag).label_tag


def test_another_number_of_groups_keeps_what_it_can(crowd: Dataset) -> None:
    before = discover(crowd, FEW)[1]
    fewer = discover(crowd, replace(FEW, max_groups=6), previous=before)[1]
    assert [g.grain for g in fewer.groups].count(20) == 6
    assert len(set(fewer.tags) & set(before.tags)) >= 6
    again = discover(crowd, replace(FEW, grains=(20, 10)), previous=before)[1]
    kept = {tag for tag in before.tags if before.of(tag).grain == 20}
    assert kept <= set(again.tags)
    gone = {tag.value for tag in before.tags if before.of(tag).grain == 60}
    assert gone <= set(again.retired)


class TestTheOwnersFile:
    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        return tmp_path / "groups.toml"

    def test_its_names_survive_refits_and_old_ones_go_on_counting(
        self, crowd: Dataset, found: tuple[Dataset, Groups], path: Path
    ) -> None:
        before = found[1]
        a, b, c, d = (tag.value for tag in before.tags[-4:])
        path.write_text(
            f'drop = ["{d}"]\n[rename]\n"{a}" = "First"\n[merge]\n"Two" = ["{b}", "{c}"]'
        )
        options = replace(FEW, names=str(path))
        data, edited = discover(thinned(crowd, 0.01), options, previous=before)
        assert {"First", "Two"} <= {tag.value for tag in data.tags}
        assert not {a, b, c, d} & {tag.value for tag in data.tags}
        assert edited.of(Tag(DISCOVERED, a)).tag.value == "First"
        # The file is read again; its old names are found in a model that shows the new ones.
        again = discover(crowd, options, previous=edited)[1]
        assert again.aliases == edited.aliases
        assert Tag(DISCOVERED, d) not in (*again.tags, *again.aliases)
        # The owner renames by the name that is shown; presses on both old names still count.
        path.write_text('[rename]\n"First" = "Second"')
        last = discover(crowd, options, previous=again)[1]
        assert last.of(Tag(DISCOVERED, a)).tag.value == "Second"
        assert last.of(Tag(DISCOVERED, "First")).tag.value == "Second"
        # What was merged is apart again, and what was dropped is back.
        assert {b, c, d} <= {tag.value for tag in last.tags}
        assert last.aliases[Tag(DISCOVERED, "Two")].value in (b, c)

    def test_unknown_names_are_an_error_with_the_closest(
        self, crowd: Dataset, found: tuple[Dataset, Groups], path: Path
    ) -> None:
        name = found[1].tags[0].value
        path.write_text(f'drop = ["{name[:-1]}"]')
        with pytest.raises(RuleError, match=f"there is no such group. Closest: {name}"):
            discover(crowd, replace(FEW, names=str(path)))


class TestDiscoveringTeaser(TaggedModelContract):
    def make(self) -> Teaser:
        discovered = DiscoveredTags(grains=(10, 5), factors=8)
        return Teaser(l2_weights=5.0, l2_encoder=5.0, tol=1e-4, discovered=discovered)


EXACT: dict[str, Any] = {"l2_weights": 5.0, "l2_encoder": 5.0, "tol": 1e-9, "dtype": "float64"}


def test_the_encoder_is_that_of_declared_and_discovered_tags(dataset: Dataset) -> None:
    options = DiscoveredTags(grains=(10, 5), factors=8)
    model = Teaser(discovered=options, content=Content(weight=2.0), **EXACT).fit(dataset)
    assert model.groups_ is not None
    table = model.tag_table_
    assert table.learned_tags == (*dataset.tags, *model.groups_.tags, POPULARITY)
    D = table.learned_decoder.toarray()
    assert_allclose(D[:, dataset.n_tags : -1], model.groups_.members.toarray(), rtol=1e-6)
    # Content is what metadata declare: discovered tags are of the interactions themselves.
    X, S = (matrix.astype(float).toarray() for matrix in (dataset.X, dataset.S))
    T, G = content_of(S), X.T @ X
    G += 2.0 * G.diagonal().mean() * T @ T.T
    wanted = exact_encoder(G, D, 5, 5)
    assert_allclose(model.encoder_, wanted, atol=1e-7)
    assert Teaser(**EXACT).fit(dataset).groups_ is None


def test_groups_are_saved_with_the_model_and_kept_by_the_next_fit(
    crowd: Dataset, tmp_path: Path
) -> None:
    before = thinned(crowd, 0.05)
    model = Teaser(discovered=FEW, tol=1e-2).fit(before)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model", Teaser)
    assert loaded.discovered == FEW
    assert loaded.groups_ is not None
    assert model.groups_ is not None
    assert loaded.groups_.found == model.groups_.found
    assert loaded.describe() == model.describe()
    assert loaded.describe()["discovered"]["groups"] == len(model.groups_)
    again = Teaser(discovered=FEW, tol=1e-2).fit(crowd, start=loaded)
    assert again.groups_ is not None
    assert len(set(again.tags_) & set(model.tags_)) >= 0.95 * len(model.tags_)
    # A press on a discovered tag lifts its members.
    tag = again.groups_.tags[0]
    members = again.decoder_[:, [again.tags_.index(tag)]].toarray().ravel()
    assert_allclose(
        members[crowd.item_counts > 0],
        again.groups_.members[:, [0]].toarray().ravel()[crowd.item_counts > 0],
    )
    plain, pressed = (again.scores(again.profile(["i0"], p)) for p in (None, {tag: 3}))
    own = again.profile(["i0"])
    move = own.moves[own.place_of(tag), 5 + 3]
    assert_allclose(pressed - plain, move * members, atol=1e-6)


def test_new_items_get_groups_by_their_tags_but_none_that_is_given(crowd: Dataset) -> None:
    model = Teaser(discovered=FEW, tol=1e-2).fit(crowd)
    table = pl.DataFrame({"item_id": ["n1"], "title": ["New"], "style": ["style 3"]})
    model.add_items(table)
    model.add_items({"n2": ["style=style 4"]})
    D = model.decoder_[[N_ITEMS, N_ITEMS + 1]]
    named = [[str(model.tags_[j]) for j in D[[row]].indices] for row in (0, 1)]
    assert [row[0] for row in named] == ["style=style 3", "style=style 4"]
    assert model.groups_ is not None
    groups = {str(tag) for tag in model.groups_.tags}
    assert all(groups & set(row) for row in named)
    with pytest.raises(ParameterError, match="discovered tags are found by a fit"):
        model.add_items({"n3": [model.groups_.tags[0]]})


def test_what_was_discovered_can_be_shared(crowd: Dataset) -> None:
    given = discover(crowd, FEW, dtype="float64")
    model = Teaser(discovered=FEW, **EXACT)
    alone = model.fit(crowd).encoder_
    prepared = model.prepare(crowd, discovered=given)
    shared = Teaser(discovered=FEW, **EXACT).fit(crowd, prepared=prepared)
    assert shared.groups_ is given[1]
    assert_allclose(shared.encoder_, alone, atol=1e-7)


F64 = np.dtype(np.float64)


def bundles(n: int = 60, k: int = 4, seed: int = 0) -> tuple[Any, Any]:
    """Return unit vectors near k directions, and which direction each is near to."""
    rng = np.random.default_rng(seed)
    group = np.arange(n) % k
    return unit_rows(np.eye(k, 8)[group] + 0.1 * rng.standard_normal((n, 8))), group


def plain_k_means(Y: Any, centroids: Any, rounds: int) -> Any:
    """Every item compared with every centroid, in every round."""
    for _ in range(rounds):
        group = (Y @ centroids.T).argmax(axis=1)
        kept = [Y[group == j].sum(axis=0) for j in range(len(centroids))]
        centroids = unit_rows(np.array(kept))
    return centroids


@pytest.mark.parametrize("rounds", [1, 2, 3, 5, 50])
@pytest.mark.parametrize("seed", range(4))
def test_only_what_moved_is_compared_and_the_result_is_that_of_the_plain_loop(
    seed: int, rounds: int
) -> None:
    Y = unit_rows(np.random.default_rng(seed).standard_normal((300, 5)))
    # Far apart, so that no group is ever empty.
    start = draw_centroids(Y, 12, np.random.default_rng(seed), Y[:0])
    wanted = plain_k_means(Y, start, rounds)
    assert np.isfinite(wanted).all()
    assert_allclose(cluster(Y, start, rounds=rounds), wanted, atol=1e-12)


def test_a_group_that_loses_its_items_gets_those_that_fit_worst() -> None:
    Y, group = bundles()
    # Three of the four begin where no item is.
    begin = np.vstack([np.eye(4, 8)[:1], -np.eye(4, 8)[:1], np.eye(8)[4:5], np.eye(8)[5:6]])
    found = nearest_groups(Y, cluster(Y, begin))[0]
    assert len(np.unique(found)) == 4
    assert_array_equal(found[:, None] == found, group[:, None] == group)
