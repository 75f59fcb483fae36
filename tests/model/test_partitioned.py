"""Interactions in partitions: the fit is that of the data in memory, within a limit."""

import gc
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import RULES, small_tables
from numpy.testing import assert_allclose
from typer.testing import CliRunner

import teaser
from teaser import Dataset, Teaser
from teaser.cli.main import app
from teaser.data.partitions import Interactions, write_partitions
from teaser.errors import ParameterError, ResourceError
from teaser.extensions import DiscoveredTags, Remainder, Weights
from teaser.model import dask as cluster
from teaser.model.build import placed
from teaser.model.estimate import FitSize
from teaser.model.gram import weigh_users
from teaser.model.partitioned import (
    StreamedGram,
    as_bytes,
    choose_held,
    count_gram,
    hold_partitions,
    part_bytes,
    read_bytes,
)

F32, F64 = np.dtype("float32"), np.dtype("float64")


@pytest.fixture(scope="module")
def parted(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    interactions, items = small_tables()
    folder = tmp_path_factory.mktemp("parts") / "p"
    write_partitions(interactions, folder, parts=6)
    return Dataset.from_partitions(folder, items, rules=RULES)


@pytest.fixture(scope="module")
def local(parted: Dataset) -> Dataset:
    whole = pl.concat([pl.read_parquet(part.source) for part in parted.X.parts])
    return Dataset.from_tables(whole, small_tables()[1], rules=RULES)


def tight(X: Interactions, kept: int = 0) -> int:
    """The least limit that keeps a number of parts in memory."""
    return read_bytes(X) + sum(part_bytes(X, k, F64) for k in range(kept))


@pytest.mark.parametrize("kept", [0, 2, 6])
class TestProducts:
    @pytest.mark.parametrize("power", [0.0, 0.5])
    def test_they_are_those_of_the_whole_matrix(
        self, parted: Dataset, local: Dataset, kept: int, power: float
    ) -> None:
        limit = tight(parted.X, kept)
        gram = StreamedGram(parted.X, F64, memory_limit=limit, user_power=power)
        weighted = weigh_users(local.X, power, F64).toarray().astype(float)
        G = weighted.T @ weighted
        M = np.random.default_rng(0).standard_normal((40, 70))
        for _ in range(2):
            assert_allclose(gram.apply(M), G @ M, rtol=1e-12, atol=1e-12)
        assert_allclose(gram.apply(local.S), G @ local.S.toarray())
        assert_allclose(gram.diagonal(), G.diagonal(), rtol=1e-12)
        assert gram.diagonal().dtype == gram.dtype == F64
        assert_allclose(gram.row_block(5, 19), G[5:19], atol=1e-12)
        assert_allclose(count_gram(parted.X, F64, user_power=power).G, G, atol=1e-11)


@pytest.mark.parametrize("gram", ["sparse", "dense", "auto", "streamed"])
def test_a_fit_is_that_of_the_data_in_memory(parted: Dataset, local: Dataset, gram: str) -> None:
    held: Any = gram
    if gram == "streamed":
        held = StreamedGram(parted.X, F64, memory_limit=tight(parted.X))
    options: Any = {"dtype": "float64", "tol": 1e-11, "l2_weights": 5.0, "l2_encoder": 5.0}
    found = Teaser(gram=held, **options).fit(parted)
    wanted = Teaser(gram="sparse" if gram == "streamed" else gram, **options).fit(local)
    assert_allclose(found.encoder_, wanted.encoder_, rtol=0, atol=1e-9)
    assert found.items_ == wanted.items_
    lists = [[r.item_id for r in m.recommend(["i1", "i4"], k=5)] for m in (found, wanted)]
    assert lists[0] == lists[1]


@pytest.mark.parametrize("gram", ["sparse", "dense", "streamed"])
def test_neighbours_and_groups_are_those_of_the_data_in_memory(
    parted: Dataset, local: Dataset, gram: str
) -> None:
    held: Any = gram
    if gram == "streamed":
        held = StreamedGram(parted.X, F64, memory_limit=2 * tight(parted.X, 2))
    options: Any = {
        "remainder": Remainder(l2=5.0, neighbours=6),
        "discovered": DiscoveredTags(grains=(8,), factors=4),
        "dtype": "float64",
        "tol": 1e-10,
    }
    found: Any = Teaser(gram=held, **options).fit(parted)
    wanted: Any = Teaser(**options).fit(local)
    assert_allclose(found.remainder_.toarray(), wanted.remainder_.toarray(), atol=1e-8)
    assert found.remainder_.nnz == wanted.remainder_.nnz > 0
    assert [group.tag for group in found.groups_.found] == [g.tag for g in wanted.groups_.found]
    assert_allclose(found.groups_.weights.toarray(), wanted.groups_.weights.toarray(), atol=1e-8)


class TestMemory:
    def test_the_scratch_folder_goes_with_the_gram(
        self, parted: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        gram = StreamedGram(parted.X, F64, memory_limit=tight(parted.X))
        gram.apply(np.ones((40, 3)))
        (folder,) = tmp_path.iterdir()
        assert len(list(folder.iterdir())) == 6
        del gram
        gc.collect()
        assert not list(tmp_path.iterdir())

    def test_a_scratch_folder_that_cannot_be_written_is_named(
        self, parted: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        gram = StreamedGram(parted.X, F64, memory_limit=tight(parted.X))
        (folder,) = tmp_path.iterdir()
        folder.rmdir()
        with pytest.raises(ResourceError, match=rf"could not be kept in {folder}.*TMPDIR"):
            gram.apply(np.ones((40, 3)))

    def test_a_part_that_cannot_be_decoded_within_the_limit(self, parted: Dataset) -> None:
        worst = max(parted.X.sizes, key=lambda size: size.rows)
        name = parted.X.parts[parted.X.sizes.index(worst)].name
        with pytest.raises(ParameterError) as caught:
            StreamedGram(parted.X, F64, memory_limit=tight(parted.X) - 1)
        assert name in str(caught.value)
        assert "--parts" in str(caught.value)

    def test_a_limit_below_what_the_solver_needs(self, parted: Dataset) -> None:
        with pytest.raises(ResourceError, match=r"A fit of .*the memory limit is 1 kB"):
            hold_partitions(parted.X, "sparse", FitSize(8, F64), memory_limit="1kB")


class TestChoice:
    def test_a_limit_that_dense_would_break_streams(self, parted: Dataset) -> None:
        free = choose_held(parted.X, "auto", FitSize(8, F64), memory_limit=None)
        bound = choose_held(parted.X, "auto", FitSize(8, F64), memory_limit=1000)
        assert (free, bound) == ("dense", "sparse")

    def test_a_gpu_is_not_for_partitions(self, parted: Dataset) -> None:
        with pytest.raises(ParameterError, match="in partitions are fitted on processors"):
            Teaser(device="cuda").fit(parted)


@pytest.mark.parametrize("text", ["", "much", "-2GB", "0", "2XB", None])
def test_what_is_no_size(text: Any) -> None:
    with pytest.raises(ParameterError, match="such as 2GB"):
        as_bytes(text)


@pytest.mark.parametrize("power", [0.0, 0.5])
def test_strengths_in_partitions_are_those_in_memory(tmp_path: Path, power: float) -> None:
    interactions, items = small_tables(n_users=80)
    write_partitions(interactions, tmp_path / "p", parts=3)
    how: dict[str, Any] = {"rules": RULES, "strength": "rating"}
    parted = Dataset.from_partitions(tmp_path / "p", items, **how)
    whole = pl.concat([pl.read_parquet(part.source) for part in parted.X.parts])
    local = Dataset.from_tables(whole, items, **how)
    settings: dict[str, Any] = {"dtype": "float64", "tol": 1e-12, "l2_weights": 50.0}
    settings |= {"weights": Weights(user_power=power, ridge_power=0.7)}
    wanted = Teaser(**settings).fit(local).encoder_
    for held in ("dense", "sparse"):
        assert_allclose(Teaser(gram=held, **settings).fit(parted).encoder_, wanted, atol=1e-9)


def test_a_gram_of_other_weights_is_refused(parted: Dataset) -> None:
    with placed(parted, "sparse") as held, pytest.raises(ParameterError, match=r"power=0.*0\.5"):
        Teaser(gram=held, weights=Weights()).fit(parted)


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


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--scheduler", "tcp://127.0.0.1:1"), "tcp://127.0.0.1:1 did not answer within"),
        (("--scheduler", "a", "--local-cluster", "1"), "not both"),
        (("--memory-limit", "lots"), "such as 2GB"),
        (("--memory-limit", "250kB"), "--parts"),
        (("--memory-limit", "1kB"), "the memory limit is"),
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
