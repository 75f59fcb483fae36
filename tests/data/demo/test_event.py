"""Events as a whole: their vocabulary and what must go together."""

import polars as pl
import pytest

from teaser.data.demo.event import PRICE_BANDS, audiences, event_types, labels, offers
from teaser.data.demo.generator import LIST_SEPARATOR
from teaser.data.demo.picture import emblems
from teaser.data.demo.places import venue_kinds


def test_vocabularies(items: pl.DataFrame) -> None:
    assert set(items["type"]) == set(event_types())
    assert set(items["theme"]) == set(emblems())
    assert set(items["audience"]) == set(audiences())
    assert set(items["day"]) == {"weekday", "weekend", "multiple days"}
    assert set(items["price_band"]) == set(PRICE_BANDS)
    assert set(items["setting"]) == {kind.setting for kind in venue_kinds().values()}
    given = set(items["labels"].str.split(LIST_SEPARATOR).explode()) - {""}
    assert given == set(labels())


def test_types_and_themes_go_together(items: pl.DataFrame) -> None:
    offered = {(offer.type, offer.theme) for offer in offers()}
    assert set(items.select("type", "theme").rows()) == offered


def test_the_young_are_not_out_at_night(items: pl.DataFrame) -> None:
    young = items.filter(pl.col("audience").is_in(["Toddlers", "Children"]))
    assert young.height > 150
    assert not young["theme"].is_in(["Electronic", "Rock", "Beer", "Stand-up", "Drama"]).any()
    assert not young["labels"].str.contains("late night|first drink").any()
    assert not young["description"].str.contains(r"(19|2\d):\d\d").any()
    assert not young["venue"].str.contains("Muziekclub|Club |Jeugdhuis|Café|Taverne|Trix").any()


@pytest.mark.parametrize(
    ("type_", "expected"),
    [
        ("Family day", {"Families", "Children", "Toddlers"}),
        ("Comedy", {"Everyone", "Adults", "Families", "Children"}),
        ("Festival", {"Everyone", "Adults", "Families", "Teenagers"}),
    ],
)
def test_audience_agrees_with_type(items: pl.DataFrame, type_: str, expected: set[str]) -> None:
    assert set(items.filter(type=type_)["audience"]) <= expected


def test_beer_is_for_adults(items: pl.DataFrame) -> None:
    assert set(items.filter(theme="Beer")["audience"]) == {"Adults"}
