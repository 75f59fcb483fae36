"""Compile CUDA C++ by CuPy and launch it."""

from functools import cache
from typing import Any

import numpy as np

NAMES = {"float32": "float", "float64": "double"}


@cache
def xp() -> Any:
    """Return the module CuPy, which is there where an array of a GPU is."""
    import cupy

    return cupy


def type_name(array: Any) -> str:
    """Return the name in C++ of the type of an array."""
    return NAMES[str(array.dtype)]


def launch(
    code: str, name: str, grid: Any, threads: int, arguments: tuple[Any, ...], *, shared: int = 0
) -> None:
    """Start a kernel.

    Parameters
    ----------
    name
        With the types of its template, such as `count<int, float>`.
    grid
        How many blocks: a number, or a tuple of up to three.
    shared
        Bytes of shared memory of a block, beside what the code itself declares.
    """
    kernel = _compiled(code, name)
    if shared > kernel.max_dynamic_shared_size_bytes:
        kernel.max_dynamic_shared_size_bytes = shared
    kernel(grid if isinstance(grid, tuple) else (grid,), (threads,), arguments, shared_mem=shared)


def shared_bytes() -> int:
    """Return how much shared memory a block can have."""
    return int(xp().cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"])


def as_numbers(array: Any, kind: Any) -> Any:
    """Return an array in C order and of a type, on the GPU, copied only where it has to be."""
    return xp().ascontiguousarray(xp().asarray(array, dtype=np.dtype(kind)))


@cache
def _compiled(code: str, name: str) -> Any:
    module = xp().RawModule(code=code, options=("-std=c++17",), name_expressions=[name])
    return module.get_function(name)
