"""The next model: fitted to the data and the views of the site, measured, put into place."""

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from functools import cached_property
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
from teaser.evaluate.protocol import BATCH_MEMORY, batches, evaluate
from teaser.files import say_bytes
from teaser.model import load
from teaser.model.recipe import percent
from teaser.model.scores import top_k_rows
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
    people: list[dict[int, tuple[float, datetime]]] = []
    left_out = 0
    for each in visits:
        pressed.update(each.presses.keys())
        row: dict[int, tuple[float, datetime]] = {}
        for view in each.views:
            place = items.find(view.item)
            if place is None:
                unknown[view.item] += 1
            else:
                row[place] = view.strength, view.at
        if len(row) >= min_views:
            people.append(row)
        else:
            left_out += bool(each.views)
    X, times = _matrix(people, len(items))
    return SiteInteractions(X, times, left_out, unknown.total(), len(unknown), pressed)


def no_views(items: Ids) -> SiteInteractions:
    """Return the interactions of nobody."""
    return gather((), items)


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


def _matrix(
    people: list[dict[int, tuple[float, datetime]]], n_items: int
) -> tuple[sp.csr_array, NDArray[np.float64]]:
    """Return strengths (people x items), and the time of each entry in the same order."""
    rows = np.repeat(np.arange(len(people)), [len(row) for row in people])
    places = np.array([place for row in people for place in sorted(row)], dtype=np.int64)
    entries = [row[place] for row in people for place in sorted(row)]
    strengths = np.array([strength for strength, _ in entries], dtype=np.float32)
    times = np.array([at.timestamp() for _, at in entries], dtype=np.float64)
    return value_matrix(rows, places, strengths, (len(people), n_items)), times


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

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, the change included."""
        return {**asdict(self), "change": self.change}


@dataclass(frozen=True, eq=False)
class HeldOut:
    """People whom no twin learns from.

    Attributes
    ----------
    fold
        What is shown and what is held out of each.
    rest
        The rows of the other people.
    n_data
        How many users come from the data set; those after them come from the site.
    """

    fold: Fold
    rest: Array
    n_data: int

    @classmethod
    def draw(cls, dataset: Dataset, n_data: int, *, rng: int) -> "HeldOut | None":
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
        return cls(fold, rest, n_data)

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

    def values(self, twin: Teaser) -> Array:
        """Return the nDCG@100 of each held-out person with a twin."""
        return evaluate(twin, self.fold, metrics=[METRIC]).values[METRIC]

    def by_origin(self, before: Array, after: Array, *, rng: int) -> dict[str, AccuracyChange]:
        """Compare people of the data set and of the site apart, where there are enough of them."""
        is_site = np.array(list(self.fold.users)) >= self.n_data
        parts = {"data": ~is_site, "site": is_site}
        return {
            name: compare_values(before[rows], after[rows], rng=rng)
            for name, rows in parts.items()
            if rows.sum() >= ENOUGH_PEOPLE
        }


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
    own = _places(model, items)
    back = np.full(len(model.items_), -1, dtype=np.int64)
    back[own[own >= 0]] = np.flatnonzero(own >= 0)
    history = _moved(fold.history, own, len(model.items_))
    k = Metric.parse(METRIC).k
    lists = np.full((fold.n_users, k), -1, dtype=np.int64)
    for rows in batches(fold.n_users, len(model.items_), BATCH_MEMORY):
        seen = history[rows]
        best = top_k_rows(model.score_batch(seen), k, exclude=seen, tie=model.popularity_)
        lists[rows] = np.where(best >= 0, back[best], -1)
    return lists


def list_accuracy(lists: Array, fold: Fold) -> Array:
    """Return the nDCG@100 of each person's list."""
    return per_user([Metric.parse(METRIC)], lists, fold.held_out, None)[METRIC]


def list_coverage(lists: Array, n_items: int) -> float:
    """Return the share of the items that is in the first 20 of a list."""
    return coverage(lists[:, :LISTED], n_items).mean


def _places(model: Teaser, items: Ids) -> Array:
    """Return the position of each item in the model, -1 where it has none."""
    found = (model.items_.find(item) for item in items)
    return np.array([-1 if place is None else place for place in found], dtype=np.int64)


def _moved(history: sp.csr_array, places: Array, n_items: int) -> sp.csr_array:
    """Return histories with their columns at other places; those at -1 are left out."""
    row = np.repeat(np.arange(history.shape[0]), np.diff(history.indptr))
    column = places[history.indices]
    kept = column >= 0
    entries = history.data[kept], (row[kept], column[kept])
    return sp.csr_array(entries, shape=(history.shape[0], n_items))


@dataclass(frozen=True)
class NameOverlap:
    """How many names there were, how many there are, and how many of the former are left."""

    before: int
    after: int
    kept: int

    @classmethod
    def between(cls, before: Iterable[object], after: Iterable[object]) -> "NameOverlap":
        """Compare two sets of names."""
        old, new = set(before), set(after)
        return cls(len(old), len(new), len(old & new))

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
    origins
        The comparison of the twins for people of the data set and of the site apart.
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
    origins: Mapping[str, AccuracyChange]
    coverage: tuple[float, float] | None
    items: NameOverlap
    tags: NameOverlap
    presses: NameOverlap | None
    sizes: Mapping[str, tuple[int | None, int]] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        plain = asdict(self)
        for name in ("twins", "models"):
            found: AccuracyChange | None = getattr(self, name)
            plain[name] = None if found is None else found.as_dict()
        plain["origins"] = {name: found.as_dict() for name, found in self.origins.items()}
        return plain

    def lines(self) -> list[str]:
        """Return what was measured as sentences."""
        found = []
        if self.twins is not None:
            found.append(f"twins, on {_describe(self.twins)}")
        found += [f"  of the {name}: {_describe(part)}" for name, part in self.origins.items()]
        if self.models is not None:
            found.append(f"the models themselves, on {_describe(self.models)}")
        if self.coverage is not None:
            before, after = self.coverage
            found.append(
                f"{percent(before)} of the items are in top-20 lists, then {percent(after)}"
            )
        kinds = {"items": self.items, "tags": self.tags, "presses of visitors": self.presses}
        for name, each in kinds.items():
            if each is not None:
                counts = f"{each.before:,} {name} before, {each.after:,} now"
                found.append(f"{counts}; {each.kept:,} kept")
        for name, (was, now) in self.sizes.items():
            found.append(f"{_size(name, was)} before, {_size(name, now)} now")
        return found


@dataclass(frozen=True)
class GateLimits:
    """How much worse a candidate may be.

    Parameters
    ----------
    margin
        The largest loss of nDCG@100, as a share of the present model's.
    least
        The smallest share of items, tags, coverage and sizes that must be left.
    """

    margin: float = MARGIN
    least: float = LEAST

    def __post_init__(self) -> None:
        for name in ("margin", "least"):
            value = getattr(self, name)
            if not 0 <= value <= 1:
                raise ParameterError(f"{name} must be from 0 to 1, found {value:g}.")

    def reasons(self, found: RefitReport) -> list[str]:
        """Return why a candidate may not go live; nothing if it may."""
        return [
            *self._accuracy("Twins", found.twins),
            *self._accuracy("The models themselves", found.models),
            *self._shares(found),
        ]

    def _accuracy(self, which: str, found: AccuracyChange | None) -> list[str]:
        if found is None:
            if which != "Twins":
                return []
            return [
                f"Fewer than {ENOUGH_PEOPLE} people could be held out, so that nothing says "
                f"whether it is worse: {2 * ENOUGH_PEOPLE} people with {MIN_INTERACTIONS} "
                "interactions are needed."
            ]
        if found.change >= -self.margin:
            return []
        return [
            f"{which}: nDCG@100 falls by {-found.change:.1%}, from {found.before:.3f} to "
            f"{found.after:.3f}, and the margin is {self.margin:.1%}."
        ]

    def _shares(self, found: RefitReport) -> list[str]:
        shares = {"items": found.items.share, "tags": found.tags.share}
        if found.presses is not None:
            shares["presses of visitors"] = found.presses.share
        if found.coverage is not None and found.coverage[0]:
            shares["coverage"] = found.coverage[1] / found.coverage[0]
        for name, (was, now) in found.sizes.items():
            if was:
                shares[name] = now / was
        return [
            f"Of the {name} of the present model {percent(share)} would be left, and at least "
            f"{percent(self.least)} must be."
            for name, share in shares.items()
            if share < self.least
        ]


def _describe(found: AccuracyChange) -> str:
    return (
        f"{found.people:,} held-out people: nDCG@100 {found.before:.3f}, then {found.after:.3f} "
        f"({found.change:+.1%}, from {found.low:+.1%} to {found.high:+.1%})"
    )


def _size(name: str, value: int | None) -> str:
    if value is None:
        return f"unknown {name}"
    return say_bytes(value) if name == "bytes" else f"{value:,} {name}"


@dataclass(frozen=True)
class RefitOptions:
    """How a refit works.

    Parameters
    ----------
    limits
        How much worse the next model may be.
    choose
        Whether to choose the recipe anew; else the parameters of the present model are taken.
    force
        Whether to serve the next model even if it is worse.
    keep
        Of how many models copies are kept, beside the served one.
    rng
        Seed of the held-out people.
    """

    limits: GateLimits = field(default_factory=GateLimits)
    choose: bool = False
    force: bool = False
    keep: int = KEEP
    rng: int = 0


def refit(
    folder: Path,
    dataset: Dataset,
    site: SiteInteractions,
    *,
    dataset_path: str | None = None,
    options: RefitOptions | None = None,
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
    options, report = options or RefitOptions(), callback or (lambda _what, _share: None)
    history = ModelHistory(folder)
    with history.locked():
        before = read_manifest(folder)
        present, earlier = load(folder, Teaser), history.served()
        work = _Refit(present, dataset, site, options, report)
        candidate = work.fit(dataset_path)
        with history.draft() as draft:
            candidate.save(draft)
            facts = {**model_facts(candidate, draft), **work.counts()}
            old = {**model_facts(present, folder), **({} if earlier is None else earlier.facts)}
            sizes = {name: (old.get(name), facts[name]) for name in SIZES}
            measured = work.measure(candidate, None if earlier is None else earlier.views_until)
            measured = replace(measured, sizes=sizes)
            reasons = tuple(options.limits.reasons(measured))
            verdict = (FORCED if options.force else REFUSED) if reasons else ACCEPTED
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
                report=measured.as_dict(),
            )
        if verdict != REFUSED:
            history.publish(entry)
        history.prune(options.keep)
    report("done", 1.0)
    return entry, measured


@dataclass(frozen=True, eq=False)
class _Refit:
    """A present model, and what the next one learns from."""

    present: Teaser
    dataset: Dataset
    site: SiteInteractions
    options: RefitOptions
    report: Update

    @cached_property
    def joint(self) -> Dataset:
        """The data set with all people of the site."""
        return join(self.dataset, self.site)

    def counts(self) -> dict[str, int]:
        """Return how much the next model learns from."""
        return {
            "users": self.joint.n_users,
            "interactions": int(self.joint.X.nnz),
            "visitors": self.site.n_people,
            "views": int(self.site.X.nnz),
        }

    def fit(self, dataset_path: str | None) -> Teaser:
        """Fit the candidate, which begins from the present model and keeps names of groups."""
        present, options = self.present, self.options
        self.report("fitting the next model", 0.1)
        if options.choose:
            candidate = choose_fit(self.joint, rng=options.rng, start=present)
        else:
            candidate = present.clone()
            short = candidate.estimate(self.joint).shortage()
            if short is not None:
                raise ResourceError(f"The next model cannot be fitted here: {short}.")
            candidate.fit(self.joint, start=present)
            candidate.recipe_ = present.recipe_
        candidate.dataset_path_ = dataset_path
        return candidate

    def measure(self, candidate: Teaser, views_until: float | None) -> RefitReport:
        """Compare the candidate with the present model.

        Parameters
        ----------
        views_until
            Up to when views of the site taught the present model; None if none did.
        """
        held = HeldOut.draw(self.joint, self.dataset.n_users, rng=self.options.rng)
        names = _name_overlaps(self.present, candidate, self.site.pressed)
        if held is None:
            return RefitReport(None, None, {}, None, *names)
        rng, items = self.options.rng, self.joint.items
        before, after = self._twin_values(held, candidate, views_until)
        self.report("comparing the models", 0.9)
        lists = [lists_by_id(model, held.fold, items) for model in (self.present, candidate)]
        own = [list_accuracy(each, held.fold) for each in lists]
        return RefitReport(
            compare_values(before, after, rng=rng),
            compare_values(*own, rng=rng),
            held.by_origin(before, after, rng=rng),
            (list_coverage(lists[0], len(items)), list_coverage(lists[1], len(items))),
            *names,
        )

    def _twin_values(
        self, held: HeldOut, candidate: Teaser, views_until: float | None
    ) -> tuple[Array, Array]:
        """Return the accuracy of each held-out person with the twins of both models."""
        self.report("fitting the twin of the next model", 0.4)
        after = held.values(held.fit_twin(candidate, self.joint))
        # What the present model learned from, as far as it is still there.
        known = join(self.dataset, self.site.until(-1.0 if views_until is None else views_until))
        if known.X.nnz == self.joint.X.nnz and candidate.parameters() == self.present.parameters():
            return after, after
        self.report("fitting the twin of the present model", 0.65)
        return held.values(held.fit_twin(self.present, known)), after


def _name_overlaps(
    present: Teaser, candidate: Teaser, pressed: Mapping[str, int]
) -> tuple[NameOverlap, NameOverlap, NameOverlap | None]:
    """Return how many items, tags, and presses of visitors on tags are kept."""
    old, new = present.tag_table_.index, candidate.tag_table_.index
    tags = NameOverlap(
        len(present.tags_), len(candidate.tags_), sum(t in new for t in present.tags_)
    )
    parsed = {Tag.parse(text): n for text, n in pressed.items()}
    before = sum(n for tag, n in parsed.items() if tag in old)
    after = sum(n for tag, n in parsed.items() if tag in new)
    kept = sum(n for tag, n in parsed.items() if tag in old and tag in new)
    presses = NameOverlap(before, after, kept) if parsed else None
    return NameOverlap.between(present.items_, candidate.items_), tags, presses
