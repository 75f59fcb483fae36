"""Work on arrays by blocks of rows, and in threads."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from teaser.model.gram import blocks as module
from teaser.model.gram.blocks import dot, each_block, in_threads, norm, rowdot


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
