"""Results of a real small study, for the tests of reports."""

from collections.abc import Callable
from pathlib import Path

import pytest
from reports import Content

from teaser.evaluate.study.plan import Study
from teaser.evaluate.study.run import run_study

STUDY = Path(__file__).with_name("small_run.toml")


@pytest.fixture(scope="session")
def results_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the results of a study and of its quick version."""
    folder = tmp_path_factory.mktemp("results")
    for quick in (False, True):
        run_study(Study.read(STUDY), data=folder, out=folder, quick=quick)
    return folder


@pytest.fixture
def content(results_folder: Path) -> Content:
    """The results of the study as its json holds them; a copy that may be changed."""
    import json

    found: Content = json.loads((results_folder / "small_run.json").read_text(encoding="utf-8"))
    return found


@pytest.fixture
def without(content: Content) -> Callable[..., Content]:
    """Results of a study that did not run some parts."""

    def emptied(*parts: str) -> Content:
        return {**content, **{part: [] for part in parts}}

    return emptied
