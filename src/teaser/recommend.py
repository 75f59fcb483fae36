"""Recommended items: one entry, the list of a user, and the lists of several users."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from teaser.errors import ParameterError, counted
from teaser.explain import AnyReason, BoostReason, Cover, Reason, named_reason, short_reasons
from teaser.frame import FrameList, as_pandas, id_type, make_frame
from teaser.notebook import Card, draw_list
from teaser.profile import GENERAL

# The name of what is not among the reasons.
OTHER = "other tags"


@dataclass(frozen=True)
class Recommendation:
    """One item of a list, with its score, match and main reasons.

    Attributes
    ----------
    general, general_share
        What general appeal adds to the score, and its signed share.
    boost
        What the boosts of the request add to the score; each is also one of all reasons.
    other, other_share
        What all tags and viewed items add that are not among the reasons, and its signed share:
        small ones, and tags whose contribution goes against the leaning towards them. The score
        is `general + sum(r.contribution for r in reasons) + other`.
    cover
        Which part of the score of a product the reasons cover; None where that is all.
    """

    item_id: int | str
    score: float
    match: float
    reasons: tuple[AnyReason, ...]
    title: str | None = None
    general: float = 0.0
    general_share: float = 0.0
    boost: float = 0.0
    other: float = 0.0
    other_share: float = 0.0
    cover: Cover | None = field(default=None, repr=False)

    def line(self) -> str:
        """Return the item, its match and its main reasons in a line."""
        name = self.item_id if self.title is None else self.title
        named = zip(self.reasons, short_reasons(self.reasons), strict=True)
        told = [f"{reason.share:+.0%} {what}" for reason, what in named]
        told += [f"{self.other_share:+.0%} {OTHER}"] if self.other_share else []
        return f"{self.match:4.0%}  {name}{': ' if told else ''}{', '.join(told)}"

    @property
    def note(self) -> str:
        """What the reasons of a product cover, as a sentence; empty for other models."""
        return "" if self.cover is None else self.cover.sentence()


class Recommendations(FrameList[Recommendation]):
    """The recommended items of one user, best first.

    Attributes
    ----------
    ignored
        How many unknown ids of the request were ignored, with `unknown="ignore"`.
    """

    ignored: int = 0

    def to_frame(self) -> pl.DataFrame:
        """Return a frame with one row an item.

        Its columns are `rank` (from 1), `item_id`, `title`, `score`, `match`, `general`, `boost`,
        `other` and `reasons`: a list of structs with the fields `kind` (tag, viewed, disliked or
        boost), `feature`, `value`, `item_id` (of a viewed item), `contribution` and `share`.
        """
        return _frame({}, [()] * len(self), enumerate(self, 1))

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Write the list as lines, for IPython in a terminal."""
        lines = (f"{place:3}. {entry.line()}" for place, entry in enumerate(self, 1))
        printer.text("\n".join(lines) or "[]")

    def _repr_html_(self) -> str:
        ignored = [f"{counted(self.ignored, 'unknown id')} ignored."] if self.ignored else []
        return draw_list([_card(entry) for entry in self], notes=ignored)


class RecommendationBatch(FrameList[Recommendations]):
    """The recommended items of several users, one list each.

    Attributes
    ----------
    ignored
        How many unknown ids of the request were ignored, with `unknown="ignore"`.
    """

    ignored: int = 0

    def only(self) -> Recommendations:
        """Return the list of the only user."""
        (found,) = self
        found.ignored = self.ignored
        return found

    def to_frame(self, users: Sequence[int | str] | None = None) -> pl.DataFrame:
        """Return a frame with one row an item of a user.

        The first column is `user`, the position of the user's list from 0, or `user_id` where ids
        are given. The others are those of `Recommendations.to_frame`.

        Parameters
        ----------
        users
            The id of the user of each list.
        """
        if users is not None and len(users) != len(self):
            raise ParameterError(f"There are {len(self):,} lists and {len(users):,} user ids.")
        named = range(len(self)) if users is None else users
        who = [(user,) for user, own in zip(named, self, strict=True) for _ in own]
        entries = (pair for own in self for pair in enumerate(own, 1))
        return _frame({"user" if users is None else "user_id": None}, who, entries)

    def to_pandas(self, users: Sequence[int | str] | None = None) -> Any:
        """Return what `to_frame` returns as a pandas frame, where pandas is installed."""
        return as_pandas(self.to_frame(users))


def _card(entry: Recommendation) -> Card:
    named = [(reason.share, *named_reason(reason)) for reason in entry.reasons]
    reasons = [(share, f"{name} ({kind})") for share, name, kind in named]
    apart = [(entry.other_share, OTHER), (entry.general_share, GENERAL.value)]
    rest = [(share, name) for share, name in apart if share]
    title = str(entry.item_id) if entry.title is None else entry.title
    return Card(title, str(entry.item_id), entry.match, [*reasons, *rest], entry.note)


def reason_type(ids: Any) -> pl.List:
    """Return the type of a column of reasons, given the type of the item ids."""
    texts = dict.fromkeys(("kind", "feature", "value"), pl.String)
    numbers = dict.fromkeys(("contribution", "share"), pl.Float64)
    return pl.List(pl.Struct({**texts, "item_id": ids, **numbers}))


def _frame(
    first: dict[str, None],
    who: Sequence[tuple[Any, ...]],
    entries: Iterable[tuple[int, Recommendation]],
) -> pl.DataFrame:
    found = list(entries)
    ids = id_type(r.item_id for _, r in found)
    numbers = ("score", "match", "general", "boost", "other")
    columns = {
        **first,
        "rank": pl.Int64,
        "item_id": ids,
        "title": pl.String,
        **dict.fromkeys(numbers, pl.Float64),
    }
    rows = (
        (*user, rank, r.item_id, r.title, *(getattr(r, name) for name in numbers))
        for user, (rank, r) in zip(who, found, strict=True)
    )
    pairs = [(n, reason) for n, (_, r) in enumerate(found) for reason in r.reasons]
    reasons = reason_column(pairs, len(found), ids)
    return make_frame(rows, columns).with_columns(reasons)


def reason_column(pairs: Iterable[tuple[int, AnyReason]], n: int, ids: Any) -> pl.Series:
    """Return the reasons of n entries as a column of lists.

    Parameters
    ----------
    pairs
        The number of the entry of each reason, in order, and the reason.
    ids
        The type of the item ids.
    """
    kind = reason_type(ids)
    own = [(entry, reason_fields(reason)) for entry, reason in pairs]
    # One flat column, cut where an entry ends: made entry by entry it takes ten times as long.
    flat = pl.DataFrame(
        {"entry": [entry for entry, _ in own], "reasons": [fields for _, fields in own]},
        schema={"entry": pl.Int64, "reasons": kind.inner},
    )
    every = pl.DataFrame({"entry": range(n)}, schema={"entry": pl.Int64})
    lists = flat.group_by("entry", maintain_order=True).agg("reasons")
    joined = every.join(lists, on="entry", how="left", maintain_order="left")
    return joined["reasons"].fill_null(pl.Series([[]], dtype=kind))


def reason_fields(reason: AnyReason) -> dict[str, Any]:
    """Return a reason as the fields of a row; `value` is what a person would read."""
    kind, feature, value, item_id = reason.kind, None, "", None
    if isinstance(reason, BoostReason):
        feature, value = reason.named
    elif isinstance(reason, Reason):
        feature, value = reason.tag.feature, " / ".join(tag.value for tag in reason.tags)
    else:
        value, kind = named_reason(reason)
        item_id = reason.item_id
    return {
        "kind": kind,
        "feature": feature,
        "value": value,
        "item_id": item_id,
        "contribution": reason.contribution,
        "share": reason.share,
    }
