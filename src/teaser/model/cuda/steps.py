"""The steps of an iteration of conjugate gradients, each in one reading of its arrays.

Written with numpy's functions, a step is five to fifteen kernels, each of which reads and writes
arrays of items x tags. A block of threads takes a row here; sums over a row are in double
precision.
"""

from typing import Any

import numpy as np

from teaser.model.cuda.launch import launch, type_name, xp

_THREADS = 256

_CODE = r"""
__device__ double sum_of(double x) {
    __shared__ double sums[32];
    for (int d = 16; d; d /= 2) x += __shfl_xor_sync(~0u, x, d);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = x;
    __syncthreads();
    x = threadIdx.x % 32 < blockDim.x / 32 ? sums[threadIdx.x % 32] : 0;
    for (int d = 16; d; d /= 2) x += __shfl_xor_sync(~0u, x, d);
    __syncthreads();
    return x;
}
#define EACH(c) for (long long c = threadIdx.x; c < width; c += blockDim.x)

// out = (R - sink s DV) / level, level = t rounded + l2, s = R / level . DV;
// lifted = lift R / exact . DV, exact = t eta + l2.
template <typename T>
__global__ void own(const T* R, const T* DV, const T* t, const T* rounded, T l2, const T* sink,
                    const T* eta, const T* lift, long long width, T* out, T* lifted) {
    int row = blockIdx.x;
    R += row * width, DV += row * width, out += row * width;
    double sum = 0, up = 0;
    EACH(c) {
        sum += (double)(R[c] / (t[row] * rounded[c] + l2)) * DV[c];
        up += (double)(R[c] / (t[row] * eta[c] + l2)) * DV[c];
    }
    T taken = sink[row] * (T)sum_of(sum);
    EACH(c) out[c] = (R[c] - taken * DV[c]) / (t[row] * rounded[c] + l2);
    up = sum_of(up);
    if (threadIdx.x == 0) lifted[row] = lift[row] * (T)up;
}

// out += lifted DV / exact - (X - sink s DV) / level, s = X / level . DV.
template <typename T>
__global__ void correct(const T* X, const T* DV, const T* t, const T* rounded, T l2, const T* sink,
                        const T* eta, const T* lifted, long long width, T* out) {
    int row = blockIdx.x;
    X += row * width, DV += row * width, out += row * width;
    double sum = 0;
    EACH(c) sum += (double)(X[c] / (t[row] * rounded[c] + l2)) * DV[c];
    T taken = sink[row] * (T)sum_of(sum);
    EACH(c) {
        T own = (X[c] - taken * DV[c]) / (t[row] * rounded[c] + l2);
        out[c] += lifted[row] * DV[c] / (t[row] * eta[c] + l2) - own;
    }
}

// Column b: core[which[b]] times column b of `seen` (rank x tags).
template <typename T>
__global__ void spread(const T* core, const int* which, const T* seen, int rank, long long width,
                       T* out) {
    long long b = blockIdx.x;
    core += (long long)which[b] * rank * rank;
    for (int r = threadIdx.x; r < rank; r += blockDim.x) {
        T sum = 0;
        for (int s = 0; s < rank; s++) sum += core[r * rank + s] * seen[s * width + b];
        out[r * width + b] = sum;
    }
}

// out += (L eta + l2) F - taken DV
template <typename T>
__global__ void finish(const T* F, const T* DV, const T* eta, const T* L, T l2, const T* taken,
                       long long width, T* out) {
    int row = blockIdx.x;
    F += row * width, DV += row * width, out += row * width;
    EACH(c) out[c] += (L[row] * eta[c] + l2) * F[c] - taken[row] * DV[c];
}

// F += step P, R -= step AP; the squared length of each row of R.
template <typename T>
__global__ void descend(T step, const T* P, const T* AP, long long width, T* F, T* R, double* out) {
    long long row = blockIdx.x * width;
    double sum = 0;
    EACH(c) {
        F[row + c] += step * P[row + c];
        T r = R[row + c] - step * AP[row + c];
        R[row + c] = r;
        sum += (double)r * r;
    }
    sum = sum_of(sum);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

// P = share P + Z
template <typename T>
__global__ void turn(T share, const T* Z, long long width, T* P) {
    long long row = blockIdx.x * width;
    EACH(c) P[row + c] = share * P[row + c] + Z[row + c];
}
"""


def precondition(
    R: Any, DV: Any, U: Any, eta: Any, rounded: Any, starts: Any, core: Any, **weights: Any
) -> Any:
    """Return what `Preconditioner.apply` does, from its parts; `weights` are t, l2, sink, lift."""
    cp = xp()
    R, width = cp.ascontiguousarray(R), np.int64(R.shape[1])
    out, lifted = cp.empty_like(R), cp.empty(len(R), R.dtype)
    level = (DV, weights["t"], rounded, R.dtype.type(weights["l2"]), weights["sink"], eta)
    _rows("own", R, (R, *level, weights["lift"], width, out, lifted))
    seen = U.T @ out
    part = cp.empty_like(seen)
    which = cp.asarray(np.repeat(np.arange(len(core), dtype=np.int32), np.diff(starts)))
    arguments = (core, which, seen, np.int32(len(seen)), width, part)
    launch(_CODE, f"spread<{type_name(R)}>", R.shape[1], 64, arguments)
    _rows("correct", R, (U @ part, *level, lifted, width, out))
    return out


def finish(out: Any, F: Any, DV: Any, eta: Any, L: Any, l2: Any, taken: Any) -> None:
    """Add (L eta + l2) F - taken DV to `out`, where L and `taken` are one a row."""
    F = xp().ascontiguousarray(F)
    _rows("finish", out, (F, DV, eta, L, out.dtype.type(l2), taken, np.int64(out.shape[1]), out))


def descend(step: Any, P: Any, AP: Any, F: Any, R: Any) -> float:
    """Add `step` P to F, take `step` AP from R, and return the squared norm of R."""
    lengths = xp().empty(len(R), np.float64)
    _rows("descend", R, (R.dtype.type(step), P, AP, np.int64(R.shape[1]), F, R, lengths))
    return float(lengths.sum())


def turn(P: Any, share: Any, Z: Any) -> None:
    """Make P the sum of `share` P and Z."""
    _rows("turn", P, (P.dtype.type(share), Z, np.int64(P.shape[1]), P))


def in_rows(*arrays: Any) -> bool:
    """Return whether all are matrices of a GPU in C order and of one type."""
    kind = arrays[0].dtype
    return all(
        not isinstance(A, np.ndarray) and A.ndim == 2 and A.flags.c_contiguous and A.dtype == kind
        for A in arrays
    )


def _rows(name: str, like: Any, arguments: tuple[Any, ...]) -> None:
    launch(_CODE, f"{name}<{type_name(like)}>", len(like), _THREADS, arguments)
