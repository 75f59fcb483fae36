"""Dataset: interactions X and tags S, with the ids of users and items and the tags."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser import artifact
from teaser.artifact import find_not_finite
from teaser.data.columns import IdColumns, find_id_columns, find_key, unused_notes
from teaser.data.condition import Conditions
from teaser.data.interactions import (
    Counts,
    ReadReport,
    RowReader,
    Strength,
    as_ids,
    checked_times,
    disliked_line,
    entries_in_rows,
    interaction_matrix,
    interaction_times,
    time_span,
)
from teaser.data.matrix import Ids, ItemId, pack, read_only, saved_ids, unpack
from teaser.data.metadata import (
    UserFeatures,
    count_items,
    describe_items,
    describe_user_features,
    log_notes,
    read_new_items,
)
from teaser.data.partitions import Interactions, Partitions, Run
from teaser.data.reading import Refusal, Table, named_errors, read, tidy
from teaser.data.rules import Rules, RulesLike
from teaser.data.tags import Tag, TagReport, most_frequent, tag_frame, tags_from
from teaser.errors import ArtifactError, DataError, ParameterError, counted
from teaser.notebook import draw_dataset


@dataclass(frozen=True, eq=False)
class Dataset:
    """Interactions of users with items, and the tags of the items; immutable.

    Attributes
    ----------
    X
        Which user chose which item (users x items): strengths above 0, 1 where the interactions
        have none; `Interactions` if in partitions.
    S
        Which item has which tag (items x tags), binary.
    users, items
        The owner's ids, in the order of the rows and columns of X. `users` is empty if the
        interactions are in partitions.
    tags
        The tags, in the order of the columns of S.
    table
        The metadata, one row an item in the order of `items`; its first column is the item id.
    rules
        The rules that made the tags, with what they learned from the table, and column roles.
    report, tag_report
        Counts of rows and tags that were kept, merged, refused and left out.
    items_without_metadata
        The number of items that were chosen but are not described.
    items_refused
        Rows of the item table that were refused.
    user_features
        The features of the users, or None.
    disliked
        What users disliked (users x items), as strengths below 0, or None. Models do not learn
        from it; `history` and the histories of a split have it.
    times
        The time of each interaction in unix seconds, in the order of `X.data`; the latest one of
        merged rows; NaN where an interaction has none. None if no column of times was named, or
        if X is in partitions.
    notes
        What was noticed while the tables were read, as sentences.
    """

    X: sp.csr_array
    S: sp.csr_array
    users: Ids
    items: Ids
    tags: tuple[Tag, ...]
    table: pl.DataFrame = field(repr=False)
    rules: Rules = field(repr=False)
    report: ReadReport = field(repr=False)
    tag_report: TagReport = field(repr=False)
    items_without_metadata: int = 0
    items_refused: tuple[Refusal, ...] = ()
    user_features: UserFeatures | None = field(default=None, repr=False)
    times: NDArray[np.float64] | None = field(default=None, repr=False)
    disliked: sp.csr_array | None = field(default=None, repr=False)
    notes: tuple[str, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        for name in ("X", "S", "disliked"):
            if sp.issparse(getattr(self, name)):
                object.__setattr__(self, name, read_only(getattr(self, name)))
        if self.times is not None:
            object.__setattr__(self, "times", checked_times(self.times, int(self.X.nnz)))

    @classmethod
    def from_tables(
        cls,
        interactions: Any,
        items: Any = None,
        *,
        user: str | None = None,
        item: str | None = None,
        items_id: str | None = None,
        rules: RulesLike = None,
        positive: str | Conditions | None = None,
        negative: str | Conditions | None = None,
        strength: str | None = None,
        kinds: str | Mapping[str, float] | None = None,
        counts: Counts = "once",
        time: str | None = None,
        half_life: float | None = None,
        users: Any = None,
        users_id: str | None = None,
        user_rules: RulesLike = None,
        encoding: str = "utf-8",
    ) -> Self:
        """Make a data set from one to three tables: files, or polars, pandas or pyarrow frames.

        What a file needs to be read, such as names for its columns, is for `read_table`.

        Parameters
        ----------
        interactions
            Who chose what; a text may be a pattern of files, as `logs/*.csv`.
        items
            The metadata of each item; several tables in a list are joined to the first by their
            ids. Without them, items are known by their ids alone.
        user, item
            The columns of the ids; `user_id` and `item_id`, or likely ones, when not given. What
            was taken stands in `notes`.
        items_id
            The column of the ids in the items; as `item`, or the likely one, when not given.
        rules
            How metadata become tags: rule objects, `Rules`, or the path of a TOML file; `()` for
            no tags. Inferred from the table when not given; see `Dataset.rules`.
        positive
            Which interactions count, such as `"rating >= 4"`; all of them when not given.
        negative
            Which rows say that the user disliked the item, such as `"rating <= 2"`. They do not
            count as interactions, and give `Dataset.disliked`.
        strength
            The column of each row's strength, at least 0 (0 is left out); 1 when not given.
            Strengths are divided by their mean, so that penalties mean the same in any unit.
        kinds
            The strength of each text in the column of strengths, such as `{"view": 1, "cart": 3}`.
            Rows of other texts are refused.
        counts
            How rows of the same user and item are merged: `"once"` takes the largest strength,
            `"log"` log(1 + their sum), natural logarithm; without `strength` and `half_life`
            that is log(1 + number of rows).
        time
            The column of the time of each row: dates, datetimes, ISO texts, or unix seconds or
            milliseconds. It gives `Dataset.times`, for splits by time, and ages for a half-life,
            which refuses rows without a time.
        half_life
            After how many days a row counts half: its strength is multiplied by
            2^(-age / half_life), age counted from the newest row that counts.
        users
            The features of each user; they become user tags.
        users_id
            The column of the ids in the users; as `user`, or the likely one, when not given.
        user_rules
            How user features become user tags; inferred when not given.
        encoding
            The encoding of text files.
        """
        if users is None and user_rules is not None:
            raise ParameterError("user_rules have no meaning without a table of users.")
        how = Strength.from_options(strength, counts, time, half_life, kinds)
        named = {"user": user, "item": item, "items_id": items_id, "users_id": users_id}
        tables = read_tables(interactions, items, users, encoding=encoding, **named)
        found, rows = tables.ids, tables.interactions
        rule, against = Conditions.coerce(positive), Conditions.coerce(negative)
        reader = RowReader(found.user, found.item, rule, how, against)
        with named_errors(rows.name):
            pairs, report, odd = reader.check(rows.frame)
        chosen = pairs.group_by("item", maintain_order=True).len("count")
        described = describe_items(tables.items, chosen, found.items_id, rules)
        ids = described["table"].to_series(0)
        pairs = pairs.with_columns(pl.col("item").cast(ids.dtype))
        names = pairs["user"].unique(maintain_order=True)
        features = None
        if tables.users is not None:
            features = describe_user_features(tables.users, names, found.users_id, user_rules)
        disliked, missed = reader.disliked(rows.frame, pairs, names, ids)
        unused = unused_notes(rows, reader)
        notes = log_notes(*tables.notes, *unused, odd, missed, *described.pop("notes"))
        return cls(
            X=interaction_matrix(pairs, names, ids),
            times=interaction_times(pairs, names, ids),
            users=Ids(names.to_list()),
            items=Ids(ids.to_list()),
            report=report.with_refused(rows.refused),
            user_features=features,
            disliked=disliked,
            notes=notes,
            **described,
        )

    @classmethod
    def from_partitions(
        cls,
        interactions: Any,
        items: Any = None,
        *,
        user: str = "user_id",
        item: str = "item_id",
        items_id: str | None = None,
        rules: RulesLike = None,
        positive: str | Conditions | None = None,
        strength: str | None = None,
        kinds: str | Mapping[str, float] | None = None,
        counts: Counts = "once",
        time: str | None = None,
        half_life: float | None = None,
        encoding: str = "utf-8",
        run: Run | None = None,
    ) -> Self:
        """Make a data set from interactions in partitions by user, which are not loaded.

        Parameters
        ----------
        interactions
            A folder of parquet files, also as a URL such as `s3://bucket/folder`; a list of
            files; or a Dask collection. Each part is read once, and only counts are kept; with a
            half-life each is read once more before, to find the newest time. All rows of a user
            must be in one partition.
        user, item
            The columns of the ids.
        items, items_id, rules, positive, strength, kinds, counts, time, half_life, encoding
            As for `from_tables`; times are not kept, so that `time` needs a half-life.
        run
            Where partitions are read: `Cluster.run`, or on this machine when not given.
        """
        how = Strength.from_options(strength, counts, time, half_life, kinds)
        if how is not None and how.time is not None and how.half_life is None:
            raise ParameterError(
                f"The time in column {how.time!r} has no effect without a half-life: times of "
                "interactions in partitions are not kept. Give a half-life in days, half_life=30 "
                "(--half-life 30), or leave out the time."
            )
        items, more = _first_of(items)
        raw = None if items is None else read(items, what="items", encoding=encoding)
        parts = Partitions.open(
            interactions, user=user, item=item, positive=positive, strength=how
        ).with_newest_time(run)
        survey = parts.survey(run)
        parts, report = parts.with_mean(survey)
        key, notes = item, tuple[str, ...]()
        if raw is not None:
            key, notes = find_key(raw, survey.chosen["item"], item, items_id)
            raw = _joined(raw, more, key, encoding)
            notes = (*raw.notes, *notes)
        described = describe_items(raw, survey.chosen, key, rules)
        ids = described["table"].to_series(0).alias("item")
        item_counts = count_items(ids, survey.chosen).to_numpy()
        return cls(
            X=Interactions(parts, survey.sizes, ids, item_counts, survey.squares),
            users=Ids(()),
            items=Ids(ids.to_list()),
            report=report,
            notes=log_notes(*notes, *described.pop("notes")),
            **described,
        )

    @property
    def n_users(self) -> int:
        """The number of users with an interaction."""
        return int(self.X.shape[0])

    @property
    def n_items(self) -> int:
        """The number of items, chosen or not."""
        return int(self.X.shape[1])

    @property
    def n_tags(self) -> int:
        """The number of tags, without popularity."""
        return len(self.tags)

    @property
    def Q(self) -> sp.csr_array | None:  # noqa: N802, a matrix keeps its letter as X and S do
        """Which user has which user tag (users x user tags), binary, or None."""
        return None if self.user_features is None else self.user_features.Q

    @property
    def user_tags(self) -> tuple[Tag, ...]:
        """The user tags, in the order of the columns of Q; empty without user features."""
        return () if self.user_features is None else self.user_features.tags

    @cached_property
    def item_counts(self) -> NDArray[np.int64]:
        """The number of users that chose each item."""
        if isinstance(self.X, Interactions):
            counts = self.X.item_counts.copy()
        else:
            counts = np.bincount(self.X.indices, minlength=self.n_items).astype(np.int64)
        counts.flags.writeable = False
        return counts

    def at(self, rows: NDArray[Any]) -> Self:
        """Return the data set of some of its users, by their positions, with all items."""
        return replace(
            self,
            X=self.X[rows],
            users=Ids(self.users[i] for i in rows.tolist()),
            user_features=None if self.user_features is None else self.user_features.at(rows),
            times=None if self.times is None else self.times[entries_in_rows(self.X, rows)],
            disliked=None if self.disliked is None else self.disliked[rows],
        )

    def with_items(self, items: Any) -> Self:
        """Return the data set with further items, which nobody has chosen.

        A model that is fitted to it places them by what their tags predict, as
        `TaggedModel.add_items` does without a fit.

        Parameters
        ----------
        items
            A table (file or frame) with the item id and columns that the rules read, or a
            mapping from item id to its tags. The tags stay those of the data set. What a missing
            column would say is not stated.
        """
        if isinstance(self.X, Interactions):
            raise DataError(
                "The interactions are in partitions, and items cannot be added to those. Make the "
                "data set again with a table of all items."
            )
        new = read_new_items(items, self.table, self.items, self.tags, self.rules)
        n_items = self.n_items + len(new.ids)
        return replace(
            self,
            X=_widened(self.X, n_items),
            S=sp.csr_array(sp.vstack([self.S, new.S.astype(self.S.dtype)], format="csr")),
            items=self.items.extended(new.ids),
            table=new.table,
            disliked=None if self.disliked is None else _widened(self.disliked, n_items),
        )

    def history(self, user_id: object) -> list[ItemId] | dict[ItemId, float]:
        """Return what a user chose and disliked, as `recommend`, `profile` and `explain` take it.

        Returns
        -------
        history
            The item ids in order of time, or in the order of the items where there are no times.
            Where strengths differ from 1, the strength of each id; disliked items come last.

        Raises
        ------
        UnknownNameError
            If the data set has no such user.
        """
        row = self.users.find(user_id)
        if row is None and isinstance(self.X, Interactions):
            raise DataError(
                "The interactions are in partitions, and the ids of their users are not kept. "
                "Use Dataset.from_tables to look up histories."
            )
        if row is None:
            raise self.users.unknown("user", user_id)
        entries = np.arange(self.X.indptr[row], self.X.indptr[row + 1])
        if self.times is not None:
            # Those without a time come first, as if they were the oldest.
            order = np.argsort(np.nan_to_num(self.times[entries], nan=-np.inf), kind="stable")
            entries = entries[order]
        items = [self.items[i] for i in self.X.indices[entries].tolist()]
        strengths = self.X.data[entries].tolist()
        if self.disliked is not None:
            own = self.disliked[[row]]
            items += [self.items[i] for i in own.indices.tolist()]
            strengths += own.data.tolist()
        if all(strength == 1 for strength in strengths):
            return items
        return dict(zip(items, strengths, strict=True))

    def lines(self) -> list[str]:
        """Return the report of the data set as sentences."""
        unused = int((self.item_counts == 0).sum())
        return [
            *self.report.lines(),
            *([] if self.times is None else [time_span(self.times)]),
            *([] if self.disliked is None else [disliked_line(self.disliked)]),
            *self.notes,
            *(f"items: {refusal}" for refusal in self.items_refused),
            f"{self.n_items:,} items: {self.items_without_metadata:,} without metadata, "
            f"{unused:,} not chosen",
            *self.tag_report.lines(),
            *([] if self.user_features is None else self.user_features.report.lines()),
        ]

    def describe(self) -> dict[str, Any]:
        """Return the contents as plain values, for programs."""
        return {
            "kind": "dataset",
            "users": self.n_users,
            "items": self.n_items,
            "interactions": int(self.X.nnz),
            "disliked": 0 if self.disliked is None else int(self.disliked.nnz),
            "tags": dict(self.tag_report.tags),
            "user_tags": {}
            if self.user_features is None
            else dict(self.user_features.report.tags.tags),
            "report": self.lines(),
            "rules": self.rules.as_dict()["tags"],
            "roles": dict(self.rules.roles),
            "skipped": dict(self.rules.skipped),
        }

    def __repr__(self) -> str:
        sizes = f"{self.n_users:,} users, {self.n_items:,} items, {self.X.nnz:,} interactions"
        return f"<Dataset: {sizes}, {self.n_tags:,} tags>"

    def _repr_html_(self) -> str:
        return draw_dataset(self.describe(), most_frequent(self.tags, self.S.sum(axis=0).tolist()))

    def save(self, folder: str | Path) -> None:
        """Write the data set to a folder; `Dataset.load` reads it back.

        Interactions in partitions are not copied; only their paths are written.
        """
        artifact.write(folder, kind="dataset", **_to_save(self))

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a data set that `save` wrote."""
        content = artifact.read(folder)
        if content.kind != "dataset":
            raise ArtifactError(
                f"{folder} is a {content.kind}, not a data set. Name the folder that teaser "
                "prepare or Dataset.save wrote."
            )
        with artifact.refusing(f"{folder} is not a whole data set"):
            found = cls(**_from_saved(content, str(folder)))
            # Reports of wrong types fail where they are told.
            "".join(found.describe()["report"])
            return found


@dataclass(frozen=True, eq=False)
class Tables:
    """The tables of a data set as they were read, and the columns of their ids.

    `notes` are sentences on what was noticed.
    """

    interactions: Table
    items: Table | None
    users: Table | None
    ids: IdColumns
    notes: tuple[str, ...]


def read_tables(
    interactions: Any, items: Any, users: Any, *, encoding: str, **ids: str | None
) -> Tables:
    """Read the tables of a data set, and find the columns of their ids.

    Parameters
    ----------
    interactions, items, users
        Files, frames or `Table`s; items and users may be None.
    encoding
        The encoding of text files.
    **ids
        `user`, `item`, `items_id` and `users_id`, each the name of a column or None.
    """
    items, more = _first_of(items)
    known = read(interactions, what="interactions", encoding=encoding)
    described = None if items is None else read(items, what="items", encoding=encoding)
    about = None if users is None else read(users, what="users", encoding=encoding)
    found = find_id_columns(known, described, about, **ids)
    if described is not None:
        described = _joined(described, more, found.items_id, encoding)
    if about is not None:
        about = tidy(about, found.users_id, "the users", long=False)
    each = (table for table in (known, described, about) if table is not None)
    notes = (*(note for table in each for note in table.notes), *found.notes)
    return Tables(known, described, about, found, notes)


def _first_of(items: Any) -> tuple[Any, list[Any]]:
    """Return the first table of items, and those that are joined to it."""
    if isinstance(items, list | tuple) and items:
        return items[0], list(items[1:])
    return items, []


def _joined(items: Table, more: Iterable[Any], key: str, encoding: str) -> Table:
    """Return a tidy table of items with the columns of further ones."""
    items = tidy(items, key, "the items")
    for each in more:
        items = join_items(items, read(each, what="items", encoding=encoding), key)
    return items


def join_items(items: Table, extra: Table, key: str) -> Table:
    """Return a table of items with the columns of another one of the same items.

    Parameters
    ----------
    items
        One row an item.
    extra
        Further columns. One that the items have too is called after both, `title (extra)`.
    key
        The column of the ids in the items.
    """
    own, _ = find_key(extra, items.frame[key], key, None)
    extra = tidy(extra, own, extra.name)
    ids = pl.Series("item", as_ids(items.frame[key]).cast(pl.String))
    more = extra.frame.with_columns(as_ids(extra.frame[own]).cast(pl.String).alias(own))
    more = more.unique(own, keep="first", maintain_order=True).drop_nulls(own)
    missed = more.filter(~pl.col(own).is_in(ids.implode())).height
    stem = Path(extra.name).stem
    names = {
        column: f"{column} ({stem})" if column in items.frame.columns else column
        for column in more.columns
        if column != own
    }
    joined = ids.to_frame().join(
        more.rename(names), left_on="item", right_on=own, how="left", maintain_order="left"
    )
    note = f"columns of {extra.name} joined by {own}: {', '.join(names.values())}"
    if missed:
        note += f"; {counted(missed, 'item')} that the first table does not have left out"
    frame = items.frame.hstack(joined.drop("item"))
    notes = (*items.notes, *extra.notes, note)
    return Table(frame, items.name, notes, (*items.refused, *extra.refused), items.headless)


def _widened(matrix: sp.csr_array, n_columns: int) -> sp.csr_array:
    """Return a matrix with empty columns after its own."""
    parts = (matrix.data, matrix.indices, matrix.indptr)
    return sp.csr_array(parts, shape=(matrix.shape[0], n_columns))


def _to_save(dataset: Dataset) -> dict[str, Any]:
    """Return settings, arrays and tables of a data set, to be written."""
    settings = {
        "rules": dataset.rules.as_dict(),
        "skipped": dict(dataset.rules.skipped),
        "report": asdict(dataset.report),
        "tag_report": asdict(dataset.tag_report),
        "items_without_metadata": dataset.items_without_metadata,
        "items_refused": [asdict(r) for r in dataset.items_refused],
        "notes": list(dataset.notes),
    }
    arrays = pack("S", dataset.S)
    tables = {"items": dataset.table, "tags": tag_frame(dataset.tags)}
    if isinstance(dataset.X, Interactions):
        settings["partitions"] = dataset.X.settings()
        arrays["X.counts"] = dataset.item_counts
    else:
        arrays |= pack("X", dataset.X)
        tables["users"] = pl.DataFrame({"user": dataset.users[:]})
    if dataset.times is not None:
        arrays["times"] = dataset.times
    if dataset.disliked is not None:
        arrays |= pack("disliked", dataset.disliked)
    if dataset.user_features is not None:
        settings["user_features"] = dataset.user_features.settings()
        arrays |= pack("Q", dataset.user_features.Q)
        tables["user_tags"] = tag_frame(dataset.user_tags)
    return {"settings": settings, "arrays": arrays, "tables": tables}


def _from_saved(content: artifact.Content, origin: str) -> dict[str, Any]:
    """Return the attributes of the data set that a folder holds; `origin` names it in messages."""
    s, arrays, tables = content.settings, content.arrays, content.tables
    rules = Rules.from_dict(s["rules"], origin=origin)
    ids = tables["items"].to_series(0).alias("item")
    items = saved_ids(ids, "items")
    # A time that is not known is NaN.
    name = find_not_finite({name: array for name, array in arrays.items() if name != "times"})
    if name is not None:
        raise ArtifactError(f"Its array {name!r} has numbers that are not finite.")
    tags = tags_from(tables["tags"])
    if "partitions" in s:
        users, X = Ids(()), Interactions.from_settings(s["partitions"], ids, arrays["X.counts"])
    else:
        users = saved_ids(tables["users"]["user"], "users")
        X = unpack("X", arrays, (len(users), len(items)))
    user_features = None
    if "user_features" in s:
        user_tags = tags_from(tables["user_tags"])
        Q = unpack("Q", arrays, (len(users), len(user_tags)))
        user_features = UserFeatures.from_settings(s["user_features"], Q, user_tags)
    has_disliked = "disliked.indptr" in arrays
    return {
        "X": X,
        "S": unpack("S", arrays, (len(items), len(tags))),
        "users": users,
        "items": items,
        "tags": tags,
        "table": tables["items"],
        "rules": replace(rules, skipped=s["skipped"]),
        "report": ReadReport.from_dict(s["report"]),
        "tag_report": TagReport.from_dict(s["tag_report"]),
        "items_without_metadata": s["items_without_metadata"],
        "items_refused": Refusal.from_dicts(s["items_refused"]),
        "user_features": user_features,
        "times": arrays.get("times"),
        "notes": tuple(s["notes"]),
        "disliked": unpack("disliked", arrays, X.shape) if has_disliked else None,
    }
