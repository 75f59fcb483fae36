"""Product: the product of the positive scores of two models, explained by the first."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.artifact import Content
from teaser.data.dataset import Dataset
from teaser.errors import NotFittedError, ParameterError
from teaser.explain import Cover
from teaser.model.base import Model, find_kind
from teaser.model.extensions.groups import Groups
from teaser.model.extensions.remainder import RemainderMatrix
from teaser.model.extensions.user_features import UserRows
from teaser.model.filters import ResolvedFilters
from teaser.model.prediction import PREDICTED
from teaser.model.scores import Scored, UserStates
from teaser.model.tables import ItemTable, TagTable
from teaser.model.tagged import TaggedModel
from teaser.profile import FindMoves, Steering

Array = NDArray[Any]


class Product(TaggedModel):
    """The product of the positive scores of a model with tags and another model.

        score = max(0, score of the model with tags) * max(0, score of the other)

    An item is recommended if both score it above zero. Lists, scores of batches and explanations
    are those of the product, and every reason says that it covers only the part with tags. All
    else (profile, presses, origins, `scores` of a profile) is that of the model with tags. Where
    the other model has no positive score for a user, as without a history, the model with tags
    decides alone. A boost adds to the score of the model with tags.

    Parameters
    ----------
    tagged
        A model with tags, such as `Teaser`.
    other
        Any model, such as `EASE`. If both are fitted to the same items, the product needs no
        `fit`; `fit` learns from copies with the same parameters, and leaves both as they are.

    Attributes
    ----------
    parts
        The two models that answer.

    References
    ----------
    De Pauw, Ruymbeek, Goethals: Modelling Users with Item Metadata for Explainable and
    Interactive Recommendation.
    """

    # max(0, score) depends on where zero is: scores are those of the model with tags before
    # centring, and the difference, the same for every item, is told with general appeal.
    keeps_offset = True

    _fitted: tuple[TaggedModel, Model] | None = None

    def __init__(self, tagged: TaggedModel, other: Model) -> None:
        self.tagged = tagged
        self.other = other

    def fit(self, dataset: Dataset) -> Self:
        """Fit both parts."""
        self._check_parts(fitted=False)
        self._fitted = (self.tagged.clone().fit(dataset), self.other.clone().fit(dataset))
        return self

    @property
    def parts(self) -> tuple[TaggedModel, Model]:
        """The two models that answer: those that `fit` learned, else those that were given."""
        return self._fitted or (self.tagged, self.other)

    @property
    def item_table_(self) -> ItemTable:
        """The items of both parts."""
        self._check_parts(fitted=True)
        return self.parts[0].item_table_

    @property
    def tag_table_(self) -> TagTable:
        """The tags of the items."""
        return self.parts[0].tag_table_

    @property
    def user_rows_(self) -> UserRows | None:
        """What the model with tags learned of the user tags, or None."""
        return self.parts[0].user_rows_

    @property
    def remainder_(self) -> RemainderMatrix:
        """What viewing one item adds to the score of another, or None."""
        return self.parts[0].remainder_

    @property
    def groups_(self) -> Groups | None:
        """The groups behind discovered tags, or None."""
        return getattr(self.parts[0], "groups_", None)

    def encode(self, rows: sp.csr_array) -> Array:
        """Return the raw tag scores p of histories (users x tags)."""
        return self.parts[0].encode(rows)

    def encode_parts(self, positions: Array, strengths: Array, direction: Array) -> Array:
        """Return what each item of a history adds to p.c for directions c."""
        return self.parts[0].encode_parts(positions, strengths, direction)

    def check_fitted(self) -> None:
        """Raise unless both parts are fitted, and to the same items."""
        self._check_parts(fitted=True)
        ours, theirs = (part.items_ for part in self.parts)
        if ours is not theirs and ours != theirs:
            raise ParameterError(
                f"The parts are of different items, {len(ours):,} and {len(theirs):,}. "
                "Fit both to the same data set."
            )

    def press_moves(
        self, states: UserStates, steering: Steering
    ) -> Iterator[tuple[float, FindMoves]]:
        """Return the steps of each user: those of the model with tags."""
        return self.parts[0].press_moves(states, steering)

    def add_items(self, items: Any, *, predict: Collection[str] = PREDICTED) -> Self:
        """Refuse: the other part has no score for new items, so that none would be recommended."""
        raise ParameterError(
            f"A Product takes no new items: {type(self.parts[1]).__name__} knows nothing of them. "
            "Fit it to a data set that has them, or add them to the model with tags alone."
        )

    def describe(self) -> dict[str, Any]:
        """Return what the model holds as plain values, for programs."""
        self.check_fitted()
        return {
            "kind": "Product",
            "items": len(self.item_table_),
            "tagged": self.parts[0].describe(),
            "other": self.parts[1].describe(),
        }

    def to_content(self) -> Content:
        """Return all that `save` writes: that of both parts, under their names."""
        self.check_fitted()
        parts = dict(zip(_PARTS, (part.to_content() for part in self.parts), strict=True))
        return Content(
            "Product",
            {name: [content.kind, content.settings] for name, content in parts.items()},
            _joined({name: content.arrays for name, content in parts.items()}),
            _joined({name: content.tables for name, content in parts.items()}),
        )

    @classmethod
    def from_content(cls, content: Content) -> Self:
        """Return the model that was saved; its arrays stay on disk until they are used."""
        model = cls(*(_part(content, name) for name in _PARTS))
        model.check_fitted()
        return model

    def _score_block(self, states: UserStates, placed: ResolvedFilters) -> Array:
        explained = super()._score_block(states, placed)
        return multiply(explained, self.parts[1].score_batch(states.rows))

    def _score(self, state: UserStates, placed: ResolvedFilters) -> Scored:
        factors = super()._score_block(state, placed), self.parts[1].score_batch(state.rows)
        return Scored(multiply(*factors)[0], (factors[0][0], factors[1][0]))

    def _cover(self, item_index: int, scored: Scored) -> Cover | None:
        if scored.factors is None:
            return None
        (tagged, other), (explained, unexplained) = self.parts, scored.factors
        return Cover(
            explained_by=type(tagged).__name__,
            explained=float(explained[item_index]),
            other=type(other).__name__,
            unexplained=float(unexplained[item_index]),
            alone=not (unexplained > 0).any(),
        )

    def _check_parts(self, *, fitted: bool) -> None:
        if not isinstance(self.tagged, TaggedModel) or not isinstance(self.other, Model):
            raise ParameterError(
                "A Product is of a model with tags and another model, found a "
                f"{type(self.tagged).__name__} and a {type(self.other).__name__}."
            )

        for part in self.parts if fitted else ():
            try:
                part.check_fitted()
            except NotFittedError as error:
                raise NotFittedError(
                    f"This Product is not fitted yet: {type(part).__name__} is not. "
                    "Call fit(dataset) first, or give two models that are fitted."
                ) from error


# The names of the parts in a saved folder.
_PARTS = ("tagged", "other")


def multiply(explained: Array, unexplained: Array) -> Array:
    """Return the product of positive parts, or the first alone where the second has none.

    Parameters
    ----------
    explained, unexplained
        Scores, users x items.
    """
    positive = np.maximum(unexplained, 0.0)
    # Without any positive score the second factor is 1, so that the first decides.
    known = positive.any(axis=1, keepdims=True)
    return np.asarray(np.maximum(explained, 0.0) * np.where(known, positive, 1.0))


def _part(content: Content, name: str) -> Any:
    """Return a part of a saved product."""
    kind, settings = content.settings[name]
    arrays, tables = (_taken(name, d) for d in (content.arrays, content.tables))
    part = Content(kind, settings, arrays, tables)
    return find_kind(part, "The Product").from_content(part)


def _joined(parts: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {f"{part}.{name}": value for part, d in parts.items() for name, value in d.items()}


def _taken(part: str, named: Mapping[str, Any]) -> dict[str, Any]:
    start = f"{part}."
    return {k.removeprefix(start): v for k, v in named.items() if k.startswith(start)}
