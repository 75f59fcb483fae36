"""Results of a small study, for the tests of reports."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from reports import Content, reported

from teaser.evaluate.report.pictures import Picture, draw_pictures


@pytest.fixture(scope="session")
def results_folder() -> Path:
    """The stored results of a study and of its quick version; not to be written to."""
    return Path(__file__).with_name("stored")


@pytest.fixture
def content(results_folder: Path) -> Content:
    """The results of the study as parsed JSON; a copy that may be changed."""
    found: Content = json.loads((results_folder / "small_run.json").read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="session")
def pictures(results_folder: Path) -> dict[str, Picture]:
    """The pictures of the study by their short names."""
    content = json.loads((results_folder / "small_run.json").read_text(encoding="utf-8"))
    return {p.name.rpartition("-")[2]: p for p in draw_pictures(reported(content))}


@pytest.fixture
def without(content: Content) -> Callable[..., Content]:
    """Results of a study that did not run some parts."""

    def emptied(*parts: str) -> Content:
        return {**content, **{part: [] for part in parts}}

    return emptied
