"""Venues: their names, and which towns have them."""

import re

import polars as pl
import pytest

from teaser.data.demo.places import towns, venue_kinds


def test_venues_speak_the_language_of_the_town(items: pl.DataFrame) -> None:
    language = {town.name: town.language for town in towns()}
    for town, venue in items.select("town", "venue").iter_rows():
        if language[town] == "nl":
            assert not re.search(r"Maison|Église|Théâtre|Musée|Quai |Parc d", venue), venue
        elif language[town] == "fr":
            assert not re.search(r"centrum|kerk|schouwburg|Zwembad|kaai|park\b", venue), venue


def test_generic_venues_name_their_town(items: pl.DataFrame) -> None:
    local = {town.name: town.local_name for town in towns()}
    halls = items.filter(
        pl.col("venue").str.contains("Cultuurcentrum|Centre culturel|Zwembad|Piscine")
    )
    assert halls.height > 100
    for town, venue in halls.select("town", "venue").iter_rows():
        assert local[town] in venue or venue == "Cultuurcentrum De Werf", venue


def test_no_quay_without_water_no_beach_inland_no_wood_in_the_city() -> None:
    by_name, kinds = {town.name: town for town in towns()}, venue_kinds()
    assert kinds["quay"].exists_in(by_name["Ghent"])
    assert not kinds["quay"].exists_in(by_name["Ypres"])
    assert kinds["beach"].exists_in(by_name["Ostend"])
    assert not kinds["beach"].exists_in(by_name["Bruges"])
    assert kinds["wood"].exists_in(by_name["Uccle"])
    assert not kinds["wood"].exists_in(by_name["Saint-Gilles"])


@pytest.mark.parametrize(
    ("venue", "setting"),
    [
        (r"^(Stadspark|Parc communal|Citadelpark|Rivierenhof)", "Outdoors"),
        (r"^(Grote Markt|Grand-Place|Kerkplein|Place du Marché)", "Outdoors"),
        (r"^(Stadsbos|Kloosterbos|Bois )", "In nature"),
        (r"Natuurreservaat|Réserve naturelle", "In nature"),
        (r"^(Cultuurcentrum|Centre culturel|Bibliotheek|Bibliothèque|Filmhuis)", "Indoors"),
        (r"kerk, |^Église|^Zwembad|^Piscine", "Indoors"),
        (r"^(Tent |Circustent|Chapiteau)", "Under canvas"),
        (r"^(Kasteeldomein|Château|Hoeve|Ferme )", "Indoors and outdoors"),
    ],
)
def test_setting_agrees_with_venue(items: pl.DataFrame, venue: str, setting: str) -> None:
    there = items.filter(
        pl.col("venue").str.contains(venue) & (pl.col("venue") != "Ferme du Biéreau")
    )
    assert there.height > 3
    assert set(there["setting"]) == {setting}
