"""G streamed from partitions: the same numbers as in memory, and within its limit."""

import gc
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from conftest import RULES, small_tables
from numpy.testing import assert_allclose, assert_array_equal

from teaser import Dataset, Teaser
from teaser.data.partitions import Interactions, write_partitions
from teaser.errors import ParameterError, ResourceError
from teaser.extensions import DiscoveredTags, Remainder
from teaser.model.gram import cost
from teaser.model.gram import partitioned as streamed
from teaser.model.gram.cost import FitSize
from teaser.model.gram.operator import DenseGram, SparseGram
from teaser.model.gram.pairs import Sets, nearest, triangles
from teaser.model.gram.partitioned import (
    StreamedGram,
    as_bytes,
    choose_held,
    column_blocks,
    count_gram,
    hold_partitions,
    kept_bytes,
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
    return read_bytes(X) + sum(kept_bytes(X, k) for k in range(kept))


@pytest.mark.parametrize("kept", [0, 2, 6])
class TestProducts:
    def test_they_are_those_of_the_whole_matrix(
        self, parted: Dataset, local: Dataset, kept: int
    ) -> None:
        gram = StreamedGram(parted.X, F64, memory_limit=tight(parted.X, kept))
        G = (local.X.T @ local.X).toarray()
        M = np.random.default_rng(0).standard_normal((40, 70))
        for _ in range(2):
            assert_allclose(gram.apply(M), G @ M, rtol=1e-12, atol=1e-12)
        assert_allclose(gram.apply(local.S), G @ local.S.toarray())
        assert_array_equal(gram.diagonal(), G.diagonal())
        assert gram.diagonal().dtype == gram.dtype == F64
        assert_array_equal(gram.row_block(5, 19), G[5:19])

    def test_rows_without_compiled_loops_are_sparse(
        self, parted: Dataset, local: Dataset, kept: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(streamed, "pair_kernels", lambda: None)
        gram = StreamedGram(parted.X, F64, memory_limit=tight(parted.X, kept))
        rows = gram.row_block(5, 19)
        assert_array_equal(rows.toarray(), (local.X.T @ local.X).toarray()[5:19])
        assert rows.has_sorted_indices

    def test_g_on_sets_is_that_of_the_whole_matrix(
        self, parted: Dataset, local: Dataset, kept: int
    ) -> None:
        sets = Sets.build(sp.csr_array(np.random.default_rng(0).random((9, 40)) < 0.3))
        gram = StreamedGram(parted.X, F64, memory_limit=tight(parted.X, kept))
        assert_array_equal(triangles(gram, sets), triangles(SparseGram(local.X, F64), sets))

    def test_a_pair_is_that_of_the_whole_matrix(
        self, parted: Dataset, local: Dataset, kept: int
    ) -> None:
        rng = np.random.default_rng(1)
        F, DV = rng.standard_normal((2, 40, 9))
        eta, beta = rng.random(9), rng.random(40)
        gram = StreamedGram(parted.X, F64, memory_limit=tight(parted.X, kept))
        found = gram.apply_pair(F, DV, eta, beta)
        wanted = SparseGram(local.X, F64).apply_pair(F, DV, eta, beta)
        for one, other in zip(found, wanted, strict=True):
            assert_allclose(one, other, rtol=1e-12, atol=1e-10)

    def test_the_same_limit_or_another_gives_the_same_bits(
        self, parted: Dataset, kept: int
    ) -> None:
        M = np.random.default_rng(2).standard_normal((40, 20)).astype(np.float32)
        F32 = np.dtype("float32")
        one = StreamedGram(parted.X, F32, memory_limit=tight(parted.X, kept)).apply(M)
        assert_array_equal(one, StreamedGram(parted.X, F32).apply(M))


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


def test_a_pass_over_the_partitions_makes_many_rows(
    parted: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes: list[int] = []
    made = StreamedGram._grams

    def watched(self: StreamedGram) -> Any:
        passes.append(1)
        return made(self)

    monkeypatch.setattr(StreamedGram, "_grams", watched)
    gram = StreamedGram(parted.X, F64)
    wanted = nearest(gram, 5)
    assert len(passes) == 1
    monkeypatch.setattr(streamed, "_PASS_BYTES", 8 * 40 * 16)
    found = nearest(gram, 5)
    assert len(passes) == 1 + 3
    assert_array_equal(found.toarray(), wanted.toarray())


def test_a_fit_with_content_and_one_by_admm(parted: Dataset, local: Dataset) -> None:
    for options in ({"content_weight": 2.0}, {"solver": "admm", "max_iter": 2000}):
        settings: Any = {"dtype": "float64", "tol": 1e-9, "l2_encoder": 50.0, **options}
        gram = StreamedGram(parted.X, F64, memory_limit=tight(parted.X))
        found = Teaser(gram=gram, **settings).fit(parted)
        assert_allclose(found.encoder_, Teaser(**settings).fit(local).encoder_, atol=1e-7)


class TestMemory:
    def watch(self, monkeypatch: pytest.MonkeyPatch) -> list[int]:
        """Count how many decoded parts are alive whenever another one is made."""
        alive: list[int] = []
        made: weakref.WeakSet[SparseGram] = weakref.WeakSet()
        make = SparseGram.__init__

        def counted(self: SparseGram, *args: Any) -> None:
            make(self, *args)
            made.add(self)
            alive.append(len(made))

        monkeypatch.setattr(SparseGram, "__init__", counted)
        return alive

    def test_one_part_at_a_time_where_none_fits(
        self, parted: Dataset, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        alive = self.watch(monkeypatch)
        gram = StreamedGram(parted.X, F64, memory_limit=tight(parted.X))
        for _ in range(2):
            gram.apply(np.ones((40, 3)))
        assert len(alive) == 12
        # The part before is let go of when the next one is there.
        assert max(alive) <= 2

    def test_what_fits_is_decoded_once(
        self, parted: Dataset, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        read: list[int] = []
        matrix = Interactions.matrix

        def watched(X: Interactions, k: int) -> Any:
            read.append(k)
            return matrix(X, k)

        monkeypatch.setattr(Interactions, "matrix", watched)
        made = self.watch(monkeypatch)
        gram = StreamedGram(parted.X, F64, memory_limit=tight(parted.X, 2))
        for _ in range(3):
            gram.apply(np.ones((40, 3)))
        assert read == [0, 1, 2, 3, 4, 5]
        assert len(made) == 6 + 2 * 4

    def test_the_scratch_folder_goes_with_the_gram(self, parted: Dataset, tmp_path: Path) -> None:
        gram = StreamedGram(parted.X, F64, memory_limit=tight(parted.X), scratch=tmp_path)
        gram.apply(np.ones((40, 3)))
        (folder,) = tmp_path.iterdir()
        assert len(list(folder.iterdir())) == 6
        del gram
        gc.collect()
        assert not list(tmp_path.iterdir())

    def test_a_scratch_folder_that_cannot_be_written_is_named(
        self, parted: Dataset, tmp_path: Path
    ) -> None:
        gram = StreamedGram(parted.X, F64, memory_limit=tight(parted.X), scratch=tmp_path)
        (folder,) = tmp_path.iterdir()
        folder.rmdir()
        with pytest.raises(ResourceError, match=rf"could not be kept in {folder}.*TMPDIR"):
            gram.apply(np.ones((40, 3)))

    def test_nothing_is_written_where_all_fits(self, parted: Dataset, tmp_path: Path) -> None:
        gram = StreamedGram(parted.X, F64, scratch=tmp_path)
        gram.apply(np.ones((40, 3)))
        assert not list(tmp_path.iterdir())

    def test_a_part_that_cannot_be_decoded_within_the_limit(self, parted: Dataset) -> None:
        worst = max(parted.X.sizes, key=lambda size: size.rows)
        name = parted.X.parts[parted.X.sizes.index(worst)].name
        with pytest.raises(ParameterError) as caught:
            StreamedGram(parted.X, F64, memory_limit=tight(parted.X) - 1)
        assert name in str(caught.value)
        assert "--parts" in str(caught.value)

    def test_a_limit_below_what_the_solver_needs(self, parted: Dataset) -> None:
        with pytest.raises(ParameterError, match=r"solver's own arrays.*limit is 1 kB"):
            hold_partitions(parted.X, "sparse", FitSize(8, F64), memory_limit="1kB")

    def test_the_limit_is_for_the_whole_fit(self, parted: Dataset) -> None:
        gram = hold_partitions(parted.X, "sparse", FitSize(8, F64), memory_limit="1GB")
        assert isinstance(gram, StreamedGram)
        assert gram.limit < 10**9 - 40 * 8 * 8


class TestChoice:
    def test_it_is_that_of_the_data_in_memory(self, parted: Dataset, local: Dataset) -> None:
        held = hold_partitions(parted.X, "auto", FitSize(8, F64))
        assert isinstance(held, DenseGram)
        assert_array_equal(held.G, DenseGram.from_interactions(local.X, F64).G)

    def test_a_limit_that_dense_would_break_streams(self, parted: Dataset) -> None:
        free = choose_held(parted.X, "auto", FitSize(8, F64), memory_limit=None)
        bound = choose_held(parted.X, "auto", FitSize(8, F64), memory_limit=1000)
        assert (free, bound) == ("dense", "sparse")

    def test_counting_sums_over_parts(self, parted: Dataset, local: Dataset) -> None:
        G = (local.X.T @ local.X).toarray()
        assert_array_equal(count_gram(parted.X, np.dtype("float32")).G, G)

    def test_a_gpu_is_not_for_partitions(self, parted: Dataset) -> None:
        with pytest.raises(ParameterError, match="in partitions are fitted on processors"):
            Teaser(device="cuda").fit(parted)


class TestEstimate:
    def test_it_says_the_same_way_and_counts_what_is_kept(
        self, parted: Dataset, local: Dataset
    ) -> None:
        found, known = Teaser().estimate(parted), Teaser().estimate(local)
        assert found.gram == known.gram == "dense"
        assert found.memory["items x items"] == known.memory["items x items"]
        sparse = Teaser(gram="sparse").estimate(parted)
        everything = sum(kept_bytes(parted.X, k) for k in range(6)) + read_bytes(parted.X)
        assert sparse.memory["interactions"] == everything

    def test_it_counts_d_v_which_partitions_hold(
        self, parted: Dataset, local: Dataset, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(cost, "COMPUTED_FROM", 0)
        model = Teaser(gram="sparse")
        found, known = (model.estimate(data).memory for data in (parted, local))
        array = 4 * parted.n_items * (parted.n_tags + 1)
        assert found["items x tags"] == known["items x tags"] + array
        solver = streamed._solver_bytes(parted.X, "sparse", FitSize(parted.n_tags + 1, F32))
        assert sum(found.values()) - found["interactions"] == solver

    def test_a_limit_bounds_it(self, parted: Dataset) -> None:
        gram = StreamedGram(parted.X, np.dtype("float32"), memory_limit=tight(parted.X, 1))
        assert Teaser(gram=gram).estimate(parted).memory["interactions"] == gram.limit


@pytest.mark.parametrize(
    ("text", "size"),
    [("2GB", 2 * 10**9), ("500 mb", 5 * 10**8), ("1.5k", 1500), (77, 77), ("3GiB", 3 * 10**9)],
)
def test_sizes_are_read(text: Any, size: int) -> None:
    assert as_bytes(text) == size


@pytest.mark.parametrize("text", ["", "much", "-2GB", "0", "2XB", None])
def test_what_is_no_size(text: Any) -> None:
    with pytest.raises(ParameterError, match="such as 2GB"):
        as_bytes(text)


def test_blocks_of_columns_cover_all_once() -> None:
    blocks = list(column_blocks(1000, 300_000, F64))
    assert [b.start for b in blocks[1:]] == [b.stop for b in blocks[:-1]]
    assert (blocks[0].start, blocks[-1].stop) == (0, 1000)
    assert max(b.stop - b.start for b in blocks) == 64
    assert streamed._BLOCK_BYTES // (40 * 8) >= 1000
