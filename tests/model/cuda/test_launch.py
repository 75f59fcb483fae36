"""Kernels are compiled once, and get the shared memory that they ask for."""

import numpy as np
from numpy.testing import assert_array_equal
from on_gpu import needs_gpu

from teaser.model.cuda.launch import as_numbers, launch, shared_bytes, type_name, xp

CODE = r"""
template <typename T>
__global__ void reversed(const T* in, int n, T* out) {
    extern __shared__ __align__(8) char room[];
    T* copy = (T*)room;
    for (int k = threadIdx.x; k < n; k += blockDim.x) copy[k] = in[k];
    __syncthreads();
    for (int k = threadIdx.x; k < n; k += blockDim.x) out[k] = copy[n - 1 - k];
}
"""


@needs_gpu
def test_a_kernel_runs_with_little_and_with_much_shared_memory() -> None:
    for n in (10, shared_bytes() // 8, 20):
        for kind in (np.float32, np.float64):
            array = xp().arange(n, dtype=kind)
            out = xp().zeros_like(array)
            shared = n * array.dtype.itemsize
            name = f"reversed<{type_name(array)}>"
            launch(CODE, name, 1, 64, (array, np.int32(n), out), shared=shared)
            assert_array_equal(xp().asnumpy(out), np.arange(n)[::-1])


@needs_gpu
def test_arrays_are_copied_only_where_their_type_or_order_differs() -> None:
    array = xp().zeros((4, 3), np.float32)
    assert as_numbers(array, np.float32) is array
    assert as_numbers(array.T, np.float32).flags.c_contiguous
    assert as_numbers([1, 2], np.int64).dtype == np.int64
