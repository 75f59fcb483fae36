"""Columns that count attention are told by their names, and by what they go with."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import spearmanr

from teaser.data.infer import names_attention, rank_correlation


@pytest.mark.parametrize(
    "name",
    [
        "ratings_count",
        "ratingsCount",
        "ratings-count",
        "work_text_reviews_count",
        "n_reviews",
        "num_votes",
        "numVotes",
        "numberOfReviews",
        "rating_number",
        "ratings_1",
        "total_plays",
        "play_count",
        "playcount",
        "viewCount",
        "numratings",
        "members",
        "rank",
        "sales_rank",
        "salesRank",
        "popularity",
        "popularity_index",
        "popular_score",
        "views",
        "likes",
        "favorites",
        "favourites",
        "downloads",
        "plays",
        "followers",
        "monthly_listeners",
        "subscribers",
        "votes",
        "reviews",
        "ratings",
        "usersrated",
        "nb_fans",
        "sales",
        "installs",
        "attendees",
        "page_views",
        "Rank",
    ],
)
def test_names_of_attention(name: str) -> None:
    assert names_attention(name)


@pytest.mark.parametrize(
    "name",
    [
        "rating",
        "average_rating",
        "avg_ratings",
        "score",
        "review_score",
        "mean_likes",
        "price",
        "pages",
        "num_pages",
        "number_of_players",
        "max_players",
        "year",
        "play_time",
        "runtime_minutes",
        "length",
        "n_seasons",
        "books_count",
        "stars",
        "members_per_group",
        "user_score",
        "weight",
        "age",
        "order",
        "heat",
    ],
)
def test_names_of_other_things(name: str) -> None:
    assert not names_attention(name)


def test_ranks_are_correlated_as_spearman_does() -> None:
    rng = np.random.default_rng(0)
    numbers, counts = rng.integers(0, 9, 200).astype(float), rng.integers(0, 50, 200)
    numbers += counts
    found = rank_correlation(pl.Series(numbers), pl.Series(counts))
    assert found == pytest.approx(spearmanr(numbers, counts).statistic, abs=1e-12)
    assert found > 0.9


def test_cells_without_a_number_are_left_out() -> None:
    numbers: list[Any] = [*range(40), *[None] * 20]
    assert rank_correlation(pl.Series(numbers), pl.Series(range(60))) == pytest.approx(1)


def test_too_little_to_go_by_is_no_correlation() -> None:
    assert rank_correlation(pl.Series(range(29)), pl.Series(range(29))) == 0
    assert rank_correlation(pl.Series([1.0] * 40), pl.Series(range(40))) == 0
