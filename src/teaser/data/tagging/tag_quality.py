"""Warn of tags that say little: near-equal tags, tags on one item, tags on nearly all."""

from collections.abc import Iterator, Sequence

import numpy as np
import scipy.sparse as sp

from teaser.data.tagging.rule_set import Rules
from teaser.data.tagging.tag import Tag
from teaser.errors import counted

# Tags are near-equal if their carriers overlap by more than this (Jaccard).
NEAR_EQUAL = 0.8
NEARLY_ALL = 0.95
_SHOWN = 5
_BLOCK = 512


def tag_warnings(S: sp.csr_array, tags: Sequence[Tag]) -> tuple[str, ...]:
    """Return warnings of tags that tell items badly apart, each with at most five examples.

    Parameters
    ----------
    S
        Which item has which tag (items x tags), binary.
    tags
        The tags, in the order of the columns.
    """
    counts = np.bincount(S.indices, minlength=S.shape[1])
    warnings = []
    # The most frequent tags first: their overlap is the least likely to be chance.
    pairs = sorted(near_equal_tags(S), key=lambda pair: (-counts[pair[0]], pair))
    if pairs:
        named = [f"{tags[i]} and {tags[j]} ({100 * overlap:.0f} %)" for i, j, overlap in pairs]
        warnings.append(
            f"{counted(len(pairs), 'pair')} of tags on nearly the same items: {_few(named)}. "
            "If both mean the same, leave one out"
        )
    alone = [str(tags[j]) for j in np.flatnonzero(counts == 1).tolist()]
    if alone:
        warnings.append(
            f"{counted(len(alone), 'tag')} on one item alone, where nothing can be learned from "
            f"other items: {_few(alone)}. Raise min_items"
        )
    share = counts / max(1, S.shape[0])
    most = np.flatnonzero(share > NEARLY_ALL).tolist()
    common = [f"{tags[j]} ({100 * share[j]:.0f} %)" for j in most]
    if common:
        warnings.append(
            f"{counted(len(common), 'tag')} on nearly all items, which tells hardly any apart: "
            f"{_few(common)}. Leave such values or columns out"
        )
    return tuple(warnings)


def no_tags(rules: Rules) -> str:
    """Return the warning of a data set without any tag."""
    why = "; ".join(f"{column!r}: {reason}" for column, reason in rules.skipped.items())
    return (
        f"no column became a tag{f' ({why})' if why else ''}, so that reasons can only be general "
        "appeal and what a person viewed. Add columns about the content of the items, or let the "
        "fit find groups of items as tags: --discovered, in Python discovered=DiscoveredTags()"
    )


def near_equal_tags(
    S: sp.csr_array, overlap: float = NEAR_EQUAL
) -> Iterator[tuple[int, int, float]]:
    """Yield pairs of tags i < j, on two items or more, whose items overlap by more than this.

    The overlap is Jaccard's: the items that have both, over the items that have one or both.
    """
    counts = np.bincount(S.indices, minlength=S.shape[1])
    binary = sp.csr_array((np.ones(S.nnz, np.int32), S.indices, S.indptr), shape=S.shape)
    of_tag = binary.T.tocsr()
    # A block of rows of S'S at a time, to bound the memory.
    for first in range(0, S.shape[1], _BLOCK):
        both = sp.coo_array(of_tag[first : first + _BLOCK] @ binary)
        i, j = both.row + first, both.col
        shares = both.data / (counts[i] + counts[j] - both.data)
        near = np.flatnonzero((i < j) & (shares > overlap) & (both.data > 1))
        yield from zip(i[near].tolist(), j[near].tolist(), shares[near].tolist(), strict=True)


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
