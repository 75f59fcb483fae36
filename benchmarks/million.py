"""Measure how long one person waits for a list with reasons out of a million items.

The model is put together, not fitted: scoring takes as long whatever the numbers are. Its encoder
is a file that is mapped, of which a request reads the rows of the history only.
"""

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp
from report import report, times

from teaser import ListOf, Rules, Tag, Teaser
from teaser.data.ids import Ids
from teaser.evaluate.study.meter import peak_memory
from teaser.model.item_table import ItemTable
from teaser.model.tag_table import TagTable, decoder
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--tags", type=int, default=2_000)
    parser.add_argument("--quick", action="store_true", help="50,000 items")
    chosen = parser.parse_args()
    n_items = 50_000 if chosen.quick else chosen.items
    rng = np.random.default_rng(1)
    histories = rng.integers(0, n_items, (50, 20))
    with tempfile.TemporaryDirectory() as scratch:
        model = put_together(n_items, chosen.tags, Path(scratch) / "encoder", histories)
        tag = model.tags_[5]
        asks: dict[str, Callable[[int], object]] = {
            "recommend 20 with reasons": lambda i: model.recommend(histories[i].tolist()),
            "the same after three presses": lambda i: model.recommend(
                histories[i].tolist(), {tag: 3}
            ),
            "explain one item": lambda i: model.explain(7, histories[i].tolist()),
        }
        rows = [{"what": what, **times(ask, len(histories))} for what, ask in asks.items()]
        name = "million-quick" if chosen.quick else "million"
        report(
            name,
            rows,
            items=n_items,
            tags=chosen.tags,
            tags_of_items=int(model.decoder_.nnz),
            peak_gb=peak_memory() / 1e9,
        )


if __name__ == "__main__":
    main()
