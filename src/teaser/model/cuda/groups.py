"""The steps of spherical k-means on a GPU: which group is nearest, and the sum of each group."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from teaser.model.cuda.launch import launch, type_name, xp

# Cosines of one block of items with all groups.
_BLOCK_BYTES = 2**30
_THREADS = 128

_CODE = r"""
// The sum of the rows of a group's items, in their order.
template <typename T>
__global__ void group_sums(const T* Y, const long long* order, const long long* from,
                           long long width, T* out) {
    for (long long c = threadIdx.x; c < width; c += blockDim.x) {
        double sum = 0;
        for (long long at = from[blockIdx.x]; at < from[blockIdx.x + 1]; at++)
            sum += Y[order[at] * width + c];
        out[blockIdx.x * width + c] = (T)sum;
    }
}
"""


def nearest_groups(Y: Any, centroids: Any) -> tuple[Any, Any]:
    """Return for each item its nearest group and the cosine with it, in main memory."""
    cp = xp()
    group, cosine = cp.empty(len(Y), np.int64), cp.empty(len(Y), Y.dtype)
    for rows in _blocks(Y, centroids):
        products = Y[rows] @ centroids.T
        group[rows] = products.argmax(axis=1)
        cosine[rows] = products.max(axis=1)
    return cp.asnumpy(group), cp.asnumpy(cosine)


def top_groups(Y: Any, centroids: Any, n: int) -> tuple[Any, Any]:
    """Return for each item its n nearest groups and the cosines, in main memory (items x n)."""
    cp = xp()
    columns, values = cp.empty((len(Y), n), np.int64), cp.empty((len(Y), n), Y.dtype)
    for rows in _blocks(Y, centroids):
        products = Y[rows] @ centroids.T
        each = cp.arange(len(products))
        for k in range(n):
            best = products.argmax(axis=1)
            columns[rows, k], values[rows, k] = best, products[each, best]
            products[each, best] = -np.inf
    return cp.asnumpy(columns), cp.asnumpy(values)


def group_sums(Y: Any, group: Any, n_groups: int) -> Any:
    """Return the sum of the rows of each group (groups x factors).

    Parameters
    ----------
    group
        The group of each item, in main memory.
    """
    cp = xp()
    order = cp.asarray(np.argsort(group, kind="stable"))
    starts = np.zeros(n_groups + 1, np.int64)
    np.cumsum(np.bincount(group, minlength=n_groups), out=starts[1:])
    Y = cp.ascontiguousarray(Y)
    out = cp.empty((n_groups, Y.shape[1]), Y.dtype)
    arguments = (Y, order, cp.asarray(starts), np.int64(Y.shape[1]), out)
    launch(_CODE, f"group_sums<{type_name(Y)}>", n_groups, _THREADS, arguments)
    return out


def _blocks(Y: Any, centroids: Any) -> Iterator[slice]:
    height = max(1, _BLOCK_BYTES // (max(1, len(centroids)) * Y.dtype.itemsize))
    for first in range(0, len(Y), height):
        yield slice(first, first + height)
