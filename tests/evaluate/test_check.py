"""The check of a model's reasons, against counts by hand on small data."""

import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from conftest import RULES, small_tables

import teaser
from teaser import Dataset, Teaser
from teaser.data.partitions import write_partitions
from teaser.errors import NotFittedError, ParameterError
from teaser.evaluate import Check, check_model
from teaser.evaluate.advice import is_internal
from teaser.explain import Reason
from teaser.testing import example_dataset, example_tables


@pytest.fixture(scope="module")
def found(model: Teaser, dataset: Dataset) -> Check:
    return check_model(model, dataset)


def test_parts_are_those_of_the_top_20(found: Check, model: Teaser, dataset: Dataset) -> None:
    assert found.n_users == 300  # everybody
    lists = [
        [model.items_.index_of(r.item_id) for r in model.recommend(_history(dataset, u), k=20)]
        for u in range(dataset.n_users)
    ]
    wanted = model.list_shares(dataset.X, np.array(lists))
    assert found.parts == pytest.approx(wanted.parts)
    assert found.features == pytest.approx(wanted.features)
    assert model.transparency_ is not None
    told = model.transparency_.impacts  # the same people: the same shares
    assert found.parts["general"] == pytest.approx(told.general)
    assert found.features == pytest.approx(told.features)


def test_first_reasons_are_those_that_people_get(
    found: Check, model: Teaser, dataset: Dataset
) -> None:
    counts: dict[str, int] = {}
    for user in range(dataset.n_users):
        for entry in model.recommend(_history(dataset, user), k=20):
            reason = entry.reasons[0] if entry.reasons else None
            first = reason.tag.feature if isinstance(reason, Reason) else "none"
            counts[first] = counts.get(first, 0) + 1
    total = sum(counts.values())
    assert found.first_reasons == pytest.approx({k: n / total for k, n in counts.items()})
    assert found.without_reasons == pytest.approx(counts.get("none", 0) / total)


def test_tags_that_say_nothing_are_named() -> None:
    interactions, items = small_tables()
    n = items.height
    items = items.with_columns(
        kind=pl.lit("event"),
        twin=pl.col("type"),
        code=pl.Series([f"c{i}" if i < 3 else None for i in range(n)]),
    )
    rules = [*RULES, *(teaser.Category(c, min_items=1) for c in ("kind", "twin", "code"))]
    data = Dataset.from_tables(interactions, items, rules=rules)
    found = check_model(Teaser().fit(data), data, stability=False)
    assert found.common_tags == ("kind=event",)
    assert found.lonely_tags == ("code=c0", "code=c1", "code=c2")
    assert ("type=concert", "twin=concert") in found.near_equal
    assert "kind" in found.silent  # centring leaves nothing of a value that all items have
    said = "\n".join(found.lines())
    assert 'drop = ["event"], under column = "kind"' in said
    assert 'min_items = 2, under column = "code"' in said
    assert "told as one: type=concert and town=Ghent" in said


def test_bare_items_have_neither_tag_nor_neighbour(dataset: Dataset) -> None:
    S = dataset.S.tolil()
    S[:10] = 0
    bare = replace(dataset, S=S.tocsr())
    tags = check_model(Teaser().fit(bare), bare, stability=False)
    assert tags.bare_items == pytest.approx(0.25)
    assert "  Add a column that all items have, or fit with discovered tags." in tags.lines()
    near = Teaser(remainder=teaser.extensions.Remainder(l2=5.0, neighbours=5)).fit(bare)
    found = check_model(near, bare, stability=False)
    assert found.bare_items == 0
    assert found.parts["viewed"] > 0


def test_halves_of_many_people_agree_more(found: Check) -> None:
    many = example_dataset(n_users=3000)
    steady = check_model(Teaser().fit(many), many).stability
    assert found.stability is not None
    assert steady is not None
    assert steady.profiles > max(0.7, found.stability.profiles)
    assert 0.5 < found.stability.lists <= 1


def test_partitions_are_checked_without_stability(tmp_path: Path, model: Teaser) -> None:
    interactions, items = small_tables()
    write_partitions(interactions, tmp_path / "parts", user="user_id", item="item_id", parts=2)
    data = Dataset.from_partitions(tmp_path / "parts", items, rules=RULES)
    found = check_model(Teaser().fit(data), data)
    assert found.stability is None
    assert found.n_users > 100


def test_another_data_set_is_refused(model: Teaser, dataset: Dataset) -> None:
    other = example_dataset(n_items=30)
    with pytest.raises(ParameterError, match="30 items, and the model was fitted to 40"):
        check_model(model, other)
    with pytest.raises(NotFittedError):
        check_model(Teaser(), dataset)


@pytest.fixture(scope="module")
def tables() -> tuple[pl.DataFrame, pl.DataFrame]:
    """Interactions and items with words that say nothing, and with labels of their keepers."""
    interactions, items = example_tables(n_users=1500, n_items=200)
    rng = np.random.default_rng(0)
    words = [f"w{chr(97 + n % 26)}{n}" for n in range(40)]
    junk = ["|".join(rng.choice(words, 8, replace=False)) for _ in range(items.height)]
    styles = {"concert": ["Jazz", "jazz"], "film": ["Blues", "n/a"]}
    label = [styles[kind][int(rng.random() < 0.2)] for kind in items["type"]]
    label[:6] = ["Admin: check", "Admin: no picture"] * 3
    return interactions, items.with_columns(pl.Series("junk", junk), pl.Series("style", label))


def telling(found: Check) -> float:
    """How often values are chosen again, by the share of scores that their feature carries."""
    carried = sum(found.features.values())
    return sum(share * found.repeats[f] for f, share in found.features.items()) / carried


class TestAdvice:
    """Columns and values that do harm are named once, and a second check is quiet."""

    def test_a_second_check_shows_that_the_advice_helped(
        self, tables: tuple[pl.DataFrame, pl.DataFrame]
    ) -> None:
        rules = (teaser.Category("type"), teaser.ListOf("junk"), teaser.Category("style"))
        data = Dataset.from_tables(*tables, rules=rules)
        first = check_model(Teaser().fit(data), data, stability=False)
        by_feature = [advice.feature for advice in first.advice]
        assert by_feature.count("junk") == 1
        assert "type" not in by_feature
        lines = [advice.line for advice in first.advice]
        assert 'delete the rule with column = "junk"' in lines
        (drop,) = (line for line in lines if line.startswith("drop"))
        assert sorted(tomllib.loads(drop.partition("]")[0] + "]")["drop"]) == ["Admin:*", "n/a"]
        assert drop.endswith('under column = "style"')
        assert 'merge = {Jazz = ["jazz"]}, under column = "style"' in lines
        assert first.features["junk"] > 0.2
        said = "\n".join(first.lines())
        assert "junk carries" in said
        assert "Without it nDCG@100 is" in said

        changed = (
            teaser.Category("type"),
            teaser.Category("style", drop=("n/a", "Admin:*"), merge={"Jazz": ("jazz",)}),
        )
        better = Dataset.from_tables(*tables, rules=changed)
        second = check_model(Teaser().fit(better), better, stability=False)
        assert not {"junk", "n/a"} & {advice.feature for advice in second.advice}
        assert not any("drop" in a.line or "merge" in a.line for a in second.advice)
        assert first.first_reasons["junk"] > 0
        assert "junk" not in second.first_reasons
        assert telling(second) > 1.2 * telling(first)
        assert f"x{second.repeats['type']:.2f}" in "\n".join(second.lines())

    def test_held_out_people_are_not_those_of_the_twin(
        self, tables: tuple[pl.DataFrame, pl.DataFrame]
    ) -> None:
        data = Dataset.from_tables(*tables, rules=[teaser.Category("type")])
        found = check_model(Teaser().fit(data), data, stability=False)
        assert found.truth is not None
        assert 0 < found.truth.n_people <= 300
        assert found.repeats["type"] > 1.5
        few = data.at(np.arange(30))
        assert check_model(Teaser().fit(few), few, stability=False).truth is None


@pytest.mark.parametrize(
    ("value", "internal"),
    [
        ("n/a", True),
        ("Admin: Better Description Needed!", True),
        ("B000123", True),
        ("cat_17_x", True),
        ("Unknown", True),
        ("Jazz", False),
        ("1990s", False),
        ("blink-182", False),
        ("Unknown Pleasures", False),
        ("test pilots", False),
    ],
)
def test_labels_that_are_not_for_readers_are_told_by_their_form(value: str, internal: bool) -> None:
    assert is_internal(value) is internal


def _history(dataset: Dataset, user: int) -> list[str | int]:
    return [dataset.items[i] for i in dataset.X[[user]].indices.tolist()]
