"""Data that several tests share."""

import gc
import logging
import os
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from hypothesis import settings

import teaser
from teaser import Dataset, Teaser
from teaser.extensions import Remainder

# Until all tests are collected: nearly everything that is made before is kept.
gc.disable()
# Before the import, so that failing assertions of the contract show their values.
pytest.register_assert_rewrite("teaser.testing")

from teaser.testing import RULES, example_dataset  # noqa: E402
from teaser.testing import example_tables as small_tables  # noqa: E402

__all__ = ["ROOT", "RULES", "small_tables"]

# Times are never asserted: a busy machine must not fail a property. The same examples are tried
# every time; `pytest --hypothesis-profile=random` tries others.
settings.register_profile("teaser", deadline=None, derandomize=True)
settings.register_profile("random", deadline=None)
settings.load_profile("teaser")

ROOT = Path(__file__).resolve().parents[1]
# Folders and files that take long. They come first: at the end one worker would be busy alone.
LONG = (
    *("test_simulated.py", "test_kills.py"),
    *("website", "browser", "test_dask.py", "test_run.py", "test_docs.py", "test_mount.py"),
    *("test_package.py", "test_stdio.py", "test_store_faults.py", "test_deploy.py"),
    *("test_teaser.py", "test_composition.py", "test_notebooks.py", "test_libraries.py"),
    *("test_neighbours.py", "test_refit.py", "test_choose.py", "test_check.py", "test_impact.py"),
    *("test_soak.py", "test_demo.py", "test_main.py", "test_lift.py", "test_sparse.py"),
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let what takes long come first."""

    def turn(item: pytest.Item) -> int:
        names = (item.path.name, item.path.parent.name)
        return min((LONG.index(name) for name in names if name in LONG), default=len(LONG))

    items.sort(key=turn)


def pytest_collection_finish() -> None:
    """Freeze the tests themselves: to look through them for garbage takes most of a second."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)
    gc.enable()


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


@pytest.fixture(scope="session")
def remainder_model(dataset: Dataset) -> Teaser:
    """A fitted model in which viewed items count beside their tags."""
    remainder = Remainder(neighbours=None, l2=20.0)
    return teaser.Teaser(l2_weights=5.0, l2_encoder=5.0, remainder=remainder, tol=1e-5).fit(dataset)


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
