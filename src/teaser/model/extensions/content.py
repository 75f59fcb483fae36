"""Content: items count as alike because they share tags or words, beside being chosen together.

    G_c = G + weight mean(diag G) T T'

takes the place of G = X'X. T (items x terms) holds tf-idf of declared tags and of the words of
texts, in rows of length 1: T T' are cosines. It is as if every term were one more user, with T'
for a history. See docs/users/model.md.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.dataset import Dataset
from teaser.data.rules import STOP_WORDS, Text
from teaser.errors import ParameterError, closest
from teaser.model.extensions.discovered import declared_columns
from teaser.parameters import Options, is_number

Array = NDArray[Any]
log = logging.getLogger("teaser")
# Beyond this weight interactions hardly count. The best ones lie from 0.1 to 10.
_DROWNING = 100.0
# Items without content are warned of if they are more than this share.
_MANY_BLANK = 0.05
# A word of one item says nothing of others.
_MIN_ITEMS = 2


@dataclass(frozen=True, kw_only=True, repr=False)
class Content(Options):
    """Options of content: how much sharing tags and words counts beside being chosen together.

    Parameters
    ----------
    weight
        How much the cosine of two items counts, relative to the mean of diag(X'X), which is how
        often an item was chosen. 0.1 to 10 are usual; 0 leaves content out.
    text
        Text columns of the item table whose words count too. They become no tags.
    """

    weight: float = 1.0
    text: tuple[str, ...] = ()

    def check(self) -> None:
        """Raise `ParameterError` for options that make no sense."""
        if not is_number(self.weight) or not 0 <= self.weight < 1e300:
            raise ParameterError(
                f"content.weight must be a finite number of at least 0, found {self.weight!r}."
            )
        if not isinstance(self.text, tuple) or len(set(self.text)) < len(self.text):
            raise ParameterError(
                "content.text must be a tuple of different columns, such as ('description',), "
                f"found {self.text!r}."
            )


def content_rows(options: Content | None, dataset: Dataset) -> sp.csr_array | None:
    """Return sqrt(weight) T (items x terms), or None without content.

    Tags and words are brought to length 1 apart, so that a long text does not outweigh tags.
    """
    if options is None or options.weight == 0:
        return None
    S = declared_columns(dataset)
    parts = [S] if S.nnz else []
    if options.text:
        parts.append(count_words(dataset.table, options.text))
    T = cosine_rows(parts) if parts else S
    blank = int((np.diff(T.indptr) == 0).sum())
    if blank == T.shape[0]:
        raise ParameterError(
            "content needs tags or words that tell items apart, and found none. Use other rules, "
            "name text columns, as in Content(text=('description',)), or leave content out."
        )
    if blank:
        log.log(
            logging.WARNING if blank > _MANY_BLANK * T.shape[0] else logging.INFO,
            "%d of %d items have no tag or word that tells them apart: content says nothing of "
            "them",
            *(blank, T.shape[0]),
        )
    if options.weight > _DROWNING:
        log.warning(
            "content.weight=%g: shared tags and words count %g times as much as the choices of an "
            "average item, which drowns interactions. Weights from 0.1 to 10 are usual",
            *(options.weight, options.weight),
        )
    return sp.csr_array(np.sqrt(float(options.weight)) * T)


def cosine_rows(parts: Sequence[sp.csr_array]) -> sp.csr_array:
    """Return T (items x terms), whose products of rows are cosines.

    Parameters
    ----------
    parts
        How often each item has each term (items x terms), one matrix for each kind of term.
    """
    return unit_rows(sp.csr_array(sp.hstack([unit_rows(tf_idf(part)) for part in parts])))


def count_words(table: pl.DataFrame, columns: tuple[str, ...]) -> sp.csr_array:
    """Return how often each item's texts have each word (items x words).

    Stop words of all languages are left out, and words of one item.
    """
    for name in columns:
        if name not in table.columns:
            raise ParameterError(
                f"content.text names the column {name!r}, which the items do not have. "
                f"Known: {', '.join(table.columns)}.{closest(name, table.columns)}"
            )
    words = Text(columns, stop_words=tuple(STOP_WORDS)).values(table).alias("word")
    counts = (
        words.to_frame()
        .with_row_index("item")
        .explode("word")
        .drop_nulls()
        .group_by("item", "word")
        .len()
        .filter(pl.len().over("word") >= _MIN_ITEMS)
        .with_columns(pl.col("word").rank("dense") - 1)
    )
    if counts.is_empty():
        raise ParameterError(
            f"content.text: no two items share a word in {', '.join(columns)}. Are the texts "
            "empty? Name other columns, or leave text out."
        )
    rows, places = counts["item"].to_numpy(), counts["word"].to_numpy()
    shape = (table.height, int(places.max()) + 1)
    return sp.csr_array((counts["len"].to_numpy().astype(np.float64), (rows, places)), shape=shape)


def tf_idf(counts: sp.csr_array) -> sp.csr_array:
    """Return (1 + log count) log(n / n_j), where n_j of n items have term j."""
    n_items, n_terms = counts.shape
    carriers = np.bincount(counts.indices, minlength=n_terms)
    idf = np.log(n_items / np.maximum(carriers, 1))
    data = (1 + np.log(counts.data.astype(np.float64))) * idf[counts.indices]
    out = sp.csr_array((data, counts.indices, counts.indptr), shape=counts.shape, copy=True)
    out.eliminate_zeros()
    return out


def unit_rows(matrix: sp.csr_array) -> sp.csr_array:
    """Return the rows at length 1; rows of zeros stay."""
    lengths = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    data = matrix.data / np.repeat(np.where(lengths > 0, lengths, 1.0), np.diff(matrix.indptr))
    return sp.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)
