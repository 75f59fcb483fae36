"""A saved data set has the attributes that it was saved with."""

from dataclasses import fields, replace
from pathlib import Path

import polars as pl
import pytest
from numpy.testing import assert_array_equal

from teaser import artifact
from teaser.data.dataset import Dataset, attributes_of

ROWS = pl.DataFrame(
    {"user": [1, 1, 2], "item_id": [7, 8, 7], "when": ["2024-01-02", "2024-01-01", "2024-01-03"]}
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    Dataset.from_tables(ROWS, time="when").save(tmp_path / "d")
    return tmp_path / "d"


def test_every_attribute_is_there(folder: Path) -> None:
    found = attributes_of(artifact.read(folder), str(folder))
    assert set(found) == {field.name for field in fields(Dataset)}
    assert found["users"] == [1, 2]
    assert found["notes"] == ("columns of ids that were not named, taken as likely: --user user",)
    assert_array_equal(found["times"], Dataset(**found).times)


def test_earlier_versions_had_no_times_and_notes(folder: Path) -> None:
    content = artifact.read(folder)
    settings = {name: value for name, value in content.settings.items() if name != "notes"}
    arrays = {name: value for name, value in content.arrays.items() if name != "times"}
    found = attributes_of(replace(content, settings=settings, arrays=arrays), str(folder))
    assert (found["times"], found["notes"]) == (None, ())


def test_what_is_missing_is_an_error(folder: Path) -> None:
    content = artifact.read(folder)
    with pytest.raises(LookupError):
        attributes_of(replace(content, settings={}), str(folder))
