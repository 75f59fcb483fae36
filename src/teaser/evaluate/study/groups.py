"""Some discovered groups of a study, drawn at random, for a reader to judge."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from teaser.artifact import read_parquet
from teaser.data.matrix import ItemId
from teaser.errors import DataError
from teaser.model.base import Model
from teaser.model.tables import ItemTable

GROUPS_SUFFIX = ".groups.parquet"
DRAWN = 10
EXEMPLARS = 5

_SCHEMA: dict[str, Any] = {
    "name": pl.String,
    "size": pl.Int64,
    "exemplars": pl.List(pl.String),
    "label": pl.String,
    "label_share": pl.Float64,
}


@dataclass(frozen=True)
class ShownGroup:
    """A discovered group: its name, its size, its central items, and the tag most typical of it.

    `label` is empty where no declared tag is clearly more common in the group than elsewhere;
    `label_share` is the share of its items that carry it.
    """

    name: str
    size: int
    exemplars: tuple[str, ...]
    label: str = ""
    label_share: float = 0.0


def draw_groups(model: Model, *, seed: int, n: int = DRAWN) -> list[ShownGroup]:
    """Return groups of a model drawn at random, with the titles of central items; none without."""
    groups = getattr(model, "groups_", None)
    if not groups:
        return []
    drawn = np.random.default_rng(seed).choice(len(groups), min(n, len(groups)), replace=False)
    items = model.item_table_
    return [
        ShownGroup(
            group.tag.value,
            group.size,
            tuple(_named(items, e) for e in group.exemplars[:EXEMPLARS]),
            "" if group.label_tag is None else str(group.label_tag),
            group.label_share,
        )
        for group in (groups.groups[i] for i in drawn.tolist())
    ]


def write_groups(models: Mapping[str, Model], path: Path, *, seed: int) -> None:
    """Write some groups of the last model that has any, in a file beside the results.

    They hold titles of items, which the licence of the data may keep from being passed on: they
    are in none of the other files.
    """
    for model in reversed(list(models.values())):
        if found := draw_groups(model, seed=seed):
            pl.DataFrame([asdict(group) for group in found], schema=_SCHEMA).write_parquet(path)
            return


def read_groups(path: Path) -> tuple[ShownGroup, ...]:
    """Read what `write_groups` wrote; nothing where there is no file."""
    if not path.exists():
        return ()
    try:
        rows = read_parquet(path).select(*_SCHEMA).to_dicts()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError(f"{path} holds no discovered groups: {error}") from error
    return tuple(ShownGroup(**{**row, "exemplars": tuple(row["exemplars"])}) for row in rows)


def _named(items: ItemTable, item_id: ItemId) -> str:
    place = items.ids.index_of(item_id)
    return items.title(place) or str(item_id)
