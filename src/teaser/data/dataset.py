"""Dataset: interactions X and tags S with the owner's names for users, items and tags."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl
import scipy.sparse as sp

from teaser import artifact
from teaser.data.ids import Ids
from teaser.data.items import describe_items
from teaser.data.read_only import fixed
from teaser.data.reading.interactions import (
    Positive,
    ReadReport,
    Refusal,
    check_interactions,
    need_column,
    read_table,
)
from teaser.data.reading.partitions import Interactions, Partitions, Run, interaction_matrix
from teaser.data.tagging.one_hot import TagReport
from teaser.data.tagging.rule_set import Rule, Rules
from teaser.data.tagging.tag import Tag
from teaser.data.tagging.user_features import UserFeatures, describe_user_features
from teaser.errors import ArtifactError, DataError, ParameterError


@dataclass(frozen=True, eq=False)
class Dataset:
    """Interactions and tags of one catalogue; never changed once made.

    Attributes
    ----------
    X
        Who chose what (users x items), binary; `Interactions` where they are in partitions.
    S
        Which item carries which tag (items x tags), binary.
    users, items
        The owner's ids, in the order of the rows and columns of X; no users are kept of
        partitions.
    tags
        The tags, in the order of the columns of S.
    table
        The metadata, one row an item in the order of `items`; its first column is the item id.
    rules
        The rules that made the tags, with all that they learnt from the table, and column roles.
    report, tag_report
        What was read, merged, refused and left out.
    items_without_metadata
        Items that people chose but the metadata do not describe.
    items_refused
        Rows of the item table that were not taken.
    people
        What is known of the users, or None.
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

    def __post_init__(self) -> None:
        for name in ("S",) if isinstance(self.X, Interactions) else ("X", "S"):
            object.__setattr__(self, name, fixed(getattr(self, name)))
        if self.user_features is not None and self.user_features.F.shape[0] != self.n_users:
            raise DataError(
                f"There are {self.n_users:,} users and {self.user_features.F.shape[0]:,} rows of "
                "user features. Cut both: user_features=dataset.user_features.at(rows)."
            )

    @classmethod
    def from_tables(
        cls,
        interactions: Any,
        items: Any,
        *,
        user: str = "user_id",
        item: str = "item_id",
        rules: Rules | str | Path | Iterable[Rule] | None = None,
        positive: str | Positive | None = None,
        users: Any = None,
        user_rules: Rules | str | Path | Iterable[Rule] | None = None,
        encoding: str = "utf-8",
    ) -> Self:
        """Make a data set of two tables, or three: files, or polars, pandas or pyarrow frames.

        Parameters
        ----------
        interactions, items
            Who chose what, and what is known of each item.
        user, item
            The columns of the ids; `item` is the same in both tables.
        rules
            How metadata become tags: rule objects, `Rules`, or the path of a TOML file.
            Inferred from the table when not given; see `Dataset.rules`.
        positive
            Which interactions count, such as `"rating >= 4"`; all of them when not given.
        users
            What is known of each user, with the same column of ids; it becomes tags of people.
        user_rules
            How, as `rules` for items; inferred when not given.
        encoding
            Of text files.
        """
        if users is None and user_rules is not None:
            raise ParameterError("user_rules have no meaning without a table of users.")
        raw = read_table(items, what="items", encoding=encoding)
        need_column(raw, item, "the items")
        pairs, report = check_interactions(
            read_table(interactions, what="interactions", encoding=encoding),
            user=user,
            item=item,
            positive=positive,
        )
        catalogue = describe_items(raw, pairs["item"], item, rules)
        ids = catalogue["table"][item]
        pairs = pairs.with_columns(pl.col("item").cast(ids.dtype))
        names = pairs["user"].unique(maintain_order=True)
        user_features = None
        if users is not None:
            known = read_table(users, what="users", encoding=encoding)
            user_features = describe_user_features(known, names, user, user_rules)
        return cls(
            X=interaction_matrix(pairs, names, ids),
            users=Ids(names.to_list()),
            items=Ids(ids.to_list()),
            report=report,
            user_features=user_features,
            **catalogue,
        )

    @classmethod
    def from_partitions(
        cls,
        interactions: Any,
        items: Any,
        *,
        user: str = "user_id",
        item: str = "item_id",
        rules: Rules | str | Path | Iterable[Rule] | None = None,
        positive: str | Positive | None = None,
        encoding: str = "utf-8",
        run: Run | None = None,
    ) -> Self:
        """Make a data set of interactions that stay where they are, in partitions by user.

        Parameters
        ----------
        interactions
            A folder of parquet files, also by an address such as `s3://bucket/folder`; a list of
            files; a Dask collection; or `Partitions`. Each is read once, and only counts are
            kept. All rows of a user must be in one partition.
        items, user, item, rules, positive, encoding
            As for `from_tables`.
        run
            Where partitions are read: `Cluster.run`, or on this machine when not given.
        """
        raw = read_table(items, what="items", encoding=encoding)
        need_column(raw, item, "the items")
        parts = Partitions.open(interactions, user=user, item=item, positive=positive)
        survey = parts.survey(run)
        catalogue = describe_items(raw, survey.chosen["item"], item, rules)
        ids = catalogue["table"][item].alias("item")
        chosen = survey.chosen.with_columns(pl.col("item").cast(ids.dtype))
        counts = ids.to_frame().join(chosen, on="item", how="left", maintain_order="left")
        X = Interactions(
            parts,
            survey.sizes,
            ids,
            counts["count"].fill_null(0).cast(pl.Int64).to_numpy(),
            survey.squares,
        )
        return cls(
            X=X,
            users=Ids(()),
            items=Ids(ids.to_list()),
            report=survey.report,
            **catalogue,
        )

    @property
    def n_users(self) -> int:
        """How many users have an interaction."""
        return int(self.X.shape[0])

    @property
    def n_items(self) -> int:
        """How many items the catalogue has, chosen or not."""
        return int(self.X.shape[1])

    @property
    def n_tags(self) -> int:
        """How many tags there are, popularity not among them."""
        return len(self.tags)

    @property
    def F(self) -> sp.csr_array | None:  # noqa: N802, a matrix keeps its letter as X and S do
        """Who has which tag of people (users x tags of people), binary; None if not known."""
        return None if self.user_features is None else self.user_features.F

    @property
    def user_tags(self) -> tuple[Tag, ...]:
        """The tags of people, in the order of the columns of F; none if nothing is known."""
        return () if self.user_features is None else self.user_features.tags

    @cached_property
    def item_counts(self) -> "np.ndarray[Any, np.dtype[np.int64]]":
        """How many users chose each item."""
        if isinstance(self.X, Interactions):
            counts = self.X.item_counts.copy()
        else:
            counts = np.bincount(self.X.indices, minlength=self.n_items).astype(np.int64)
        counts.flags.writeable = False
        return counts

    def at(self, rows: "np.ndarray[Any, Any]") -> Self:
        """Return the data set of some of its users, by their positions, over all items."""
        return replace(
            self,
            X=self.X[rows],
            users=Ids(self.users[i] for i in rows.tolist()),
            user_features=None if self.user_features is None else self.user_features.at(rows),
        )

    def lines(self) -> list[str]:
        """Return what was read and made, as sentences."""
        unused = int((self.item_counts == 0).sum())
        return [
            *self.report.lines(),
            *(f"items: {refusal}" for refusal in self.items_refused),
            f"{self.n_items:,} items: {self.items_without_metadata:,} without metadata, "
            f"{unused:,} that nobody chose",
            *self.tag_report.lines(),
            *([] if self.user_features is None else self.user_features.report.lines()),
        ]

    def describe(self) -> dict[str, Any]:
        """Return what it holds as plain values, for programs."""
        return {
            "kind": "dataset",
            "users": self.n_users,
            "items": self.n_items,
            "interactions": int(self.X.nnz),
            "tags": dict(self.tag_report.tags),
            "user_tags": {}
            if self.user_features is None
            else dict(self.user_features.report.tags.tags),
            "report": self.lines(),
            "rules": self.rules.as_dict()["tags"],
            "roles": dict(self.rules.roles),
            "skipped": dict(self.rules.skipped),
        }

    def save(self, folder: str | Path) -> None:
        """Write the data set to a folder; `Dataset.load` reads it back.

        Interactions in partitions stay there; only where they are is written.
        """
        parts = self.X.settings() if isinstance(self.X, Interactions) else None
        X = {"X.counts": self.item_counts} if parts else pack("X", self.X)
        artifact.write(
            folder,
            kind="dataset",
            settings={
                **({"partitions": parts} if parts else {}),
                **({"people": self.user_features.settings()} if self.user_features else {}),
                "rules": self.rules.as_dict(),
                "skipped": dict(self.rules.skipped),
                "report": asdict(self.report),
                "tag_report": asdict(self.tag_report),
                "items_without_metadata": self.items_without_metadata,
                "items_refused": [asdict(r) for r in self.items_refused],
            },
            arrays={
                **X,
                **pack("S", self.S),
                **(pack("F", self.user_features.F) if self.user_features else {}),
            },
            tables={
                **({} if parts else {"users": pl.DataFrame({"user": self.users[:]})}),
                "items": self.table,
                "tags": tag_frame(self.tags),
                **({"people_tags": tag_frame(self.user_tags)} if self.user_features else {}),
            },
        )

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a data set that `save` wrote."""
        content = artifact.read(folder)
        if content.kind != "dataset":
            raise ArtifactError(f"{folder} holds a {content.kind}, not a data set.")
        try:
            return cls._of(content, str(folder))
        except (LookupError, TypeError, ValueError, AttributeError, pl.exceptions.PolarsError) as e:
            raise ArtifactError(f"{folder} is no whole data set: {e!r}. Make it again.") from e

    @classmethod
    def _of(cls, content: artifact.Content, origin: str) -> Self:
        s, tables = content.settings, content.tables
        rules = Rules.from_dict(s["rules"], origin=origin)
        ids = tables["items"].to_series(0).alias("item")
        items = Ids(ids.to_list())
        tags = tags_from(tables["tags"])
        if "partitions" in s:
            users, X = Ids(()), Interactions.of(s["partitions"], ids, content.arrays["X.counts"])
        else:
            users = Ids(tables["users"]["user"].to_list())
            X = unpack("X", content.arrays, (len(users), len(items)))
        return cls(
            X=X,
            S=unpack("S", content.arrays, (len(items), len(tags))),
            users=users,
            items=items,
            tags=tags,
            table=tables["items"],
            rules=Rules(rules.tags, rules.roles, s["skipped"]),
            report=ReadReport(**{**s["report"], "refused": _refusals(s["report"]["refused"])}),
            tag_report=TagReport(
                **{**s["tag_report"], "unreadable": _unreadable(s["tag_report"]["unreadable"])}
            ),
            items_without_metadata=s["items_without_metadata"],
            items_refused=_refusals(s["items_refused"]),
            user_features=_people(content, len(users)) if "people" in s else None,
        )


def pack(name: str, matrix: sp.csr_array) -> dict[str, "np.ndarray[Any, Any]"]:
    """Return the parts of a sparse matrix as named arrays; values that are all one are left out."""
    parts = {f"{name}.indices": matrix.indices, f"{name}.indptr": matrix.indptr}
    if not (matrix.data == 1).all():
        parts[f"{name}.data"] = matrix.data
    return parts


def unpack(
    name: str, arrays: Mapping[str, "np.ndarray[Any, Any]"], shape: tuple[int, int]
) -> sp.csr_array:
    """Return the sparse matrix that `pack` took apart."""
    try:
        indices = np.array(arrays[f"{name}.indices"])
        data = arrays.get(f"{name}.data")
        values = np.ones(len(indices), np.float32) if data is None else np.array(data)
        matrix = sp.csr_array((values, indices, np.array(arrays[f"{name}.indptr"])), shape=shape)
        matrix.check_format(full_check=True)
    except (KeyError, ValueError) as error:
        raise ArtifactError(
            f"The saved matrix {name} is not whole: {error}. Make it again."
        ) from error
    return matrix


def tag_frame(tags: Sequence[Tag]) -> pl.DataFrame:
    """Return tags as a table of feature and value."""
    return pl.DataFrame(
        {"feature": [t.feature for t in tags], "value": [t.value for t in tags]},
        schema={"feature": pl.String, "value": pl.String},
    )


def tags_from(frame: pl.DataFrame) -> tuple[Tag, ...]:
    """Return the tags of a table that `tag_frame` made."""
    return tuple(Tag(*row) for row in frame.select("feature", "value").rows())


def _people(content: artifact.Content, n_users: int) -> UserFeatures:
    tags = tags_from(content.tables["people_tags"])
    F = unpack("F", content.arrays, (n_users, len(tags)))
    return UserFeatures.of(content.settings["people"], F, tags)


def _refusals(raw: Iterable[Mapping[str, Any]]) -> tuple[Refusal, ...]:
    return tuple(Refusal(r["reason"], r["count"], tuple(r["examples"])) for r in raw)


def _unreadable(raw: Mapping[str, Any]) -> dict[str, tuple[int, tuple[str, ...]]]:
    return {column: (n, tuple(examples)) for column, (n, examples) in raw.items()}
