"""Users choose by taste, distance, price, language and popularity."""

import numpy as np
import polars as pl
import pytest

from teaser.data.demo import GeneratedEvents
from teaser.data.demo.places import distances_km, towns


def test_choices_are_few_for_most_and_many_for_some(made: GeneratedEvents) -> None:
    counts = made.interactions.group_by("user_id").len()["len"].to_numpy()
    assert counts.min() == 3
    assert counts.max() == 60
    assert 12 < counts.mean() < 15.5
    assert np.median(counts) < counts.mean()


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
    index = {town.name: position for position, town in enumerate(towns())}
    known = choices.join(homes, on="user_id").filter(pl.col("town") != pl.col("home"))
    here = known["home"].replace_strict(index).to_numpy()
    there = known["town"].replace_strict(index).to_numpy()
    distances = distances_km()
    chance = distances[here, np.random.default_rng(0).permutation(there)]
    assert np.median(distances[here, there]) < 0.75 * np.median(chance)


def test_some_people_travel_far(choices: pl.DataFrame, homes: pl.DataFrame) -> None:
    index = {town.name: position for position, town in enumerate(towns())}
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
    choices: pl.DataFrame, town: str, near: str, far: str
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
    choices: pl.DataFrame, feature: str, one: str, like: str, unlike: str
) -> None:
    fans = choices.filter(pl.col(feature) == one)["user_id"].unique()
    fans_choose = choices.filter(pl.col("user_id").is_in(fans.implode()))[feature]
    all_choose = choices[feature]

    def lift(value: str) -> float:
        share = float((fans_choose == value).sum()) / len(fans_choose)
        return share / (float((all_choose == value).sum()) / len(all_choose))

    assert lift(like) > 1.15 * lift(unlike)


def test_the_dear_are_chosen_less(made: GeneratedEvents) -> None:
    counts = made.items.join(
        made.interactions.group_by("item_id").len(), on="item_id", how="left"
    ).with_columns(pl.col("len").fill_null(0))
    # Within one type, so that dear festivals with large crowds do not hide it.
    slopes = []
    for _, group in counts.group_by("type", "theme"):
        if group.height >= 20 and group["price"].n_unique() > 1:
            ranks = group.select(pl.corr("price", "len", method="spearman")).item()
            slopes.append(ranks)
    assert len(slopes) > 30
    assert np.mean(slopes) < -0.08


def test_festivals_draw_the_crowd(made: GeneratedEvents) -> None:
    joined = made.items.join(made.interactions, on="item_id")
    per_event = joined.height / made.items.height
    festivals = joined.filter(type="Festival").height
    assert festivals / made.items.filter(type="Festival").height > 1.2 * per_event


def test_languages_mix_less_than_distance_alone_says(
    choices: pl.DataFrame, homes: pl.DataFrame, items: pl.DataFrame
) -> None:
    names = [town.name for town in towns()]
    index = {name: position for position, name in enumerate(names)}
    known = choices.join(homes, on="user_id")
    visits = np.zeros((len(towns()), len(towns())))
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
    language = np.array([town.language for town in towns()])
    distances = distances_km()
    same = language[:, None] == language
    other = ~same & (language != "both") & (language != "both")[:, None]
    for low, high in ((15, 25), (25, 35), (35, 50)):
        ring = (distances >= low) & (distances < high)
        rates = [visits[ring & pair].sum() / expected[ring & pair].sum() for pair in (same, other)]
        assert rates[0] > 1.2 * rates[1] > 0
