"""What any model without tags can do: lists without reasons, and a folder to be kept in."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser import artifact
from teaser.artifact import Content
from teaser.data.dataset import Dataset
from teaser.data.ids import Ids, ItemId
from teaser.errors import ParameterError
from teaser.explain import Recommendation
from teaser.model.base import Model, as_histories, check_k, top_k
from teaser.model.tagged import barred_places, popularity

Array = NDArray[Any]
History = Iterable[ItemId]


class PlainModel(Model):
    """A model that scores items and gives no reasons.

    Attributes
    ----------
    items_
        The owner's item ids, in the order of the scores.
    popularity_
        Item count / highest count; decides between equal scores.
    table_
        The metadata of the items, one row each.
    title_column_
        The column of the table that holds titles, where there is one.
    """

    popularity_: Array
    table_: pl.DataFrame
    title_column_: str | None

    # The learned arrays by name; as attributes they end in an underscore.
    _learnt: ClassVar[tuple[str, ...]] = ()

    def recommend(
        self,
        history: History,
        *,
        k: int = 20,
        exclude_history: bool = True,
        allowed: Array | None = None,
    ) -> list[Recommendation]:
        """Return the k best items for a person, best first, without reasons.

        Equal scores are ordered by popularity, then by place in the catalogue.

        Parameters
        ----------
        history
            Item ids; one that occurs twice counts once.
        allowed
            Which items may be recommended: true or false for each, in the order of `items_`.
        """
        return self.recommend_batch(
            [history], k=k, exclude_history=exclude_history, allowed=allowed
        )[0]

    def recommend_batch(
        self,
        histories: Sequence[History],
        *,
        k: int = 20,
        exclude_history: bool = True,
        allowed: Array | None = None,
    ) -> list[list[Recommendation]]:
        """Return the list of each of several people, equal to what `recommend` returns for one."""
        self.check_fitted()
        k = check_k(k)
        barred = barred_places(allowed, len(self.items_))
        lists = []
        # One person at a time: a product of matrices may round a row otherwise than alone.
        for seen in [self._places(history) for history in histories]:
            scores = self.score_batch(one_row(seen, len(self.items_)))[0]
            exclude = np.concatenate([barred, seen]) if exclude_history else barred
            best = top_k(scores, k, exclude=exclude, tie=self.popularity_)
            lists.append([self._recommendation(i, scores) for i in best.tolist()])
        return lists

    def title(self, place: int) -> str | None:
        """Return the title of the item at a place, where the metadata have one."""
        found = self.table_[self.title_column_][place] if self.title_column_ else None
        return None if found is None else str(found)

    def describe(self) -> dict[str, Any]:
        """Return what it holds as plain values, for programs."""
        self.check_fitted()
        return {
            "kind": type(self).__name__,
            "items": len(self.items_),
            "parameters": self._plain_parameters(),
        }

    def save(self, folder: str | Path) -> None:
        """Write the model to a folder; `teaser.load` reads it back."""
        self.check_fitted()
        artifact.write(
            folder,
            kind=type(self).__name__,
            settings={
                "parameters": self._plain_parameters(),
                "title": self.title_column_,
                "fit": self._fit_settings(),
            },
            arrays={"popularity": self.popularity_, **self._arrays()},
            tables={"items": self.table_},
        )

    @classmethod
    def from_content(cls, content: Content) -> Self:
        """Return the model that was saved; its arrays stay on disk until they are used."""
        settings: Mapping[str, Any] = content.settings
        model = cls(**settings["parameters"])
        model.table_ = content.tables["items"]
        model.items_ = Ids(model.table_.to_series(0).to_list())
        model.title_column_ = settings["title"]
        model.popularity_ = np.array(content.arrays["popularity"])
        model._take_arrays(content.arrays)
        model._take_fit_settings(settings["fit"])
        if len(model.popularity_) != len(model.items_):
            raise ValueError("its parts are of different sizes")
        model._check_whole()
        return model

    @abstractmethod
    def _check_whole(self) -> None:
        """Raise `ValueError` if the learned arrays do not fit the items."""

    def _arrays(self) -> dict[str, Array]:
        """Return what was learned, as named arrays."""
        return {name: getattr(self, f"{name}_") for name in self._learnt}

    def _take_arrays(self, arrays: Mapping[str, Array]) -> None:
        """Set what `_arrays` returned."""
        for name in self._learnt:
            setattr(self, f"{name}_", arrays[name])

    def _fit_settings(self) -> dict[str, Any]:
        """Return how the fit went, as json can hold it."""
        return {}

    def _take_fit_settings(self, settings: Mapping[str, Any]) -> None:
        """Set what `_fit_settings` returned."""

    def _plain_parameters(self) -> dict[str, Any]:
        return plain_parameters(self)

    def _take_catalogue(self, dataset: Dataset) -> None:
        """Set the attributes that come from the data set alone."""
        self.popularity_ = popularity(dataset)
        self.items_ = dataset.items
        self.table_ = dataset.table
        self.title_column_ = dataset.rules.roles.get("title")

    def _histories(self, X: Any) -> sp.csr_array:
        self.check_fitted()
        return as_histories(X, len(self.items_))

    def _places(self, history: History) -> Array:
        if isinstance(history, str | bytes) or not isinstance(history, Iterable):
            raise ParameterError(f"A history is a list of item ids, found {history!r}.")
        return np.array(sorted({self.items_.index_of(i) for i in history}), dtype=np.int64)

    def _recommendation(self, i: int, scores: Array) -> Recommendation:
        score, highest = float(scores[i]), float(scores.max())
        match = max(0.0, score) / highest if highest > 0 else 0.0
        return Recommendation(self.items_[i], score, match, (), self.title(i))


def one_row(places: Array, n_items: int) -> sp.csr_array:
    """Return a history as a matrix of one row."""
    values = np.ones(len(places), np.float32)
    return sp.csr_array((values, places, np.array([0, len(places)])), shape=(1, n_items))


def check_dataset(dataset: Any) -> None:
    """Raise before any work if this is nothing to learn from."""
    if not isinstance(dataset, Dataset):
        raise ParameterError(
            f"A model is fitted to a Dataset, found a {type(dataset).__name__}. "
            "Make one with Dataset.from_tables."
        )
    if not sp.issparse(dataset.X):
        raise ParameterError(
            "The interactions of this data set are in partitions, which Teaser alone can learn "
            "from. Make a data set with Dataset.from_tables."
        )


def check_number(name: str, value: Any, *, least: float = 0.0, most: float = 1e300) -> None:
    """Raise `ParameterError` unless the value is a number above `least` and below `most`."""
    is_real = isinstance(value, int | float | np.integer | np.floating)
    if not is_real or isinstance(value, bool) or not least < float(value) < most:
        below = f" and below {most:g}" if most < 1e300 else ""
        raise ParameterError(
            f"{name} must be a finite number above {least:g}{below}, found {value!r}."
        )


def check_count(name: str, value: Any) -> None:
    """Raise `ParameterError` unless the value is a whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ParameterError(f"{name} must be a whole number of at least 1, found {value!r}.")


def check_rng(rng: Any) -> None:
    """Raise `ParameterError` unless this is a seed, a generator or nothing."""
    is_seed = isinstance(rng, int | np.integer) and not isinstance(rng, bool) and rng >= 0
    if not (rng is None or is_seed or isinstance(rng, np.random.Generator)):
        raise ParameterError(f"rng must be a seed of 0 or more, or a Generator, found {rng!r}.")


def plain_parameters(model: Model) -> dict[str, Any]:
    """Return the parameters as json can hold them; a given Gram or generator is not kept."""
    settings = model.parameters()
    if "gram" in settings and not isinstance(settings["gram"], str):
        settings["gram"] = "auto"
    if isinstance(settings.get("rng"), np.random.Generator):
        settings["rng"] = None
    return {k: v.item() if isinstance(v, np.generic) else v for k, v in settings.items()}
