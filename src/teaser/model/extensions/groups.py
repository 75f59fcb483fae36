"""Groups of items that a fit discovered: their tags, members and names over refits."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl
import scipy.sparse as sp
import tomlkit
from numpy.typing import NDArray

from teaser.artifact import Content
from teaser.data.matrix import Ids, ItemId, pack, unpack
from teaser.data.tags import DISCOVERED, Tag
from teaser.errors import RuleError
from teaser.model.extensions.group_edits import Edits, shown_names
from teaser.model.packed import Packed
from teaser.notebook.model_view import draw_groups

Array = NDArray[Any]

# Two groups with a smaller overlap (members of both / members of either) are not the same.
LEAST_OVERLAP = 0.25
EXEMPLARS = 10
_TEMPLATE = """\
# Groups of items that the same people choose, as the system found them. Name this file in
# DiscoveredTags(names=...) or --discovered-names, and fit again with the present model as the
# start. Presses on a name that you replace go on counting.

# Groups that shall not be tags, such as drop = ["First group", "Second group"].
"""
_MERGE = """
[merge]
# Groups that become one, such as "New name" = ["First group", "Second group"].
"""
_RENAME = """
[rename]
# Write a better name on the right, and remove the # at the beginning of the line.
"""


@dataclass(frozen=True)
class Group:
    """One group.

    Attributes
    ----------
    tag
        Its tag.
    grain
        About how many items a group of its grain has.
    size
        How many items it has.
    exemplars
        Its best-known central items, the best first.
    label_tag, label_share
        The declared tag that is most over-represented in it, and the share of its items that
        carry it; None and 0 where none clearly is.
    """

    tag: Tag
    grain: float
    size: int
    exemplars: tuple[ItemId, ...]
    label_tag: Tag | None = None
    label_share: float = 0.0


@dataclass(frozen=True, eq=False)
class Groups:
    """The groups of a fit, as they were found and as the owner's edits show them.

    Attributes
    ----------
    items
        The items at the fit, in the order of the rows of `weights`.
    found
        The groups as they were found and named by the system.
    weights
        How much each item belongs to each of `found` (items x groups), 1 and less.
    edits
        What the owner renamed, merged and dropped.
    former
        Earlier names of groups, with the name that each was found by.
    retired
        Names of groups that there were at an earlier fit.
    """

    items: Ids = field(repr=False)
    found: tuple[Group, ...] = field(repr=False)
    weights: sp.csr_array = field(repr=False)
    edits: Edits = field(default_factory=Edits)
    former: Mapping[str, str] = field(default_factory=dict, repr=False)
    retired: tuple[str, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if self.weights.shape != (len(self.items), len(self.found)):
            raise ValueError("its groups, items and weights are of different sizes")
        _ = self._shown  # edits of unknown groups are refused at once

    def __len__(self) -> int:
        return len(self.tags)

    @cached_property
    def _shown(self) -> list[str | None]:
        """The name that each found group is shown by, None where it is dropped."""
        names = [group.tag.value for group in self.found]
        return shown_names(self.edits, names, self.former, self.retired)

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        """The found groups behind each name that is shown, the largest first."""
        out: dict[str, list[int]] = {}
        for i, name in enumerate(self._shown):
            if name is not None:
                out.setdefault(name, []).append(i)
        return {n: sorted(of, key=lambda i: -self.found[i].size) for n, of in out.items()}

    @cached_property
    def tags(self) -> tuple[Tag, ...]:
        """The tags that are shown, in the order of the columns of `members`."""
        return tuple(Tag(DISCOVERED, name) for name in self._places)

    @cached_property
    def members(self) -> sp.csr_array:
        """How much each item belongs to each group that is shown (items x groups)."""
        column = {i: j for j, of in enumerate(self._places.values()) for i in of}
        rows, columns = list(column), list(column.values())
        shape = (len(self.found), len(self._places))
        joined = self.weights @ sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)
        joined.data = np.minimum(joined.data, 1.0)  # an item may be in several groups of a merge
        joined.sort_indices()
        return sp.csr_array(joined)

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The groups that are shown, in the order of `tags`."""
        sizes = np.diff(self.members.tocsc().indptr).tolist()
        out = []
        for tag, of, size in zip(self.tags, self._places.values(), sizes, strict=True):
            largest = self.found[of[0]]
            # Of merged groups: the best of each, then the second best of each, and so on.
            mixed = _alternate([self.found[i].exemplars for i in of])[:EXEMPLARS]
            label = (largest.label_tag, largest.label_share)
            out.append(Group(tag, largest.grain, size, mixed, *label))
        return tuple(out)

    def of(self, tag: Tag) -> Group:
        """Return the group of a tag, also of one that the owner replaced."""
        index = {group.tag: group for group in self.groups}
        return index[self.aliases.get(tag, tag)]

    @cached_property
    def aliases(self) -> dict[Tag, Tag]:
        """Names that were replaced, with what stands for them today."""
        shown = {group.tag.value: name for group, name in zip(self.found, self._shown, strict=True)}
        known = {**{old: shown.get(name) for old, name in self.former.items()}, **shown}
        return {
            Tag(DISCOVERED, old): Tag(DISCOVERED, name)
            for old, name in known.items()
            if name is not None and old not in self._places
        }

    @cached_property
    def names_of_found(self) -> dict[str, str]:
        """All names that groups have or had, with the name that each was found by."""
        shown = {name: self.found[of[0]].tag.value for name, of in self._places.items()}
        return {**self.former, **shown}

    def describe(self) -> dict[str, Any]:
        """Return how many groups there are as plain values, for programs."""
        grains = [group.grain for group in self.groups]
        return {
            "groups": len(self),
            "grains": {f"{grain:g}": grains.count(grain) for grain in dict.fromkeys(grains)},
            "labelled": sum(group.label_tag is not None for group in self.groups),
            "items": int((np.diff(self.members.indptr) > 0).sum()),
        }

    def _repr_html_(self) -> str:
        shown = [(g.tag.value, g.size, [str(e) for e in g.exemplars[:3]]) for g in self.groups]
        return draw_groups(shown)

    def pack(self) -> Packed:
        """Return settings, arrays and tables to be saved."""
        places = {name: i for i, name in enumerate(self.items)}
        labels = [group.label_tag for group in self.found]
        table = pl.DataFrame(
            {
                "name": [group.tag.value for group in self.found],
                "grain": [float(group.grain) for group in self.found],
                "size": [group.size for group in self.found],
                "exemplars": [[places[e] for e in group.exemplars] for group in self.found],
                "label_feature": [None if t is None else t.feature for t in labels],
                "label_value": [None if t is None else t.value for t in labels],
                "label_share": [group.label_share for group in self.found],
            },
            schema=_SCHEMA,
        )
        kept = {"edits": self.edits.as_dict(), "former": dict(self.former)}
        return Packed(
            {"groups": {**kept, "retired": list(self.retired)}},
            pack("groups", self.weights),
            {"groups": table},
        )

    @classmethod
    def unpack(cls, content: Content) -> Self | None:
        """Return what `pack` gave, or None where there is none."""
        if "groups" not in content.tables:
            return None
        table, settings = content.tables["groups"], content.settings["groups"]
        is_whole = table.drop("label_feature", "label_value").null_count().sum_horizontal()[0] == 0
        if dict(table.schema) != dict(_SCHEMA) or not is_whole:
            raise ValueError("its table of groups is not whole")
        n_items = len(content.arrays["groups.indptr"]) - 1
        items = Ids(content.tables["items"].to_series(0).head(n_items).to_list())
        found = tuple(
            Group(
                Tag(DISCOVERED, row["name"]),
                row["grain"],
                row["size"],
                tuple(items[i] for i in row["exemplars"]),
                _tag(row["label_feature"], row["label_value"]),
                row["label_share"],
            )
            for row in table.iter_rows(named=True)
        )
        return cls(
            items,
            found,
            unpack("groups", content.arrays, (n_items, len(found))),
            Edits.from_dict(settings["edits"], origin="the saved model"),
            settings["former"],
            tuple(settings["retired"]),
        )

    def to_toml(self, titles: Mapping[ItemId, str] | None = None) -> str:
        """Return the owner's file: today's edits, and a line to edit for each group.

        Parameters
        ----------
        titles
            What to call the items; ids are written without.
        """
        edits = self.edits
        document = [_TEMPLATE, f"drop = {_listed(edits.drop)}\n", _MERGE]
        for new, olds in edits.merge.items():
            document.append(f"{_quoted(new)} = {_listed(olds)}\n")
        document.append(_RENAME)
        for old, new in edits.rename.items():
            document.append(f"{_quoted(old)} = {_quoted(new)}\n")
        for group in self.groups:
            said = f"{group.size:,} items, grain {group.grain:g}"
            if group.label_tag is not None:
                said += f", {group.label_share:.0%} {group.label_tag}"
            names = ", ".join(str((titles or {}).get(e, e)) for e in group.exemplars)
            name = _quoted(group.tag.value)
            document.append(f"\n# {_one_line(f'{said}: {names}')}\n# {name} = {name}\n")
        return "".join(document)

    def write(self, path: str | Path, titles: Mapping[ItemId, str] | None = None) -> None:
        """Write the owner's file; see `to_toml`."""
        try:
            Path(path).write_text(self.to_toml(titles), encoding="utf-8")
        except OSError as error:
            raise RuleError(f"The groups could not be written to {path}: {error}.") from error


_SCHEMA: dict[str, Any] = {
    "name": pl.String,
    "grain": pl.Float64,
    "size": pl.Int64,
    "exemplars": pl.List(pl.Int64),
    "label_feature": pl.String,
    "label_value": pl.String,
    "label_share": pl.Float64,
}


def earlier_weights(previous: Groups, grain: float, items: Ids) -> tuple[list[str], sp.csr_array]:
    """Return the earlier groups of a grain: names, and weights of the items of today.

    Parameters
    ----------
    items
        Today's items; earlier ones are found by their ids.
    """
    columns = [j for j, group in enumerate(previous.found) if group.grain == grain]
    there = {name: i for i, name in enumerate(previous.items)}
    rows = np.array([there.get(name, -1) for name in items], dtype=np.int64)
    known = np.flatnonzero(rows >= 0)
    place = sp.csr_array(
        (np.ones(len(known)), (known, rows[known])), shape=(len(items), len(previous.items))
    )
    names = [previous.found[j].tag.value for j in columns]
    return names, sp.csr_array(place @ previous.weights[:, columns])


def match_groups(old: sp.csr_array, new: sp.csr_array) -> dict[int, int]:
    """Return for groups their earlier selves, one to one, those that overlap most first.

    Parameters
    ----------
    old, new
        Weights of the same items (items x groups).

    Returns
    -------
    dict
        Columns of `old` by columns of `new`.
    """
    before, after = (weights.astype(np.float64) for weights in (old, new))
    both = sp.coo_array(before.T @ after)
    of_old, of_new = both.coords
    # |a|^2 + |b|^2 - a.b: for weights of 1 the items of either, so that the ratio is Jaccard's.
    lengths = [np.asarray((weights * weights).sum(axis=0)).ravel() for weights in (before, after)]
    either = lengths[0][of_old] + lengths[1][of_new] - both.data
    overlap = both.data / either
    out: dict[int, int] = {}
    taken = set[int]()
    for place in np.lexsort((of_new, of_old, -overlap)).tolist():
        if overlap[place] < LEAST_OVERLAP:
            break
        i, j = int(of_old[place]), int(of_new[place])
        if i not in taken and j not in out:
            out[j] = i
            taken.add(i)
    return out


def _alternate(lists: list[tuple[ItemId, ...]]) -> tuple[ItemId, ...]:
    """Return the firsts of all lists, then the seconds, and so on, each item once."""
    longest = max(map(len, lists), default=0)
    mixed = (found[n] for n in range(longest) for found in lists if n < len(found))
    return tuple(dict.fromkeys(mixed))


def _tag(feature: str | None, value: str | None) -> Tag | None:
    return None if feature is None or value is None else Tag(feature, value)


def _quoted(text: str) -> str:
    return tomlkit.string(text).as_string()


def _listed(names: Iterable[str]) -> str:
    return f"[{', '.join(map(_quoted, names))}]"


def _one_line(text: str) -> str:
    """Return a text that can stand in a comment."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
