"""Where a fit takes place: what the command line is told becomes the right Gram, or an error."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import RULES, small_tables
from numpy.testing import assert_allclose
from typer.testing import CliRunner

import teaser
from teaser import Dataset, Teaser
from teaser.cli.main import app
from teaser.data.partitions import write_partitions
from teaser.errors import ParameterError
from teaser.model.gram import dask_cluster as cluster
from teaser.model.gram.open import placed, reached
from teaser.model.gram.operator import DenseGram
from teaser.model.gram.partitioned import StreamedGram

RULE_FILE = (
    '[[tags]]\nkind = "category"\ncolumn = "type"\n[[tags]]\nkind = "category"\ncolumn = "town"\n'
)


def run(*words: Any, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "teaser", *map(str, words)],
        capture_output=True, text=True, cwd=cwd, env={**os.environ, "COLUMNS": "200"}, timeout=300,
        check=False,
    )  # fmt: skip


def said(*words: Any, cwd: Path) -> str:
    with chdir(cwd):
        done = CliRunner().invoke(app, [str(w) for w in words], env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    return done.stdout


def refused(*words: Any) -> str:
    done = CliRunner().invoke(app, [str(w) for w in words], env={"COLUMNS": "200"})
    assert done.exit_code == 2, done.output
    assert "Traceback" not in done.output
    return done.stderr


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Partitions, a data set of them and a model fitted in memory, by commands."""
    folder = tmp_path_factory.mktemp("shop")
    interactions, items = small_tables()
    interactions.write_csv(folder / "ratings.csv")
    items.write_parquet(folder / "items.parquet")
    (folder / "rules.toml").write_text(RULE_FILE)
    text = said("partition", "ratings.csv", "--out", "parts", "--parts", 3, cwd=folder)
    assert "1,694 rows in 3 partitions by user" in text
    assert "Next: teaser prepare parts ITEMS" in text
    words = ("items.parquet", "--rules", "rules.toml", "--positive", "rating >= 4")
    assert "1,155 interactions" in said("prepare", "parts", *words, "--out", "data", cwd=folder)
    said("prepare", "ratings.csv", *words, "--out", "whole", cwd=folder)
    exact = ("--recipe", "paper", "--dtype", "float64", "--tol", 1e-11)
    said("fit", "whole", "--out", "model", *exact, cwd=folder)
    return folder


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    pytest.importorskip("distributed", reason="clusters need the extra dask")
    with cluster.Cluster.local(1) as local:
        yield local.address


def same_model(one: Path, other: Path) -> None:
    found, wanted = teaser.load(one), teaser.load(other)
    assert found.items_ == wanted.items_
    assert_allclose(found.encoder_, wanted.encoder_, rtol=0, atol=1e-9)


EXACT = ("--recipe", "paper", "--dtype", "float64", "--tol", "1e-11", "--gram", "sparse")


def test_a_fit_within_a_memory_limit(shop: Path) -> None:
    said("fit", "data", "--out", "small", "--memory-limit", "5MB", *EXACT, cwd=shop)
    same_model(shop / "small", shop / "model")


def test_a_fit_on_a_scheduler(shop: Path, address: str) -> None:
    text = said("fit", "data", "-o", "far", "--scheduler", address, *EXACT, "--json", cwd=shop)
    assert json.loads(text)["converged"]
    same_model(shop / "far", shop / "model")


def test_preparing_and_counting_on_a_scheduler(shop: Path, address: str) -> None:
    words = ("items.parquet", "--rules", "rules.toml", "--positive", "rating >= 4")
    said("prepare", "parts", *words, "-o", "data2", "--scheduler", address, cwd=shop)
    dense = ("--recipe", "paper", "--dtype", "float64", "--tol", 1e-11, "--gram", "dense")
    said("fit", "data2", "--out", "far2", "--scheduler", address, *dense, cwd=shop)
    same_model(shop / "far2", shop / "model")


def test_a_fit_on_a_local_cluster(shop: Path) -> None:
    pytest.importorskip("distributed", reason="clusters need the extra dask")
    done = run("fit", "data", "--out", "near", "--local-cluster", 1, *EXACT, cwd=shop)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    same_model(shop / "near", shop / "model")


def test_what_can_be_asked_of_such_a_data_set(shop: Path) -> None:
    for command, answer in (("estimate", "memory"), ("info", "296")):
        assert answer in CliRunner().invoke(app, [command, str(shop / "data")]).stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--scheduler", "tcp://127.0.0.1:1"), "tcp://127.0.0.1:1 did not answer within"),
        (("--scheduler", "a", "--local-cluster", "1"), "not both"),
        (("--memory-limit", "lots"), "such as 2GB"),
        (("--memory-limit", "250kB"), "--parts"),
        (("--memory-limit", "1kB"), "solver's own arrays"),
        (("--gram", "wooden", "--scheduler", "a"), "gram must be"),
    ],
)
def test_what_cannot_be_done_is_said_and_leaves_no_model(
    shop: Path, words: tuple[str, ...], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shop)
    monkeypatch.setattr(cluster, "_seconds", lambda timeout: 0.5)
    options = words if "--gram" in words else (*words, "--gram", "sparse")
    text = refused("fit", "data", "--out", "none", *options)
    assert message in text
    assert not (shop / "none").exists()


def test_a_partition_that_is_gone_leaves_no_model(
    shop: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shop)
    write_partitions("ratings.csv", "frail", parts=3)
    Dataset.from_partitions("frail", "items.parquet", rules="rules.toml").save("frail-data")
    (shop / "frail" / "part-00001.parquet").unlink()
    for where in ((), ("--scheduler", address)):
        text = refused("fit", "frail-data", "--out", "none", "--gram", "sparse", *where)
        assert "frail/part-00001.parquet is missing" in text
        assert not (shop / "none").exists()


def test_a_data_set_in_memory_takes_neither(dataset: Dataset) -> None:
    for where in ({"scheduler": "a"}, {"n_workers": 1}, {"memory_limit": "2GB"}):
        options: Any = where
        with (
            pytest.raises(ParameterError, match="holds them in one matrix"),
            placed(dataset, "auto", **options),
        ):
            pass
    with placed(dataset, "sparse") as gram:
        assert gram == "sparse"


def test_a_cluster_has_no_meaning_for_a_table(shop: Path) -> None:
    tables = shop / "ratings.csv", shop / "items.parquet"
    text = refused("prepare", *tables, "--out", shop / "x", "--scheduler", "a")
    assert "--scheduler has no meaning for interactions that are not in partitions" in text


def test_the_gram_is_held_as_it_was_asked(tmp_path: Path) -> None:
    interactions, items = small_tables()
    write_partitions(interactions, tmp_path / "p", parts=3)
    parted = Dataset.from_partitions(tmp_path / "p", items, rules=RULES)
    with placed(parted, "auto") as gram:
        assert isinstance(gram, DenseGram)
        assert gram.dtype == np.float32
    with placed(parted, "sparse", dtype="float64", memory_limit="1GB") as gram:
        assert isinstance(gram, StreamedGram)
        assert Teaser(gram=gram, dtype="float64").fit(parted).converged_
    with pytest.raises(ParameterError, match="gram must be"), placed(parted, "wooden"):
        pass
    with reached(None, None) as nobody:
        assert nobody is None
