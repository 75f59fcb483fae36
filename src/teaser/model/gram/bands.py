"""Interactions in bands of users, for products with X'X by compiled loops.

The sums of a band stay in the cache of a core until they are added up again, item by item.
"""

from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.model.gram.blocks import n_cores

Array = NDArray[Any]
# Sparse rows: where they begin and end, the places that they name, values unless all are one.
Rows: TypeAlias = tuple[Array, Array, Array, Array | None]

# Columns of a block.
WIDEST = 64
# Users of a band, whose sums stay in the cache; where items have few interactions in a band, it is
# higher. Places within a band fit in 16 bits, and as many numbers of two bytes in a sum of four.
_BAND = 2**12
HIGHEST = 2**16 - 1
# Bytes of a line of the cache and of a huge page.
_LINE, _HUGE = 64, 2**21


def unwritable(starts: Array, places: Array) -> tuple[Array, Array]:
    """Return views of the arrays of a sparse matrix that cannot be written.

    The arrays of a data set are such. With all others made so, the compiled loops see one type in
    place of two, and are compiled once.
    """
    views = starts.view(), places.view()
    for view in views:
        view.flags.writeable = False
    return views


class Bands:
    """The interactions of some users at a time, by user and by item.

    Users with histories of like length are taken together, so that the sums of a band are of like
    size. The items of a band's users lie in the order of its users, so that the loops know which
    rows come next, also those of the next user, and ask the memory for them early.

    Parameters
    ----------
    parts
        The arrays of X (users x items): where rows begin, columns, values unless all are one.
    shape
        Users and items.
    dtype
        The type of products.
    fast
        The compiled loops, `teaser.model.gram.kernels`.
    """

    def __init__(
        self,
        parts: tuple[Array, Array, Array | None],
        shape: tuple[int, int],
        dtype: np.dtype[Any],
        fast: Any,
    ) -> None:
        indptr, indices, values = parts
        self.n_items, self.dtype, self._fast = shape[1], dtype, fast
        weights = None if values is None else _user_weights(indptr, values)
        # X = dM(sqrt(w)) X01: weights of users come between the two products with X01.
        values = None if weights is not None else values
        lengths = np.diff(indptr)
        longest = int(lengths.max(initial=0))
        # Whether operands can be rounded to two bytes.
        self.can_round = dtype == np.float32 and values is None and longest <= HIGHEST
        data = np.ones(len(indices), bool) if values is None else values
        X = sp.csr_array((data, indices, indptr), shape=shape)
        order = np.argsort(np.ceil(np.log2(np.maximum(1, lengths))), kind="stable")
        self.height = min(shape[0], band_height(*shape, len(indices)))
        self._bands: list[tuple[Rows, Rows, Array | None]] = []
        self._rooms: list[_Room] = []
        for first in range(0, shape[0], max(1, self.height)):
            users = order[first : first + self.height]
            some = X[users]
            both = (some, some.T.tocsr())
            by_user, by_item = (_rows(M, are_ones=values is None) for M in both)
            self._bands.append((by_user, by_item, None if weights is None else weights[users]))

    def __len__(self) -> int:
        return len(self._bands)

    def multiply(self, block: Array) -> Array:
        """Return X'(X M) for at most 64 columns."""
        # The loops take sixteen columns at a time.
        width = int(block.shape[1])
        shape = (self.n_items, -(-width // 16) * 16)
        padded, out = lines(shape, self.dtype), lines(shape, self.dtype)
        padded[:, :width], padded[:, width:], out[:] = block, 0, 0
        sums = lines((self.height, shape[1]), self.dtype)
        for by_user, by_item, weights in self._bands:
            self._gather(by_user, padded, sums, add=False)
            if weights is not None:
                sums[: len(weights)] *= weights[:, None]
            self._gather(by_item, sums, out, add=True)
        return out[:, :width]

    def rounded_pair(
        self, given: tuple[Array, Any, Array, Array], first: int, into: tuple[Array, Array]
    ) -> None:
        """Write G W and the diagonal of G F DV' for 32 columns of F and W, from `first` on.

        `given` is F, DV, eta and beta, and W = F diag(eta) - diag(beta) DV. [F | W] and X times it
        are rounded to two bytes, relative to the largest entry of each column, of the product
        among the users of a band. Sums of what is rounded are exact.

        Parameters
        ----------
        into
            G W, all columns of it, and the part of the diagonal that these columns make up.
        """
        F, DV, eta, beta = given
        room, here = self._room(), np.ascontiguousarray(DV[:, first : first + WIDEST // 2])
        self._fast.join_pair(F, here, eta, beta, first, room.out)
        self._multiply_rounded(room)
        self._fast.spread_pair(room.out, here, first, *into)
        self._rooms.append(room)

    def multiply_rounded(self, block: Array, out: Array) -> None:
        """Write X'(X M) for at most 64 columns, rounded as `rounded_pair` does."""
        room, width = self._room(), int(block.shape[1])
        room.out[:, :width], room.out[:, width:] = block, 0
        self._multiply_rounded(room)
        out[:] = room.out[:, :width]
        self._rooms.append(room)

    def _multiply_rounded(self, room: "_Room") -> None:
        """Put X'(X M) in the place of M in `room.out`."""
        own = np.empty_like(room.scale)
        self._fast.round_columns(room.out, None, room.whole, room.scale)
        room.out[:] = 0
        for by_user, by_item, weights in self._bands:
            self._fast.gather_rounded(*by_user[:3], room.whole, room.sums)
            self._fast.round_columns(room.sums[: len(by_user[0])], weights, room.narrow, own)
            self._fast.add_rounded(*by_item[:3], room.narrow, own * room.scale, room.out)

    def _room(self) -> "_Room":
        """Return the arrays of a thread, those of an earlier block where there are some."""
        try:
            return self._rooms.pop()
        except IndexError:
            return _Room(self.n_items, self.height)

    def give_back(self) -> None:
        """Free what the threads of a rounded product used."""
        self._rooms.clear()

    def _gather(self, rows: Rows, block: Array, out: Array, *, add: bool) -> None:
        starts, ends, indices, values = rows
        if values is None:
            self._fast.gather(starts, ends, indices, block, out, add)
        else:
            self._fast.gather_weighted(starts, ends, indices, values, block, out, add)


class _Room:
    """The arrays of one thread of a rounded product; new ones would cost as many page faults."""

    def __init__(self, n_items: int, height: int) -> None:
        self.whole, self.scale = lines((n_items, WIDEST), np.int16), np.empty(WIDEST, np.float32)
        self.out = lines((n_items, WIDEST), np.float32)
        self.sums = lines((height, WIDEST), np.int32)
        self.narrow = lines((height, WIDEST), np.int16)


def lines(shape: tuple[int, int], dtype: Any) -> Array:
    """Return an array that begins with a line of the cache; of two lines a row touches no third."""
    size = shape[0] * shape[1] * np.dtype(dtype).itemsize
    # Large arrays begin with a huge page, so that all of it is in huge pages where there are some.
    step = _LINE if size < _HUGE else _HUGE
    room = np.empty(size + step, np.uint8)
    first = -room.ctypes.data % step
    made: Array = room[first : first + size].view(dtype).reshape(shape)
    return made


def band_height(n_users: int, n_items: int, n_interactions: int) -> int:
    """Return how many users to process at once: sixteen interactions of an item, if there are."""
    return min(HIGHEST, max(_BAND, 16 * n_items * n_users // max(1, n_interactions)))


def gram_bytes(n_users: int, n_items: int, n_interactions: int) -> int:
    """Return what a `SparseGram` holds of interactions that are all ones: X, and both ways."""
    bands = 1 + n_users // band_height(n_users, n_items, n_interactions)
    # An interaction: 4 bytes in X; in the bands, 2 or 4 by user and 2 by item. Then where rows
    # begin, by user and by item.
    each = 6 + np.dtype(_place_type(n_items)).itemsize
    return each * n_interactions + 16 * n_users + 4 * bands * n_items


def product_bytes(n_users: int, n_items: int, n_columns: int, itemsize: int) -> int:
    """Return what the threads of a product of `SparseGram` hold beside its result."""
    width = min(n_columns, WIDEST)
    # A block of columns, what becomes of it, and their parts; and the sums of some users, the
    # second time in two bytes.
    rows = 3 * n_items + 2 * min(n_users, HIGHEST)
    return n_cores() * width * itemsize * rows


def _rows(M: sp.csr_array, *, are_ones: bool) -> Rows:
    """Return the arrays of a sparse matrix; rows lie in the order in which they are summed."""
    places = M.indices.astype(_place_type(M.shape[1]))
    return M.indptr[:-1], M.indptr[1:], places, None if are_ones else M.data


def _place_type(n: int) -> type[np.uint16] | type[np.int32]:
    """Return the smallest type for so many places that the loops are compiled for."""
    return np.uint16 if n <= HIGHEST else np.int32


def _user_weights(indptr: Array, values: Array) -> Array | None:
    """Return the square of each user's value, or None where the values of a user differ."""
    counts = np.diff(indptr)
    own = np.zeros(len(counts), values.dtype)
    own[counts > 0] = values[indptr[:-1][counts > 0]]
    return own**2 if (np.repeat(own, counts) == values).all() else None
