"""The owner's file on discovered groups: which are renamed, merged or dropped; as TOML."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import tomlkit

from teaser.errors import RuleError, closest
from teaser.files import read_settings

_TABLES = ("rename", "merge", "drop")


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
        for key in raw:
            if key not in _TABLES:
                raise RuleError(
                    f"Unknown entry {key!r} in {origin}. Known: {', '.join(_TABLES)}."
                    f"{closest(key, _TABLES)} An entry after [rename] or [merge] belongs to it."
                )
        rename, merge, drop = (raw.get(key, {}) for key in _TABLES)
        if not isinstance(rename, Mapping) or not all(_is_name(v) for v in rename.values()):
            raise RuleError(f'[rename] in {origin} must hold lines such as "Old" = "New".')
        if not isinstance(merge, Mapping) or not all(_is_list(v) for v in merge.values()):
            raise RuleError(f'[merge] in {origin} must hold lines such as "New" = ["A", "B"].')
        if not all(_is_name(new) for new in merge):
            raise RuleError(f"[merge] in {origin} has an entry without a name.")
        if drop and not _is_list(drop):
            raise RuleError(f"drop in {origin} must be a list of names, found {drop!r}.")
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
    out: list[str | None] = list(found)
    edited: dict[int, str] = {}

    def edit(name: str, new: str | None, how: str) -> None:
        if name not in place and name in retired:
            return
        if name not in place:
            raise RuleError(
                f"{edits.origin} {how}s {name!r}, and there is no such group.{closest(name, place)}"
            )
        i = place[name]
        if i in edited:
            raise RuleError(
                f"{edits.origin} {how}s {name!r}, and {edited[i]}s it too. Keep one of the two."
            )
        out[i], edited[i] = new, how

    # The groups of a merge share a name; no others may.
    owner: dict[str, str] = {}
    for new, olds in edits.merge.items():
        for old in olds:
            edit(old, new, "merge")
        owner[new] = "merge"
    for old, new in edits.rename.items():
        edit(old, new, "rename")
    for old in edits.drop:
        edit(old, None, "drop")
    for i, name in enumerate(out):
        if name is not None and edited.get(i) != "merge":
            if name in owner:
                raise RuleError(
                    f"{edits.origin} would give two groups the name {name!r}. Choose another "
                    "name, or put them into one entry of [merge]."
                )
            owner[name] = "group"
    return out


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(map(_is_name, value))
