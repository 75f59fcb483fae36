"""Groups of items that a fit discovered: members, names over refits, and the owner's edits."""

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl
import scipy.sparse as sp
import tomlkit
from numpy.typing import NDArray

from teaser.artifact import Content
from teaser.data.dataset import Dataset
from teaser.data.matrix import Ids, ItemId, pack, unpack
from teaser.data.tags import DISCOVERED, Tag
from teaser.errors import RuleError, closest
from teaser.files import read_settings
from teaser.model.tables import Packed
from teaser.notebook import draw_groups

Array = NDArray[Any]
_TABLES = ("rename", "merge", "drop")
# Characters of one title, and of a whole name.
_TITLE = 36
_NAME = 80
_ITEMS = 3
# A declared tag labels a group if this share of the members carry it, this many times as often
# as items do on the whole.
_LEAST_SHARE = 0.3
_LEAST_LIFT = 2.0
_LEAST_CARRIERS = 3
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
_SCHEMA: dict[str, Any] = {
    "name": pl.String,
    "grain": pl.Float64,
    "size": pl.Int64,
    "exemplars": pl.List(pl.Int64),
    "label_feature": pl.String,
    "label_value": pl.String,
    "label_share": pl.Float64,
}


@dataclass(frozen=True)
class Edits:
    """What the owner changes about groups; a group is meant by any name that it has or had.

    Attributes
    ----------
    rename
        New names by the names that they replace.
    merge
        The groups that become one, by the name of that one.
    drop
        Groups that are not to be tags.
    origin
        The file, for messages.
    """

    rename: Mapping[str, str] = field(default_factory=dict)
    merge: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    drop: tuple[str, ...] = ()
    origin: str = field(default="the file of groups", compare=False)

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a TOML file with the tables `rename` and `merge` and the list `drop`."""
        try:
            raw = tomlkit.parse(read_settings(path, encoding="utf-8-sig")).unwrap()
        except FileNotFoundError:
            raise RuleError(f"There is no file of groups {path}.") from None
        except (OSError, ValueError, RecursionError) as error:
            raise RuleError(f"The file of groups {path} could not be read: {error}.") from error
        return cls.from_dict(raw, origin=str(path))

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any], *, origin: str = "the file of groups") -> Self:
        """Return edits made of plain values, as read from TOML or JSON."""
        if wrong := [key for key in raw if key not in _TABLES]:
            raise RuleError(
                f"Unknown entry {wrong[0]!r} in {origin}. Known: {', '.join(_TABLES)}."
                f"{closest(wrong[0], _TABLES)} An entry after [rename] or [merge] belongs to it."
            )
        rename, merge, drop = raw.get("rename", {}), raw.get("merge", {}), raw.get("drop", [])
        is_fine = isinstance(rename, Mapping) and isinstance(merge, Mapping)
        is_fine = is_fine and all(map(_is_name, [*rename.values(), *merge]))
        if not is_fine or not all(map(_is_list, [*merge.values(), *([drop] if drop else [])])):
            raise RuleError(
                f'{origin} must hold lines such as "Old" = "New" in [rename], "New" = ["A", "B"] '
                'in [merge], and drop = ["A", "B"]; no name is empty.'
            )
        return cls(
            {old: new.strip() for old, new in rename.items()},
            {new.strip(): tuple(old) for new, old in merge.items()},
            tuple(drop),
            origin,
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The groups that are edited, as the file calls them."""
        merged = (old for olds in self.merge.values() for old in olds)
        return (*self.rename, *merged, *self.drop)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values that `from_dict` reads back."""
        merge = {new: list(old) for new, old in self.merge.items()}
        return {"rename": dict(self.rename), "merge": merge, "drop": list(self.drop)}


def shown_names(
    edits: Edits,
    found: Sequence[str],
    former: Mapping[str, str],
    retired: Container[str] = (),
) -> list[str | None]:
    """Return the name that each group is shown by, None where it is dropped.

    Parameters
    ----------
    found
        The names that the groups were given when they were found, each once.
    former
        Earlier names of the groups, with the name that each was found by.
    retired
        Names of groups that there are no more: to edit them is no error, and does nothing.
    """
    place = {name: i for i, name in enumerate(found)}
    place = {old: place[name] for old, name in former.items() if name in place} | place
    edited = [(old, new, "merge") for new, olds in edits.merge.items() for old in olds]
    edited += [(old, new, "rename") for old, new in edits.rename.items()]
    out: list[str | None] = list(found)
    how: dict[int, str] = {}
    for old, new, verb in [*edited, *((old, None, "drop") for old in edits.drop)]:
        if old not in place:
            if old in retired:
                continue
            near = closest(old, place)
            raise RuleError(f"{edits.origin} {verb}s {old!r}, and there is no such group.{near}")
        i = place[old]
        if i in how:
            raise RuleError(
                f"{edits.origin} {verb}s {old!r}, and {how[i]}s it too. Keep one of the two."
            )
        out[i], how[i] = new, verb
    # The groups of a merge share a name; no others may.
    alone = [name for i, name in enumerate(out) if name is not None and how.get(i) != "merge"]
    for name, n in Counter([*edits.merge, *alone]).items():
        if n > 1:
            raise RuleError(
                f"{edits.origin} would give two groups the name {name!r}. Choose another name, or "
                "put them into one entry of [merge]."
            )
    return out


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(map(_is_name, value))


def central_items(cosines: sp.csr_array, counts: Array, most: int) -> list[list[int]]:
    """Return the positions of the best-known central items of each group, the best first.

    Parameters
    ----------
    cosines
        Of items with the centroids of their groups (items x groups).
    counts
        How often each item was chosen.
    """
    known = np.log1p(counts)
    columns = sp.csc_array(cosines)
    # Nearest first: an item that is nearer to another group does not stand for this one.
    highest = cosines.max(axis=1).toarray().ravel()
    out = []
    for j in range(columns.shape[1]):
        part = slice(columns.indptr[j], columns.indptr[j + 1])
        rows, cosine = columns.indices[part], columns.data[part]
        own = cosine >= highest[rows]
        score = cosine * known[rows]
        order = np.lexsort((rows, -score, ~own))[:most]
        out.append(rows[order].tolist())
    return out


def title_of(dataset: Dataset) -> Callable[[int], str | None]:
    """Return a function of an item's position: its short title, or None where it has none."""
    column = dataset.rules.roles.get("title")

    def title(place: int) -> str | None:
        text = None if column is None else dataset.table[column][place]
        return short_title("" if text is None else str(text)) or None

    return title


def speaking_titles(
    items: Sequence[int], title: Callable[[int], str | None], ids: Ids, label: Tag | None
) -> list[str]:
    """Return what a group can be called by: titles of items, the best first.

    Parameters
    ----------
    items
        Positions of the central items, the best first.
    label
        The declared tag of the group. Where fewer than two items have a title, ids follow it.
    """
    titles = [title(i) for i in items]
    known = [text for text in titles if text is not None]
    if len(known) >= 2:
        return known
    named = [text or str(ids[i]) for i, text in zip(items, titles, strict=True)]
    return named if label is None else [f"{label.value}: {named[0]}", *named[1:]]


def short_title(text: str) -> str:
    """Return a title on one line, without brackets at its end, cut between words."""
    plain = _one_line(text)
    bare = re.sub(r"(\s*[(\[][^()\[\]]*[)\]])+$", "", plain) or plain
    if len(bare) <= _TITLE:
        return bare
    cut = bare[: _TITLE - 1]
    head = cut.rpartition(" ")[0]
    # A word that begins in the first half is cut itself.
    return f"{(head if len(head) > _TITLE // 2 else cut).rstrip(' ,;:-')}…"


def name_group(titles: Sequence[str], taken: Container[str]) -> str:
    """Return a name of two or three items, "A, B, C"; of more where groups are called so already.

    Parameters
    ----------
    titles
        Of the central items, the best first.
    taken
        Names of other groups, in lower case.
    """
    different: dict[str, str] = {}
    for each in titles:
        different.setdefault(each.casefold(), each)
    name = ""
    for n, each in enumerate(different.values()):
        longer = f"{name}, {each}" if name else each
        is_long = n >= _ITEMS or (n >= 2 and len(longer) > _NAME)
        if is_long and name.casefold() not in taken:
            break
        name = longer
    free, n = name, 2
    while free.casefold() in taken:
        free, n = f"{name} ({n})", n + 1
    return free


def label_groups(members: sp.csr_array, S: sp.csr_array) -> list[tuple[int, float] | None]:
    """Return for each group the declared tag that is most over-represented, with its share.

    Parameters
    ----------
    members
        How much items belong to groups (items x groups).
    S
        The declared tags of the items (items x tags).
    """
    W, tags = members.astype(np.float64), (S > 0).astype(np.float64)
    carried = sp.csr_array(W.T @ tags)  # groups x tags
    carriers = sp.csr_array((W > 0).astype(np.float64).T @ tags)
    carried.sort_indices()
    carriers.sort_indices()
    mass = W.sum(axis=0)
    overall = tags.mean(axis=0)
    out: list[tuple[int, float] | None] = []
    for j in range(carried.shape[0]):
        part = slice(carried.indptr[j], carried.indptr[j + 1])
        columns, share = carried.indices[part], carried.data[part] / mass[j]
        lift = share / overall[columns]
        clear = (share >= _LEAST_SHARE) & (lift >= _LEAST_LIFT)
        clear &= carriers.data[part] >= _LEAST_CARRIERS
        value = np.where(clear, share * np.log(lift), 0.0)
        best = int(value.argmax()) if clear.any() else None
        out.append(None if best is None else (int(columns[best]), float(share[best])))
    return out


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
            turns = zip_longest(*(self.found[i].exemplars for i in of))
            best = dict.fromkeys(e for turn in turns for e in turn if e is not None)
            out.append(replace(largest, tag=tag, size=size, exemplars=tuple(best)[:EXEMPLARS]))
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
                None
                if row["label_value"] is None
                else Tag(row["label_feature"], row["label_value"]),
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


def _quoted(text: str) -> str:
    return tomlkit.string(text).as_string()


def _listed(names: Iterable[str]) -> str:
    return f"[{', '.join(map(_quoted, names))}]"


def _one_line(text: str) -> str:
    """Return a text that can stand in a comment."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
