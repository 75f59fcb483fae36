"""The next model: fitted to the data and the views of the site, measured, put into place."""

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.artifact import read_manifest
from teaser.data.dataset import Dataset
from teaser.data.matrix import Ids, value_matrix
from teaser.data.partitions import Interactions
from teaser.data.split import Fold, split
from teaser.data.tags import Tag
from teaser.errors import ArtifactError, ConvergenceWarning, ParameterError, ResourceError, counted
from teaser.evaluate.choose import fit as choose_fit
from teaser.evaluate.metrics import Metric, coverage, paired_bootstrap, per_user
from teaser.evaluate.model_history import (
    ACCEPTED,
    FORCED,
    KEEP,
    REFUSED,
    Entry,
    ModelHistory,
    model_facts,
)
from teaser.evaluate.protocol import evaluate, rank_rows
from teaser.files import say_bytes
from teaser.model import load
from teaser.model.all_lists import move_columns
from teaser.model.recipe import percent
from teaser.model.solve import coarse_tol
from teaser.model.teaser import Teaser
from teaser.progress import Update

if TYPE_CHECKING:
    from teaser.app.store import Visits

Array = NDArray[Any]

METRIC = "ndcg@100"
LISTED = 20
# People of the site with fewer views are left out.
MIN_VIEWS = 2
# Held-out people: a tenth of those with enough interactions, within these limits.
MIN_INTERACTIONS = 3
LEAST_PEOPLE, MOST_PEOPLE = 50, 1000
# Of fewer people, no difference means anything.
ENOUGH_PEOPLE = 10
# The largest loss of accuracy, and the smallest share of names and sizes that must be left.
MARGIN, LEAST = 0.05, 0.5
# What must not shrink by more than the limit, where it is known of the present model.
SIZES = ("bytes", "users", "interactions")


@dataclass(frozen=True, eq=False)
class SiteInteractions:
    """The views of people who viewed enough items of the data set; nobody is named.

    Attributes
    ----------
    X
        The strength of each view (people x items).
    times
        The time of each view in unix seconds, in the order of `X.data`.
    left_out
        People with fewer views than asked for.
    unknown_views, unknown_items
        Views of items that the data set does not have, and the number of such items.
    pressed
        How many people have pressed each tag, by its text; also people who viewed too little.
    """

    X: sp.csr_array = field(repr=False)
    times: NDArray[np.float64] = field(repr=False)
    left_out: int = 0
    unknown_views: int = 0
    unknown_items: int = 0
    pressed: Mapping[str, int] = field(default_factory=dict, repr=False)

    @property
    def n_people(self) -> int:
        """The number of people."""
        return int(self.X.shape[0])

    def until(self, moment: float) -> "SiteInteractions":
        """Return the same people with the views that were made by a moment in unix seconds."""
        kept = self.times <= moment
        row = np.repeat(np.arange(self.n_people), np.diff(self.X.indptr))[kept]
        X = value_matrix(row, self.X.indices[kept], self.X.data[kept], self.X.shape)
        return replace(self, X=X, times=self.times[kept])

    def lines(self) -> list[str]:
        """Return what was taken and what was left out, as sentences."""
        found = f"{counted(int(self.X.nnz), 'view')} of {counted(self.n_people, 'visitor')}"
        few = f"{counted(self.left_out, 'visitor')} with too few views left out"
        unknown = (
            f"{counted(self.unknown_views, 'view')} of {counted(self.unknown_items, 'item')} that "
            "the data set does not have left out"
        )
        return [f"{found}; {few}", *([unknown] if self.unknown_views else [])]


def gather(
    visits: Iterable["Visits"], items: Ids, *, min_views: int = MIN_VIEWS
) -> SiteInteractions:
    """Return the views of the site as rows over the items of a data set.

    Parameters
    ----------
    visits
        What people did; see `teaser.app.store`.
    min_views
        People with fewer views of known items are left out: one view says nothing of what is
        chosen together.
    """
    if min_views < 1:
        raise ParameterError(f"min_views must be at least 1, found {min_views}.")
    unknown: Counter[object] = Counter()
    pressed: Counter[str] = Counter()
    entries: list[tuple[int, int, float, float]] = []
    n_people = left_out = 0
    for each in visits:
        pressed.update(each.presses.keys())
        row: dict[int, tuple[float, float]] = {}
        for view in each.views:
            place = items.find(view.item)
            if place is None:
                unknown[view.item] += 1
            else:
                row[place] = view.strength, view.at.timestamp()
        if len(row) >= min_views:
            entries += [(n_people, place, *row[place]) for place in sorted(row)]
            n_people += 1
        else:
            left_out += bool(each.views)
    rows, columns, strength, times = np.array(entries, dtype=np.float64).reshape(-1, 4).T
    shape = n_people, len(items)
    X = value_matrix(rows.astype(np.int64), columns.astype(np.int64), strength, shape)
    return SiteInteractions(X, times, left_out, unknown.total(), len(unknown), pressed)


def join(dataset: Dataset, site: SiteInteractions) -> Dataset:
    """Return a data set with the people of the site below its users.

    Users are named by their positions. Facts that people gave about themselves are not used: the
    rows of the site have no user features. Nor do they have times.

    Raises
    ------
    ParameterError
        If the interactions are in partitions.
    """
    if isinstance(dataset.X, Interactions):
        raise ParameterError(
            "A refit holds the interactions in memory, and those of this data set are in "
            "partitions. Use teaser fit --start MODEL --out MODEL."
        )
    features, n = dataset.user_features, site.n_people
    return replace(
        dataset,
        X=sp.csr_array(sp.vstack([dataset.X, site.X])),
        users=Ids(range(dataset.n_users + n)),
        user_features=None if features is None else replace(features, Q=_padded(features.Q, n)),
        times=None
        if dataset.times is None
        else np.concatenate([dataset.times, np.full(site.X.nnz, np.nan)]),
        disliked=None if dataset.disliked is None else _padded(dataset.disliked, n),
    )


def _padded(matrix: Any, n: int) -> sp.csr_array:
    """Return a matrix with n empty rows below its own."""
    return sp.csr_array(sp.vstack([matrix, sp.csr_array((n, matrix.shape[1]), dtype=matrix.dtype)]))


@dataclass(frozen=True)
class AccuracyChange:
    """The nDCG@100 of two models on the same people.

    Attributes
    ----------
    before, after
        The mean of the present model and of the candidate.
    low, high
        The interval of `change` by the paired bootstrap, of 95 %.
    people
        How many people were compared.
    """

    before: float
    after: float
    low: float
    high: float
    people: int

    @property
    def change(self) -> float:
        """What the candidate gains, as a share of the present model's."""
        return (self.after - self.before) / self.before if self.before else 0.0

    def text(self) -> str:
        """Return the figures in words."""
        return (
            f"{self.people:,} held-out people: nDCG@100 {self.before:.3f}, then {self.after:.3f} "
            f"({self.change:+.1%}, from {self.low:+.1%} to {self.high:+.1%})"
        )


@dataclass(frozen=True, eq=False)
class HeldOut:
    """People whom no twin learns from.

    Attributes
    ----------
    fold
        What is shown and what is held out of each.
    rest
        The rows of the other people.
    """

    fold: Fold
    rest: Array

    @classmethod
    def draw(cls, dataset: Dataset, *, rng: int) -> "HeldOut | None":
        """Hold out some people of a data set whose users are named by position.

        None is returned where too few people have enough interactions.
        """
        able = int((np.diff(dataset.X.indptr) >= MIN_INTERACTIONS).sum())
        n = min(MOST_PEOPLE, max(LEAST_PEOPLE, able // 10), able // 2)
        if n < ENOUGH_PEOPLE:
            return None
        fold = split(
            dataset, n_validation=0, n_test=n, min_interactions=MIN_INTERACTIONS, rng=rng
        ).test
        rest = np.setdiff1d(np.arange(dataset.n_users), list(fold.users))
        return cls(fold, rest)

    def fit_twin(self, model: Teaser, dataset: Dataset) -> Teaser:
        """Fit a model of the same parameters to the people who are not held out.

        It begins from nothing: at a coarse tolerance, what a model to begin from knows of the
        held-out people, or of the other twin, would remain.
        """
        rows = self.rest[np.diff(dataset.X.indptr)[self.rest] > 0]
        twin = model.clone().set_params(tol=coarse_tol(model.tol, model.solver))
        if twin.discovered is not None:  # a file names groups of the model, not of its twin
            twin.discovered = replace(twin.discovered, names=None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return twin.fit(dataset.at(rows))

    def measure_twin(self, model: Teaser, dataset: Dataset) -> Array:
        """Return the nDCG@100 of each held-out person with the twin of a model."""
        twin = self.fit_twin(model, dataset)
        return evaluate(twin, self.fold, metrics=[METRIC]).values[METRIC]


def compare_values(before: Array, after: Array, *, rng: int) -> AccuracyChange:
    """Return two models' values of the same people as one comparison."""
    found = paired_bootstrap({METRIC: before}, {METRIC: after}, rng=rng)[METRIC]
    mean = float(np.nanmean(before))
    relative = found.times(1 / mean if mean else 0.0)
    return AccuracyChange(mean, float(np.nanmean(after)), relative.low, relative.high, found.n)


def lists_by_id(model: Teaser, fold: Fold, items: Ids) -> Array:
    """Return the lists of a model as positions among the items of a data set (users x 100).

    An item that the model has and the data set has not takes its place in a list, as -1. Facts
    about people are not given.
    """
    places = (model.items_.find(item) for item in items)
    own = np.array([-1 if place is None else place for place in places], dtype=np.int64)
    back = np.full(len(model.items_), -1, dtype=np.int64)
    back[own[own >= 0]] = np.flatnonzero(own >= 0)
    history = move_columns(fold.history, own, len(model.items_))
    k = Metric.parse(METRIC).k
    lists = rank_rows(
        lambda some: model.score_batch(history[some]), history, k, tie=model.popularity_
    )
    return np.where(lists >= 0, back[lists], -1)


@dataclass(frozen=True)
class NameOverlap:
    """How many names there were, how many there are, and how many of the former are left."""

    before: int
    after: int
    kept: int

    @property
    def share(self) -> float:
        """The share of the former names that are left; 1 if there were none."""
        return self.kept / self.before if self.before else 1.0


@dataclass(frozen=True)
class RefitReport:
    """What was measured of a candidate and of the present model.

    Attributes
    ----------
    twins
        Twins of both models on held-out people; None where too few people have enough
        interactions.
    models
        Both models themselves on the same people, whom they learned from.
    coverage
        The share of the items that is in the first 20 of the lists of these people, before and
        after; None without such people.
    items, tags
        The names of items and tags.
    presses
        Presses of visitors on tags, one for each visitor and tag; None where there are none.
    sizes
        Numbers before and after by name: bytes, users, interactions. None before where the
        number is not known.
    """

    twins: AccuracyChange | None
    models: AccuracyChange | None
    coverage: tuple[float, float] | None
    items: NameOverlap
    tags: NameOverlap
    presses: NameOverlap | None
    sizes: Mapping[str, tuple[int | None, int]] = field(default_factory=dict)

    def lines(self) -> list[str]:
        """Return what was measured as sentences."""
        pairs = (("twins", self.twins), ("the models themselves", self.models))
        found = [f"{which}, on {pair.text()}" for which, pair in pairs if pair is not None]
        if self.coverage is not None:
            before, after = map(percent, self.coverage)
            found.append(f"{before} of the items are in top-20 lists, then {after}")
        kinds = {"items": self.items, "tags": self.tags, "presses of visitors": self.presses}
        found += [
            f"{each.before:,} {name} before, {each.after:,} now; {each.kept:,} kept"
            for name, each in kinds.items()
            if each is not None
        ]
        return found + [
            f"{_size(name, was)} before, {_size(name, now)} now"
            for name, (was, now) in self.sizes.items()
        ]


def reasons_against(found: RefitReport, margin: float) -> list[str]:
    """Return why a candidate may not go live; nothing if it may.

    Parameters
    ----------
    margin
        The largest loss of nDCG@100, as a share of the present model's.
    """
    reasons = []
    if found.twins is None:
        reasons.append(
            f"Fewer than {ENOUGH_PEOPLE} people could be held out, so that nothing says "
            f"whether it is worse: {2 * ENOUGH_PEOPLE} people with {MIN_INTERACTIONS} "
            "interactions are needed."
        )
    for which, pair in (("Twins", found.twins), ("The models themselves", found.models)):
        if pair is not None and pair.change < -margin:
            reasons.append(
                f"{which}: nDCG@100 falls by {-pair.change:.1%}, from {pair.before:.3f} to "
                f"{pair.after:.3f}, and the margin is {margin:.1%}."
            )
    shares = {"items": found.items.share, "tags": found.tags.share}
    if found.presses is not None:
        shares["presses of visitors"] = found.presses.share
    if found.coverage is not None and found.coverage[0]:
        shares["coverage"] = found.coverage[1] / found.coverage[0]
    shares |= {name: now / was for name, (was, now) in found.sizes.items() if was}
    return reasons + [
        f"Of the {name} of the present model {percent(share)} would be left, and at least "
        f"{percent(LEAST)} must be."
        for name, share in shares.items()
        if share < LEAST
    ]


def _size(name: str, value: int | None) -> str:
    if value is None:
        return f"unknown {name}"
    return say_bytes(value) if name == "bytes" else f"{value:,} {name}"


def refit(
    folder: Path,
    dataset: Dataset,
    site: SiteInteractions,
    *,
    dataset_path: str | None = None,
    margin: float = MARGIN,
    choose: bool = False,
    force: bool = False,
    keep: int = KEEP,
    rng: int = 0,
    callback: Update | None = None,
) -> tuple[Entry, RefitReport]:
    """Fit the next model of a folder, and put it there unless it is worse.

    Parameters
    ----------
    folder
        The folder of the present model, which is replaced by one rename.
    dataset
        The data set as it is now.
    site
        What people viewed on the site.
    dataset_path
        The folder of the data set, to be kept in the model.
    margin
        The largest loss of nDCG@100, as a share of the present model's.
    choose
        Whether to choose the recipe anew; else the parameters of the present model are taken.
    force
        Whether to serve the next model even if it is worse.
    keep
        Of how many models copies are kept, beside the served one.
    rng
        Seed of the held-out people.
    callback
        Called with what is being done and the share of the work that is done.

    Returns
    -------
    entry, measured
        The entry in the history, with the verdict and its reasons; and what was measured.

    Raises
    ------
    ArtifactError
        If another refit is running, or another model was saved in the folder meanwhile.
    """
    report = callback or (lambda _what, _share: None)
    history, joint = ModelHistory(folder), join(dataset, site)
    with history.locked():
        before = read_manifest(folder)
        present, earlier = load(folder, Teaser), history.served()
        report("fitting the next model", 0.1)
        candidate = _fit_next(present, joint, choose=choose, rng=rng)
        candidate.dataset_path_ = dataset_path
        # What the present model learned from, as far as it is still there.
        until = None if earlier is None else earlier.views_until
        known = join(dataset, site.until(-1.0 if until is None else until))
        with history.draft() as draft:
            candidate.save(draft)
            facts = {
                **model_facts(candidate, draft),
                "users": joint.n_users,
                "interactions": int(joint.X.nnz),
                "visitors": site.n_people,
                "views": int(site.X.nnz),
            }
            old = {**model_facts(present, folder), **({} if earlier is None else earlier.facts)}
            measured = replace(
                _measure(present, known, candidate, joint, site.pressed, rng, report),
                sizes={name: (old.get(name), facts[name]) for name in SIZES},
            )
            reasons = tuple(reasons_against(measured, margin))
            verdict = (FORCED if force else REFUSED) if reasons else ACCEPTED
            if read_manifest(folder) != before:
                raise ArtifactError(
                    f"Another model was saved in {folder} meanwhile, which the next one was not "
                    "compared with. Nothing was changed: refit again."
                )
            history.add_present()
            entry = history.add(
                draft,
                verdict,
                reasons=reasons,
                facts=facts,
                views_until=float(site.times.max()) if len(site.times) else None,
                report=asdict(measured),
            )
        if verdict != REFUSED:
            history.publish(entry)
        history.prune(keep)
    report("done", 1.0)
    return entry, measured


def _fit_next(present: Teaser, joint: Dataset, *, choose: bool, rng: int) -> Teaser:
    """Fit the candidate, which begins from the present model and keeps names of groups."""
    if choose:
        return choose_fit(joint, rng=rng, start=present)
    candidate = present.clone()
    short = candidate.estimate(joint).shortage()
    if short is not None:
        raise ResourceError(f"The next model cannot be fitted here: {short}.")
    candidate.fit(joint, start=present)
    candidate.recipe_ = present.recipe_
    return candidate


def _measure(
    present: Teaser,
    known: Dataset,
    candidate: Teaser,
    joint: Dataset,
    pressed: Mapping[str, int],
    rng: int,
    report: Update,
) -> RefitReport:
    """Compare the present model, which learned from known, with the candidate of the joint data."""
    held, names = HeldOut.draw(joint, rng=rng), _name_overlaps(present, candidate, pressed)
    if held is None:
        return RefitReport(None, None, None, *names)
    report("fitting the twin of the next model", 0.4)
    before = after = held.measure_twin(candidate, joint)
    if known.X.nnz != joint.X.nnz or candidate.parameters() != present.parameters():
        report("fitting the twin of the present model", 0.65)
        before = held.measure_twin(present, known)
    report("comparing the models", 0.9)
    lists = [lists_by_id(model, held.fold, joint.items) for model in (present, candidate)]
    own = [
        per_user([Metric.parse(METRIC)], each, held.fold.held_out, None)[METRIC] for each in lists
    ]
    listed = [coverage(each[:, :LISTED], joint.n_items).mean for each in lists]
    return RefitReport(
        compare_values(before, after, rng=rng),
        compare_values(*own, rng=rng),
        (listed[0], listed[1]),
        *names,
    )


def _name_overlaps(
    present: Teaser, candidate: Teaser, pressed: Mapping[str, int]
) -> tuple[NameOverlap, NameOverlap, NameOverlap | None]:
    """Return how many items, tags, and presses of visitors on tags are kept."""

    def overlap(was: Iterable[Any], now: Iterable[Any]) -> NameOverlap:
        own, theirs = set(was), set(now)
        return NameOverlap(len(own), len(theirs), len(own & theirs))

    items = overlap(present.items_, candidate.items_)
    tags = overlap(present.tags_, candidate.tags_)
    old, new = present.tag_table_.index, candidate.tag_table_.index
    parsed = {Tag.parse(text): n for text, n in pressed.items()}
    before = sum(n for tag, n in parsed.items() if tag in old)
    after = sum(n for tag, n in parsed.items() if tag in new)
    kept = sum(n for tag, n in parsed.items() if tag in old and tag in new)
    presses = NameOverlap(before, after, kept) if parsed else None
    return items, tags, presses
