"""Measure how long one person waits for a list with reasons out of a million items.

The model is put together, not fitted: scoring takes as long whatever the numbers are. Its encoder
is a file that is mapped, of which a request reads the rows of the history only. Then the same with
a remainder of neighbours, mapped too, and how long such a model takes to load where its encoder is
sparse.
"""

import argparse
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp
from report import report, times

from teaser import ListOf, Rules, Tag, Teaser, load
from teaser.data.matrix import Ids
from teaser.evaluate.study.search import peak_memory
from teaser.extensions import Remainder, SparseEncoder
from teaser.model.extensions.sparse import unpack_mapped
from teaser.model.tables import ItemTable, TagTable, decoder
from teaser.profile import POPULARITY


def put_together(
    n_items: int, n_tags: int, encoder: Path, histories: np.ndarray[Any, Any]
) -> Teaser:
    rng = np.random.default_rng(0)
    places = np.sort(rng.integers(0, n_tags, (n_items, 10)), axis=1)
    indptr = np.arange(0, 10 * n_items + 1, 10)
    S = sp.csr_array((np.ones(10 * n_items), places.ravel(), indptr), shape=(n_items, n_tags))
    S.sum_duplicates()
    model = Teaser()
    counted = 1.0 / np.arange(1, n_items + 1) ** 0.8
    tags = (*(Tag("tag", f"t{j}") for j in range(n_tags)), POPULARITY)
    metadata = pl.DataFrame(
        {"item_id": np.arange(n_items), "title": [f"Item {i}" for i in range(n_items)]}
    )
    rules = Rules((ListOf("tag"),), {"title": "title"})
    model._item_table = ItemTable(Ids(range(n_items)), metadata, counted, "title")
    model._tag_table = TagTable(tags, decoder(S, counted), rules)
    model.encoder_ = np.memmap(encoder, np.float32, "w+", shape=(n_items, n_tags + 1))
    model.encoder_[np.unique(histories)] = rng.standard_normal(
        (len(np.unique(histories)), n_tags + 1)
    )
    model.iterations_, model.residual_, model.converged_ = 0, 0.0, True
    return model


def neighbours(n_items: int, m: int, folder: Path) -> sp.csr_array:
    """Return a remainder of m neighbours an item, its arrays mapped from files."""
    rng = np.random.default_rng(2)
    shape = (n_items, m)
    indices = np.memmap(folder / "indices", np.int32, "w+", shape=shape)
    values = np.memmap(folder / "values", np.float32, "w+", shape=shape)
    step = max(1, n_items // m)
    for first in range(0, n_items, 2**15):
        rows = slice(first, min(first + 2**15, n_items))
        # One of each m-th part of the items, so that the columns of a row are sorted.
        drawn = rng.integers(0, step, (rows.stop - rows.start, m))
        indices[rows] = np.minimum(drawn + step * np.arange(m), n_items - 1)
        values[rows] = rng.standard_normal(drawn.shape)
    # Plain arrays of what is mapped, as those of a model that was loaded are.
    arrays = {"R.data": values.view(np.ndarray).ravel()}
    arrays["R.indices"] = indices.view(np.ndarray).ravel()
    arrays["R.indptr"] = np.arange(0, n_items * m + 1, m, dtype=np.int32)
    return unpack_mapped("R", arrays, n_items)


def measure(model: Teaser, histories: np.ndarray[Any, Any]) -> Iterator[dict[str, Any]]:
    """Yield how long each kind of request takes."""
    tag, with_what = model.tags_[5], "" if model.remainder_ is None else ", with neighbours"
    asks: dict[str, Callable[[int], object]] = {
        "recommend 20 with reasons": lambda i: model.recommend(histories[i].tolist()),
        "the same after three presses": lambda i: model.recommend(histories[i].tolist(), {tag: 3}),
        "explain one item": lambda i: model.explain(7, histories[i].tolist()),
    }
    for what, ask in asks.items():
        yield {"what": f"{what}{with_what}", **times(ask, len(histories))}


def measure_loading(model: Teaser, folder: Path, history: list[int]) -> Iterator[dict[str, Any]]:
    """Yield how long it takes to load the model with a sparse encoder, and its first list."""
    n_items, n_tags = model.encoder_.shape
    rng = np.random.default_rng(3)
    # One of each tenth of the tags, so that the columns of a row are sorted.
    step = n_tags // 10
    places = rng.integers(0, step, (n_items, 10)) + step * np.arange(10)
    values = rng.standard_normal(places.size).astype(np.float32)
    parts = (values, places.ravel(), np.arange(0, places.size + 1, 10))
    model.encoder_ = sp.csr_array(parts, shape=(n_items, n_tags))
    model.sparse = SparseEncoder()
    model.save(folder / "model")
    yield {"what": "load, with neighbours", **times(lambda _: load(folder / "model"), 3)}
    again = load(folder / "model", Teaser)
    yield {"what": "the first list after", **times(lambda _: again.recommend(history), 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--tags", type=int, default=2_000)
    parser.add_argument("--neighbours", type=int, default=100)
    parser.add_argument("--quick", action="store_true", help="50,000 items")
    chosen = parser.parse_args()
    n_items = 50_000 if chosen.quick else chosen.items
    rng = np.random.default_rng(1)
    histories = rng.integers(0, n_items, (50, 20))
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        model = put_together(n_items, chosen.tags, folder / "encoder", histories)
        rows = list(measure(model, histories))
        peak = peak_memory() / 1e9
        if chosen.neighbours:
            model.remainder = Remainder(neighbours=chosen.neighbours)
            model._remainder = neighbours(n_items, chosen.neighbours, folder)
            rows += measure(model, histories)
            rows += measure_loading(model, folder, histories[0].tolist())
        name = "million-quick" if chosen.quick else "million"
        report(
            name,
            rows,
            items=n_items,
            tags=chosen.tags,
            neighbours=chosen.neighbours,
            tags_of_items=int(model.decoder_.nnz),
            peak_gb=peak,
            peak_gb_with_neighbours=peak_memory() / 1e9,
        )


if __name__ == "__main__":
    main()
