"""Films and ratings for the bridges. Their tests run where LensKit and RecTools are installed:
`make test` runs them in an environment of their own.
"""

from importlib.util import find_spec

import numpy as np
import polars as pl
import pytest

collect_ignore = [
    f"test_{module}.py"
    for module, package in {
        "lenskit": "lenskit",
        "rectools": "rectools",
        "rectools_dataset": "rectools",
    }.items()
    if find_spec(package) is None
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
    """Ratings of users who each like two genres; 5 for a film of these, else 2; not the last film."""
    rng = np.random.default_rng(5)
    carries = np.array([[g in own for g in GENRES] for own in films["genres"].to_list()])
    tables = []
    for user in range(N_USERS):
        liked = carries[:, [user % 4, (user + 1 + user % 2) % 4]].any(axis=1)
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
