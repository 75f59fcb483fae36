"""fit and estimate from a shell: earlier models, memory, and what a remainder will take."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import RULES
from typer.testing import CliRunner

import teaser
from teaser import Dataset, Teaser
from teaser.cli.main import app
from teaser.data.reading.partition_writer import write_partitions
from teaser.model.gram import cost as module


def said(*words: Any) -> str:
    result = CliRunner().invoke(app, [str(w) for w in words], env={"COLUMNS": "400"})
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(*words: Any) -> str:
    result = CliRunner().invoke(app, [str(w) for w in words], env={"COLUMNS": "400"})
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output
    return result.stderr


@pytest.fixture(scope="module")
def whole(dataset: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set in memory."""
    folder = tmp_path_factory.mktemp("data") / "whole"
    dataset.save(folder)
    return folder


@pytest.fixture(scope="module")
def parted(
    tables: tuple[pl.DataFrame, pl.DataFrame], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The same in partitions."""
    folder = tmp_path_factory.mktemp("data")
    write_partitions(tables[0], folder / "parts", user="user_id", item="item_id", parts=3)
    Dataset.from_partitions(folder / "parts", tables[1], rules=RULES).save(folder / "parted")
    return folder / "parted"


def test_a_fit_begins_from_an_earlier_model(whole: Path, tmp_path: Path) -> None:
    cold = json.loads(said("fit", whole, "-o", tmp_path / "a", "--tol", "1e-6", "--json"))
    again = ("--start", tmp_path / "a", "--tol", "1e-6", "--json")
    warm = json.loads(said("fit", whole, "-o", tmp_path / "b", *again))
    assert warm["iterations"] < cold["iterations"]
    first, second = (teaser.load(tmp_path / name) for name in "ab")
    np.testing.assert_allclose(second.encoder_, first.encoder_, atol=1e-5)


@pytest.mark.parametrize("place", ["whole", "parted"])
def test_an_estimate_knows_of_the_remainder(place: str, request: pytest.FixtureRequest) -> None:
    folder = request.getfixturevalue(place)
    plain = json.loads(said("estimate", folder, "--gram", "sparse", "--json"))
    more = json.loads(said("estimate", folder, "--l2-remainder", "300", "--json"))
    assert "items x items" not in plain["memory"]
    assert more["memory"]["items x items"] > 0


@pytest.mark.parametrize("settings", [["--gram", "dense"], ["--solver", "admm"], []])
@pytest.mark.parametrize("place", ["whole", "parted"])
def test_what_does_not_fit_is_refused_however_it_is_held(
    place: str,
    settings: list[str],
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "memory_of_machine", lambda: 10_000)
    heard = refused("fit", request.getfixturevalue(place), "-o", tmp_path / "m", *settings)
    assert "this machine has 10 kB" in heard
    assert "items x tags" in heard
    assert not (tmp_path / "m").exists()


def test_a_memory_limit_holds_for_a_dense_gram_too(parted: Path, tmp_path: Path) -> None:
    heard = refused(
        "fit", parted, "-o", tmp_path / "m", "--gram", "dense", "--memory-limit", "10kB"
    )
    assert "the memory limit is 10 kB" in heard
    assert "a higher limit" in heard


def test_a_memory_limit_is_not_for_a_cluster(parted: Path, tmp_path: Path) -> None:
    where = ("--local-cluster", "1", "--memory-limit", "1GB")
    assert "on this machine alone" in refused("fit", parted, "-o", tmp_path / "m", *where)


def test_an_estimate_is_said_beside_the_limit(parted: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(
        app, ["fit", str(parted), "-o", str(tmp_path / "m"), "--memory-limit", "1GB"]
    )
    assert result.exit_code == 0
    assert "of 1.0 GB" in result.stderr


def test_partitions_and_a_gpu_are_refused_at_once(parted: Path, tmp_path: Path) -> None:
    heard = refused("fit", parted, "-o", tmp_path / "m", "--device", "cuda")
    assert "Interactions in partitions are fitted on processors" in heard


@pytest.mark.parametrize("address", ["", "nonsense", "http://127.0.0.1:80", "tcp://"])
def test_what_is_no_address_is_refused_at_once(address: str, parted: Path, tmp_path: Path) -> None:
    heard = refused("fit", parted, "-o", tmp_path / "m", "--scheduler", address)
    assert "is not the address of a scheduler, such as tcp://HOST:PORT" in heard


def test_the_next_command_names_the_columns_too(
    tables: tuple[pl.DataFrame, pl.DataFrame], tmp_path: Path
) -> None:
    renamed = tables[0].rename({"user_id": "who", "item_id": "what"})
    renamed.write_csv(tmp_path / "rows.csv")
    columns = ("--user", "who", "--item", "what")
    heard = said("partition", tmp_path / "rows.csv", "-o", tmp_path / "parts", *columns)
    assert "ITEMS --out DATA --user who --item what" in heard
    same = ("--user", "who", "--item", "who")
    heard = refused("partition", tmp_path / "rows.csv", "-o", tmp_path / "other", *same)
    assert "cannot be the same column" in heard


def test_a_model_in_memory_is_refused_for_its_gram(dataset: Dataset) -> None:
    expected = Teaser(solver="admm").estimate(dataset)
    assert expected.lines(limit=2_000_000)[0].startswith("memory ")
    assert "of 2 MB" in expected.lines(limit=2_000_000)[0]
