"""The generated events make sense, and the same seed gives the same ones."""

from datetime import date
from typing import Any
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

from teaser.data.demo import RULES, GeneratedEvents, dataset, generate
from teaser.data.demo.generator import CATEGORY_COLUMNS, _generated
from teaser.data.demo.places import DISTANCES_KM, TOWNS
from teaser.data.rules import Category, Rules
from teaser.errors import ParameterError

START = date(2026, 1, 1)


def test_nothing_is_missing(made: GeneratedEvents) -> None:
    assert sum(made.items.null_count().row(0)) == 0
    assert sum(made.interactions.null_count().row(0)) == 0
    for name in (*CATEGORY_COLUMNS, *RULES.roles.values(), "venue"):
        if made.items.schema[name] == pl.String:
            assert (made.items[name].str.strip_chars() != "").all(), name


def test_ids_are_unique_and_known(made: GeneratedEvents) -> None:
    assert made.items["item_id"].is_unique().all()
    assert made.interactions.select("user_id", "item_id").is_unique().all()
    assert made.items["item_id"][0] == "e0001"
    assert made.interactions["user_id"].min() == "p0001"
    known = pl.Series(made.items["item_id"])
    assert made.interactions["item_id"].is_in(known.implode()).all()


@pytest.mark.parametrize("wrong", [{"seed": -1}, {"n_events": 0}, {"n_users": 0}])
def test_senseless_sizes_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        generate(**wrong)


def test_the_same_seed_gives_the_same_events() -> None:
    made = []
    for _ in range(2):
        _generated.cache_clear()
        made.append(generate(n_events=300, n_users=200, start=START))
    assert made[0].items.equals(made[1].items)
    assert made[0].interactions.equals(made[1].interactions)


def test_a_start_moves_dates_and_keeps_what_does_not_depend_on_them() -> None:
    one, other = (
        generate(n_events=400, n_users=20, start=start) for start in (START, date(2027, 11, 15))
    )
    kept = ["item_id", "type", "theme", "audience", "town", "setting", "venue"]
    assert one.items.select(kept).equals(other.items.select(kept))
    assert not one.items["date"].equals(other.items["date"])


def test_without_a_start_the_events_begin_today() -> None:
    before = date.today()
    found = generate(n_events=300, n_users=5)
    after = date.today()
    days = {before, after}
    assert any(found.items.equals(generate(n_events=300, n_users=5, start=d).items) for d in days)
    assert (found.items["date"] >= before).all()


@pytest.mark.parametrize("wrong", ["2026-01-01", 2026, date(1, 1, 1), date.max])
def test_a_start_that_is_no_usable_date_is_refused(wrong: Any) -> None:
    with pytest.raises(ParameterError, match="start must"):
        generate(n_events=3, n_users=3, start=wrong)


def test_a_data_set_takes_the_rules_of_the_events_or_others() -> None:
    sizes: dict[str, Any] = {"n_events": 60, "n_users": 40, "start": START}
    usual = dataset(**sizes)
    assert {tag.feature for tag in usual.tags} == {*CATEGORY_COLUMNS, "labels"}
    assert usual.rules.roles == RULES.roles
    towns = dataset(rules=Rules((Category("town", min_items=1),)), **sizes)
    assert {tag.feature for tag in towns.tags} == {"town"}


def test_popularity_has_a_long_tail(made: GeneratedEvents) -> None:
    counts = np.sort(made.interactions.group_by("item_id").len()["len"].to_numpy())[::-1]
    assert len(counts) > 0.98 * made.items.height
    top_tenth = counts[: made.items.height // 10].sum()
    assert 0.25 < top_tenth / counts.sum() < 0.6
    assert counts[0] > 8 * np.median(counts)


def test_choices_precede_the_event(choices: pl.DataFrame) -> None:
    lead = (choices["date"] - choices["chosen_on"]).dt.total_days()
    assert lead.min() == 0
    assert max(lead) <= 120


def test_choices_stay_near_home(choices: pl.DataFrame, homes: pl.DataFrame) -> None:
    index = {town.name: position for position, town in enumerate(TOWNS)}
    known = choices.join(homes, on="user_id").filter(pl.col("town") != pl.col("home"))
    here = known["home"].replace_strict(index).to_numpy()
    there = known["town"].replace_strict(index).to_numpy()
    chance = DISTANCES_KM[here, np.random.default_rng(0).permutation(there)]
    assert np.median(DISTANCES_KM[here, there]) < 0.75 * np.median(chance)


@pytest.mark.parametrize(
    ("feature", "one", "like", "unlike"),
    [
        ("theme", "Classical", "Choir", "Electronic"),
        ("theme", "Electronic", "Rock", "Ballet"),
        ("type", "Walk", "Sport", "Theatre"),
        ("type", "Workshop", "Course", "Festival"),
        ("audience", "Children", "Families", "Adults"),
    ],
)
def test_tastes_hang_together(
    choices: pl.DataFrame, feature: str, one: str, like: str, unlike: str
) -> None:
    fans = choices.filter(pl.col(feature) == one)["user_id"].unique()
    fans_choose = choices.filter(pl.col("user_id").is_in(fans.implode()))[feature]
    all_choose = choices[feature]

    def lift(value: str) -> float:
        share = float((fans_choose == value).sum()) / len(fans_choose)
        return share / (float((all_choose == value).sum()) / len(all_choose))

    assert lift(like) > 1.15 * lift(unlike)


SVG = "{http://www.w3.org/2000/svg}"


def _parse(picture: str) -> ElementTree.Element:
    return ElementTree.fromstring(picture)  # noqa: S314 - our own drawing


def test_every_picture_is_safe_small_svg(items: pl.DataFrame) -> None:
    assert max(items["picture"].str.len_bytes()) < 2048
    assert not items["picture"].str.contains(r"(?i)script|href|style|url\(|\son\w+=").any()
    for picture in items["picture"]:
        root = _parse(picture)
        assert root.tag == f"{SVG}svg"
        assert root.get("viewBox") == "0 0 320 180"
        assert root.get("role") == "img"
