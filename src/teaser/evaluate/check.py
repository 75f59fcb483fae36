"""What an owner should know of a model's reasons before showing them to people."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.dataset import Dataset
from teaser.data.partitions import Interactions
from teaser.data.split import Split, as_generator, split
from teaser.data.tags import NEARLY_ALL, few_names, near_equal_tags
from teaser.errors import ParameterError
from teaser.evaluate.advice import (
    Advice,
    advise_columns,
    advise_values,
    find_repeats,
    without_features,
)
from teaser.evaluate.protocol import evaluate
from teaser.evaluate.truth import Truth, fold_truth, row_histories
from teaser.model.impact import ListShares
from teaser.model.recipe import percent, ratio
from teaser.model.scores import top_k_rows
from teaser.model.solve import coarse_tol
from teaser.model.tables import sample_users
from teaser.model.teaser import Teaser
from teaser.notebook import draw_check
from teaser.recommend import reason_fields

Array = NDArray[Any]

# Items of a list, people whose lists are read, and people whose profiles are compared.
SHOWN = 20
PEOPLE = 300
# A feature below this share of the personal part says next to nothing.
SILENT = 0.01
# With fewer people who have enough interactions, nothing is measured on held-out people.
LEAST_PEOPLE, FEWEST = 40, 5
# People whose repeated choices are counted, and columns that are refitted without, at most.
MANY_PEOPLE, COLUMNS = 2000, 3
# A larger loss of accuracy is worth a word.
WORTH = 0.02
# Above these shares, and below these measures of stability, there is advice.
MOSTLY_GENERAL = 0.5
MANY = 0.05
UNSTABLE = 0.5
STRONGEST = 5
_PAGE = "docs/users/model.md"
_VIEWED, _NONE = "viewed items", "none"


@dataclass(frozen=True)
class Stability:
    """How alike two models are that were fitted to two halves of the people.

    Attributes
    ----------
    profiles
        The mean correlation of a person's affinities by one and by the other.
    reasons
        The mean overlap of a person's five strongest tags by one and by the other, 0 to 1.
    lists
        The mean overlap of the top-20 lists, 0 to 1.
    """

    profiles: float
    reasons: float
    lists: float


@dataclass(frozen=True)
class Check:
    """What the reasons of a model are made of, on the lists of a sample of people.

    Attributes
    ----------
    n_users
        How many people the sample has.
    parts
        The mean share of general appeal, declared tags, discovered tags, popularity and viewed
        items in the scores of the top-20.
    first_reasons
        How often the first reason is of each feature, of a viewed item, or there is none.
    features
        The mean share of each declared feature in the scores of the top-20.
    silent
        Features with hardly any share.
    common_tags, lonely_tags
        Declared tags on nearly all items, and on one item.
    near_equal
        Pairs of declared tags on nearly the same items.
    without_reasons
        The share of the top-20 entries that have no reason about the person.
    bare_items
        The share of the catalogue with no tag and no neighbour.
    stability
        How alike the models of two halves of the people are; None where it was not measured.
    truth
        Whether what is said is true, of people that a twin of the model was fitted without; None
        with too few people, or with interactions in partitions.
    repeats
        By declared feature, how often people choose again what stands out in their history, over
        the average person's rate; about 1 for values that say nothing of tastes.
    advice
        Columns and values that do harm, and what to change.
    """

    n_users: int
    parts: Mapping[str, float]
    first_reasons: Mapping[str, float]
    features: Mapping[str, float]
    silent: tuple[str, ...]
    common_tags: tuple[str, ...]
    lonely_tags: tuple[str, ...]
    near_equal: tuple[tuple[str, str], ...]
    without_reasons: float
    bare_items: float
    stability: Stability | None = None
    truth: Truth | None = None
    repeats: Mapping[str, float] = field(default_factory=dict)
    advice: tuple[Advice, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, with the lines."""
        return {**asdict(self), "lines": self.lines()}

    def lines(self) -> list[str]:
        """Return what was found as sentences, each with its advice where there is any."""
        told = [] if self.truth is None else self.truth.lines()
        advice = [line for each in self.advice for line in each.lines()]
        return [
            *self._list_lines(),
            *self._tag_lines(),
            *told,
            *self._stability_lines(),
            *(advice or ["No column and no value was found to do harm."]),
        ]

    def _repr_html_(self) -> str:
        return draw_check(self.parts, lines=self.lines(), n_users=self.n_users, top=SHOWN)

    def _list_lines(self) -> Iterator[str]:
        shares = _listed({name: share for name, share in self.parts.items() if share > 0})
        yield f"Parts of the top-{SHOWN} scores of {self.n_users:,} people: {shares}."
        general = self.parts.get("general", 0.0) + self.parts.get("popularity", 0.0)
        if general > MOSTLY_GENERAL:
            yield (
                f"  General appeal and popularity are {percent(general)}: lists are much the "
                f"same for everybody. See {_PAGE}."
            )
        yield f"First reasons: {_listed(self.first_reasons)}."
        yield f"{percent(self.without_reasons)} of the entries have no reason about the person."
        if self.without_reasons > MANY:
            yield "  Discovered tags and neighbours give reasons where declared tags have none."
        yield f"{percent(self.bare_items)} of the catalogue have no tag and no neighbour."
        if self.bare_items > MANY:
            yield "  Add a column that all items have, or fit with discovered tags."

    def _tag_lines(self) -> Iterator[str]:
        named = [
            f"{name} {percent(share)}, {ratio(self.repeats[name])}"
            for name, share in self.features.items()
            if name in self.repeats
        ]
        if named:
            yield (
                "Features, their share of scores, and how often people choose again what stands "
                f"out in their history, against others: {'; '.join(named)}."
            )
        if self.silent:
            yield f"Features that say next to nothing: {few_names(self.silent)}."
        if self.near_equal:
            pairs = tuple(f"{a} and {b}" for a, b in self.near_equal)
            yield f"Tags on nearly the same items, told as one: {few_names(pairs)}."

    def _stability_lines(self) -> Iterator[str]:
        found = self.stability
        if found is None:
            yield "Stability was not measured."
            return
        yield (
            "Two halves of the people: profiles correlate by "
            f"{found.profiles:.2f}, {percent(found.reasons)} of the {STRONGEST} strongest tags and "
            f"{percent(found.lists)} of the top-{SHOWN} are the same."
        )
        if min(found.profiles, found.reasons) < UNSTABLE:
            yield (
                "  Much of a profile is chance at this size: larger penalties, fewer and larger "
                "tags, or more interactions steady it."
            )


def check_model(
    model: Teaser,
    dataset: Dataset,
    *,
    rng: int | np.random.Generator = 0,
    stability: bool = True,
) -> Check:
    """Return what the reasons of a model are made of.

    Parameters
    ----------
    model
        A fitted model.
    dataset
        The data set that it was fitted to.
    rng
        Seed of the sample of people and of the halves.
    stability
        Whether to fit the same parameters to two halves of the people, which takes about as long
        as one fit.
    """
    model.check_fitted()
    n_fitted = model.encoder_.shape[0]
    if tuple(model.items_[:n_fitted]) != tuple(dataset.items):
        raise ParameterError(
            f"The data set has {dataset.n_items:,} items, and the model was fitted to {n_fitted:,} "
            "or to others. Check a model with the data set that it was fitted to."
        )
    generator = as_generator(rng)
    rows, about = _sample(dataset, generator)
    rows.resize((rows.shape[0], len(model.items_)))
    known = about if model.user_tags_ else None
    lists = _lists(model, rows, known)
    shares = model.list_shares(rows, lists, shown=SHOWN, about=known)
    first = _first_reasons(model, rows, known)
    personal = 1 - shares.parts["general"] - shares.parts["popularity"]
    silent = (name for name, share in shares.features.items() if share < SILENT * personal)
    facts = _tag_facts(model)
    truth, repeats, advice = _measure(model, dataset, shares, generator)
    return Check(
        n_users=rows.shape[0],
        parts=shares.parts,
        first_reasons=first,
        features=_ordered(shares.features),
        silent=tuple(silent),
        without_reasons=first.get(_NONE, 0.0),
        bare_items=_bare_share(model),
        stability=_stability(model, dataset, rows, about, generator) if stability else None,
        truth=truth,
        repeats=repeats,
        advice=advice,
        **facts,
    )


def _measure(
    model: Teaser, dataset: Dataset, shares: ListShares, rng: np.random.Generator
) -> tuple[Truth | None, dict[str, float], tuple[Advice, ...]]:
    """Return `truth`, `repeats` and `advice` of a check."""
    rules, X = dataset.rules, dataset.X
    able = 0 if isinstance(X, Interactions) else int((np.diff(X.indptr) >= FEWEST).sum())
    if able < LEAST_PEOPLE:
        return None, {}, tuple(advise_values(model, rules, {}, ()))
    options = {"n_test": 0, "min_interactions": FEWEST}
    most = min(MANY_PEOPLE, able - able // 10)
    many = split(dataset, n_validation=most, **options, rng=rng).validation
    width = len(model.items_)
    features, values = find_repeats(model, _wide(many.history, width), _wide(many.held_out, width))
    parts = split(dataset, n_validation=min(PEOPLE, able // 4), **options, rng=rng)
    twin = _fit_part(model, parts.training)
    found = fold_truth(twin, parts.validation)
    personal = 1 - shares.parts["general"] - shares.parts["popularity"]
    own = {name: share / personal for name, share in shares.features.items() if personal > 0}
    told = [
        replace(each, why=f"{each.why} {_without(model, twin, parts, each.feature)}")
        for each in islice(advise_columns(rules, own, features), COLUMNS)
    ]
    gone = [each.feature for each in told]
    ratios = {name: each.ratio for name, each in features.items()}
    return found, ratios, (*told, *advise_values(model, rules, values, gone))


def _wide(rows: sp.csr_array, width: int) -> sp.csr_array:
    """Return rows with as many columns as a model has items, some of which are newer."""
    wide = rows.copy()
    wide.resize((rows.shape[0], width))
    return wide


def _without(model: Teaser, twin: Teaser, parts: Split, feature: str) -> str:
    """Return how accurate a model without a feature is, as a sentence."""
    less = without_features(parts.training, [feature])
    if less.n_tags == 0 and model.groups_ is None:
        return "There is no other column: fit with discovered tags."
    other = _fit_part(model, less)
    found = (evaluate(m, parts.validation, metrics=["ndcg@100"]).summary() for m in (twin, other))
    now, then = (each["ndcg@100"].mean for each in found)
    more = "." if then >= (1 - WORTH) * now else "; discovered tags can make up for it."
    return f"Without it nDCG@100 is {then:.3f}, with it {now:.3f}{more}"


def _sample(dataset: Dataset, rng: np.random.Generator) -> tuple[sp.csr_array, sp.csr_array | None]:
    """Return the histories of some people (people x items), and their features."""
    places, rows = np.arange(dataset.n_users), dataset.X
    if isinstance(rows, Interactions):
        places, rows = sample_users(rows)
    some = rng.permutation(np.flatnonzero(np.diff(rows.indptr) > 0))[:PEOPLE]
    about = None if dataset.Q is None else dataset.Q[np.asarray(places)[some]]
    return sp.csr_array(rows[some]), about


def _lists(model: Teaser, rows: sp.csr_array, about: sp.csr_array | None) -> Array:
    """Return the top-20 of each person, without the history (people x 20)."""
    scores = model.score_batch(rows, about=about)
    return top_k_rows(scores, SHOWN, exclude=rows, tie=model.popularity_)


def _first_reasons(model: Teaser, rows: sp.csr_array, about: Any) -> dict[str, float]:
    """Return how often the first reason is of each feature, a viewed item, or there is none."""
    named: Counter[str] = Counter()
    for found in model.recommend_batch(row_histories(model, rows), k=SHOWN, about=about):
        for entry in found:
            if not entry.reasons:
                named[_NONE] += 1
                continue
            first = reason_fields(entry.reasons[0])
            named[first["feature"] if first["kind"] == "tag" else _VIEWED] += 1
    return _shares(named)


def _shares(counts: Mapping[str, float]) -> dict[str, float]:
    total = sum(counts.values())
    return _ordered({name: count / total for name, count in counts.items()}) if total else {}


def _ordered(shares: Mapping[str, float]) -> dict[str, float]:
    return dict(sorted(shares.items(), key=lambda pair: (-pair[1], pair[0])))


def _tag_facts(model: Teaser) -> dict[str, Any]:
    """Return declared tags that tell items badly apart."""
    table = model.tag_table_
    declared = [j for j, tag in enumerate(table.learned_tags[:-1]) if not tag.discovered]
    S = sp.csr_array(table.learned_decoder[:, declared])
    names = [str(table.learned_tags[j]) for j in declared]
    counts = np.bincount(S.indices, minlength=len(declared))
    most = counts > NEARLY_ALL * max(1, S.shape[0])
    return {
        "common_tags": tuple(names[j] for j in np.flatnonzero(most).tolist()),
        "lonely_tags": tuple(names[j] for j in np.flatnonzero(counts == 1).tolist()),
        "near_equal": tuple((names[i], names[j]) for i, j, _ in near_equal_tags(S)),
    }


def _bare_share(model: Teaser) -> float:
    """Return the share of items with neither a tag nor a neighbour."""
    table = model.tag_table_
    bare = np.diff(sp.csr_array(table.learned_decoder[:, : table.n_personal]).indptr) == 0
    R = model.remainder_
    if R is not None:
        pointed = np.asarray(abs(R).sum(axis=0)).ravel() > 0
        bare[: len(pointed)] &= ~pointed
    return float(bare.mean()) if len(bare) else 0.0


def _stability(
    model: Teaser,
    dataset: Dataset,
    rows: sp.csr_array,
    about: sp.csr_array | None,
    rng: np.random.Generator,
) -> Stability | None:
    """Return how alike the models of two halves of the people are."""
    if isinstance(dataset.X, Interactions) or dataset.n_users < 4:
        return None
    drawn = rng.permutation(dataset.n_users)
    middle = dataset.n_users // 2
    halves = [_fit_part(model, dataset.at(np.sort(d))) for d in (drawn[:middle], drawn[middle:])]
    rows = rows[:, : dataset.n_items]
    profiles, lists = [], []
    for half in halves:
        known = about if half.user_tags_ else None
        profiles.append(half.affinity_batch(rows, about=known)[:, : half.tag_table_.n_personal])
        lists.append(_lists(half, rows, known))
    strongest = [np.argsort(-abs(p), axis=1, kind="stable")[:, :STRONGEST] for p in profiles]
    return Stability(
        _mean_correlation(*profiles),
        _mean_overlap(*strongest, of=strongest[0].shape[1]),
        _mean_overlap(*lists, of=min(SHOWN, dataset.n_items)),
    )


def _fit_part(model: Teaser, part: Dataset) -> Teaser:
    """Return the same model fitted to a part of the data, with the groups of the whole."""
    coarse = {"tol": coarse_tol(model.tol, model.solver), "gram": "auto"}
    found, groups = Teaser(**{**model.parameters(), **coarse}), model.groups_
    if groups is None:
        return found.fit(part)
    S = sp.csr_array(sp.hstack([part.S, groups.members.astype(np.float32)], format="csr"))
    given = (replace(part, S=S, tags=(*part.tags, *groups.tags)), groups)
    return found.fit(part, prepared=found.prepare(part, discovered=given))


def _mean_correlation(a: Array, b: Array) -> float:
    """Return the mean correlation of the rows of two arrays; 0 without any that vary."""
    a, b = (x - x.mean(axis=1, keepdims=True) if x.shape[1] else x for x in (a, b))
    size = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    vary = size > 0
    return float(((a * b).sum(axis=1)[vary] / size[vary]).mean()) if vary.any() else 0.0


def _mean_overlap(a: Array, b: Array, *, of: int) -> float:
    """Return the mean share of the places of a row that the same row of the other has too."""
    common = [len({*x} & {*y} - {-1}) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    return float(np.mean(common)) / of if of else 0.0


def _listed(shares: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {percent(share)}" for name, share in shares.items()) or "none"
