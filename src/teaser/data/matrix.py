"""Ids in order, and sparse matrices: build, freeze, save."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.errors import ArtifactError, UnknownNameError, closest_names

ItemId = int | str
_INTEGER = re.compile(r"-?[0-9]{1,19}")
Array = NDArray[Any]


def saved_ids(column: pl.Series, what: str) -> "Ids":
    """Return the ids of a saved table.

    Parameters
    ----------
    what
        What they are ids of, such as "items", for the message of an `ArtifactError`.
    """
    is_id = column.dtype == pl.String or column.dtype.is_integer()
    if not is_id or column.null_count() or column.n_unique() < len(column):
        raise ArtifactError(
            f"The ids of its {what} must be different texts or whole numbers, found "
            f"{len(column):,} of type {column.dtype}, {column.n_unique():,} of them different and "
            f"{column.null_count():,} missing."
        )
    return Ids(column.to_list())


class Ids(Sequence[ItemId]):
    """The owner's ids in order, with the position of each; `"17"` and 17.0 find 17 as well."""

    def __init__(self, names: Iterable[ItemId]) -> None:
        self._names = tuple(names)
        self._position = {name: i for i, name in enumerate(self._names)}

    def __len__(self) -> int:
        return len(self._names)

    def __getitem__(self, key: Any) -> Any:
        return self._names[key]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ids | list | tuple):
            return NotImplemented
        # `tuple` of the ids themselves would take them one by one.
        return (other._names if isinstance(other, Ids) else tuple(other)) == self._names

    def __repr__(self) -> str:
        few = ", ".join(repr(n) for n in self._names[:3])
        return f"Ids({len(self)}: {few}{', ...' if len(self) > 3 else ''})"

    def __contains__(self, name: object) -> bool:
        return self.find(name) is not None

    def find(self, name: object) -> int | None:
        """Return the position of a name, or None."""
        # Data frames turn whole numbers into 17.0 where some are missing.
        if isinstance(name, float) and name.is_integer():
            name = int(name)
        if isinstance(name, bool) or not isinstance(name, str | int | np.integer):
            return None
        if not isinstance(name, str):
            position = self._position.get(int(name))
            return self._position.get(str(name)) if position is None else position
        position = self._position.get(name)
        if position is None and _INTEGER.fullmatch(name.strip()):
            return self._position.get(int(name.strip()))
        return position

    def index_of(self, name: object) -> int:
        """Return the position of an item id, or raise `UnknownNameError`."""
        place = self.find(name)
        if place is None:
            raise self.unknown("item", name)
        return place

    def unknown(self, kind: Literal["item", "user"], name: object) -> UnknownNameError:
        """Return the error of an id that is not among these, with the closest or an example."""
        near = closest_names(str(name), map(str, self._names))
        first = next(iter(self._names), None)
        # On the command line a whole number is a text too.
        alike = isinstance(name, str) and (isinstance(first, str) or _INTEGER.fullmatch(name))
        alike = alike or (isinstance(name, int) and isinstance(first, int))
        kinds = "texts" if isinstance(first, str) else "whole numbers"
        hint = f"{kind.capitalize()} ids are {kinds}, such as {first!r}."
        if first is None or (alike and near):
            hint = ""
        message = "Unknown {kind} {name!r}; the {owner} has {n:,} {kind}s."
        owner = "model" if kind == "item" else "data set"
        return UnknownNameError(kind, name, near, message, hint, owner=owner, n=len(self))

    def extended(self, names: Iterable[ItemId]) -> "Ids":
        """Return these ids followed by further ones."""
        return Ids((*self._names, *names))


def binary_matrix(
    rows: pl.Series | Array, columns: pl.Series | Array, shape: tuple[int, int]
) -> sp.csr_array:
    """Return the float32 matrix with ones at these distinct positions, indices sorted."""
    return value_matrix(rows, columns, np.ones(len(rows), np.float32), shape)


def value_matrix(
    rows: pl.Series | Array,
    columns: pl.Series | Array,
    values: pl.Series | Array,
    shape: tuple[int, int],
) -> sp.csr_array:
    """Return the float32 matrix with values at these distinct positions, indices sorted."""
    positions = (np.asarray(rows), np.asarray(columns))
    matrix = sp.csr_array((np.asarray(values, np.float32), positions), shape=shape)
    matrix.sort_indices()
    return matrix


def read_only(matrix: Any) -> sp.csr_array:
    """Return a matrix of the same arrays, which are made read-only."""
    out = sp.csr_array(matrix)
    for part in (out.data, out.indices, out.indptr):
        part.flags.writeable = False
    return out


def pack(name: str, matrix: Any) -> dict[str, Array]:
    """Return a matrix as named arrays, of a csr one its parts; values all 1 are left out."""
    if not sp.issparse(matrix):
        return {name: np.asarray(matrix)}
    parts = {f"{name}.indices": matrix.indices, f"{name}.indptr": matrix.indptr}
    if not (matrix.data == 1).all():
        parts[f"{name}.data"] = matrix.data
    return parts


def unpack(name: str, arrays: Mapping[str, Array], shape: tuple[int, int]) -> sp.csr_array:
    """Return the sparse matrix that `pack` took apart."""
    values, indices, indptr = saved_parts(name, arrays, shape)
    return sp.csr_array((np.array(values), np.array(indices), np.array(indptr)), shape=shape)


def unpack_mapped(name: str, arrays: Mapping[str, Array], n_columns: int) -> Any:
    """Return the array or csr matrix that `pack` took apart; what is mapped stays on disk."""
    if f"{name}.indptr" not in arrays:
        return arrays[name]
    shape = (arrays[f"{name}.indptr"].size - 1, n_columns)
    values, indices, indptr = saved_parts(name, arrays, shape)
    # Made of parts, it would copy those that are views of a larger array, as mapped ones are.
    matrix = sp.csr_array(shape, dtype=values.dtype)
    matrix.data, matrix.indices, matrix.indptr = values, indices, indptr
    return matrix


def saved_parts(
    name: str, arrays: Mapping[str, Array], shape: tuple[int, int]
) -> tuple[Array, Array, Array]:
    """Return values, indices and row pointers of a saved matrix, after checking that they fit.

    scipy reads beyond the arrays where they do not fit.
    """
    try:
        indices, indptr = arrays[f"{name}.indices"], arrays[f"{name}.indptr"]
        values = arrays.get(f"{name}.data")
        if values is None:
            values = np.ones(indices.size, np.float32)
        if indptr[-1] != len(indices):
            raise ValueError("its last row does not end with its entries")
        sp.csr_array((values, indices, indptr), shape=shape).check_format(full_check=True)
    except (KeyError, ValueError) as error:
        raise ArtifactError(
            f"The saved matrix {name} is not whole: {error}. Make it again."
        ) from error
    return values, indices, indptr
