"""Product: two models that must both see something in an item, explained by the first."""

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser import artifact
from teaser import explain as why
from teaser.artifact import Content
from teaser.data.dataset import Dataset
from teaser.data.ids import ItemId
from teaser.data.tagging.tag import Tag
from teaser.errors import NotFittedError, ParameterError
from teaser.explain import Explanation, Recommendation
from teaser.model.base import Model, as_histories, check_k, top_k
from teaser.model.extensions.user_features import About, ManyAbout
from teaser.model.extensions.viewed_items import Person
from teaser.model.tagged import History, TaggedModel, barred_places
from teaser.profile import DEFAULT_STEERING, PressesLike, Steering

Array = NDArray[Any]


@dataclass(frozen=True, kw_only=True)
class Cover:
    """Which part of a product the reasons cover.

    Attributes
    ----------
    explained_by, explained
        The model that the reasons are of, and its score of the item, to which contributions sum.
    other, unexplained
        The other model, and its score, which has no reasons. The score is the product of both,
        either taken as 0 where it is negative.
    alone
        Whether the other model knows nothing of this person, so that the explained part is all.
    """

    explained_by: str
    explained: float
    other: str
    unexplained: float
    alone: bool

    def sentence(self) -> str:
        """Say it in plain words."""
        if self.alone:
            return (
                f"The reasons cover the whole score: {self.other} knows nothing of this person yet."
            )
        return (
            f"The reasons cover the part of {self.explained_by}, {self.explained:.3g}; it is "
            f"multiplied by the part of {self.other}, {self.unexplained:.3g}, "
            "which has no reasons."
        )


@dataclass(frozen=True, kw_only=True)
class PartRecommendation(Recommendation):
    """One place in a list whose reasons cover a part of the score."""

    cover: Cover


@dataclass(frozen=True, kw_only=True)
class PartExplanation(Explanation):
    """The score of one item for one person, of which the reasons cover a part.

    The contributions sum to `cover.explained`.
    """

    cover: Cover

    def sentences(self) -> list[str]:
        """Say every reason in plain words, and what they cover."""
        return [*super().sentences(), self.cover.sentence()]


# What the aspect model has, the product has; see AspectModel.
_BORROWED = (
    *("decoder_", "tags_", "items_", "popularity_", "table_", "rules_", "remainder_"),
    "user_rows_",
    *("_tag_index", "_mass", "_features"),
)


class Product(TaggedModel):
    """The product of the positive scores of an aspect model and another model.

        score = max(0, score of the aspect model) * max(0, score of the other)

    An item is recommended if both see something in it. Profile, presses and reasons are those of
    the aspect model, and every answer says that they cover only its part. Where the other model
    has no positive score for a person at all, as without a history, the aspect model decides alone.

    Parameters
    ----------
    aspect
        A model with tags, such as `Teaser`.
    other
        Any model, such as `EASE`. If both are fitted to the same items, the product needs no
        `fit`; `fit` learns from copies with the same parameters, and leaves both as they are.

    Attributes
    ----------
    aspect_, other_
        The parts that `fit` learned.

    References
    ----------
    De Pauw, Ruymbeek, Goethals: Modelling Users with Item Metadata for Explainable and
    Interactive Recommendation.
    """

    aspect_: TaggedModel
    other_: Model

    def __init__(self, aspect: TaggedModel, other: Model) -> None:
        self.aspect = aspect
        self.other = other

    def fit(self, dataset: Dataset) -> Self:
        """Learn both parts anew."""
        self._check_parts()
        aspect = _fresh(self.aspect).fit(dataset)
        other = _fresh(self.other).fit(dataset)
        self.aspect_, self.other_ = aspect, other
        return self

    @property
    def parts(self) -> tuple[TaggedModel, Model]:
        """The two models that answer: those that `fit` learned, else those that were given."""
        mine = self.__dict__
        return mine.get("aspect_", self.aspect), mine.get("other_", self.other)

    def __getattr__(self, name: str) -> Any:
        if name in _BORROWED and "aspect" in self.__dict__:
            return getattr(self.parts[0], name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def check_fitted(self) -> None:
        """Raise unless both parts are fitted, and to the same items."""
        self._check_parts()
        for part in self.parts:
            try:
                part.check_fitted()
            except NotFittedError as error:
                raise NotFittedError(
                    f"This Product is not fitted yet: {type(part).__name__} is not. "
                    "Call fit(dataset) first, or give two models that are fitted."
                ) from error
        ours, theirs = (part.items_ for part in self.parts)
        if ours is not theirs and ours != theirs:
            raise ParameterError(
                f"The parts are of different items, {len(ours):,} and {len(theirs):,}. "
                "Fit both to the same data set."
            )

    def encode(self, rows: sp.csr_array) -> Array:
        """Return the raw tag scores p of the aspect model (people x tags)."""
        return self.parts[0].encode(rows)

    def score_batch(
        self,
        X: Any,
        presses: Sequence[PressesLike | None] | None = None,
        *,
        about: ManyAbout | None = None,
        steering: Steering = DEFAULT_STEERING,
    ) -> Array:
        """Return the product of the positive scores for rows of histories (people x items)."""
        self.check_fitted()
        rows = as_histories(X, len(self.items_))
        explained = self.parts[0].score_batch(rows, presses, about=about, steering=steering)
        rest = self.parts[1].score_batch(rows)
        return multiply(explained, rest)

    def recommend_batch(
        self,
        histories: Sequence[History],
        presses: Sequence[PressesLike | None] | None = None,
        *,
        k: int = 20,
        exclude_history: bool = True,
        negative_reasons: bool = True,
        allowed: Array | None = None,
        about: ManyAbout | None = None,
        steering: Steering = DEFAULT_STEERING,
    ) -> list[list[Recommendation]]:
        """Return the list of each of several people, equal to what `recommend` returns for one."""
        k = check_k(k)
        rows = self._rows(histories)
        standing = self._stand(rows, presses, steering, about)
        barred = barred_places(allowed, len(self.items_))
        lists: list[list[Recommendation]] = []
        for person in range(rows.shape[0]):
            one = Person.of(rows, standing, person)
            exclude = np.concatenate([barred, one.seen]) if exclude_history else barred
            scored = self._scored(rows[[person]], one)
            best = top_k(scored.scores, k, exclude=exclude, tie=self.popularity_)
            lists.append([self._place(i, one, scored, negative_reasons) for i in best.tolist()])
        return lists

    def explain(
        self,
        item_id: ItemId,
        history: History,
        presses: PressesLike | None = None,
        *,
        about: About | None = None,
        steering: Steering = DEFAULT_STEERING,
    ) -> PartExplanation:
        """Return the score of one item for a person, its aspect part tag by tag."""
        self.check_fitted()
        i = self.items_.index_of(item_id)
        rows = self._rows([history])
        one = Person.of(rows, self._stand(rows, [presses], steering, [about]), 0)
        scored = self._scored(rows, one)
        reasons = self._reasons(i, one)
        return PartExplanation(
            item_id=self.items_[i],
            score=float(scored.scores[i]),
            match=scored.match(i),
            contributions=why.by_tag(reasons),
            viewed=why.by_item(reasons),
            reasons=reasons,
            title=self.title(i),
            cover=self._cover(i, scored),
        )

    def origins(
        self, tag: Tag | str, history: Iterable[ItemId], about: About | None = None
    ) -> dict[Any, float]:
        """Return what each item of the history adds to the raw score of a tag."""
        self.check_fitted()
        known = {} if about is None else {"about": about}
        found: dict[Any, float] = self.parts[0].origins(tag, history, **known)  # type: ignore[attr-defined]
        return found

    def add_items(self, items: Any) -> Self:
        """Refuse: the other part knows nothing of new items, and its score would bar them all."""
        raise ParameterError(
            f"A Product takes no new items: {type(self.parts[1]).__name__} knows nothing of them. "
            "Fit it to a data set that has them, or add them to the aspect model alone."
        )

    def describe(self) -> dict[str, Any]:
        """Return what it holds as plain values, for programs."""
        self.check_fitted()
        parts: tuple[Any, Any] = self.parts
        return {
            "kind": "Product",
            "items": len(self.items_),
            "aspect": parts[0].describe(),
            "other": parts[1].describe(),
        }

    def save(self, folder: str | Path) -> None:
        """Write both parts to one folder; `teaser.load` reads them back."""
        self.check_fitted()
        artifact.check_target(folder, "Product")
        with tempfile.TemporaryDirectory() as room:
            contents = {}
            for name, part in zip(("aspect", "other"), self.parts, strict=True):
                part.save(Path(room) / name)  # type: ignore[attr-defined]
                contents[name] = artifact.read(Path(room) / name)
            artifact.write(
                folder,
                kind="Product",
                settings={name: [c.kind, c.settings] for name, c in contents.items()},
                arrays=_joined({name: c.arrays for name, c in contents.items()}),
                tables=_joined({name: c.tables for name, c in contents.items()}),
            )

    @classmethod
    def from_content(cls, content: Content) -> Self:
        """Return the model that was saved; its arrays stay on disk until they are used."""
        from teaser.model import from_content  # it knows all kinds, this one among them

        parts = []
        for name in ("aspect", "other"):
            kind, settings = content.settings[name]
            arrays, tables = (_taken(name, d) for d in (content.arrays, content.tables))
            parts.append(from_content(Content(kind, settings, arrays, tables)))
        model = cls(*parts)
        try:
            model.check_fitted()
        except ParameterError as error:
            raise ValueError(str(error)) from error
        return model

    def _scored(self, row: sp.csr_array, one: Person) -> "_Scored":
        """Return all scores of one person, and their two parts."""
        explained = self._scores(one)
        rest = self.parts[1].score_batch(row)[0]
        return _Scored(multiply(explained[None], rest[None])[0], explained, rest)

    def _place(self, i: int, one: Person, scored: "_Scored", negative: bool) -> PartRecommendation:
        return PartRecommendation(
            item_id=self.items_[i],
            score=float(scored.scores[i]),
            match=scored.match(i),
            reasons=why.main_reasons(self._reasons(i, one), negative=negative),
            title=self.title(i),
            cover=self._cover(i, scored),
        )

    def _cover(self, i: int, scored: "_Scored") -> Cover:
        aspect, other = self.parts
        return Cover(
            explained_by=type(aspect).__name__,
            explained=float(scored.explained[i]),
            other=type(other).__name__,
            unexplained=float(scored.rest[i]),
            alone=not (scored.rest > 0).any(),
        )

    def _check_parts(self) -> None:
        if not isinstance(self.aspect, TaggedModel) or not isinstance(self.other, Model):
            raise ParameterError(
                "A Product is of a model with tags and another model, found a "
                f"{type(self.aspect).__name__} and a {type(self.other).__name__}."
            )


@dataclass(frozen=True, eq=False)
class _Scored:
    """All scores of one person: the product, the aspect model's and the other's."""

    scores: Array
    explained: Array
    rest: Array

    def match(self, i: int) -> float:
        highest = float(self.scores.max())
        return float(self.scores[i]) / highest if highest > 0 else 0.0


def multiply(explained: Array, rest: Array) -> Array:
    """Return the product of positive parts, or the first alone where the second has none.

    Parameters
    ----------
    explained, rest
        Scores, people x items.
    """
    known = (rest > 0).any(axis=1, keepdims=True)
    return np.asarray(np.maximum(explained, 0.0) * np.where(known, np.maximum(rest, 0.0), 1.0))


def _fresh(model: Any) -> Any:
    """Return a model of the same parameters that has learned nothing."""
    return type(model)(**model.parameters())


def _joined(parts: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {f"{part}.{name}": value for part, d in parts.items() for name, value in d.items()}


def _taken(part: str, named: Mapping[str, Any]) -> dict[str, Any]:
    start = f"{part}."
    return {k.removeprefix(start): v for k, v in named.items() if k.startswith(start)}
