"""The example study run whole with 200 simulated people, by its real pages, to its report."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from commands import refused, run, said
from userstudy.conftest import MINIMUM

from teaser.app.store import Store
from teaser.userstudy.export import COLUMNS, StudyTables, read_tables
from teaser.userstudy.lists import replay
from teaser.userstudy.plan import UserStudy
from teaser.userstudy.store import StudyStore

PEOPLE = 200


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory, events: Path) -> Path:
    """The example study, which 200 simulated people did; the effect is 0.5."""
    folder = tmp_path_factory.mktemp("simulated")
    path = folder / "study.toml"
    said("study", "new", path)
    assert MINIMUM in path.read_text()
    (folder / "events").symlink_to(events)
    told = said("study", "simulate", path, "--people", PEOPLE, "--effect", 0.5)
    assert "200 simulated people came to the end. They are marked" in told
    assert "With 60 people, a planned difference of 0.5 standard deviations is found with" in told
    return path


@pytest.fixture(scope="module")
def people(path: Path) -> Iterator[StudyStore]:
    store = Store(f"sqlite:///{path.with_suffix('.simulated.db')}")
    yield StudyStore(store, UserStudy.read(path), "simulated")
    store.close()


@pytest.fixture(scope="module")
def tables(people: StudyStore) -> StudyTables:
    return read_tables(people)


@pytest.fixture(scope="module")
def report(path: Path) -> Path:
    """The folder of the report."""
    folder = path.with_name("report")
    page = said("study", "analyse", path, "--mode", "simulated", "--out", folder)
    assert page.strip() == str(folder / "index.html")
    return folder


@pytest.fixture(scope="module")
def outcomes(report: Path) -> pl.DataFrame:
    return pl.read_csv(report / "outcomes.csv")


def test_everybody_came_to_the_end_and_orders_are_balanced_within_one_person(
    tables: StudyTables,
) -> None:
    assert len(tables.people) == PEOPLE
    assert tables.people["is_finished"].all()
    counts = tables.people["order"].value_counts()["count"].to_list()
    assert len(counts) == 6
    assert max(counts) - min(counts) <= 1


def test_every_shown_list_is_made_again_without_a_difference(path: Path) -> None:
    told = said("study", "replay", path, "--mode", "simulated")
    assert told.strip().endswith(" lists, 0 differences.")
    assert int(told.split()[0].replace(",", "")) >= 3 * PEOPLE


def test_a_list_that_was_not_shown_so_is_a_difference(people: StudyStore) -> None:
    altered = _Altered(people.store, people.study, "simulated")
    assert any("list.items[1].item" in each for each in replay(altered)[1])


class _Altered(StudyStore):
    """The people, of whom one saw the first two items of a list the other way round."""

    def rows(self) -> dict[str, list[dict[str, Any]]]:
        rows = super().rows()
        row = next(row for row in rows["log"] if row["kind"] == "shown")
        first, second = row["data"]["items"][:2]
        row["data"]["items"][:2] = [second, first]
        return {**rows, "log": [row]}


def test_the_planted_effect_is_found_in_the_primary_outcomes(outcomes: pl.DataFrame) -> None:
    planned = outcomes.filter(pl.col("is_primary"))
    assert sorted(planned["outcome"]) == ["control"] * 2 + ["transparency"] * 2
    for row in planned.iter_rows(named=True):
        assert row["n"] == PEOPLE
        assert row["p_corrected"] < 0.05
        assert 0.25 < row["effect"] < 0.75
        assert row["low"] < row["difference"] < row["high"]
        assert row["difference"] == pytest.approx(row["mean"] - row["mean_other"])
        assert row["mixed"] == pytest.approx(row["difference"], abs=0.02)
        assert row["mixed_p"] < 0.001


def test_what_was_not_planned_is_told_apart(outcomes: pl.DataFrame, report: Path) -> None:
    others = outcomes.filter(~pl.col("is_primary"))
    assert set(others["outcome"]) >= {"satisfaction", "seconds", "presses", "chosen_rank"}
    assert others["p_corrected"].null_count() == len(others)
    planned, rest = (report / "index.html").read_text().split("Not planned: all other outcomes")
    assert "Planned: the primary outcomes" in planned
    assert "control: reasons against list" in planned
    assert "satisfaction (Cronbach" in rest
    assert "satisfaction (Cronbach" not in planned


def test_the_report_says_that_people_are_simulated(outcomes: pl.DataFrame, report: Path) -> None:
    text = (report / "index.html").read_text()
    assert "<b>Simulated people.</b> Nobody took part" in text
    assert "200 people agreed to take part, and 200 came to the end" in text
    assert set(outcomes["mode"]) == {"simulated"}
    assert len(list((report / "pictures").glob("*.svg"))) == 3


def test_tables_are_exported_as_parquet_and_csv_with_a_codebook(
    path: Path, tables: StudyTables, tmp_path: Path
) -> None:
    said("study", "export", path, "--mode", "simulated", "--out", tmp_path)
    for name in COLUMNS:
        frame = pl.read_parquet(tmp_path / f"{name}.parquet")
        assert frame.equals(getattr(tables, name))
        assert len(pl.read_csv(tmp_path / f"{name}.csv", infer_schema=False)) == len(frame)
    assert set(pl.read_parquet(tmp_path / "people.parquet")["mode"]) == {"simulated"}
    told = pl.read_csv(tmp_path / "codebook.csv")
    assert {"question control_1", "arm list", "task month"} <= set(told["name"])
    assert (tmp_path / "study.toml").read_text() == path.read_text()


def test_simulated_people_are_not_among_real_ones(path: Path) -> None:
    url = f"sqlite:///{path.with_suffix('.simulated.db')}"
    told = refused("study", "analyse", path, "--database", url)
    assert "Nobody took part in the study 'study' as it is now (real people)." in told


def test_a_new_run_takes_the_place_of_the_last_whatever_is_asked(
    write: Callable[..., Path], tmp_path: Path
) -> None:
    number = 'id = "much"\nkind = "number"\ntext = "How much?"\nleast = 9.5'
    path = write(
        ("choose = 3\n", ""),
        ("min_looks = 0 ", "min_looks = 2 "),
        ("[[questions.arm]]\nid", f"[[questions.arm]]\n{number}\n\n[[questions.arm]]\nid"),
        ("least = 18\nmost = 120\nrequired = false", "least = 18"),
        ('want to tell us?"\nrequired = false', 'want to tell us?"'),
        ('name = "Events"', "secure_cookies = true"),
        name="twice",
    )
    for _ in range(2):
        said("study", "simulate", path, "--people", 3)
    said("study", "export", path, "--mode", "simulated", "--out", tmp_path / "tables")
    assert len(pl.read_parquet(tmp_path / "tables" / "people.parquet")) == 3


def test_a_study_file_is_never_written_over(path: Path) -> None:
    assert "is there already" in refused("study", "new", path)
    assert "cannot be read" in refused("study", "serve", path.with_name("none.toml"))
    assert run("study", "replay", path).exit_code == 2  # there is no such database
    assert not path.with_suffix(".people.db").exists()
