"""Lists of pairs are those of the data set; no more than some are in memory."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from teaser import Dataset, Teaser
from teaser.errors import ParameterError
from teaser.model._arrays import n_cores
from teaser.testing import assert_same_lists, example_dataset, user_histories


@pytest.fixture(scope="module")
def data() -> Dataset:
    return example_dataset()


@pytest.fixture(scope="module")
def wanted(model: Teaser, data: Dataset) -> pl.DataFrame:
    return model.recommend_all(data, k=4).sort("user_id", "rank")


def test_pairs_are_read_once_and_some_at_a_time(
    model: Teaser, data: Dataset, wanted: pl.DataFrame, tmp_path: Path
) -> None:
    histories = dict(zip(data.users[:], user_histories(data), strict=True))
    held: list[int] = []
    done = 0

    def pairs() -> Iterator[tuple[Any, Any]]:
        for n, pair in enumerate(sorted(histories.items())):
            held.append(n - done)
            yield pair

    frames = []
    for frame in model.recommend_stream(pairs(), k=4, batch_size=10):
        frames.append(frame)
        done += frame["user_id"].n_unique()
    assert_same_lists(pl.concat(frames), wanted)
    # Threads have a batch each, and one more waits.
    assert len(held) == 300
    assert max(held) < 10 * (min(n_cores(), 8) + 2)
    known = model.recommend_all(sorted(histories.items()), k=4)
    assert_frame_equal(known, pl.concat(frames), rel_tol=1e-9)


def test_one_user_is_a_list_of_one(model: Teaser, data: Dataset) -> None:
    with pytest.raises(ParameterError, match=r"list of user ids, found 'u1'.*\['u1'\]"):
        model.recommend_all(data, users="u1")
