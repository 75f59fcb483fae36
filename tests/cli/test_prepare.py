"""Making a data set as the prepare command is told: options that do nothing, rules kept."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import small_tables
from rich.console import Console

from teaser import Dataset, Rules
from teaser.cli.prepare import prepare_data
from teaser.errors import ArtifactError, ParameterError

NOTHING: dict[str, Any] = dict.fromkeys(
    ("source", "rules", "positive", "user", "item", "encoding", "imdb", "seed")
)


@pytest.fixture
def paths(tmp_path: Path) -> list[Path]:
    interactions, items = small_tables()
    interactions.write_csv(tmp_path / "i.csv")
    items.write_csv(tmp_path / "t.csv")
    return [tmp_path / "i.csv", tmp_path / "t.csv"]


def prepare(paths: list[Path], folder: Path, **options: Any) -> tuple[Dataset, Path]:
    return prepare_data(paths, folder, Console(stderr=True), **{**NOTHING, **options})


def test_two_tables_become_a_data_set_with_its_rules(paths: list[Path], tmp_path: Path) -> None:
    dataset, written = prepare(paths, tmp_path / "d")
    assert written == tmp_path / "d" / "rules.toml"
    assert Rules.read(written).tags == dataset.rules.tags
    assert Dataset.load(tmp_path / "d").items == dataset.items


def test_edited_rules_are_not_written_over(
    paths: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, first = prepare(paths, tmp_path / "d")
    first.write_text(first.read_text() + "# mine")
    _, second = prepare(paths, tmp_path / "d")
    assert first.read_text().endswith("# mine")
    assert second.name == "rules.inferred.toml"
    assert "is kept" in " ".join(capsys.readouterr().err.split())
    _, third = prepare(paths, tmp_path / "d", rules=first)
    assert third == first
    assert first.read_text().endswith("# mine")


@pytest.mark.parametrize(
    ("count", "options", "said"),
    [
        (0, {"source": "events", "positive": "rating >= 4"}, "--positive has no meaning"),
        (0, {"source": "events", "user": "u"}, "--user has no meaning for the generated events"),
        (1, {"item": "i"}, "--item has no meaning for a public data set"),
        (1, {"seed": 4}, "--seed has no meaning"),
        (2, {"imdb": Path("x")}, "--imdb has no meaning for two tables"),
        (2, {"source": "ml-1m"}, "Found 2 paths and --source ml-1m"),
        (3, {}, "Found 3 paths"),
    ],
)
def test_what_would_do_nothing_is_refused(
    paths: list[Path], tmp_path: Path, count: int, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(ParameterError, match=said):
        prepare((paths * 2)[:count], tmp_path / "d", **options)
    assert not (tmp_path / "d").exists()


def test_a_folder_that_cannot_be_written_is_noticed_before_reading(tmp_path: Path) -> None:
    (tmp_path / "diary.txt").write_text("mine")
    with pytest.raises(ArtifactError, match="holds other files"):
        prepare([tmp_path / "none.csv", tmp_path / "none.csv"], tmp_path)


def test_another_encoding_is_read_when_it_is_named(paths: list[Path], tmp_path: Path) -> None:
    for path in paths:
        text = path.read_text(encoding="utf-8")
        path.write_text(text, encoding="latin-1")
    dataset, _ = prepare(paths, tmp_path / "d", encoding="latin-1")
    assert "Liège" in {tag.value for tag in dataset.tags}


def test_what_readers_of_public_data_left_out_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "games"
    folder.mkdir()
    pl.DataFrame({"user_id": [1, 1, 2], "item_id": [1, 2, 1]}).write_csv(
        folder / "interactions.csv"
    )
    pl.DataFrame(
        {
            "item_id": [1, 2, 3], "price": [1.0, 2.0, 3.0], "sales_rank": [1, 2, 3],
            "categories": ["Video Games|Wii"] * 3, "title": ["a", "b", "c"], "brand": ["x"] * 3,
        }
    ).write_csv(folder / "items.csv")  # fmt: skip
    prepare([folder], tmp_path / "d")
    assert "Video Games" in capsys.readouterr().err
