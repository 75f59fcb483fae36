"""The frames of generated events: sizes, columns, repeatability, and the dates they start on."""

from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest

from teaser.data.demo import RULES, GeneratedEvents, dataset, generate
from teaser.data.demo.generator import CATEGORY_COLUMNS, LIST_SEPARATOR, _generated
from teaser.data.rules import Category, Rules
from teaser.errors import ParameterError

START = date(2026, 1, 1)


@pytest.fixture(autouse=True)
def made_anew() -> None:
    """Forget the last events: a test of equal ones compares what was made twice."""
    _generated.cache_clear()


def test_sizes(made: GeneratedEvents) -> None:
    assert made.items.height == 2400
    assert made.interactions["user_id"].n_unique() == 9000
    assert 105_000 < made.interactions.height < 140_000


def test_columns(made: GeneratedEvents) -> None:
    shown = {"item_id", "latitude", "longitude", "price", "venue", "end_date"}
    assert set(made.items.columns) == shown | {*CATEGORY_COLUMNS, "labels", *RULES.roles.values()}
    assert made.interactions.columns == ["user_id", "item_id", "day"]
    for name in ("date", "end_date"):
        assert made.items.schema[name] == pl.Date
    assert made.interactions.schema["day"] == pl.Date


def test_nothing_is_missing(made: GeneratedEvents) -> None:
    assert sum(made.items.null_count().row(0)) == 0
    assert sum(made.interactions.null_count().row(0)) == 0
    for name in (*CATEGORY_COLUMNS, *RULES.roles.values(), "venue"):
        if made.items.schema[name] == pl.String:
            assert (made.items[name].str.strip_chars() != "").all(), name


def test_separator_occurs_in_lists_only(items: pl.DataFrame) -> None:
    for name in (*CATEGORY_COLUMNS, "title", "venue"):
        assert not items[name].str.contains(LIST_SEPARATOR, literal=True).any(), name
    assert items["labels"].str.contains(LIST_SEPARATOR, literal=True).any()


def test_ids_are_unique_and_known(made: GeneratedEvents) -> None:
    assert made.items["item_id"].is_unique().all()
    assert made.items["item_id"][0] == "e0001"
    assert made.interactions["user_id"].min() == "p0001"
    known = pl.Series(made.items["item_id"])
    assert made.interactions["item_id"].is_in(known.implode()).all()


def test_each_pair_occurs_once(made: GeneratedEvents) -> None:
    assert made.interactions.select("user_id", "item_id").is_unique().all()


def test_other_sizes() -> None:
    small = generate(n_events=30, n_users=12, start=START)
    assert small.items.height == 30
    assert small.interactions["user_id"].n_unique() == 12


@pytest.mark.parametrize("wrong", [{"seed": -1}, {"n_events": 0}, {"n_users": 0}])
def test_senseless_sizes_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        generate(**wrong)


def test_same_seed_same_frames(made: GeneratedEvents) -> None:
    again = generate(start=START)
    assert again.items.equals(made.items)
    assert again.interactions.equals(made.interactions)


def test_the_same_events_are_made_once_and_each_caller_has_frames_of_its_own() -> None:
    first, second = (generate(n_events=20, n_users=10) for _ in range(2))
    assert _generated.cache_info().hits == 1
    first.items.insert_column(0, pl.lit(1).alias("more"))
    assert "more" not in second.items.columns
    assert "more" not in generate(n_events=20, n_users=10).items.columns


def test_other_seed_other_frames(made: GeneratedEvents) -> None:
    other = generate(seed=1, n_users=200, start=START)
    assert np.mean(other.items["title"].to_numpy() != made.items["title"].to_numpy()) > 0.9
    shared = set(other.items["picture"]) & set(made.items["picture"])
    assert len(shared) < 0.1 * made.items.height
    first = made.interactions.filter(pl.col("user_id") <= "p0200")
    assert not first.equals(other.interactions)


def test_users_do_not_change_the_events(items: pl.DataFrame) -> None:
    assert generate(n_users=3, start=START).items.equals(items)


def test_global_state_is_untouched() -> None:
    before = np.random.get_state()  # noqa: NPY002
    generate(n_events=20, n_users=5)
    after = np.random.get_state()  # noqa: NPY002
    assert str(after) == str(before)


def test_a_seed_and_a_start_give_these_events() -> None:
    small = generate(n_events=3, n_users=2, start=START).items
    assert small.select("title", "venue", "date", "price").rows() == [
        (
            "Sixty beers at the Montagne de Bueren",
            "Brasserie du Moulin, Liège",
            date(2026, 8, 2),
            9.0,
        ),
        (
            "The class of '94 plays Brussels",
            "Maison de la culture de Bruxelles",
            date(2026, 2, 16),
            10.0,
        ),
        ("The last tram to Kortrijk", "Théâtre royal de Mouscron", date(2026, 8, 8), 22.0),
    ]


def test_events_lie_in_the_year_from_their_start() -> None:
    for start in (date(2027, 11, 15), date(2028, 2, 29), date(2031, 12, 25)):
        moved = generate(n_events=400, n_users=20, start=start).items
        assert (moved["date"] >= start).all()
        assert (moved["date"] < start + timedelta(days=14)).any()
        assert (moved["date"] < start + timedelta(days=365)).all()
        assert (moved["end_date"] >= moved["date"]).all()


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


def test_a_moment_starts_on_its_day() -> None:
    moment = datetime(2026, 1, 1, 13, 30)
    sizes = {"n_events": 20, "n_users": 5}
    assert generate(start=moment, **sizes).items.equals(generate(start=START, **sizes).items)


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
