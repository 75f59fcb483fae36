"""Products of float32 arrays by the tensor cores, with numbers held as sums of two halves.

    x = hi + lo,    hi = half(x), lo = half(x - hi):    22 bits of the 24

A symmetric G times M is then G_hi M_hi + G_hi M_lo + G_lo M_hi. Counts below 2,048 are halves, so
that G_lo is zero but for pairs of popular items, a small square. Tensor cores add up in single
precision but round towards zero, so that long sums are cut: see `CHUNK`.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from teaser.model.cuda.launch import launch, xp

# Columns of G in one product; the products are added to each other with rounding to the nearest.
CHUNK = 1024
# cuBLAS has fast kernels where rows begin at multiples of 16 bytes.
_ALIGN = 64
_THREADS = 256
# Bytes of the sums of one block of columns.
_BLOCK_BYTES = 2**31
# The part of the rows of G up to which what its halves leave is a square of its own.
_FEW = 0.125

_CODE = r"""
__device__ unsigned short half_of(float x) {
    unsigned short h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
    return h;
}
__device__ float float_of(unsigned short h) {
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h));
    return x;
}
// A power of two that brings the largest of some numbers to between 2^14 and 2^15.
__device__ float scale_of(float top) {
    return top > 0 && top < 3e38f ? ldexpf(1.f, max(-100, min(100, 14 - ilogbf(top)))) : 1.f;
}
__device__ float sum_of(float x) {
    __shared__ float sums[32];
    for (int d = 16; d; d /= 2) x += __shfl_xor_sync(~0u, x, d);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = x;
    __syncthreads();
    x = threadIdx.x % 32 < blockDim.x / 32 ? sums[threadIdx.x % 32] : 0;
    for (int d = 16; d; d /= 2) x += __shfl_xor_sync(~0u, x, d);
    __syncthreads();
    return x;
}
__device__ float max_of(float x) {
    __shared__ float tops[32];
    for (int d = 16; d; d /= 2) x = fmaxf(x, __shfl_xor_sync(~0u, x, d));
    if (threadIdx.x % 32 == 0) tops[threadIdx.x / 32] = x;
    __syncthreads();
    x = threadIdx.x % 32 < blockDim.x / 32 ? tops[threadIdx.x % 32] : 0;
    for (int d = 16; d; d /= 2) x = fmaxf(x, __shfl_xor_sync(~0u, x, d));
    __syncthreads();
    return x;
}

// The largest of |F|, and of |W| where W = F diag(eta) - diag(beta) DV is wanted too, by row.
__global__ void tops(const float* F, const float* DV, const float* eta, const float* beta, int two,
                     int first, int last, long long stride, float* out) {
    float f = 0, w = 0;
    int row = blockIdx.x;
    for (int c = first + threadIdx.x; c < last; c += blockDim.x) {
        long long at = row * stride + c;
        f = fmaxf(f, fabsf(F[at]));
        if (two) w = fmaxf(w, fabsf(F[at] * eta[c] - beta[row] * DV[at]));
    }
    f = max_of(f);
    w = max_of(w);
    if (threadIdx.x == 0) {
        out[row] = f;
        out[gridDim.x + row] = w;
    }
}

__device__ void put(unsigned short* out, long long at, long long part, int parts, float x) {
    unsigned short hi = half_of(x);
    out[at] = half_of(x - float_of(hi));
    if (parts == 3) out[at + part] = hi;
    out[at + (parts - 1) * part] = hi;
}

// Rows of [F | W]: low halves, with three parts high ones, high halves.
__global__ void split(const float* F, const float* DV, const float* eta, const float* beta,
                      int two, int first_row, int first, int last, long long stride,
                      const float* top, int parts, unsigned short* out, int width, int padded) {
    long long row = first_row + blockIdx.y, part = gridDim.y * (long long)padded;
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= width) return;
    bool inside = first + c < last;
    long long at = row * stride + first + c, place = blockIdx.y * (long long)padded + c;
    put(out, place, part, parts, inside ? F[at] * scale_of(top[0]) : 0);
    if (!two) return;
    float w = inside ? F[at] * eta[first + c] - beta[row] * DV[at] : 0;
    put(out, place + width, part, parts, w * scale_of(top[1]));
}

// Rows of G: high halves, with three parts low ones, high halves.
__global__ void split_gram(const float* G, long long n, float scale, int parts,
                           unsigned short* out, int padded) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= n) return;
    float x = G[blockIdx.y * n + c] * scale;
    unsigned short hi = half_of(x);
    long long at = blockIdx.y * (long long)padded + c, part = gridDim.y * (long long)padded;
    out[at] = hi;
    if (parts == 3) out[at + part] = half_of(x - float_of(hi));
    out[at + (parts - 1) * part] = hi;
}

// Whether a row of G holds a number that is no half.
__global__ void inexact(const float* G, long long n, float scale, bool* out) {
    float rest = 0;
    for (int c = threadIdx.x; c < n; c += blockDim.x) {
        float x = G[blockIdx.x * n + c] * scale;
        rest = fmaxf(rest, fabsf(x - float_of(half_of(x))));
    }
    rest = max_of(rest);
    if (threadIdx.x == 0) out[blockIdx.x] = rest > 0;
}

// The sums at their own scale: of one array into `out`; of a pair G W, and diag(G F DV').
__global__ void finish(const float* sums, long long padded, int width, const float* top,
                       float scale, int two, const float* DV, int first, int last,
                       long long stride, float* out, float* diagonal) {
    const float* row = sums + blockIdx.x * padded;
    float f = 1 / (scale_of(top[0]) * scale), w = 1 / (scale_of(top[1]) * scale), sum = 0;
    for (int c = threadIdx.x; c < last - first; c += blockDim.x) {
        long long at = blockIdx.x * stride + first + c;
        out[at] = two ? row[width + c] * w : row[c] * f;
        if (two) sum += row[c] * f * DV[at];
    }
    if (!two) return;
    sum = sum_of(sum);
    if (threadIdx.x == 0) diagonal[blockIdx.x] += sum;
}
"""


class HalfGram:
    """A symmetric float32 array on a GPU, multiplied by halves.

    Parameters
    ----------
    G
        Its largest numbers are on the diagonal, as those of X'X are.
    chunk
        See `CHUNK`.
    """

    def __init__(self, G: Any, *, chunk: int = CHUNK) -> None:
        cp = xp()
        self.G, self.n, self.chunk = G, int(G.shape[0]), chunk
        top = float(G.diagonal().max())
        self.scale = np.float32(2.0 ** (14 - np.frexp(top)[1]) if 0 < top < np.inf else 1)
        flags = cp.empty(self.n, bool)
        arguments = (G, np.int64(self.n), self.scale, flags)
        launch(_CODE, "inexact", self.n, _THREADS, arguments)
        self.rows = cp.flatnonzero(flags)
        self.parts = 2 if len(self.rows) <= _FEW * self.n else 3
        if self.parts == 3:
            self.rows = self.rows[:0]
        part = G[self.rows[:, None], self.rows[None, :]] * self.scale
        self.rest = (part - part.astype(np.float16)) / self.scale

    def apply(self, M: Any) -> Any:
        """Return G M."""
        cp = xp()
        M = cp.ascontiguousarray(M)
        out = cp.empty_like(M)
        empty = cp.empty(0, np.float32)
        self._multiply(M, (M, M, empty, empty), False, out, empty)
        if len(self.rows):
            out[self.rows] += self.rest @ M[self.rows]
        return out

    def apply_pair(self, F: Any, DV: Any, eta: Any, beta: Any) -> tuple[Any, Any]:
        """Return G W and diag(G F DV'), where W = F diag(eta) - diag(beta) DV."""
        cp = xp()
        F, DV = cp.ascontiguousarray(F), cp.ascontiguousarray(DV)
        out, diagonal = cp.empty_like(F), cp.zeros(self.n, np.float32)
        self._multiply(F, (F, DV, eta, beta), True, out, diagonal)
        if len(self.rows):
            some = F[self.rows], DV[self.rows]
            W = some[0] * eta - beta[self.rows, None] * some[1]
            out[self.rows] += self.rest @ W
            diagonal[self.rows] += ((self.rest @ some[0]) * some[1]).sum(axis=1)
        return out, diagonal

    def _multiply(
        self, F: Any, arrays: tuple[Any, Any, Any, Any], two: bool, out: Any, diagonal: Any
    ) -> None:
        """Write the products of all columns, a block of them at a time."""
        cp = xp()
        n, stride = self.n, np.int64(F.shape[1])
        pair = (*arrays, np.int32(two))
        for first, last, width in self._blocks(int(stride), two):
            padded = width * (1 + two)
            span = (np.int32(first), np.int32(last), stride)
            found = cp.empty((2, n), np.float32)
            launch(_CODE, "tops", n, _THREADS, (*pair, *span, found))
            top = found.max(axis=1)
            sums = cp.zeros((n, padded), np.float32)
            for start in range(0, n, self.chunk):
                height = min(self.chunk, n - start)
                right = cp.empty((self.parts * height, padded), np.float16)
                grid = (-(-width // _THREADS), height)
                where = (*pair, np.int32(start), *span, top, np.int32(self.parts))
                shape = (right, np.int32(width), np.int32(padded))
                launch(_CODE, "split", grid, _THREADS, (*where, *shape))
                _add_product(self._left(start, height), right, sums)
            end = (np.int32(first), np.int32(last), stride, out, diagonal)
            begin = (sums, np.int64(padded), np.int32(width), top, self.scale, pair[4], arrays[1])
            launch(_CODE, "finish", n, _THREADS, (*begin, *end))

    def _left(self, start: int, height: int) -> Any:
        """Return some rows of G as halves, one part above the other."""
        padded = -(-self.n // _ALIGN) * _ALIGN
        left = xp().empty((self.parts * height, padded), np.float16)
        grid = (-(-self.n // _THREADS), height)
        G = self.G[start : start + height]
        arguments = (G, np.int64(self.n), self.scale, np.int32(self.parts), left, np.int32(padded))
        launch(_CODE, "split_gram", grid, _THREADS, arguments)
        return left[:, : self.n]

    def _blocks(self, n_columns: int, two: bool) -> Iterator[tuple[int, int, int]]:
        """Yield the first and last of some columns, and how many they are when padded."""
        most = max(_ALIGN, _BLOCK_BYTES // (4 * self.n * (1 + two)) // _ALIGN * _ALIGN)
        for first in range(0, n_columns, most):
            last = min(first + most, n_columns)
            yield first, last, -(-(last - first) // _ALIGN) * _ALIGN


def product_bytes(n_items: int, n_columns: int) -> int:
    """Return the most that a product of so many columns, of a pair, holds beside its result."""
    sums = min(_BLOCK_BYTES, 8 * n_items * (n_columns + _ALIGN))
    return sums + 3 * 2 * CHUNK * (n_items + 2 * n_columns + 4 * _ALIGN) + 8 * n_items


def _add_product(left: Any, right: Any, sums: Any) -> None:
    """Add left' right to `sums`: halves, added up in single precision."""
    cp, cublas = xp(), xp().cuda.cublas
    one = np.ones(1, np.float32)
    k, m = right.shape
    n, half = left.shape[1], cp.cuda.runtime.CUDA_R_16F
    # cuBLAS counts by columns: (right' left)' in its order is left' right in ours.
    cublas.gemmEx(
        cp.cuda.device.get_cublas_handle(), cublas.CUBLAS_OP_N, cublas.CUBLAS_OP_T, m, n, k,
        one.ctypes.data, right.data.ptr, half, m, left.data.ptr, half, left.strides[0] // 2,
        one.ctypes.data, sums.data.ptr, cp.cuda.runtime.CUDA_R_32F, m,
        cublas.CUBLAS_COMPUTE_32F, cublas.CUBLAS_GEMM_DEFAULT_TENSOR_OP,
    )  # fmt: skip
