"""The generated catalogue: sizes, coherence of every event, and how people choose."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

from teaser.data._events.emblem import EMBLEMS
from teaser.data._events.label import LABELS
from teaser.data._events.listing import OFFERS
from teaser.data._events.picture import SCENES
from teaser.data._events.places import TOWNS, distances_km, neighbours
from teaser.data._events.programme import TYPES
from teaser.data._events.venues import KINDS, exists_in
from teaser.data.events import (
    CATEGORY_COLUMNS,
    DAYS,
    LIST_COLUMNS,
    LIST_SEPARATOR,
    PRICE_BANDS,
    ROLES,
    TAG_COLUMNS,
    Catalogue,
    generate,
)
from teaser.errors import ParameterError

Row = dict[str, object]
AUDIENCES = {"Everyone", "Families", "Toddlers", "Children", "Teenagers", "Adults", "Seniors"}
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return generate()


@pytest.fixture(scope="module")
def items(catalogue: Catalogue) -> pl.DataFrame:
    return catalogue.items


@pytest.fixture(scope="module")
def choices(catalogue: Catalogue) -> pl.DataFrame:
    """Interactions with the columns of the event chosen."""
    return catalogue.interactions.rename({"day": "chosen_on"}).join(
        catalogue.items.drop("picture", "description"), on="item_id"
    )


@pytest.fixture(scope="module")
def homes(choices: pl.DataFrame) -> pl.DataFrame:
    """The town each person chose most often: nearest to a home that the frames can tell."""
    return (
        choices.group_by("user_id", "town")
        .len()
        .sort("len", "town", descending=[True, False])
        .unique("user_id", keep="first", maintain_order=True)
        .select("user_id", home="town")
    )


class TestTables:
    def test_sizes(self, catalogue: Catalogue) -> None:
        assert catalogue.items.height == 2400
        assert catalogue.interactions["user_id"].n_unique() == 9000
        assert 105_000 < catalogue.interactions.height < 140_000

    def test_columns(self, catalogue: Catalogue) -> None:
        shown = {"item_id", "latitude", "longitude", "price", "venue", "end_date"}
        assert set(catalogue.items.columns) == shown | set(TAG_COLUMNS) | set(ROLES.values())
        assert catalogue.interactions.columns == ["user_id", "item_id", "day"]
        assert TAG_COLUMNS == CATEGORY_COLUMNS + LIST_COLUMNS
        for name in ("date", "end_date"):
            assert catalogue.items.schema[name] == pl.Date
        assert catalogue.interactions.schema["day"] == pl.Date

    def test_nothing_is_missing(self, catalogue: Catalogue) -> None:
        assert sum(catalogue.items.null_count().row(0)) == 0
        assert sum(catalogue.interactions.null_count().row(0)) == 0
        for name in (*CATEGORY_COLUMNS, *ROLES.values(), "venue"):
            if catalogue.items.schema[name] == pl.String:
                assert (catalogue.items[name].str.strip_chars() != "").all(), name

    def test_separator_occurs_in_lists_only(self, items: pl.DataFrame) -> None:
        for name in (*CATEGORY_COLUMNS, "title", "venue"):
            assert not items[name].str.contains(LIST_SEPARATOR, literal=True).any(), name
        assert items["labels"].str.contains(LIST_SEPARATOR, literal=True).any()

    def test_ids_are_unique_and_known(self, catalogue: Catalogue) -> None:
        assert catalogue.items["item_id"].is_unique().all()
        assert catalogue.items["item_id"][0] == "e0001"
        assert catalogue.interactions["user_id"].min() == "p0001"
        known = pl.Series(catalogue.items["item_id"])
        assert catalogue.interactions["item_id"].is_in(known.implode()).all()

    def test_each_pair_occurs_once(self, catalogue: Catalogue) -> None:
        assert catalogue.interactions.select("user_id", "item_id").is_unique().all()

    def test_other_sizes(self) -> None:
        small = generate(n_events=30, n_people=12)
        assert small.items.height == 30
        assert small.interactions["user_id"].n_unique() == 12

    @pytest.mark.parametrize("wrong", [{"seed": -1}, {"n_events": 0}, {"n_people": 0}])
    def test_senseless_sizes_are_refused(self, wrong: dict[str, int]) -> None:
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            generate(**wrong)


class TestDeterminism:
    def test_same_seed_same_frames(self, catalogue: Catalogue) -> None:
        again = generate()
        assert again.items.equals(catalogue.items)
        assert again.interactions.equals(catalogue.interactions)

    def test_other_seed_other_frames(self, catalogue: Catalogue) -> None:
        other = generate(seed=1, n_people=200)
        assert np.mean(other.items["title"].to_numpy() != catalogue.items["title"].to_numpy()) > 0.9
        shared = set(other.items["picture"]) & set(catalogue.items["picture"])
        assert len(shared) < 0.1 * catalogue.items.height
        first = catalogue.interactions.filter(pl.col("user_id") <= "p0200")
        assert not first.equals(other.interactions)

    def test_people_do_not_change_the_events(self, items: pl.DataFrame) -> None:
        assert generate(n_people=3).items.equals(items)

    def test_global_state_is_untouched(self) -> None:
        before = np.random.get_state()  # noqa: NPY002
        generate(n_events=20, n_people=5)
        after = np.random.get_state()  # noqa: NPY002
        assert str(after) == str(before)


class TestPlaces:
    def test_town_region_and_coordinates_agree(self, items: pl.DataFrame) -> None:
        places = items.select("town", "region", "latitude", "longitude").unique()
        expected = {(t.name, t.region, t.latitude, t.longitude) for t in TOWNS}
        assert set(places.rows()) <= expected
        assert places.height >= 95

    def test_towns_lie_in_belgium_and_apart(self) -> None:
        assert len({town.name for town in TOWNS}) == len(TOWNS)
        assert len({town.region for town in TOWNS}) == 11
        for town in TOWNS:
            assert 49.49 < town.latitude < 51.51, town
            assert 2.54 < town.longitude < 6.41, town
        apart = distances_km()[~np.eye(len(TOWNS), dtype=bool)]
        assert apart.min() > 0.5

    @pytest.mark.parametrize(
        ("one", "other", "km"),
        [("Ghent", "Deinze", 15), ("Ghent", "Liège", 138), ("Ostend", "Arlon", 270)],
    )
    def test_distances_are_those_on_the_map(self, one: str, other: str, km: float) -> None:
        names = [town.name for town in TOWNS]
        assert distances_km()[names.index(one), names.index(other)] == pytest.approx(km, rel=0.06)

    def test_neighbours_are_the_nearest(self) -> None:
        names = [town.name for town in TOWNS]
        assert "Deinze" in {town.name for town in neighbours(names.index("Ghent"))}
        assert "Herstal" in {town.name for town in neighbours(names.index("Liège"))}

    def test_events_follow_population(self, items: pl.DataFrame) -> None:
        counts = dict(items.group_by("town").len().iter_rows())
        drawn = [counts.get(town.name, 0) for town in TOWNS]
        assert np.corrcoef(drawn, [town.population for town in TOWNS])[0, 1] > 0.9

    def test_venues_speak_the_language_of_the_town(self, items: pl.DataFrame) -> None:
        language = {town.name: town.language for town in TOWNS}
        for town, venue in items.select("town", "venue").iter_rows():
            if language[town] == "nl":
                assert not re.search(r"Maison|Église|Théâtre|Musée|Quai |Parc d", venue), venue
            elif language[town] == "fr":
                assert not re.search(r"centrum|kerk|schouwburg|Zwembad|kaai|park\b", venue), venue

    def test_generic_venues_name_their_town(self, items: pl.DataFrame) -> None:
        local = {town.name: town.local for town in TOWNS}
        halls = items.filter(
            pl.col("venue").str.contains("Cultuurcentrum|Centre culturel|Zwembad|Piscine")
        )
        assert halls.height > 100
        for town, venue in halls.select("town", "venue").iter_rows():
            assert local[town] in venue or venue == "Cultuurcentrum De Werf", venue

    def test_no_quay_without_water_no_beach_inland_no_wood_in_the_city(self) -> None:
        towns = {town.name: town for town in TOWNS}
        assert exists_in("quay", towns["Ghent"])
        assert not exists_in("quay", towns["Ypres"])
        assert exists_in("beach", towns["Ostend"])
        assert not exists_in("beach", towns["Bruges"])
        assert exists_in("wood", towns["Uccle"])
        assert not exists_in("wood", towns["Saint-Gilles"])


class TestEvents:
    def test_vocabularies(self, items: pl.DataFrame) -> None:
        assert set(items["type"]) == set(TYPES)
        assert set(items["theme"]) == set(EMBLEMS)
        assert set(items["audience"]) == AUDIENCES
        assert set(items["day"]) == set(DAYS)
        assert set(items["price_band"]) == set(PRICE_BANDS)
        assert set(items["setting"]) == {kind.setting for kind in KINDS.values()}
        labels = set(items["labels"].str.split(LIST_SEPARATOR).explode()) - {""}
        assert labels == set(LABELS)

    def test_types_and_themes_go_together(self, items: pl.DataFrame) -> None:
        offered = {(offer.type, offer.theme) for offer in OFFERS}
        assert set(items.select("type", "theme").rows()) == offered

    def test_titles_are_distinct_and_finished(self, items: pl.DataFrame) -> None:
        assert items["title"].is_unique().all()
        assert not items["title"].str.contains(r"[{}|]|  |, ,| $").any()
        assert not items["title"].str.contains(r"\bin (\S+) in \b").any()
        assert items["title"].str.len_chars().is_between(8, 75).all()

    def test_titles_name_no_other_town(self, items: pl.DataFrame) -> None:
        # A title may link a town with a neighbour ("The last tram to Enghien"), not with a far one.
        names = [town.name for town in TOWNS]
        near = {
            name: {name, *(town.name for town in neighbours(index, 4))}
            for index, name in enumerate(names)
        }
        long_names = [name for name in names if len(name) > 4]
        for town, title in items.select("town", "title").iter_rows():
            for name in long_names:
                if re.search(rf"\b{name}\b(?!-)", title):
                    inside = any(name in other for other in near[town])
                    assert inside, (town, title)

    def test_descriptions_are_two_to_three_sentences(self, items: pl.DataFrame) -> None:
        assert not items["description"].str.contains(r"[{}|]|  ").any()
        assert items["description"].str.ends_with(".").all()
        assert items["description"].str.len_chars().is_between(40, 330).all()
        assert items["description"].n_unique() > 2300

    def test_text_is_true_utf_8(self, items: pl.DataFrame) -> None:
        text = " ".join([*items["title"], *items["description"], *items["venue"], *items["town"]])
        for word in ("Liège", "Agnès", "Église", "Dvořák"):
            assert word in text
        assert "Ã" not in text
        assert "\ufffd" not in text

    def test_day_agrees_with_the_dates(self, items: pl.DataFrame) -> None:
        for row in items.select("date", "end_date", "day").iter_rows(named=True):
            start, end = row["date"], row["end_date"]
            assert date(2026, 1, 1) <= start <= end <= date(2026, 12, 31)
            if end > start:
                assert row["day"] == "multiple days"
            else:
                assert row["day"] == ("weekend" if start.isoweekday() > 5 else "weekday")

    def test_dates_fill_the_year(self, items: pl.DataFrame) -> None:
        months = items.group_by(pl.col("date").dt.month()).len()
        assert months.height == 12
        assert min(months["len"]) > 80

    def test_weekday_named_in_the_text_is_that_of_the_date(self, items: pl.DataFrame) -> None:
        lessons = items.filter(pl.col("type") == "Course")
        assert lessons.height > 100
        for row in lessons.iter_rows(named=True):
            assert f"{row['date']:%A}" in row["description"]
            assert (row["end_date"] - row["date"]).days % 7 == 0

    def test_price_agrees_with_its_band(self, items: pl.DataFrame) -> None:
        limits = dict(
            zip(PRICE_BANDS, [(0, 0), (0.5, 9.99), (10, 19.99), (20, 40), (40.5, 500)], strict=True)
        )
        for price, band in items.select("price", "price_band").iter_rows():
            low, high = limits[band]
            assert low <= price <= high, (price, band)
            assert price * 2 == int(price * 2)

    def test_free_in_the_text_is_free(self, items: pl.DataFrame) -> None:
        charged = items.filter(pl.col("description").str.contains("free of charge"))
        assert charged.height > 100
        assert (charged["price"] == 0).all()


def _rows(items: pl.DataFrame, **values: str) -> pl.DataFrame:
    return items.filter(*(pl.col(name) == value for name, value in values.items()))


class TestCoherence:
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
    def test_setting_agrees_with_venue(self, items: pl.DataFrame, venue: str, setting: str) -> None:
        there = items.filter(
            pl.col("venue").str.contains(venue) & (pl.col("venue") != "Ferme du Biéreau")
        )
        assert there.height > 3
        assert set(there["setting"]) == {setting}

    def test_stage_and_screen_stay_inside_in_winter(self, items: pl.DataFrame) -> None:
        outside = items.filter(
            pl.col("setting").is_in(["Outdoors", "In nature"]),
            pl.col("type").is_in(["Concert", "Festival", "Film", "Dance", "Food and drink"]),
        )
        assert outside.height > 100
        assert outside["date"].dt.month().is_between(5, 9).all()

    def test_nobody_swims_outside_in_winter(self, items: pl.DataFrame) -> None:
        swims = _rows(items, theme="Swimming")
        outside = swims.filter(pl.col("setting") != "Indoors")
        assert 0 < outside.height < swims.height
        assert outside["date"].dt.month().is_between(6, 8).all()

    @pytest.mark.parametrize(
        ("words", "months"),
        [
            ("Christmas|carols|nutcracker", {12}),
            ("asparagus", {5, 6}),
            ("mushrooms of|Mushrooms, look", {9, 10, 11}),
            ("New Year's jog", {1}),
            ("Winter geese|thousand geese", {1, 2, 12}),
            ("Lantern tour|By lantern", {1, 2, 10, 11, 12}),
            ("under the stars|Open-air cinema", {6, 7, 8}),
        ],
    )
    def test_titles_agree_with_the_season(
        self, items: pl.DataFrame, words: str, months: set[int]
    ) -> None:
        named = items.filter(pl.col("title").str.contains(words))
        assert named.height > 0
        assert set(named["date"].dt.month()) <= months

    def test_christmas_markets_end_before_christmas(self, items: pl.DataFrame) -> None:
        assert max(_rows(items, theme="Christmas")["end_date"]) < date(2026, 12, 25)

    def test_the_young_are_not_out_at_night(self, items: pl.DataFrame) -> None:
        young = items.filter(pl.col("audience").is_in(["Toddlers", "Children"]))
        assert young.height > 150
        assert not young["theme"].is_in(["Electronic", "Rock", "Beer", "Stand-up", "Drama"]).any()
        assert not young["labels"].str.contains("late night|first drink").any()
        assert not young["description"].str.contains(r"(19|2\d):\d\d").any()
        assert not young["venue"].str.contains("Muziekclub|Club |Jeugdhuis|Café|Taverne|Trix").any()

    def test_schoolchildren_come_when_there_is_no_school(self, items: pl.DataFrame) -> None:
        pupils = items.filter(
            pl.col("audience").is_in(["Children", "Families"]), pl.col("day") == "weekday"
        )
        assert pupils.height > 10
        assert set(pupils["date"].dt.weekday()) == {3}

    @pytest.mark.parametrize(
        ("type_", "audiences"),
        [
            ("Family day", {"Families", "Children", "Toddlers"}),
            ("Comedy", {"Everyone", "Adults", "Families", "Children"}),
            ("Festival", {"Everyone", "Adults", "Families", "Teenagers"}),
        ],
    )
    def test_audience_agrees_with_type(
        self, items: pl.DataFrame, type_: str, audiences: set[str]
    ) -> None:
        assert set(_rows(items, type=type_)["audience"]) <= audiences

    def test_beer_is_for_adults(self, items: pl.DataFrame) -> None:
        assert set(_rows(items, theme="Beer")["audience"]) == {"Adults"}

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
        self, items: pl.DataFrame, label: str, fits: Callable[[Row], bool]
    ) -> None:
        labelled = items.filter(pl.col("labels").str.split(LIST_SEPARATOR).list.contains(label))
        assert labelled.height > 5
        for row in labelled.iter_rows(named=True):
            assert fits(row), row

    def test_labels_are_few_and_distinct(self, items: pl.DataFrame) -> None:
        lists = items["labels"].str.split(LIST_SEPARATOR)
        assert lists.list.len().max() == 4
        assert (lists.list.n_unique() == lists.list.len()).all()

    def test_labels_said_in_the_text_are_there(self, items: pl.DataFrame) -> None:
        for clause, label in (
            ("booking required", "booking required"),
            ("accessible by wheelchair", "wheelchair accessible"),
            ("interpreted in sign language", "sign language"),
            ("free with a museum pass", "museum pass"),
        ):
            said = items.filter(pl.col("description").str.contains(clause))
            assert said.height > 5
            assert said["labels"].str.contains(label, literal=True).all()


def _parse(picture: str) -> ElementTree.Element:
    return ElementTree.fromstring(picture)  # noqa: S314 - our own drawing


class TestPictures:
    def test_every_picture_is_safe_small_svg(self, items: pl.DataFrame) -> None:
        assert max(items["picture"].str.len_bytes()) < 2048
        assert not items["picture"].str.contains(r"(?i)script|href|style|url\(|\son\w+=").any()
        for picture in items["picture"]:
            root = _parse(picture)
            assert root.tag == f"{SVG}svg"
            assert root.get("viewBox") == "0 0 320 180"
            assert root.get("role") == "img"

    def test_title_names_type_and_theme(self, items: pl.DataFrame) -> None:
        for row in items.iter_rows(named=True):
            title = _parse(row["picture"]).findtext(f"{SVG}title")
            assert title == f"{row['type']}: {row['theme']}"

    def test_every_type_and_theme_is_drawn_apart(self) -> None:
        assert set(SCENES) == set(TYPES)
        assert len({emblem.path for emblem in EMBLEMS.values()}) == len(EMBLEMS)
        palette = EMBLEMS["Jazz"].palette
        scenes = {scene(palette, np.random.default_rng(0)) for scene in SCENES.values()}
        assert len(scenes) == len(SCENES)

    def test_picture_shows_the_emblem_and_colours_of_its_theme(self, items: pl.DataFrame) -> None:
        for theme, picture in items.select("theme", "picture").iter_rows():
            assert f'd="{EMBLEMS[theme].path}"' in picture
            assert f'fill="{EMBLEMS[theme].palette.ground}"' in picture

    def test_events_of_one_kind_differ_a_little(self, items: pl.DataFrame) -> None:
        alike = _rows(items, type="Concert", theme="Jazz")["picture"]
        assert alike.n_unique() > 0.95 * len(alike)


class TestPeople:
    def test_choices_are_few_for_most_and_many_for_some(self, catalogue: Catalogue) -> None:
        counts = catalogue.interactions.group_by("user_id").len()["len"].to_numpy()
        assert counts.min() == 3
        assert counts.max() == 60
        assert 12 < counts.mean() < 15.5
        assert np.median(counts) < counts.mean()

    def test_popularity_has_a_long_tail(self, catalogue: Catalogue) -> None:
        counts = np.sort(catalogue.interactions.group_by("item_id").len()["len"].to_numpy())[::-1]
        assert len(counts) > 0.98 * catalogue.items.height
        top_tenth = counts[: catalogue.items.height // 10].sum()
        assert 0.25 < top_tenth / counts.sum() < 0.6
        assert counts[0] > 8 * np.median(counts)

    def test_choices_precede_the_event(self, choices: pl.DataFrame) -> None:
        lead = (choices["date"] - choices["chosen_on"]).dt.total_days()
        assert lead.min() == 0
        assert max(lead) <= 120

    def test_choices_stay_near_home(self, choices: pl.DataFrame, homes: pl.DataFrame) -> None:
        index = {town.name: position for position, town in enumerate(TOWNS)}
        known = choices.join(homes, on="user_id").filter(pl.col("town") != pl.col("home"))
        here = known["home"].replace_strict(index).to_numpy()
        there = known["town"].replace_strict(index).to_numpy()
        distances = distances_km()
        chance = distances[here, np.random.default_rng(0).permutation(there)]
        assert np.median(distances[here, there]) < 0.75 * np.median(chance)

    def test_some_people_travel_far(self, choices: pl.DataFrame, homes: pl.DataFrame) -> None:
        index = {town.name: position for position, town in enumerate(TOWNS)}
        known = choices.join(homes, on="user_id")
        here = known["home"].replace_strict(index).to_numpy()
        there = known["town"].replace_strict(index).to_numpy()
        assert 0.02 < (distances_km()[here, there] > 80).mean() < 0.3

    @pytest.mark.parametrize(
        ("town", "near", "far"),
        [
            ("Ghent", "Deinze", "Arlon"),
            ("Liège", "Herstal", "Ostend"),
            ("Ostend", "Blankenberge", "Spa"),
            ("Namur", "Andenne", "Ypres"),
        ],
    )
    def test_neighbouring_towns_are_chosen_together(
        self, choices: pl.DataFrame, town: str, near: str, far: str
    ) -> None:
        def lift(other: str) -> float:
            visitors = choices.filter(pl.col("town") == other)["user_id"].unique()
            here = choices.filter(pl.col("town") == town)["user_id"].unique()
            shared = int(here.is_in(visitors.implode()).sum()) / len(here)
            return shared / (len(visitors) / choices["user_id"].n_unique())

        assert lift(near) > 2 * lift(far)
        assert lift(near) > 1.5

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
        self, choices: pl.DataFrame, feature: str, one: str, like: str, unlike: str
    ) -> None:
        fans = choices.filter(pl.col(feature) == one)["user_id"].unique()
        fans_choose = choices.filter(pl.col("user_id").is_in(fans.implode()))[feature]
        all_choose = choices[feature]

        def lift(value: str) -> float:
            share = float((fans_choose == value).sum()) / len(fans_choose)
            return share / (float((all_choose == value).sum()) / len(all_choose))

        assert lift(like) > 1.15 * lift(unlike)

    def test_the_dear_are_chosen_less(self, catalogue: Catalogue) -> None:
        counts = catalogue.items.join(
            catalogue.interactions.group_by("item_id").len(), on="item_id", how="left"
        ).with_columns(pl.col("len").fill_null(0))
        # Within one type, so that dear festivals with large crowds do not hide it.
        slopes = []
        for _, group in counts.group_by("type", "theme"):
            if group.height >= 20 and group["price"].n_unique() > 1:
                ranks = group.select(pl.corr("price", "len", method="spearman")).item()
                slopes.append(ranks)
        assert len(slopes) > 30
        assert np.mean(slopes) < -0.08

    def test_festivals_draw_the_crowd(self, catalogue: Catalogue) -> None:
        joined = catalogue.items.join(catalogue.interactions, on="item_id")
        per_event = joined.height / catalogue.items.height
        festivals = _rows(joined, type="Festival").height
        assert festivals / _rows(catalogue.items, type="Festival").height > 1.2 * per_event

    def test_languages_mix_less_than_distance_alone_says(
        self, choices: pl.DataFrame, homes: pl.DataFrame, items: pl.DataFrame
    ) -> None:
        names = [town.name for town in TOWNS]
        index = {name: position for position, name in enumerate(names)}
        known = choices.join(homes, on="user_id")
        visits = np.zeros((len(TOWNS), len(TOWNS)))
        np.add.at(
            visits,
            (
                known["home"].replace_strict(index).to_numpy(),
                known["town"].replace_strict(index).to_numpy(),
            ),
            1,
        )
        people = dict(homes.group_by("home").len().iter_rows())
        events = dict(items.group_by("town").len().iter_rows())
        expected = np.outer(
            [people.get(name, 0) for name in names], [events.get(name, 0) for name in names]
        )
        language = np.array([town.language for town in TOWNS])
        distances = distances_km()
        same = language[:, None] == language
        other = ~same & (language != "both") & (language != "both")[:, None]
        for low, high in ((15, 25), (25, 35), (35, 50)):
            ring = (distances >= low) & (distances < high)
            rates = [
                visits[ring & pair].sum() / expected[ring & pair].sum() for pair in (same, other)
            ]
            assert rates[0] > 1.2 * rates[1] > 0


def test_a_concert_in_the_lunch_hour_is_cheap() -> None:
    items = generate().items
    lunch = items.filter(pl.col("labels").str.contains("lunch hour"))
    assert lunch.height > 0
    assert (lunch["price"] <= 12).all()
