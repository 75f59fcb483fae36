"""X'(X M) for a few columns of M at a time: sums of the rows that sparse rows name.

A block of threads takes a sparse row; groups of its threads add up every so many of the rows that
it names, each thread four columns. With few columns the sums of all users stay in the cache.
"""

from typing import Any

import numpy as np

from teaser.model.cuda.launch import as_numbers, launch, type_name, xp

_THREADS = 256
# Bytes of the sums of users that stay in the cache, the most that they may take, and the columns
# of a pass: with fewer the interactions are read too often.
_CACHE_BYTES = 2**25
_MOST_BYTES = 2**31
_NARROW, _USUAL, _WIDE = 32, 128, 256

_CODE = r"""
template <typename T>
struct __align__(16) Four { T v[4]; };

template <typename T, bool ONES>
__global__ void sum_rows(const long long* from, const int* column, const T* value,
                         const T* block, int width, T* out) {
    extern __shared__ __align__(16) char shared[];
    T* sums = (T*)shared;
    int lanes = width / 4, group = threadIdx.x / lanes, lane = threadIdx.x % lanes;
    int n_groups = blockDim.x / lanes;
    T sum[4] = {0, 0, 0, 0};
    for (long long at = from[blockIdx.x] + group; at < from[blockIdx.x + 1]; at += n_groups) {
        Four<T> x = ((const Four<T>*)(block + column[at] * (long long)width))[lane];
        T weight = ONES ? (T)1 : value[at];
        for (int k = 0; k < 4; k++) sum[k] += ONES ? x.v[k] : weight * x.v[k];
    }
    for (int k = 0; k < 4; k++) sums[group * width + 4 * lane + k] = sum[k];
    __syncthreads();
    for (int c = threadIdx.x; c < width; c += blockDim.x) {
        T total = 0;
        for (int g = 0; g < n_groups; g++) total += sums[g * width + c];
        out[blockIdx.x * (long long)width + c] = total;
    }
}
"""


def pass_width(n_users: int, itemsize: int) -> int:
    """Return how many columns to take at once."""
    width = _WIDE if n_users * itemsize * _WIDE <= _CACHE_BYTES else _USUAL
    while width > _NARROW and n_users * itemsize * width > _MOST_BYTES:
        width //= 2
    return width


class SparseRows:
    """The arrays of a csr matrix as the loops want them.

    Parameters
    ----------
    matrix
        Of the GPU; its positions may be of 32 or of 64 bits.
    ones
        Whether every entry is a one.
    """

    def __init__(self, matrix: Any, *, ones: bool) -> None:
        self.n_rows, self.ones = int(matrix.shape[0]), ones
        positions = (matrix.indptr, np.int64), (matrix.indices, np.int32)
        self._arrays = (*(as_numbers(*each) for each in positions), matrix.data)

    def multiply(self, block: Any) -> Any:
        """Return the matrix times a block of columns, as many as `pass_width` says."""
        width = int(block.shape[1])
        out = xp().empty((self.n_rows, width), block.dtype)
        name = f"sum_rows<{type_name(block)}, {str(self.ones).lower()}>"
        shared = _THREADS * 4 * block.dtype.itemsize
        arguments = (*self._arrays, block, np.int32(width), out)
        launch(_CODE, name, self.n_rows, _THREADS, arguments, shared=shared)
        return out
