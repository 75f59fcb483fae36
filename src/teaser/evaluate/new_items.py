"""A protocol for new items: some items have no interactions in training and are then ranked.

Models learn from training users without these items, which are added afterwards. Held-out users
are shown what they chose of the known items, and the new items are ranked among each other.
Parameters are chosen by validation users, and test users are evaluated once.
"""

import copy
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.dataset import Dataset
from teaser.data.matrix import Ids
from teaser.data.split import Fold, Split, split_time
from teaser.errors import DataError, ParameterError
from teaser.evaluate.choose import first_parameters
from teaser.evaluate.metrics import Metric, PairedDifference, Summary, per_user
from teaser.evaluate.protocol import Evaluation, compare, rank_rows
from teaser.evaluate.study.propose import FEW_EASE_ITEMS, MOST_EASE_ITEMS
from teaser.files import memory_of_machine
from teaser.model.base import Model
from teaser.model.baselines.ease import EASE
from teaser.model.extensions.content import Content, cosine_rows
from teaser.model.extensions.remainder import Remainder
from teaser.model.prediction import PREDICTED
from teaser.model.shared_fit import SharedFits
from teaser.model.tagged import TaggedModel
from teaser.model.teaser import Teaser
from teaser.parameters import is_number

Array = NDArray[Any]
Scores = Callable[[sp.csr_array], Array]
Report = Callable[[str], None]
METRIC = "ndcg@100"
# The names of the models, in the order of the table.
TF_IDF, EASE_NAME = "tf-idf", "collective EASE"
DECLARED, GROUPS, POPULAR = "TEASER, declared tags", "+ predicted groups", "+ predicted popularity"
CONTENT, NEAR = "+ content", "+ neighbours by content"
# Values to try.
_ENCODER = (300.0, 3000.0, 20_000.0, 100_000.0)
_WEIGHTS = (0.1, 1.0, 10.0)
_EASE_WEIGHTS = (0.01, 0.1, 1.0, 10.0)
# l2 as a multiple of how often an item was chosen.
_EASE_FACTORS = (1.0, 5.0, 25.0, 125.0, 625.0)
_REMAINDER = (20.0, 200.0)
# Fewer users that chose new items are too few to measure.
LEAST_USERS = 20


@dataclass(frozen=True, eq=False)
class NewItems:
    """Data in which some items are new.

    Attributes
    ----------
    known
        What models learn from: other users, and the known items alone.
    everything
        The same with the new items, which nobody has chosen, after the known ones.
    fold
        Users: what they chose of the known items, and the new items that they chose.
    """

    known: Dataset
    everything: Dataset
    fold: Fold

    @property
    def n_known(self) -> int:
        """The number of known items; the new ones follow them."""
        return self.known.n_items

    @property
    def n_new(self) -> int:
        """The number of new items."""
        return self.everything.n_items - self.n_known


def hold_out_items(
    training: Dataset, fold: Fold, is_new: Array, *, by_time: bool = False
) -> NewItems:
    """Return data in which some items are new; raise `DataError` where too few users chose them.

    Parameters
    ----------
    training, fold
        A part of a split, with the same items.
    is_new
        Which items are new (items).
    by_time
        Whether the history of the fold lies before what is held out, and stays as it is; else
        all choices of known items are shown.
    """
    order = np.concatenate([np.flatnonzero(~is_new), np.flatnonzero(is_new)])
    n_known = int((~is_new).sum())
    chosen = fold.history.maximum(0)
    shown = sp.csr_array(chosen if by_time else chosen + fold.held_out)[:, order[:n_known]]
    wanted = sp.csr_array(fold.held_out if by_time else chosen + fold.held_out)
    held_out = sp.csr_array(wanted[:, order[n_known:]])
    users = np.flatnonzero((np.diff(shown.indptr) > 0) & (np.diff(held_out.indptr) > 0))
    if len(users) < LEAST_USERS:
        raise DataError(
            f"{len(users):,} users chose a new item and a known one; at least {LEAST_USERS} are "
            "needed. Take a larger share of the items, or more held-out users."
        )
    empty = sp.csr_array((len(users), len(order) - n_known))
    known = _at_items(training, order[:n_known])
    wanted = sp.hstack([sp.csr_array((len(users), n_known)), held_out[users] > 0], format="csr")
    some = Fold(
        sp.csr_array(sp.hstack([shown[users], empty], format="csr")),
        sp.csr_array(wanted),
        Ids(fold.users[i] for i in users.tolist()),
        None if fold.user_features is None else fold.user_features[users],
    )
    return NewItems(known, known.with_items(training.table[order[n_known:].tolist()]), some)


def _at_items(dataset: Dataset, places: Array) -> Dataset:
    """Return a data set of some of its items, and of the users who chose one of them."""
    X = sp.csr_array(dataset.X[:, places])
    users = np.flatnonzero(np.diff(X.indptr) > 0)
    return replace(
        dataset,
        X=X[users],
        S=dataset.S[places],
        users=Ids(dataset.users[i] for i in users.tolist()),
        items=Ids(dataset.items[i] for i in places.tolist()),
        table=dataset.table[places.tolist()],
        user_features=None if dataset.user_features is None else dataset.user_features.at(users),
        times=None,
        disliked=None,
    )


@dataclass(frozen=True)
class NewItemsRow:
    """One model: its parameters, and nDCG@100 of validation users and of test users.

    `gain` is the difference to tf-idf, with its interval.
    """

    name: str
    parameters: Mapping[str, Any]
    validation: float | None
    value: Summary
    gain: PairedDifference | None = None


@dataclass(frozen=True)
class NewItemsTable:
    """What models reached on new items of one kind.

    Attributes
    ----------
    title
        Which items are new.
    users, items
        The number of test users, and of new items.
    rows
        The models, in the order of the table.
    """

    title: str
    users: int
    items: int
    rows: tuple[NewItemsRow, ...]

    @property
    def best(self) -> NewItemsRow | None:
        """The best model by validation users; None where there are none."""
        known = [row for row in self.rows if row.validation is not None]
        return max(known, key=lambda row: row.validation or 0.0) if known else None


@dataclass(frozen=True)
class NewItemsResults:
    """The tables of a study of new items, and sentences on what was left out."""

    study: str
    share: float
    seed: int
    tables: tuple[NewItemsTable, ...]
    notes: tuple[str, ...] = ()

    def write(self, path: Path) -> None:
        """Write the results as JSON."""
        path.write_text(json.dumps(asdict(self), indent=1, default=str) + "\n", encoding="utf-8")


@dataclass
class _Placed:
    """Models that were fitted and can score new items, with the best parameters so far."""

    data: NewItems
    say: Report

    @cached_property
    def fits(self) -> SharedFits:
        """Fits to the known items."""
        return SharedFits(self.data.known)

    def tf_idf(self) -> Scores:
        """Return scores by the cosine of tags with the items of a history."""
        T = cosine_rows([sp.csr_array(self.data.everything.S, dtype=np.float64)])
        n = self.data.n_known
        return lambda rows: np.asarray((rows[:, :n] @ T[:n] @ T[n:].T).toarray())

    def model(self, parameters: Mapping[str, Any]) -> Model:
        """Return a model that was fitted to the known items: `EASE` has an l2, Teaser has not."""
        self.say(", ".join(f"{name}={value}" for name, value in parameters.items()))
        if "l2" in parameters:
            return EASE(**parameters).fit(self.data.everything)
        return self.fits.fit(Teaser(**{**parameters, "tol": "settled"}))

    def scores(self, model: Model, predict: Collection[str] = PREDICTED) -> Scores:
        """Return scores of new items; a Teaser adds them, with what its tags predict."""
        n = self.data.n_known
        if isinstance(model, TaggedModel):
            model = copy.copy(model).add_items(self.data.everything.table[n:], predict=predict)
        return lambda rows: np.asarray(model.score_batch(rows))[:, n:]


def measure(name: str, scores: Scores, data: NewItems, fold: Fold) -> Evaluation:
    """Return the metrics of ranking the new items among each other.

    Parameters
    ----------
    scores
        Gives users x new items for histories.
    """
    n, k = data.n_known, Metric.parse(METRIC).k
    lists = rank_rows(
        lambda some: scores(fold.history[some]),
        fold.history,
        k,
        tie=np.zeros(data.n_new),
        seen=True,
    )
    held_out = sp.csr_array(fold.held_out[:, n:])
    values = per_user([Metric.parse(METRIC)], lists, held_out, None)
    return Evaluation(name, fold.users, values, {}, lists)


def _mean(found: Evaluation) -> float:
    return found.summary()[METRIC].mean


def evaluate_new_items(
    dataset: Dataset,
    split: Split,
    share: float,
    *,
    name: str = "",
    seed: int = 0,
    progress: Report | None = None,
) -> NewItemsResults:
    """Compare ways to place new items: tf-idf, collective EASE, and TEASER step by step.

    Parameters
    ----------
    dataset
        The whole data set. Where it has times, items that are first chosen after a point in time
        are new too, in a second table, with the parameters of the first.
    split
        Its split by users.
    share
        The share of the items that are new, drawn at random.
    progress
        Called with what is being done.
    """
    if not is_number(share) or not 0 < share < 1:
        raise ParameterError(f"The share of new items must be between 0 and 1, found {share!r}.")
    if not dataset.n_tags:
        raise ParameterError("New items are placed by their tags, and the data set has no tags.")
    say = progress or (lambda _: None)
    drawn = np.random.default_rng(seed).permutation(np.flatnonzero(dataset.item_counts))
    is_new = np.zeros(dataset.n_items, dtype=bool)
    is_new[drawn[: max(1, round(share * len(drawn)))]] = True
    validation, test = (
        hold_out_items(split.training, fold, is_new) for fold in (split.validation, split.test)
    )
    notes: list[str] = []
    # Both have the same training data, so that one fit serves both folds.
    tables = [_table(f"{share:.0%} of the items", _Placed(test, say), validation.fold, notes)]
    chosen = {row.name: row.parameters for row in tables[0].rows}
    if dataset.times is not None:
        try:
            tables.append(_by_time(dataset, chosen, say))
        except DataError as error:
            notes.append(f"No table by time. {error}")
    return NewItemsResults(name, float(share), seed, tuple(tables), tuple(notes))


def _by_time(
    dataset: Dataset, chosen: Mapping[str, Mapping[str, Any]], say: Report
) -> NewItemsTable:
    """Return the table of items that are first chosen after the point of a split by time."""
    parts = split_time(dataset, rng=0)
    is_new = parts.training.item_counts == 0
    data = hold_out_items(parts.training, parts.test, is_new, by_time=True)
    placed = _Placed(data, say)
    return _tested("items first chosen after the first 90 % of interactions", placed, chosen)


def _table(title: str, placed: _Placed, validation: Fold, notes: list[str]) -> NewItemsTable:
    """Return the table of new items whose parameters are chosen by validation users."""
    data, chosen = placed.data, dict[str, Mapping[str, Any]]()

    def best(
        tried: Sequence[Mapping[str, Any]], predict: Collection[str]
    ) -> tuple[float, Mapping[str, Any]]:
        scores = (placed.scores(placed.model(parameters), predict) for parameters in tried)
        found = [_mean(measure("", each, data, validation)) for each in scores]
        return max(zip(found, tried, strict=True), key=lambda each: each[0])

    mean = float(data.known.item_counts.mean())
    chosen[TF_IDF] = {}
    array = 4 * data.everything.n_items**2
    if data.everything.n_items > MOST_EASE_ITEMS or 3 * array > memory_of_machine():
        notes.append(f"{EASE_NAME} is left out: it inverts an items x items array.")
    else:
        # Twice by turns: the best l2 depends on the weight of content.
        found: Mapping[str, Any] = {"l2": 25.0 * mean, "content": Content(weight=1.0)}
        for _ in range(2):
            found = best([{**found, "content": Content(weight=w)} for w in _EASE_WEIGHTS], ())[1]
            found = best([{**found, "l2": factor * mean} for factor in _EASE_FACTORS], ())[1]
            if data.everything.n_items > FEW_EASE_ITEMS:
                break
        chosen[EASE_NAME] = found
    own, grouped = (first_parameters(recipe, mean, {}) for recipe in ("weighted", "discovered"))
    chosen[DECLARED] = best([own | {"l2_encoder": l2} for l2 in _ENCODER], ())[1]
    tried = [grouped | {"l2_encoder": l2} for l2 in _ENCODER]
    reached, chosen[GROUPS] = best(tried, ("groups", "popularity"))
    chosen[POPULAR] = chosen[GROUPS]
    with_content = [{**chosen[GROUPS], "content": Content(weight=w)} for w in _WEIGHTS]
    more, chosen[CONTENT] = best(with_content, ("groups", "popularity"))
    base = chosen[CONTENT] if more > reached else chosen[POPULAR]
    encoders = (base["l2_encoder"], 10 * base["l2_encoder"])
    near = [
        {**base, "l2_encoder": l2, "remainder": Remainder(l2=kappa)}
        for l2, kappa in product(encoders, _REMAINDER)
    ]
    chosen[NEAR] = best(near, PREDICTED)[1]
    return _tested(title, placed, chosen, validation)


_PREDICTED: Mapping[str, tuple[str, ...]] = {
    DECLARED: (),
    GROUPS: ("groups",),
    POPULAR: ("groups", "popularity"),
    CONTENT: ("groups", "popularity"),
}


def _tested(
    title: str,
    placed: _Placed,
    chosen: Mapping[str, Mapping[str, Any]],
    validation: Fold | None = None,
) -> NewItemsTable:
    """Return what models with chosen parameters reach on the users of the data."""
    data, found, last = placed.data, list[Evaluation](), tuple[Any, Any]((None, None))
    validated: dict[str, float] = {}
    for name, parameters in chosen.items():
        if name == TF_IDF:
            scores = placed.tf_idf()
        else:
            model = last[1] if last[0] == parameters else placed.model(parameters)
            last = (parameters, model)
            scores = placed.scores(model, _PREDICTED.get(name, PREDICTED))
        found.append(measure(name, scores, data, data.fold))
        if validation is not None:
            validated[name] = _mean(measure(name, scores, data, validation))
    rows = [
        NewItemsRow(
            each.model,
            chosen[each.model],
            validated.get(each.model),
            each.summary()[METRIC],
            None if each is found[0] else compare(found[0], each, rng=0)[METRIC],
        )
        for each in found
    ]
    return NewItemsTable(title, data.fold.n_users, data.n_new, tuple(rows))
