"""Why one item stands above another: the difference of their contributions, part by part.

Both scores are sums over the same kinds of parts, so their difference is the sum of the
differences. A part that only one of the items has counts 0 for the other.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import polars as pl

from teaser.data.tags import Tag, feature_label
from teaser.errors import counted
from teaser.explain import Contributions
from teaser.frame import Framed, make_frame
from teaser.notebook.difference_view import Step, draw_difference
from teaser.profile import GENERAL
from teaser.reason import BoostName, distinct_labels, join_names, join_values

PartKind = Literal["general", "tag", "viewed", "disliked", "boost"]
# The most parts that a difference shows as plain text, and that its sentence names on each side.
_SHOWN = 12
_FOR, _AGAINST = 3, 2
# Parts below this share are not named in a sentence.
_TOLD = 0.01


@dataclass(frozen=True)
class DifferencePart:
    """What one tag, one item of the history, general appeal or a boost does to the difference.

    Attributes
    ----------
    kind
        general, tag, viewed, disliked (an item of the history) or boost.
    name
        The tag (also of general appeal), the id of the item of the history, or what the boost
        is named by.
    contribution, other_contribution
        What it adds to the score of the item, and to that of the other.
    difference
        contribution - other_contribution.
    share
        difference / the sum of all absolute differences; signed.
    tags
        The tags that the part is about: near-equal ones, which lie on nearly the same items, are
        one part. Empty for items of the history and for boosts by other names.
    title
        The title of the item of the history.
    """

    kind: PartKind
    name: Tag | int | str
    contribution: float
    other_contribution: float
    difference: float
    share: float = 0.0
    tags: tuple[Tag, ...] = ()
    title: str | None = None

    @property
    def label(self) -> str:
        """What the part is about, for a reader."""
        if self.tags:
            return join_values(self.tags)
        return str(self.name) if self.title is None else self.title

    @property
    def group(self) -> str:
        """What that is: the feature of a tag, viewed, disliked or boost; empty for appeal."""
        if self.kind == "tag" and isinstance(self.name, Tag):
            return feature_label(self.name.feature)
        return "" if self.kind == "general" else self.kind


@dataclass(frozen=True)
class Difference(Framed):
    """The difference of two items' scores for one user, with all parts.

    Attributes
    ----------
    item_id, other_id
        The two items.
    score, other_score
        Their scores. `sum(part.difference for part in parts)` is `score - other_score`.
    parts
        Every part of either score, largest absolute difference first. What both have in the
        same measure has a difference of 0 and stands at the end.
    title, other_title
        The titles of the items, where they have one.
    """

    item_id: int | str
    other_id: int | str
    score: float
    other_score: float
    parts: tuple[DifferencePart, ...] = field(repr=False)
    title: str | None = None
    other_title: str | None = None

    @property
    def difference(self) -> float:
        """Score - other_score."""
        return self.score - self.other_score

    @property
    def explained(self) -> tuple[float, float]:
        """The two scores that the parts sum to."""
        return self.score, self.other_score

    @property
    def total(self) -> float:
        """The sum of all absolute differences, which shares are of."""
        return sum(abs(part.difference) for part in self.parts)

    @property
    def note(self) -> str:
        """What the parts cover, as a sentence, where it is not the whole of both scores."""
        return ""

    def names(self) -> tuple[str, str]:
        """Return the titles of both items, or their ids."""
        pairs = ((self.title, self.item_id), (self.other_title, self.other_id))
        first, second = (str(item_id) if title is None else title for title, item_id in pairs)
        return first, second

    def labels(self) -> list[str]:
        """Return what each part is about; equal values of tags are told with their features."""
        moved = [part.tags for part in self.parts if part.tags and part.difference]
        told = dict(zip(moved, distinct_labels(moved), strict=True))
        return [told.get(part.tags, part.label) for part in self.parts]

    def sentence(self) -> str:
        """Return in a sentence which item stands above the other, and what decides it most."""
        name, other = self.names()
        way = 1 if self.difference > 0 else -1
        if not self.difference:
            told = f"{name} and {other} have the same score."
            return f"{told} {self.note}".rstrip()
        high, low = (name, other) if way > 0 else (other, name)
        least = _TOLD * self.total
        moved = [
            (_label_in(part, label, way), way * part.difference)
            for part, label in zip(self.parts, self.labels(), strict=True)
            if abs(part.difference) >= least
        ]
        towards = _named([pair for pair in moved if pair[1] > 0][:_FOR])
        against = _named([pair for pair in moved if pair[1] < 0][:_AGAINST])
        told = f"{high} stands {abs(self.difference):.3f} above {low}"
        told += f", because of {towards}" if towards else ""
        told += f", in spite of {against}" if against else ""
        return f"{told}. {self.note}".rstrip()

    def to_frame(self) -> pl.DataFrame:
        """Return a frame with one row a part; its differences sum to that of the scores.

        Its columns are `part` (general, tag, viewed, disliked or boost), `feature` and `value` (of
        tags; near-equal ones in one value), `item_id` (of the history), `contribution`,
        `other_contribution`, `difference` and `share`.
        """
        return make_frame((_row(part) for part in self.parts), _COLUMNS)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Write what decides as lines, for IPython in a terminal."""
        (name, other), (score, other_score) = self.names(), self.explained
        lines = [f"{name} ({score:.3f}) against {other} ({other_score:.3f})"]
        labelled = zip(self.parts, self.labels(), strict=True)
        moved = [(part.difference, label) for part, label in labelled if part.difference]
        lines += [f"{difference:+9.3f}  {label}" for difference, label in moved[:_SHOWN]]
        left = moved[_SHOWN:]
        if left:
            rest = sum(difference for difference, _ in left)
            lines.append(f"{rest:+9.3f}  {counted(len(left), 'further part')}")
        lines.append(f"{score - other_score:+9.3f}  in all")
        printer.text("\n".join([*lines, *([self.note] if self.note else [])]))

    def _repr_html_(self) -> str:
        steps = [
            Step(part.label, part.group, part.contribution, part.other_contribution)
            for part in self.parts
            if part.difference
        ]
        return draw_difference(self.names(), steps, scores=self.explained, note=self.note)


_COLUMNS = {
    "part": pl.String,
    "feature": pl.String,
    "value": pl.String,
    "item_id": None,
    "contribution": pl.Float64,
    "other_contribution": pl.Float64,
    "difference": pl.Float64,
    "share": pl.Float64,
}


def find_parts(first: Contributions, second: Contributions) -> tuple[DifferencePart, ...]:
    """Return the parts of the difference of two scores, largest absolute difference first.

    Parameters
    ----------
    first, second
        The parts of both scores, for the same user and with the same boosts.
    """
    found = [_part("general", GENERAL, (first.general, second.general), (GENERAL,))]
    if not found[0].contribution and not found[0].other_contribution:
        found = []
    found += [*_tag_parts(first, second), *_viewed_parts(first, second)]
    boosts: dict[BoostName, list[float]] = {}
    for place, own in enumerate((first.boosts, second.boosts)):
        for name, added in own:
            boosts.setdefault(name, [0.0, 0.0])[place] += added
    for name, both in boosts.items():
        found.append(_part("boost", name, both, (name,) if isinstance(name, Tag) else ()))
    total = sum(abs(part.difference) for part in found)
    shared = (
        DifferencePart(**{**vars(part), "share": part.difference / total if total else 0.0})
        for part in found
    )
    # Stable: equal ones stay in the order of the decoder's columns.
    return tuple(sorted(shared, key=lambda part: -abs(part.difference)))


def _tag_parts(first: Contributions, second: Contributions) -> Iterator[DifferencePart]:
    """Yield a part for each tag of either item; near-equal ones are one part."""
    groups: dict[int, dict[int, list[float]]] = {}
    for place, item in enumerate((first, second)):
        for j, added in zip(item.positions.tolist(), item.parts.tolist(), strict=True):
            number = -1 if first.together is None else int(first.together[j])
            # Tags in no group stand alone; they have numbers that no group has.
            group = groups.setdefault(number if number >= 0 else -1 - j, {})
            group.setdefault(j, [0.0, 0.0])[place] += added
    for group in groups.values():
        # The tag that contributes most names the part.
        places = sorted(group, key=lambda j: -sum(map(abs, group[j])))
        sums = [sum(group[j][place] for j in places) for place in (0, 1)]
        tags = tuple(first.tags[j] for j in places)
        yield _part("tag", tags[0], sums, tags)


def _viewed_parts(first: Contributions, second: Contributions) -> Iterator[DifferencePart]:
    """Yield a part for each item of the history that adds something to either score."""
    if first.viewed is None or second.viewed is None:
        return
    own, other = first.viewed.parts, second.viewed.parts
    for n in np.flatnonzero((own != 0) | (other != 0)).tolist():
        said = first.viewed.reason(n, float(own[n]), 0.0)
        kind: PartKind = "disliked" if said.disliked else "viewed"
        yield _part(kind, said.item_id, (float(own[n]), float(other[n])), title=said.title)


def _part(
    kind: PartKind,
    name: Tag | int | str,
    added: Sequence[float],
    tags: tuple[Tag, ...] = (),
    title: str | None = None,
) -> DifferencePart:
    own, other = map(float, added)
    return DifferencePart(kind, name, own, other, own - other, tags=tags, title=title)


def _row(part: DifferencePart) -> tuple[Any, ...]:
    feature: str | None = None
    value: str | None = None
    item_id: int | str | None = None
    if part.tags:
        feature, value = part.tags[0].feature, " / ".join(tag.value for tag in part.tags)
    elif part.kind == "boost":
        value = str(part.name)
    elif not isinstance(part.name, Tag):
        item_id = part.name
    added = (part.contribution, part.other_contribution, part.difference, part.share)
    return (part.kind, feature, value, item_id, *added)


def _label_in(part: DifferencePart, label: str, way: int) -> str:
    """Return what a part is about; of a tag that the higher item lacks, the lack."""
    own = part.contribution if way > 0 else part.other_contribution
    return f"the lack of {label}" if part.kind == "tag" and not own else label


def _named(pairs: Sequence[tuple[str, float]]) -> str:
    return join_names([f"{label} ({moved:+.3f})" for label, moved in pairs]) if pairs else ""
