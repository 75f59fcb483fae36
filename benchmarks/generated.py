"""Catalogues of a named size, made up so that tags matter to what users choose."""

import math
from itertools import pairwise

import numpy as np
import polars as pl
import scipy.sparse as sp

from teaser import Dataset, ListOf, Rules, Tag
from teaser.data.interactions import ReadReport
from teaser.data.matrix import Ids
from teaser.data.tags import TagReport

# Users, items, tags, interactions.
SIZES = {
    "ml-20m": (138_287, 20_720, 3_504, 10_000_000),
    "100k": (500_000, 100_000, 3_000, 20_000_000),
    "small": (4_000, 2_000, 600, 120_000),
}
_CAMPS = 64
_TABLE = 2**22
_TAGS_OF_AN_ITEM = 10


def named(size: str, *, seed: int = 0) -> Dataset:
    """Return a data set of one of the named sizes."""
    n_users, n_items, n_tags, n_interactions = SIZES[size]
    return generated(
        n_users=n_users, n_items=n_items, n_tags=n_tags, n_interactions=n_interactions, seed=seed
    )


def generated(
    *, n_users: int, n_items: int, n_tags: int, n_interactions: int, seed: int = 0
) -> Dataset:
    """Return a data set of about the given size; every item has about ten tags.

    People come in camps that like a twentieth of the tags: each liked tag makes an item three
    times as likely. Items, tags and histories are long-tailed as in real catalogues.
    """
    rng = np.random.default_rng(seed)
    S = _tags(n_items, n_tags, rng)
    X = _interactions(S, n_users, n_interactions, rng)
    names = [f"t{j}" for j in range(n_tags)]
    carried = np.split(S.indices, S.indptr[1:-1])
    table = pl.DataFrame(
        {
            "item_id": np.arange(n_items),
            "title": [f"Item {i}" for i in range(n_items)],
            "tag": [[names[j] for j in row] for row in carried],
        }
    )
    return Dataset(
        X=X,
        S=S,
        users=Ids(range(n_users)),
        items=Ids(range(n_items)),
        tags=tuple(Tag("tag", name) for name in names),
        table=table,
        rules=Rules((ListOf("tag"),), {"title": "title"}),
        report=ReadReport(X.nnz, X.nnz, n_users, n_items, 0, 0, ()),
        tag_report=TagReport(tags={"tag": n_tags}),
    )


def _tags(n_items: int, n_tags: int, rng: np.random.Generator) -> sp.csr_array:
    """Return S (items x tags); no tag is without an item."""
    weight = 1.0 / np.arange(1, n_tags + 1) ** 0.7
    tags = rng.choice(n_tags, size=(n_items, _TAGS_OF_AN_ITEM), p=weight / weight.sum())
    tags[: min(n_tags, n_items), 0] = np.arange(min(n_tags, n_items))
    rows = np.repeat(np.arange(n_items), _TAGS_OF_AN_ITEM)
    S = sp.csr_array(
        (np.ones(tags.size, np.float32), (rows, tags.ravel())), shape=(n_items, n_tags)
    )
    S.sum_duplicates()
    S.data[:] = 1
    return S


def _interactions(
    S: sp.csr_array, n_users: int, n_interactions: int, rng: np.random.Generator
) -> sp.csr_array:
    """Return X (users x items), one group of users at a time."""
    n_items, n_tags = S.shape
    popularity = 1.0 / (1 + rng.permutation(n_items)) ** 0.8
    lengths = 1 + rng.geometric(1 / max(1.0, n_interactions / n_users - 1), n_users)
    ends = np.linspace(0, n_users, _CAMPS + 1).astype(int)
    share, counts, items = 1.0, [], []
    for first, last in pairwise(ends):
        liked = (rng.random(n_tags) < 0.05).astype(np.float32)
        weight = popularity * 3.0 ** (S @ liked)
        copies = np.maximum(1, np.rint(weight * (_TABLE / weight.sum()))).astype(np.int64)
        table = np.repeat(np.arange(n_items), copies)
        # An item that is drawn twice counts once: more are drawn to make up for it.
        wanted = np.minimum(n_items // 2, lengths[first:last])
        drawn = np.ceil(wanted / share).astype(np.int64)
        person = np.repeat(np.arange(last - first), drawn)
        key = np.unique(person * n_items + table[rng.integers(len(table), size=len(person))])
        if len(key):
            share = max(0.2, share * math.sqrt(len(key) / max(1, wanted.sum())))
        counts.append(np.bincount(key // n_items, minlength=last - first))
        items.append((key % n_items).astype(np.int32))
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
    indptr = indptr.astype(np.int32 if indptr[-1] < 2**31 else np.int64)
    indices = np.concatenate(items)
    return sp.csr_array(
        (np.ones(len(indices), np.float32), indices, indptr), shape=(n_users, n_items)
    )
