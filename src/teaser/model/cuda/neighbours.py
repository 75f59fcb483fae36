"""Nearest neighbours by rows of G, and the small ridge problems on them, an item a block."""

from typing import Any

import numpy as np

from teaser.model.cuda.launch import as_numbers, launch, shared_bytes, type_name, xp

_THREADS = 512
_SMALL_THREADS = 256
# Cosines are compared to six decimals: whole numbers below 2**20.
_MILLION = 1e6

_CODE = r"""
// The cosine of a pair to six decimals, as a whole number; -1 where it is no pair.
template <typename T>
__device__ int cosine_key(const T* row, const double* g, int item, int other) {
    double G = row[other];
    if (other == item || !(G > 0)) return -1;
    return min((int)rint(G / sqrt(g[item] * g[other]) * 1e6), (1 << 20) - 1);
}

// From the top of a histogram: the bin that holds the m-th, and how many lie above it.
__device__ void find_bin(const int* bins, int m, int* bin, int* above) {
    int sum = 0, b = 1023;
    while (b > 0 && sum + bins[b] < m) sum += bins[b--];
    *bin = b;
    *above = sum;
}

// The m nearest of an item in order of position; of equal cosines the first are kept.
template <typename T>
__global__ void nearest(const T* G, const double* g, long long n_columns, int n, int m,
                        int* counts, int* columns, int* keys) {
    __shared__ int bins[1024], found[4], sums[2][32];
    int item = blockIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const T* row = G + item * n_columns;
    // Two histograms, of the upper and of the lower ten bits, give the m-th largest exactly.
    for (int level = 0; level < 2; level++) {
        for (int k = threadIdx.x; k < 1024; k += blockDim.x) bins[k] = 0;
        __syncthreads();
        for (int j = threadIdx.x; j < n; j += blockDim.x) {
            int key = cosine_key(row, g, item, j);
            if (key >= 0 && (level == 0 || key >> 10 == found[0]))
                atomicAdd(bins + (level == 0 ? key >> 10 : key & 1023), 1);
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            int wanted = level == 0 ? m : m - found[1];
            find_bin(bins, wanted, found + 2 * level, found + 2 * level + 1);
        }
        __syncthreads();
    }
    int least = found[0] * 1024 + found[2], room = m - found[1] - found[3], n_kept = 0;
    for (int begin = 0; begin < n; begin += blockDim.x) {
        int j = begin + threadIdx.x;
        int key = j < n ? cosine_key(row, g, item, j) : -1;
        unsigned above = __ballot_sync(~0u, key > least), ties = __ballot_sync(~0u, key == least);
        if (lane == 0) {
            sums[0][warp] = __popc(above);
            sums[1][warp] = __popc(ties);
        }
        __syncthreads();
        unsigned before = (1u << lane) - 1;
        int n_above = __popc(above & before), n_ties = __popc(ties & before);
        int all_above = 0, all_ties = 0;
        for (int w = 0; w < blockDim.x / 32; w++) {
            if (w < warp) {
                n_above += sums[0][w];
                n_ties += sums[1][w];
            }
            all_above += sums[0][w];
            all_ties += sums[1][w];
        }
        if (key > least || (key == least && n_ties < room)) {
            long long place = item * (long long)m + n_kept + n_above + min(n_ties, room);
            columns[place] = j;
            keys[place] = key;
        }
        n_kept += all_above + min(all_ties, room);
        room -= min(all_ties, room);
        __syncthreads();
    }
    if (threadIdx.x == 0) counts[item] = n_kept;
}

// The ridge problem of an item, in shared memory: the lower triangle, packed, becomes its Cholesky
// factor, the right-hand side the solution; not numbers where it is not positive definite.
template <typename T>
__global__ void solve(const T* G, long long n_columns, const long long* from, const int* near,
                      const double* ridge, const double* scale, const T* explained,
                      long long n_tags, const long long* tags_from, const int* tags,
                      const double* weights, double* values, double* diagonal) {
    extern __shared__ __align__(8) double room[];
    int item = blockIdx.x, t = threadIdx.x;
    long long start = from[item];
    int m = (int)(from[item + 1] - start);
    const int* places = near + start;
    double *x = room, *own = room + m, *L = room + 2 * m;
    for (int i = t; i < m; i += blockDim.x) {
        long long place = places[i];
        double G_ij = G[place * n_columns + item], right = G_ij * scale[item];
        for (long long at = tags_from[item]; at < tags_from[item + 1]; at++)
            right -= weights[at] * (double)explained[place * n_tags + tags[at]];
        own[i] = G_ij;
        x[i] = right;
    }
    for (int i = t / 32; i < m; i += blockDim.x / 32) {
        const T* row = G + places[i] * n_columns;
        for (int j = t % 32; j <= i; j += 32)
            L[i * (i + 1) / 2 + j] = (double)row[places[j]] + (i == j ? ridge[places[i]] : 0.0);
    }
    __syncthreads();
    for (int k = 0; k < m; k++) {
        double pivot = sqrt(L[k * (k + 1) / 2 + k]), y = x[k] / pivot;
        __syncthreads();
        for (int i = k + t; i < m; i += blockDim.x) L[i * (i + 1) / 2 + k] /= pivot;
        __syncthreads();
        // The rest less the outer product of column k; and L y = b on the way.
        for (int i = k + 1 + t / 32; i < m; i += blockDim.x / 32) {
            double factor = L[i * (i + 1) / 2 + k];
            for (int j = k + 1 + t % 32; j <= i; j += 32)
                L[i * (i + 1) / 2 + j] -= factor * L[j * (j + 1) / 2 + k];
            if (t % 32 == 0) x[i] -= factor * y;
        }
        if (t == 0) x[k] = y;
        __syncthreads();
    }
    for (int k = m - 1; k >= 0; k--) {  // L' x = y
        double done = x[k] / L[k * (k + 1) / 2 + k];
        __syncthreads();
        for (int i = t; i < k; i += blockDim.x) x[i] -= L[k * (k + 1) / 2 + i] * done;
        if (t == 0) x[k] = done;
        __syncthreads();
    }
    for (int i = t; i < m; i += blockDim.x) values[start + i] = x[i];
    if (t == 0) {
        double sum = 0;
        for (int i = 0; i < m; i++) sum += own[i] * x[i];
        diagonal[item] = sum;
    }
}
"""


def nearest_columns(G: Any, g: Any, n: int, m: int) -> tuple[Any, Any, Any]:
    """Return how many neighbours each of n items has, and their positions and cosines in a row.

    Parameters
    ----------
    G
        Symmetric; its first n rows and columns are those of items.
    g
        Its diagonal, ones in the place of zeros.
    m
        The most neighbours of an item.
    """
    cp = xp()
    m = min(m, n)
    counts, columns = cp.empty(n, np.int32), cp.empty((n, m), np.int32)
    keys = cp.empty((n, m), np.int32)
    arguments = (
        G, as_numbers(g, np.float64), np.int64(G.shape[1]), np.int32(n), np.int32(m),
        counts, columns, keys,
    )  # fmt: skip
    launch(_CODE, f"nearest<{type_name(G)}>", n, _THREADS, arguments)
    kept = cp.arange(m) < counts[:, None]
    return counts, columns[kept], keys[kept] / _MILLION


def fits(m: int) -> bool:
    """Return whether a problem of m unknowns fits into the shared memory of a block."""
    return _bytes(m) <= shared_bytes()


def solve_each(
    G: Any,
    near: tuple[Any, Any],
    ridge: Any,
    scale: Any,
    explained: tuple[Any, Any, Any, Any] | None,
) -> tuple[Any, Any]:
    """Return the solutions of (G + dM(ridge))_TT x = right for each item j, in a row, and G_Tj x.

    Parameters
    ----------
    near
        Where the neighbours T of each item begin, and the neighbours.
    ridge
        One a row of G.
    scale, explained
        right = scale_j G_Tj - explained_T . D_j, where `explained` is an array (rows of G x
        tags) and the three arrays of D by item (csr); None for nothing.
    """
    cp = xp()
    starts, items = as_numbers(near[0], np.int64), as_numbers(near[1], np.int32)
    n = len(starts) - 1
    if explained is None:
        explained = (cp.empty((0, 0), G.dtype), cp.zeros(n + 1, np.int64), [], [])
    seen, tags_from, tags, weights = explained
    m = int(cp.diff(starts).max()) if n else 0
    values, diagonal = cp.empty(len(items), np.float64), cp.empty(n, np.float64)
    arguments = (
        G, np.int64(G.shape[1]), starts, items,
        as_numbers(ridge, np.float64), as_numbers(scale, np.float64),
        as_numbers(seen, G.dtype), np.int64(seen.shape[1]),
        as_numbers(tags_from, np.int64), as_numbers(tags, np.int32),
        as_numbers(weights, np.float64), values, diagonal,
    )  # fmt: skip
    name = f"solve<{type_name(G)}>"
    launch(_CODE, name, n, _SMALL_THREADS, arguments, shared=_bytes(m))
    return values, diagonal


def _bytes(m: int) -> int:
    """Return the shared memory of a problem: the unknowns, their column of G, the triangle."""
    return 8 * (2 * m + m * (m + 1) // 2)
