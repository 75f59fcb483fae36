"""The contract of a model: what it takes, what it answers, and how it is saved and loaded.

A subclass of `Model` registers itself under its class name when it is defined, so that `load`
finds models from other packages once their module is imported.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, is_dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Self, TypeVar, Unpack, cast, overload

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser import artifact
from teaser.artifact import Content, find_not_finite
from teaser.data.dataset import Dataset
from teaser.data.matrix import Ids, pack, unpack_mapped
from teaser.errors import ArtifactError, NotFittedError, ParameterError, RuleError
from teaser.explain import BoostReason
from teaser.model.all_lists import (
    AllLists,
    AllOptions,
    ListOptions,
    Source,
    list_columns,
)
from teaser.model.filters import (
    Filters,
    ResolvedFilters,
    known_history,
    resolve_filters,
)
from teaser.model.scores import Scored, top_k
from teaser.model.tables import History, ItemTable, Packed
from teaser.notebook import draw_model
from teaser.parameters import Parametrised, check_k
from teaser.recommend import Recommendation, RecommendationBatch, Recommendations

M = TypeVar("M")
Array = NDArray[Any]
_kinds: dict[str, type[Any]] = {}
# Every kind of model that is defined in this process, by its name; it cannot be written to.
KINDS: Mapping[str, type[Any]] = MappingProxyType(_kinds)


class Model(Parametrised, ABC):
    """A model that is fitted to a data set and recommends items.

    A subclass defines `fit` and `score_batch`. Its constructor takes hyper-parameters by keyword
    and stores them unchanged under their names. `fit` calls `keep_items` with the data set. What
    is learned is saved if `learned_arrays` names it, or by `pack` and `unpack`.

    Subclasses register under their class name, so that `teaser.load` finds them; one that is only
    a base of others is defined with `abstract=True`.

    Attributes
    ----------
    gram
        The hyper-parameter that says how to hold X'X, `"auto"` or a precomputed one; None for a
        model that does not take it.
    dtype
        The type that it computes in.
    iterations_, residual_
        How many iterations the solver took, and the residual it reached; None without a solver.
    """

    gram: Any = None
    dtype: str = "float32"
    iterations_: int | None = None
    residual_: float | None = None

    # Learned arrays, or csr matrices with a column for each item, that are saved. As attributes
    # their names end in an underscore.
    learned_arrays: ClassVar[tuple[str, ...]] = ()

    # Whether `recommend_all` may score several batches at a time, in threads.
    lists_in_threads: ClassVar[bool] = False
    # The options of `recommend_all` that a model without tags does not have.
    lacks_options: ClassVar[tuple[str, ...]] = ("negative_reasons", "steering")

    _item_table: ItemTable | None = None

    def __init_subclass__(cls, *, abstract: bool = False, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if not abstract:
            register(cls)

    @abstractmethod
    def fit(self, dataset: Dataset) -> Self:
        """Learn from a data set; a second fit starts clean."""

    @abstractmethod
    def score_batch(self, X: Any) -> Array:
        """Return the score of every item for every row of histories (users x items)."""

    @property
    def item_table_(self) -> ItemTable:
        """The items of the data set, with those added since."""
        if self._item_table is None:
            raise self._not_fitted()
        return self._item_table

    @property
    def items_(self) -> Ids:
        """The owner's item ids, in the order of the scores."""
        return self.item_table_.ids

    @property
    def popularity_(self) -> Array:
        """Item count / highest count; it decides between equal scores."""
        return self.item_table_.popularity

    @property
    def table_(self) -> pl.DataFrame:
        """The metadata of the items, one row each."""
        return self.item_table_.metadata

    def keep_items(self, dataset: Dataset) -> None:
        """Keep the items of the data set that the model was fitted to."""
        self._item_table = ItemTable.from_dataset(dataset)

    def check_fitted(self) -> None:
        """Raise `NotFittedError` before `fit`."""
        _ = self.item_table_

    def check_histories(self, X: Any) -> sp.csr_array:
        """Return rows of histories as a checked sparse matrix (users x items)."""
        n_items = len(self.item_table_)
        try:
            rows = sp.csr_array(X if sp.issparse(X) else np.atleast_2d(X), copy=True)
        except (TypeError, ValueError) as error:
            raise ParameterError(f"Histories must be a users x items matrix: {error}.") from error
        if rows.shape[1] != n_items:
            raise ParameterError(
                f"The histories have {rows.shape[1]:,} columns and the model {n_items:,} items. "
                "Use one column an item, in the order of model.items_."
            )
        if not np.isfinite(rows.data).all():
            raise ParameterError(
                "Histories must hold finite numbers: 1 for an item of the history, or its "
                "strength, which is below 0 for a disliked one."
            )
        rows.eliminate_zeros()
        return rows

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any], *parts: "Model") -> Self:
        """Return a model to be fitted, of hyper-parameters as JSON and TOML hold them.

        Parameters
        ----------
        parameters
            By name; see `read_parameters`.
        parts
            The models that this one is made of, for a product.
        """
        return cast(Self, cast(Any, cls)(*parts, **cls.read_parameters(parameters)))

    def check_parameters(self) -> None:
        """Raise `ParameterError` for a hyper-parameter out of its range; `fit` begins with it."""

    def title(self, item_index: int) -> str | None:
        """Return the title of the item at a position, where the metadata have one."""
        return self.item_table_.title(item_index)

    def recommend(
        self,
        history: History,
        *,
        k: int = 20,
        exclude_history: bool = True,
        **filters: Unpack[Filters],
    ) -> Recommendations:
        """Return the k best items for a user, best first.

        Equal scores are ordered by popularity, then by position.

        Parameters
        ----------
        history
            Item ids; one that occurs twice counts once. A mapping gives the strength of each,
            below 0 for a disliked item.
        filters
            `items`, `exclude`, `where`, `allowed`, `boost`, `unknown`: which items may be
            recommended, and what is added to their scores; see `Filters`. Scores are the
            same with and without filters other than `boost`.
        """
        batch = self.recommend_batch([history], k=k, exclude_history=exclude_history, **filters)
        return batch.only()

    def recommend_batch(
        self,
        histories: Sequence[History],
        *,
        k: int = 20,
        exclude_history: bool = True,
        **filters: Unpack[Filters],
    ) -> RecommendationBatch:
        """Return the list of each of several users, equal to what `recommend` returns for one."""
        items, k = self.item_table_, check_k(k)
        placed = self.place_filters(filters)
        lists = RecommendationBatch()
        lists.ignored = placed.ignored
        # One user at a time: a matrix product may round a row differently from that row alone.
        for viewed, n in [known_history(items, history, placed) for history in histories]:
            scored = Scored(placed.boosted(self.score_batch(items.rows([viewed]))[0]))
            seen = list(viewed) if exclude_history else ()
            best = self.rank_items(scored.scores, k=k, seen=seen, allowed=placed.allowed)
            lists.append(Recommendations(self._plain(i, scored, placed) for i in best.tolist()))
            lists.ignored += n
        return lists

    @overload
    def recommend_all(
        self, dataset: Source, *, out: None = None, **options: Unpack[AllOptions]
    ) -> pl.DataFrame: ...

    @overload
    def recommend_all(
        self, dataset: Source, *, out: str | Path, **options: Unpack[AllOptions]
    ) -> pl.LazyFrame: ...

    def recommend_all(
        self, dataset: Source, *, out: str | Path | None = None, **options: Unpack[AllOptions]
    ) -> pl.DataFrame | pl.LazyFrame:
        """Return the lists of many users, as one frame or one parquet file.

        The columns are `user_id`, `rank` (from 1), `item_id`, `score` and `match`; with reasons
        also `general`, `boost` and `reasons`, as `Recommendations.to_frame` has them. The lists
        are those of `recommend` up to rounding. User features of a data set count where the model
        has learned from them.

        Parameters
        ----------
        dataset
            Whose users are listed, also one in partitions; its items are found in the model by
            their ids. Or a table of histories with the columns `user_id`, `item_id` and, if items
            have one, `strength`: a polars frame, a parquet file or a folder of them, with one row
            an item, or one row a user with lists. Or pairs of a user id and a history, of an
            iterator too.
        out
            A parquet file to write to, batch by batch.
        options
            See `AllOptions`.

        Returns
        -------
        lists
            A frame, or with `out` a lazy frame of the file that was written.
        """
        lists = AllLists(self, dataset, options)
        return lists.frame() if out is None else lists.write(out)

    def recommend_stream(
        self, dataset: Source, **options: Unpack[AllOptions]
    ) -> Iterator[pl.DataFrame]:
        """Yield the lists of many users, a batch at a time, as frames.

        Parameters
        ----------
        dataset, options
            As in `recommend_all`, without `out`.
        """
        return AllLists(self, dataset, options).stream()

    def list_block(
        self,
        rows: sp.csr_array,
        about: sp.csr_array | None,
        options: ListOptions,
        placed: ResolvedFilters,
    ) -> tuple[Array, dict[str, pl.Series]]:
        """Return the lists of several users: the row of each entry's user, and columns.

        Parameters
        ----------
        rows, about
            Histories (users x items), and what is known of the users, or None.
        """

        def told(user: Array, item: Array) -> dict[str, Any]:
            pairs = zip(user.tolist(), item.tolist(), strict=True)
            plain = [self._plain(i, Scored(scores[u]), placed) for u, i in pairs]
            frame = Recommendations(plain).to_frame()
            return frame.select("general", "boost", "other", "reasons").to_dict()

        scores = placed.boosted(self.score_batch(rows))
        return list_columns(self.item_table_, rows, scores, options, placed, told)

    def place_filters(self, filters: Filters) -> ResolvedFilters:
        """Return which items filters allow and what they add, by the positions of items."""
        return resolve_filters(filters, self.recommend, self.item_table_)

    def rank_items(
        self,
        scores: Array,
        *,
        k: int = 20,
        seen: Sequence[int] | Array = (),
        allowed: Array | None = None,
    ) -> Array:
        """Return the positions of the k best items by given scores, without those seen.

        The order is that of `recommend`.
        """
        barred = self.item_table_.barred(allowed)
        exclude = np.concatenate([barred, np.asarray(seen, dtype=np.int64)])
        return top_k(scores, check_k(k), exclude=exclude, tie=self.popularity_)

    def _plain(self, item_index: int, scored: Scored, placed: ResolvedFilters) -> Recommendation:
        """Return an entry of a list without reasons but boosts."""
        item_id, title = self.item_table_.name(item_index)
        score, boosts = float(scored.scores[item_index]), placed.boosts_of(item_index)
        boost = sum((part for _, part in boosts), 0.0)
        total = abs(score - boost) + sum(abs(part) for _, part in boosts)
        reasons = tuple(
            BoostReason(name, part, part / total if total > 0 else 0.0) for name, part in boosts
        )
        return Recommendation(item_id, score, scored.match(item_index), reasons, title, boost=boost)

    def describe(self) -> dict[str, Any]:
        """Return what the model holds as plain values, for programs."""
        return {
            "kind": type(self).__name__,
            "items": len(self.item_table_),
            "parameters": plain_parameters(self.parameters()),
        }

    def _facts(self) -> dict[str, str]:
        """Return what was learned by name, for a notebook; nothing before `fit`."""
        try:
            sizes = {"items": self.items_, "tags": getattr(self, "tags_", ())}
        except NotFittedError:
            return {}
        found = {name: f"{len(each):,}" for name, each in sizes.items() if len(each)}
        if self.iterations_ is not None and self.residual_ is not None:
            found |= {"iterations": str(self.iterations_), "residual": f"{self.residual_:.1e}"}
        return found

    def _repr_html_(self) -> str:
        return draw_model(
            repr(self),
            facts=self._facts(),
            parameters=self.written_parameters(),
            changed=list(self.written_parameters(defaults=False)),
            recipe=getattr(self, "recipe_", None),
        )

    def save(self, folder: str | Path) -> None:
        """Write the model to a folder; `teaser.load` reads it back."""
        content = self.to_content()
        artifact.write(
            folder,
            kind=content.kind,
            settings=content.settings,
            arrays=content.arrays,
            tables=content.tables,
        )

    def to_content(self) -> Content:
        """Return all that `save` writes."""
        self.check_fitted()
        own: dict[str, Any] = {"parameters": plain_parameters(self.parameters())}
        if not type(self).__module__.startswith("teaser."):
            own["module"] = type(self).__module__
        packed = Packed(own) | self.item_table_.pack() | self.pack()
        return Content(
            type(self).__name__, dict(packed.settings), dict(packed.arrays), dict(packed.tables)
        )

    @classmethod
    def from_content(cls, content: Content) -> Self:
        """Return the model that was saved; its arrays stay on disk until they are used."""
        model = cls.from_parameters(content.settings["parameters"])
        model._item_table = ItemTable.unpack(content)
        model.unpack(content)
        return model

    def pack(self) -> Packed:
        """Return what was learned beside the items, to be saved."""
        found: dict[str, Array] = {}
        for name in self.learned_arrays:
            found |= pack(name, getattr(self, f"{name}_"))
        return Packed(arrays=found)

    def unpack(self, content: Content) -> None:
        """Set what `pack` returned; raise `ValueError` where it does not fit the items."""
        for name in self.learned_arrays:
            setattr(self, f"{name}_", unpack_mapped(name, content.arrays, len(self.items_)))

    def _not_fitted(self) -> NotFittedError:
        return NotFittedError(
            f"This {type(self).__name__} is not fitted yet. Call fit(dataset) first."
        )


def plain_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return hyper-parameters as JSON can hold them.

    A given Gram or generator is not kept, nor is the device, which belongs to the machine. An
    options object becomes a mapping.
    """
    plain = {name: _plain(value) for name, value in parameters.items()}
    if not isinstance(plain.get("gram", ""), str):
        plain["gram"] = "auto"
    if "device" in plain:
        plain["device"] = "cpu"
    return plain


def _plain(value: Any) -> Any:
    if isinstance(value, np.random.Generator):
        return None
    if is_dataclass(value) and not isinstance(value, type):
        return {name: _plain(part) for name, part in asdict(value).items()}
    return value.item() if isinstance(value, np.generic) else value


def register(model: type[Any]) -> None:
    """Make a class of models known by its name.

    A class that is defined again in the same place, as in a notebook, replaces the earlier one.

    Raises
    ------
    ParameterError
        If another class has that name: a saved model could be of either.
    """
    earlier = _kinds.get(model.__name__, model)
    if _place_of(earlier) != _place_of(model):
        raise ParameterError(
            f"Two models are named {model.__name__}: {_place_of(earlier)} and "
            f"{_place_of(model)}. Saved models are found by this name: rename one class."
        )
    _kinds[model.__name__] = model


def find_kind(content: Content, where: str | Path) -> type[Any]:
    """Return the class that a saved content is of.

    Parameters
    ----------
    where
        What holds the content, for the message of an `ArtifactError`.
    """
    if content.kind in KINDS:
        return KINDS[content.kind]
    if content.kind == "dataset":
        raise ArtifactError(f"{where} holds a data set, not a model. Fit a model to it first.")
    module = content.settings.get("module", "that defines it")
    raise ArtifactError(
        f"{where} holds a {content.kind}, which is not a known kind of model "
        f"({', '.join(KINDS)}). If it is a model of your own, import the module {module} before "
        "you load it."
    )


def restore(kind: type[Any], content: Content) -> Any:
    """Return the model of a saved content, after checking its numbers and its parameters.

    A model from elsewhere checks itself: it may have a use for what is wrong here.
    """
    if not kind.__module__.startswith("teaser."):
        return kind.from_content(content)
    name = find_not_finite(content.arrays)
    if name is not None:
        raise ValueError(f"its array {name!r} has numbers that are not finite")
    model = kind.from_content(content)
    # The owner's file of names of groups is read by a fit alone, and may be gone.
    with suppress(RuleError):
        model.check_parameters()
    # Parts that do not fit each other cannot score a history.
    n_items = len(model.items_)
    scores = model.score_batch(sp.csr_array(([1.0], ([0], [0])), shape=(1, n_items)))
    if scores.shape != (1, n_items) or not np.isfinite(scores).all():
        raise ValueError("its parts do not fit together")
    return model


@overload
def load(folder: str | Path) -> Any: ...


@overload
def load(folder: str | Path, kind: type[M]) -> M: ...


def load(folder: str | Path, kind: type[Any] = object) -> Any:
    """Read a model that its `save` wrote; every file is checked against its checksum.

    Models from other packages are found if the module that defines them is imported. Nothing is
    imported or executed because a file names it.

    Parameters
    ----------
    kind
        The class that is needed, such as `Teaser`; any model when not given.
    """
    content = artifact.read(folder)
    found = find_kind(content, folder)
    if not issubclass(found, kind):
        raise ArtifactError(
            f"{folder} holds a model of the kind {content.kind}, and {kind.__name__} is needed "
            "here. Name the folder of another model."
        )
    with artifact.refusing(f"{folder} does not hold a whole {content.kind}"):
        return restore(found, content)


def _place_of(model: type[Any]) -> str:
    return f"{model.__module__}.{model.__qualname__}"
