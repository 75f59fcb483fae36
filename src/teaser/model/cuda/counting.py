"""X'X of sparse X as one array: a row at a time, added up in shared memory.

A co-occurrence is one addition, so that the work is that of the histories' squared lengths. Counts
are added as whole numbers, and so exact; weights in double precision.
"""

from typing import Any

import numpy as np

from teaser.model.cuda.launch import NAMES, as_numbers, launch, shared_bytes, type_name, xp

_THREADS = 1024
_TILE = 32

_CODE = r"""
// Entries by column: the row of each, and its value. `cursor` says where each column begins.
template <typename V, bool ONES>
__global__ void turn(const long long* from, const int* column, const V* value, long long n_rows,
                     unsigned long long* cursor, int* row, V* turned) {
    long long r = (blockIdx.x * (long long)blockDim.x + threadIdx.x) / 32;
    if (r >= n_rows) return;
    for (long long at = from[r] + threadIdx.x % 32; at < from[r + 1]; at += 32) {
        unsigned long long place = atomicAdd(cursor + column[at], 1ULL);
        row[place] = (int)r;
        if (!ONES) turned[place] = value[at];
    }
}

// A row of X'X from its diagonal on, columns first to last: the sum over the users of an item of
// x_ui X_u.
template <typename A, typename V, typename T, bool ONES>
__global__ void count(const long long* users_from, const int* users, const V* user_values,
                      const long long* items_from, const int* items, const V* item_values,
                      const int* order, int first, int last, T* G, long long n) {
    extern __shared__ __align__(8) char shared[];
    A* row = (A*)shared;
    int item = order[blockIdx.x], width = last - first;
    if (item >= last) return;
    for (int k = threadIdx.x; k < width; k += blockDim.x) row[k] = 0;
    __syncthreads();
    int least = item > first ? item : first;
    for (long long at = users_from[item] + threadIdx.x / 32; at < users_from[item + 1];
         at += blockDim.x / 32) {
        int user = users[at];
        A weight = ONES ? (A)1 : (A)user_values[at];
        for (long long e = items_from[user] + threadIdx.x % 32; e < items_from[user + 1];
             e += 32) {
            int other = items[e];
            if (other >= least && other < last)
                atomicAdd(row + (other - first), ONES ? (A)1 : weight * (A)item_values[e]);
        }
    }
    __syncthreads();
    for (int k = least - first + threadIdx.x; k < width; k += blockDim.x)
        G[item * n + first + k] = (T)row[k];
}

// What is above the diagonal, below it too: a square of 32 x 32 at a time.
template <typename T>
__global__ void mirror(T* G, int n) {
    __shared__ T tile[32][33];
    int x = threadIdx.x % 32, y = threadIdx.x / 32;
    if (blockIdx.y > blockIdx.x) return;
    int row = blockIdx.y * 32 + y, column = blockIdx.x * 32 + x;
    if (row < n && column < n) tile[y][x] = G[row * (long long)n + column];
    __syncthreads();
    row = blockIdx.x * 32 + y, column = blockIdx.y * 32 + x;
    if (row < n && column < row) G[row * (long long)n + column] = tile[x][y];
}
"""


def count_pairs(indptr: Any, indices: Any, values: Any, n_columns: int, dtype: Any) -> Any:
    """Return X'X (columns x columns) of the arrays of a csr matrix.

    Parameters
    ----------
    values
        None where every entry is a one.
    dtype
        The type of the result: float32 or float64.
    """
    cp = xp()
    rows_from, columns = as_numbers(indptr, np.int64), as_numbers(indices, np.int32)
    ones = values is None
    kind = "float" if ones else NAMES[str(values.dtype)]
    values = cp.empty(0, np.float32) if ones else as_numbers(values, values.dtype)
    n_rows, n_entries = len(rows_from) - 1, len(columns)
    if n_entries == 0:
        return cp.zeros((n_columns, n_columns), dtype)
    counts = cp.bincount(columns, minlength=n_columns)
    columns_from = cp.zeros(n_columns + 1, np.int64)
    cp.cumsum(counts, out=columns_from[1:])
    rows = cp.empty(n_entries, np.int32)
    turned = cp.empty(0 if ones else n_entries, values.dtype)
    by_row, flag = (rows_from, columns, values), str(ones).lower()
    cursor = columns_from[:-1].astype(np.uint64)
    arguments = (*by_row, np.int64(n_rows), cursor, rows, turned)
    blocks = max(1, -(-n_rows * 32 // _THREADS))
    launch(_CODE, f"turn<{kind}, {flag}>", blocks, _THREADS, arguments)
    G = cp.empty((n_columns, n_columns), dtype)
    # Columns with most entries first: their blocks take longest.
    order = cp.argsort(-counts).astype(np.int32)
    sums = "int" if ones else "double"
    size = 4 if ones else 8
    width = shared_bytes() // size
    name = f"count<{sums}, {kind}, {type_name(G)}, {flag}>"
    for first in range(0, n_columns, width):
        last = min(first + width, n_columns)
        launch(
            _CODE,
            name,
            n_columns,
            _THREADS,
            (columns_from, rows, turned, *by_row, order, np.int32(first), np.int32(last), G,
             np.int64(n_columns)),
            shared=size * (last - first),
        )  # fmt: skip
    tiles = -(-n_columns // _TILE)
    grid = (tiles, tiles)
    launch(_CODE, f"mirror<{type_name(G)}>", grid, _TILE * _TILE, (G, np.int32(n_columns)))
    return G
