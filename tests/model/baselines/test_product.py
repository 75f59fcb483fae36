"""Product: the contract, what its reasons cover, and parts that are fitted or not."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import RULES, small_tables
from numpy.testing import assert_array_equal

import teaser
from teaser import Dataset, Steering, Teaser, artifact
from teaser.baselines import EASE, WMFS, ItemKNN, Product
from teaser.errors import ArtifactError, NotFittedError, ParameterError
from teaser.model.baselines.product import multiply
from teaser.profile import paper_certainty
from teaser.testing import TaggedModelContract


class TestProduct(TaggedModelContract):
    rtol = 1e-6

    def make(self) -> Product:
        return Product(Teaser(l2_weights=5.0, l2_encoder=5.0, tol=1e-4), EASE(l2=5.0))


class TestProductOfOthers(TaggedModelContract):
    def make(self) -> Product:
        return Product(WMFS(l2=2.0, alpha=5.0), ItemKNN(neighbours=30))


@pytest.fixture(scope="module")
def fitted(dataset: Dataset) -> Product:
    parts = Teaser(l2_weights=5.0, l2_encoder=5.0), EASE(l2=5.0, dtype="float64")
    return Product(*parts).fit(dataset)


def test_scores_are_products_of_positive_scores(fitted: Product, dataset: Dataset) -> None:
    tagged, other = fitted.parts
    X = dataset.X[:50]
    presses = [{"town=Ghent": 2}] * 50
    paper = Steering(scale="paper")
    states = tagged.user_states(X, presses, steering=paper)
    raw = tagged.encode(X)
    factor = 1 / np.abs(raw).max(axis=1) * [paper_certainty(h) for h in np.diff(X.indptr)]
    # Before centring, which moves all scores of a user: the sign of a score matters here.
    before = raw @ tagged.tag_table_.learned_decoder.toarray().T
    pressed = states.values - tagged.affinity_batch(X, steering=paper)
    s1 = factor[:, None] * before + pressed @ tagged.decoder_.toarray().T
    assert np.abs(s1 - tagged.score_batch(X, presses, steering=paper)).max() > 0.01
    s2 = other.score_batch(X)
    found = fitted.score_batch(X, presses, steering=paper)
    for u in range(50):
        for i in range(40):
            wanted = max(0.0, s1[u, i]) * max(0.0, s2[u, i])
            assert found[u, i] == pytest.approx(wanted, rel=1e-9, abs=1e-12)
    assert (found == 0).any()
    assert (found > 0).any()


def test_where_the_other_knows_nothing_the_first_decides() -> None:
    found = multiply(
        np.array([[1.0, -2.0, 3.0], [1.0, -2.0, 3.0]]), np.array([[0.0, -1.0, 0.0], [0.5, -1.0, 0]])
    )
    assert_array_equal(found, [[1.0, 0.0, 3.0], [0.5, 0.0, 0.0]])


def test_presses_move_a_user_without_history(fitted: Product) -> None:
    def count_films(presses: dict[str, int]) -> int:
        found = fitted.recommend([], presses, k=5)
        return sum(int(str(r.item_id)[1:]) % 2 for r in found)

    assert count_films({"type=film": 5}) > count_films({})
    found = fitted.recommend([], {"type=film": 5}, k=5)
    assert found[0].cover is not None
    assert found[0].cover.alone
    assert "whole score" in fitted.explain("i1", []).sentences()[-1]


def test_every_answer_says_what_its_reasons_cover(fitted: Product) -> None:
    history = ["i1", "i5"]
    tagged, other = fitted.parts
    for r in fitted.recommend(history, k=5):
        cover = r.cover
        assert cover is not None
        i = int(str(r.item_id)[1:])
        assert (cover.explained_by, cover.other) == ("Teaser", "EASE")
        alone = tagged.explain(r.item_id, history)
        offset = r.general - alone.general
        assert cover.explained == pytest.approx(alone.score + offset)
        row = np.zeros((1, 40))
        row[0, [1, 5]] = 1
        assert cover.unexplained == pytest.approx(other.score_batch(row)[0, i])
        assert r.score == pytest.approx(cover.explained * cover.unexplained)
        assert not cover.alone
        said: Any = fitted.explain(r.item_id, history)
        assert said.cover == cover
        ours = [(getattr(s, "tags", ()), s.contribution) for s in said.reasons]
        theirs = [(getattr(s, "tags", ()), s.contribution) for s in alone.reasons]
        assert sorted(ours) == sorted(theirs)
        assert said.general + sum(said.tags.values()) == pytest.approx(cover.explained)
        assert "part of Teaser" in said.sentences()[-1]
        assert "part of EASE" in said.sentences()[-1]
        assert len(said.sentences()) == len(said.reasons) + 2


def test_two_fitted_models_need_no_fit(dataset: Dataset) -> None:
    tagged, other = Teaser().fit(dataset), EASE().fit(dataset)
    product = Product(tagged, other)
    assert product.parts == (tagged, other)
    again = Product(Teaser(), EASE()).fit(dataset)
    assert product.recommend(["i1"]) == again.recommend(["i1"])
    assert product.items_ == dataset.items


def test_fitting_leaves_the_given_models_alone(dataset: Dataset) -> None:
    tagged, other = Teaser(), EASE()
    Product(tagged, other).fit(dataset)
    for part in (tagged, other):
        with pytest.raises(NotFittedError):
            part.check_fitted()


def test_one_fitted_part_is_not_enough(dataset: Dataset) -> None:
    for fit, missing in ((0, "EASE"), (1, "Teaser")):
        parts: list[Any] = [Teaser(), EASE()]
        parts[fit].fit(dataset)
        product = Product(*parts)
        for ask in (product.recommend, product.profile):
            with pytest.raises(NotFittedError, match=f"{missing} is not"):
                ask(["i1"])


def test_parts_of_different_items_are_refused(dataset: Dataset) -> None:
    other = Dataset.from_tables(*small_tables(n_items=24), rules=RULES)
    product = Product(Teaser().fit(dataset), EASE().fit(other))
    with pytest.raises(ParameterError, match="different items, 40 and 24"):
        product.score_batch(dataset.X)


def test_only_models_can_be_parts(dataset: Dataset) -> None:
    wrong: list[Any] = [(EASE(), Teaser()), (Teaser(), None), ("Teaser", EASE())]
    for parts in wrong:
        with pytest.raises(ParameterError, match="model with tags and another model"):
            Product(*parts).fit(dataset)


def test_new_items_are_refused(fitted: Product) -> None:
    with pytest.raises(ParameterError, match="EASE knows nothing of them"):
        fitted.add_items({"n1": ["type=film"]})


def test_a_folder_with_parts_that_do_not_fit_is_refused(dataset: Dataset, tmp_path: Path) -> None:
    other = Dataset.from_tables(*small_tables(n_items=24), rules=RULES)
    for name, data in (("a", dataset), ("b", other)):
        Product(Teaser(), EASE()).fit(data).save(tmp_path / name)
    a, b = (artifact.read(tmp_path / name) for name in "ab")

    def mixed(mine: Any, theirs: Any) -> dict[str, Any]:
        return {k: (mine if k.startswith("tagged.") else theirs)[k] for k in mine}

    artifact.write(
        tmp_path / "a", kind="Product", settings=a.settings,
        arrays=mixed(a.arrays, b.arrays), tables=mixed(a.tables, b.tables),
    )  # fmt: skip
    with pytest.raises(ArtifactError, match="different items"):
        teaser.load(tmp_path / "a")
