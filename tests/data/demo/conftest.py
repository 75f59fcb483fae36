"""The default events from a fixed start, generated once for all tests of them."""

from datetime import date

import polars as pl
import pytest

from teaser.data.demo import GeneratedEvents, generate

START = date(2026, 1, 1)


@pytest.fixture(scope="session")
def made() -> GeneratedEvents:
    return generate(start=START)


@pytest.fixture(scope="session")
def items(made: GeneratedEvents) -> pl.DataFrame:
    return made.items


@pytest.fixture(scope="session")
def choices(made: GeneratedEvents) -> pl.DataFrame:
    """Interactions with the columns of the event chosen."""
    return made.interactions.rename({"day": "chosen_on"}).join(
        made.items.drop("picture", "description"), on="item_id"
    )


@pytest.fixture(scope="session")
def homes(choices: pl.DataFrame) -> pl.DataFrame:
    """The town each user chose most often: nearest to a home that the frames can tell."""
    return (
        choices.group_by("user_id", "town")
        .len()
        .sort("len", "town", descending=[True, False])
        .unique("user_id", keep="first", maintain_order=True)
        .select("user_id", home="town")
    )
