"""What discovered groups are called: by their best-known central items, and a declared tag."""

import re
from collections.abc import Callable, Container, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.dataset import Dataset
from teaser.data.matrix import Ids
from teaser.data.tags import Tag

Array = NDArray[Any]

# Characters of one title, and of a whole name.
_TITLE = 36
_NAME = 80
_ITEMS = 3
# A declared tag labels a group if this share of the members carry it, this many times as often
# as items do on the whole.
_LEAST_SHARE = 0.3
_LEAST_LIFT = 2.0
_LEAST_CARRIERS = 3


def central_items(cosines: sp.csr_array, counts: Array, most: int) -> list[list[int]]:
    """Return the positions of the best-known central items of each group, the best first.

    Parameters
    ----------
    cosines
        Of items with the centroids of their groups (items x groups).
    counts
        How often each item was chosen.
    """
    known = np.log1p(counts)
    columns = sp.csc_array(cosines)
    # Nearest first: an item that is nearer to another group does not stand for this one.
    highest = cosines.max(axis=1).toarray().ravel()
    out = []
    for j in range(columns.shape[1]):
        part = slice(columns.indptr[j], columns.indptr[j + 1])
        rows, cosine = columns.indices[part], columns.data[part]
        own = cosine >= highest[rows]
        score = cosine * known[rows]
        order = np.lexsort((rows, -score, ~own))[:most]
        out.append(rows[order].tolist())
    return out


def title_of(dataset: Dataset) -> Callable[[int], str | None]:
    """Return a function of an item's position: its short title, or None where it has none."""
    column = dataset.rules.roles.get("title")

    def title(place: int) -> str | None:
        text = None if column is None else dataset.table[column][place]
        return short_title("" if text is None else str(text)) or None

    return title


def speaking_titles(
    items: Sequence[int], title: Callable[[int], str | None], ids: Ids, label: Tag | None
) -> list[str]:
    """Return what a group can be called by: titles of items, the best first.

    Parameters
    ----------
    items
        Positions of the central items, the best first.
    label
        The declared tag of the group. Where fewer than two items have a title, ids follow it.
    """
    titles = [title(i) for i in items]
    known = [text for text in titles if text is not None]
    if len(known) >= 2:
        return known
    named = [text or str(ids[i]) for i, text in zip(items, titles, strict=True)]
    return named if label is None else [f"{label.value}: {named[0]}", *named[1:]]


def short_title(text: str) -> str:
    """Return a title on one line, without brackets at its end, cut between words."""
    plain = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    bare = re.sub(r"(\s*[(\[][^()\[\]]*[)\]])+$", "", plain) or plain
    if len(bare) <= _TITLE:
        return bare
    cut = bare[: _TITLE - 1]
    head = cut.rpartition(" ")[0]
    # A word that begins in the first half is cut itself.
    return f"{(head if len(head) > _TITLE // 2 else cut).rstrip(' ,;:-')}…"


def name_group(titles: Sequence[str], taken: Container[str]) -> str:
    """Return a name of two or three items, "A, B, C"; of more where groups are called so already.

    Parameters
    ----------
    titles
        Of the central items, the best first.
    taken
        Names of other groups, in lower case.
    """
    different: dict[str, str] = {}
    for each in titles:
        different.setdefault(each.casefold(), each)
    name = ""
    for n, each in enumerate(different.values()):
        longer = f"{name}, {each}" if name else each
        is_long = n >= _ITEMS or (n >= 2 and len(longer) > _NAME)
        if is_long and name.casefold() not in taken:
            break
        name = longer
    free, n = name, 2
    while free.casefold() in taken:
        free, n = f"{name} ({n})", n + 1
    return free


def label_groups(members: sp.csr_array, S: sp.csr_array) -> list[tuple[int, float] | None]:
    """Return for each group the declared tag that is most over-represented, with its share.

    Parameters
    ----------
    members
        How much items belong to groups (items x groups).
    S
        The declared tags of the items (items x tags).
    """
    W, tags = members.astype(np.float64), (S > 0).astype(np.float64)
    carried = sp.csr_array(W.T @ tags)  # groups x tags
    carriers = sp.csr_array((W > 0).astype(np.float64).T @ tags)
    carried.sort_indices()
    carriers.sort_indices()
    mass = W.sum(axis=0)
    overall = tags.mean(axis=0)
    out: list[tuple[int, float] | None] = []
    for j in range(carried.shape[0]):
        part = slice(carried.indptr[j], carried.indptr[j + 1])
        columns, share = carried.indices[part], carried.data[part] / mass[j]
        lift = share / overall[columns]
        clear = (share >= _LEAST_SHARE) & (lift >= _LEAST_LIFT)
        clear &= carriers.data[part] >= _LEAST_CARRIERS
        value = np.where(clear, share * np.log(lift), 0.0)
        best = int(value.argmax()) if clear.any() else None
        out.append(None if best is None else (int(columns[best]), float(share[best])))
    return out
