"""Work on arrays by blocks of rows, and in threads."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from on_gpu import needs_gpu

from teaser.model.gram import blocks as module
from teaser.model.gram.blocks import blocks, dot, each_block, in_threads, norm, rowdot, unit_basis
from teaser.model.gram.gpu import cupy, to_host


def test_sums_run_over_every_block_of_rows() -> None:
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((2, 700, 3))
    assert_allclose(rowdot(A, B), (A * B).sum(axis=1))
    assert_allclose(dot(A, B), (A * B).sum())
    assert_allclose(norm(A), np.linalg.norm(A))


def test_results_come_in_the_order_of_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    A = np.zeros((1000, 2))
    found = []
    for cores in (1, 3):
        monkeypatch.setattr(module, "n_cores", lambda cores=cores: cores)
        found.append(each_block(lambda rows: rows.start, A))
    assert found == [[0, 256, 512, 768]] * 2


def test_an_error_in_a_thread_is_raised() -> None:
    def work(piece: int) -> None:
        if piece == 3:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        in_threads(work, range(5))


def test_orthonormal_columns_span_those_given() -> None:
    A = np.random.default_rng(0).standard_normal((60, 8))
    Q = unit_basis(A)
    assert_allclose(Q.T @ Q, np.eye(8), atol=1e-12)
    assert_allclose(Q @ (Q.T @ A), A, atol=1e-12)


@pytest.mark.parametrize("place", [np.asarray, pytest.param("gpu", marks=needs_gpu)])
def test_orthonormal_columns_whatever_their_rank(place: Any) -> None:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((60, 8)).astype(np.float32)
    twice = np.concatenate([A, A[:, :3]], axis=1)
    for given in (A, A * 10.0 ** -np.arange(8), twice, np.zeros((60, 8))):
        there = (cupy().asarray if place == "gpu" else place)(given.astype(np.float32))
        Q = to_host(unit_basis(there))
        assert Q.dtype == np.float32
        assert_allclose(Q.T @ Q, np.eye(Q.shape[1]), atol=1e-5)
        assert_allclose(Q @ (Q.T @ given), given, atol=1e-5 * max(1, np.abs(given).max()))


@needs_gpu
def test_sums_on_a_gpu_do_not_depend_on_the_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    A, B = np.random.default_rng(0).standard_normal((2, 700, 3))
    there = cupy().asarray(A), cupy().asarray(B)
    for size in (2**29, 100 * A.itemsize * 3):
        monkeypatch.setattr(module, "_DEVICE_BYTES", size)
        assert len(list(blocks(there[0]))) == (1 if size == 2**29 else 7)
        assert_allclose(to_host(rowdot(*there)), (A * B).sum(axis=1))
        assert_allclose(dot(*there), (A * B).sum())
        assert_allclose(dot(there[0][:, 0], there[1][:, 0]), (A * B)[:, 0].sum())
        assert_allclose(norm(there[0]), np.linalg.norm(A))
