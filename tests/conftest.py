"""Data that several tests share."""

import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import settings

import teaser
from teaser import Dataset, Teaser

# Before the import, so that failing assertions of the contract show their values.
pytest.register_assert_rewrite("teaser.testing")

from teaser.testing import RULES, example_dataset  # noqa: E402
from teaser.testing import example_tables as small_tables  # noqa: E402

__all__ = ["ROOT", "RULES", "small_tables"]

# Times are never asserted: a busy machine must not fail a property.
settings.register_profile("teaser", deadline=None)
settings.load_profile("teaser")

ROOT = Path(__file__).resolve().parents[1]
# Files of these folders take long. They come first: at the end one worker would be busy alone.
LONG = ("website", "browser")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let one worker run all tests of a file that makes something once for all of them."""
    for item in items:
        fixtures: dict[str, Any] = getattr(item, "_fixtureinfo").name2fixturedefs  # noqa: B009
        if any(found[-1].scope in ("module", "class") for found in fixtures.values() if found):
            item.add_marker(pytest.mark.xdist_group(item.path.relative_to(ROOT).as_posix()))
    items.sort(key=lambda item: item.path.parent.name not in LONG)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of public data sets, where there is one."""
    folder = Path(os.environ.get("TEASER_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"the public data sets are not on this machine: there is no {folder}")
    return folder


@pytest.fixture(scope="session")
def tables() -> tuple[pl.DataFrame, pl.DataFrame]:
    return small_tables()


@pytest.fixture(scope="session")
def dataset() -> Dataset:
    return example_dataset()


@pytest.fixture(scope="session")
def model(dataset: Dataset) -> Teaser:
    """A fitted model; tests that change a model make their own."""
    return teaser.Teaser(l2_weights=5.0, l2_encoder=5.0, tol=1e-5).fit(dataset)


@pytest.fixture
def own_logs() -> Iterator[None]:
    """Bring back the loggers that a server process sets up."""
    names = ("", "teaser", "teaser.refused", "uvicorn.error", "asyncio", "mcp")
    loggers = [logging.getLogger(name) for name in names]
    before = [(logger.level, logger.handlers[:], logger.filters[:]) for logger in loggers]
    yield
    for logger, (level, handlers, filters) in zip(loggers, before, strict=True):
        logger.handlers, logger.filters = handlers, filters
        logger.setLevel(level)
