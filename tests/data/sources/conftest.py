"""Folders of public data sets."""

from pathlib import Path

import pytest
from source_files import (
    LINKS_CSV,
    META_2014,
    MOVIES_CSV,
    MOVIES_DAT,
    RATINGS_CSV,
    RATINGS_DAT,
    REVIEWS_2014,
    TAGS_CSV,
    USERS_DAT,
    jsonl,
    literals,
    write,
)


@pytest.fixture
def ml_1m(tmp_path: Path) -> Path:
    return write(
        tmp_path / "ml-1m", ratings__dat=RATINGS_DAT, movies__dat=MOVIES_DAT, users__dat=USERS_DAT
    )


@pytest.fixture
def movielens(tmp_path: Path) -> Path:
    return write(
        tmp_path / "ml",
        ratings__csv=RATINGS_CSV,
        movies__csv=MOVIES_CSV,
        tags__csv=TAGS_CSV,
        links__csv=LINKS_CSV,
    )


@pytest.fixture
def amazon(tmp_path: Path) -> Path:
    return write(
        tmp_path / "amazon",
        reviews_Games_5__json=jsonl(REVIEWS_2014),
        meta_Games__json=literals(META_2014),
    )
