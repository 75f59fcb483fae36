"""What decides in lists, kept with the model: shares, data, saved and read back."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from saved_folder import forge

import teaser
from teaser import Category, Dataset, ListOf, Teaser
from teaser.errors import ArtifactError
from teaser.transparency import OTHER_PARTS, DataSources, FeatureSource, Transparency

USERS = pl.DataFrame({"user_id": ["u0", "u1", "u2"], "age": ["old", "old", "young"]})


@pytest.fixture
def told(model: Teaser) -> Transparency:
    assert model.transparency_ is not None
    return model.transparency_


def test_all_shares_sum_to_one_the_largest_first(told: Transparency) -> None:
    parts = told.shares()
    shares = [share for _, _, share in parts]
    assert sum(shares) == pytest.approx(1)
    assert shares == sorted(shares, reverse=True)
    assert [name for kind, name, _ in parts if kind == "feature"] == sorted(
        told.impacts.features, key=lambda name: -told.impacts.features[name]
    )
    assert {kind for kind, name, _ in parts if name is None} == set(OTHER_PARTS)
    frame = told.to_frame()
    assert frame["share"].to_list() == shares
    assert set(frame["press_change"].drop_nulls()) == set(told.impacts.press_changes.values())


def test_sources_count_and_name_the_columns_of_the_data() -> None:
    items = pl.DataFrame(
        {
            "item_id": ["a", "b", "c"],
            "title": ["A", "B", "C"],
            "genre": ["x|y", "x", "y"],
            "first": ["p", "q", "p"],
            "second": ["q", None, "r"],
            "price": [1.0, 2.0, 3.0],
        }
    )
    interactions = pl.DataFrame(
        {"user_id": ["u0", "u0", "u1"], "item_id": ["a", "b", "c"], "stars": [5, 4, 1]}
    )
    rules = teaser.Rules(
        (
            ListOf("genre"),
            Category("first", feature="people"),
            Category("second", feature="people"),
        ),
        roles={"title": "title"},
    )
    data = Dataset.from_tables(
        interactions, items, rules=rules, users=USERS, positive="stars >= 4", negative="stars <= 1",
        user_rules=[Category("age", min_items=1)],
    )  # fmt: skip
    found = DataSources.of(data, uses_user_features=False)
    assert found == DataSources(
        n_users=1,
        n_items=3,
        n_interactions=2,
        n_disliked=0,
        strengths=False,
        features=(
            FeatureSource("genre", ("genre",), 2),
            FeatureSource("people", ("first", "second"), 3),
        ),
        n_discovered=0,
        user_features=(FeatureSource("age", ("age",), 1),),
        uses_user_features=False,
        shown_columns={"title": "title"},
        unused_columns=("price",),
    )


def test_it_is_saved_with_the_model_and_read_back(
    model: Teaser, told: Transparency, tmp_path: Path
) -> None:
    model.save(tmp_path / "m")
    assert teaser.load(tmp_path / "m").transparency_ == told
    assert Transparency.from_dict(told.as_dict()) == told


WRONG: dict[str, Callable[[dict[str, Any]], Any]] = {
    "shares sum to": lambda t: t["impacts"].update(general=0.9),
    "below 0": lambda t: t["impacts"].update(general=-0.1),
    "isoformat": lambda t: t.update(date="yesterday"),
    "'sources' is missing": lambda t: t.pop("sources"),
    "not iterable": lambda t: t["sources"].update(features=3),
}


@pytest.mark.parametrize("said", WRONG)
def test_what_was_forged_is_refused(said: str, model: Teaser, tmp_path: Path) -> None:
    model.save(tmp_path / "m")
    forge(tmp_path / "m", lambda manifest: WRONG[said](manifest["settings"]["transparency"]))
    with pytest.raises(ArtifactError, match=said):
        teaser.load(tmp_path / "m")
