"""Products of rows of two arrays on a GPU, in one reading of both."""

from typing import Any

import numpy as np

from teaser.model.cuda.launch import NAMES, launch, type_name, xp

_THREADS = 256

_CODE = r"""
template <typename T, typename S>
__global__ void row_products(const T* A, const T* B, long long width, S* out) {
    __shared__ double sums[32];
    const T *a = A + blockIdx.x * width, *b = B + blockIdx.x * width;
    double sum = 0;
    for (long long k = threadIdx.x; k < width; k += blockDim.x) sum += (double)a[k] * (double)b[k];
    for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x) return;
    for (int w = 1; w < blockDim.x / 32; w++) sum += sums[w];
    out[blockIdx.x] = (S)sum;
}
"""


def row_products(A: Any, B: Any, dtype: Any = None) -> Any:
    """Return the product of each row of A with the same row of B, added up in double precision.

    Parameters
    ----------
    dtype
        Of the result; that of A when not given.
    """
    cp = xp()
    A, B = cp.ascontiguousarray(A), cp.ascontiguousarray(B.astype(A.dtype, copy=False))
    out = cp.empty(len(A), A.dtype if dtype is None else dtype)
    if out.size:
        name = f"row_products<{type_name(A)}, {NAMES[str(out.dtype)]}>"
        launch(_CODE, name, len(A), _THREADS, (A, B, np.int64(A.shape[1]), out))
    return out
