"""Labels agree with the event that carries them."""

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from typing import Any

import polars as pl
import pytest

from teaser.data.demo.event import Condition, Occasion, offers
from teaser.data.demo.generator import LIST_SEPARATOR
from teaser.data.demo.places import towns, venue_kinds

Row = dict[str, object]


@pytest.mark.parametrize(
    ("label", "fits"),
    [
        ("museum pass", lambda row: row["type"] == "Exhibition" and row["price"] > 0),
        ("reduced fare", lambda row: row["price"] >= 6),
        ("under twelve free", lambda row: row["price"] >= 5),
        ("subtitled", lambda row: row["type"] == "Film"),
        ("materials included", lambda row: row["type"] in ("Workshop", "Course")),
        ("bring a picnic", lambda row: row["setting"] != "Indoors"),
        ("dogs welcome", lambda row: row["setting"] in ("Outdoors", "In nature")),
        ("premiere", lambda row: row["type"] in ("Theatre", "Dance")),
        ("buggy friendly", lambda row: row["audience"] in ("Toddlers", "Families")),
        ("first drink included", lambda row: row["audience"] in ("Adults", "Seniors")),
        ("wheelchair accessible", lambda row: row["setting"] != "In nature"),
        ("late night", lambda row: "22:" in row["description"] or "23:" in row["description"]),
    ],
)
def test_labels_agree_with_the_event(
    items: pl.DataFrame, label: str, fits: Callable[[Row], bool]
) -> None:
    labelled = items.filter(pl.col("labels").str.split(LIST_SEPARATOR).list.contains(label))
    assert labelled.height > 5
    for row in labelled.iter_rows(named=True):
        assert fits(row), row


def test_labels_are_few_and_distinct(items: pl.DataFrame) -> None:
    lists = items["labels"].str.split(LIST_SEPARATOR)
    assert lists.list.len().max() == 4
    assert (lists.list.n_unique() == lists.list.len()).all()


def test_labels_said_in_the_text_are_there(items: pl.DataFrame) -> None:
    for clause, label in (
        ("booking required", "booking required"),
        ("accessible by wheelchair", "wheelchair accessible"),
        ("interpreted in sign language", "sign language"),
        ("free with a museum pass", "museum pass"),
    ):
        said = items.filter(pl.col("description").str.contains(clause))
        assert said.height > 5
        assert said["labels"].str.contains(label, literal=True).all()


def occasion(**changes: Any) -> Occasion:
    """A dear evening concert in a hall in Ghent in June, with changes."""
    offer = next(o for o in offers() if (o.type, o.theme) == ("Concert", "Jazz"))
    usual = Occasion(
        offer,
        offer.acts[0],
        towns()[0],
        venue_kinds()["hall"],
        "De Bijloke",
        "Adults",
        date(2026, 6, 5),
        date(2026, 6, 5),
        20.0,
        "20:00",
    )
    return replace(usual, **changes)


@pytest.mark.parametrize(
    ("condition", "changes"),
    [
        (Condition(types=("Concert",)), {"offer": offers()[-1]}),
        (Condition(except_types=(offers()[-1].type,)), {"offer": offers()[-1]}),
        (Condition(themes=("Jazz",)), {"offer": offers()[-1]}),
        (Condition(except_themes=(offers()[-1].theme,)), {"offer": offers()[-1]}),
        (Condition(kinds=("hall",)), {"kind": venue_kinds()["park"]}),
        (Condition(except_kinds=("park",)), {"kind": venue_kinds()["park"]}),
        (Condition(audiences=("Adults", "Seniors")), {"audience": "Children"}),
        (Condition(months=(5, 6)), {"start": date(2026, 7, 1)}),
        (Condition(hours=(20,)), {"hour": "19:30"}),
        (Condition(hours=(20,)), {"hour": ""}),
        (Condition(min_price=20.0), {"price": 19.5}),
        (Condition(min_population=200.0), {"town": towns()[1]}),
        (Condition(open_air=False), {"kind": venue_kinds()["park"]}),
    ],
)
def test_a_condition_holds_only_where_all_of_it_is_met(
    condition: Condition, changes: dict[str, Any]
) -> None:
    assert condition.holds(occasion())
    assert not condition.holds(occasion(**changes))
