"""New items of a data set or a model: their ids, tags and metadata, read from a table."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp

from teaser.data.interactions import check_items
from teaser.data.matrix import Ids, ItemId
from teaser.data.reading import read, tidy
from teaser.data.rules import Rules
from teaser.data.tags import Tag, encode_tags, resolve_tag
from teaser.errors import DataError, ParameterError

log = logging.getLogger("teaser")


@dataclass(frozen=True, eq=False)
class NewItems:
    """New items: their ids, their tags (items x tags), and the metadata of all items."""

    ids: list[ItemId]
    S: sp.csr_array
    table: pl.DataFrame


def read_new_items(
    items: Any,
    table: pl.DataFrame,
    ids: Ids,
    tags: tuple[Tag, ...],
    rules: Rules,
    *,
    counted: tuple[Tag, ...] = (),
) -> NewItems:
    """Return new items, none of which is known; missing and unknown tags are logged.

    Parameters
    ----------
    items
        A table (file or frame), or a mapping from item id to tags.
    table, ids
        The metadata and the ids of the known items.
    tags, rules
        Declared tags, discovered ones, and the rules that made the first. A column that they
        read and the table of new items lacks is not stated.
    counted
        Tags of a model that nobody can give.
    """
    id_column, kind = table.columns[0], table.dtypes[0]
    unknown = list[Tag]()
    if isinstance(items, Mapping):
        names = new_ids(items, ids, kind)
        S = tag_rows(items, tags, counted)
        rows = pl.DataFrame({id_column: names}, schema={id_column: kind})
    else:
        found = tidy(read(items, what="items"), id_column, "the items")
        rows, refused = check_items(found.frame, item=id_column)
        refused = (*found.refused, *refused)
        if refused:
            raise DataError(f"Nothing was added: {'; '.join(map(str, refused))}.")
        names = new_ids(rows[id_column].to_list(), ids, kind)
        rows = rows.with_columns(pl.Series(id_column, names, dtype=kind))
        declared = tuple(tag for tag in tags if not tag.discovered)
        rows = _with_columns(rows, table, rules)
        S, unknown = encode_tags(rows, rules.tags, declared)
        # Columns of discovered tags follow, empty.
        S = sp.csr_array((S.data, S.indices, S.indptr), shape=(S.shape[0], len(tags)))
    if unknown:
        few = ", ".join(map(str, unknown[:3]))
        log.warning("%d tags of the new items are not known: %s", len(unknown), few)
    blank = int((np.diff(S.indptr) == 0).sum())
    if blank:
        log.warning(
            "%d of %d new items carry no known tag: unless their texts are known, general appeal "
            "places them",
            *(blank, len(names)),
        )
    return NewItems(names, S, _joined(table, rows))


def _with_columns(rows: pl.DataFrame, known: pl.DataFrame, rules: Rules) -> pl.DataFrame:
    """Return new items with all columns that the rules read, empty where the table has none."""
    read_by = dict.fromkeys(column for rule in rules.tags for column in rule.columns)
    missing = [column for column in read_by if column not in rows.columns]
    if not missing:
        return rows
    log.warning(
        "the new items have no column %s: what it would say is not stated",
        ", ".join(map(repr, missing)),
    )
    kinds = ((column, known.schema.get(column, pl.String())) for column in missing)
    return rows.with_columns(pl.lit(None, kind).alias(column) for column, kind in kinds)


def new_ids(given: Iterable[Any], known: Ids, kind: Any) -> list[ItemId]:
    """Return ids of the same type as the known ones, none of them known or given twice."""
    whole = kind.is_integer()
    ids: list[ItemId] = []
    for name in given:
        plain = int(name) if isinstance(name, np.integer) else name
        if isinstance(plain, str) and whole and plain.strip().lstrip("-").isdecimal():
            plain = int(plain)
        if isinstance(plain, int) and not isinstance(plain, bool) and not whole:
            plain = str(plain)
        if not isinstance(plain, int if whole else str) or isinstance(plain, bool):
            what = "whole numbers" if whole else "texts"
            raise DataError(f"Item ids here are {what}, found {name!r}. Nothing was added.")
        ids.append(plain)
    there = [name for name in ids if name in known]
    if there or len(set(ids)) < len(ids):
        said = f"are known already: {there[:3]}" if there else "are named twice"
        raise DataError(
            f"{len(there) or len(ids) - len(set(ids))} items {said}. Nothing was added."
        )
    return ids


def tag_rows(
    items: Mapping[ItemId, Iterable[Tag | str]],
    tags: tuple[Tag, ...],
    counted: tuple[Tag, ...] = (),
) -> sp.csr_array:
    """Return the named tags of items as a matrix (items x tags)."""
    n_tags = len(tags)
    index = {tag: place for place, tag in enumerate((*tags, *counted))}
    for name, named in items.items():
        if isinstance(named, str | Tag) or not isinstance(named, Iterable):
            raise ParameterError(f"Item {name!r} needs a list of tags, found {named!r}.")
    places = [sorted({resolve_tag(t, index) for t in named}) for named in items.values()]
    if any(j >= n_tags for row in places for j in row):
        raise ParameterError("Popularity is counted, not given: leave it out of a new item's tags.")
    if any(tags[j].discovered for row in places for j in row):
        raise ParameterError(
            "Discovered tags are found by a fit, not given: leave them out of a new item's tags."
        )
    indptr = np.cumsum([0, *(len(row) for row in places)])
    indices = np.array([j for row in places for j in row], dtype=np.int64)
    return sp.csr_array((np.ones(len(indices)), indices, indptr), shape=(len(places), n_tags))


def _joined(table: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Return the metadata with further rows."""
    try:
        return pl.concat([table, rows], how="diagonal_relaxed").select(table.columns)
    except pl.exceptions.PolarsError as error:
        raise DataError(
            f"The new items do not fit the columns of the known ones: {error}."
        ) from error
