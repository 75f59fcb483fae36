"""Films and ratings for the bridges. Their tests run where LensKit and RecTools are installed:
`make test` runs them in an environment of their own.
"""

import re
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import polars as pl
import pytest

collect_ignore = [
    f"test_{module}.py" for module in ("lenskit", "rectools") if find_spec(module) is None
]


def pytest_configure(config: pytest.Config) -> None:
    for marker in ("slow", "eval"):
        config.addinivalue_line("markers", f"{marker}: a mark of LensKit's own tests")


GENRES = ("comedy", "crime", "drama", "western")
N_USERS, N_FILMS = 160, 120


@pytest.fixture(scope="session")
def films() -> pl.DataFrame:
    """Films of four genres; every fifth is of two."""
    own = [[GENRES[i % 4]] + ([GENRES[(i + 1) % 4]] if i % 5 == 0 else []) for i in range(N_FILMS)]
    return pl.DataFrame(
        {
            "item_id": np.arange(N_FILMS) + 1000,
            "title": [f"Film {i}" for i in range(N_FILMS)],
            "genres": own,
            "minutes": 80.0 + (np.arange(N_FILMS) * 7) % 60,
        }
    )


@pytest.fixture(scope="session")
def ratings(films: pl.DataFrame) -> pl.DataFrame:
    """Ratings of users who like two genres: 5 for these, 2 for others; nobody saw the last."""
    rng = np.random.default_rng(5)
    carries = np.array([[g in own for g in GENRES] for own in films["genres"].to_list()])
    tables = []
    for user in range(N_USERS):
        liked = np.any(carries[:, [user % 4, (user + 1 + user % 2) % 4]], axis=1).astype(bool)
        chance = np.where(liked, 12.0, 1.0) / (2 + np.arange(N_FILMS) % 9)
        chance[-1] = 0.0
        chosen = rng.choice(N_FILMS, size=12, replace=False, p=chance / chance.sum())
        tables.append(
            pl.DataFrame(
                {
                    "user_id": np.full(12, user),
                    "item_id": films["item_id"].to_numpy()[chosen],
                    "rating": np.where(liked[chosen], 5.0, 2.0),
                    "timestamp": 1_600_000_000 + rng.integers(10**7, size=12),
                }
            )
        )
    return pl.concat(tables)


@pytest.fixture
def movielens(
    films: pl.DataFrame, ratings: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """The films as MovieLens writes them, in the working folder under the name of the page."""
    folder = tmp_path / "ml-latest-small"
    folder.mkdir()
    names = {"item_id": "movieId", "user_id": "userId"}
    ids = pl.col("item_id") - 999  # the page asks for film 1
    shown = films.with_columns(ids, pl.col("genres").list.join("|")).rename(names, strict=False)
    shown.select("movieId", "title", "genres").write_csv(folder / "movies.csv")
    chosen = ratings.with_columns(ids).rename(names)
    chosen.write_csv(folder / "ratings.csv")
    tags = chosen.head(3).select("userId", "movieId", tag=pl.lit("fun"), timestamp="timestamp")
    tags.write_csv(folder / "tags.csv")
    monkeypatch.chdir(tmp_path)
    return folder


def page_block(package: str) -> str:
    """Return the code on the page about bridges that imports a package."""
    page = Path(__file__).parents[2] / "docs" / "users" / "bridges.md"
    blocks = re.findall(r"^```py\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)
    (found,) = (block for block in blocks if f"from {package}" in block)
    return str(found)
