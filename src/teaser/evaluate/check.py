"""What an owner should know of a model's reasons before showing them to people."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.dataset import Dataset
from teaser.data.partitions import Interactions
from teaser.data.split import as_generator
from teaser.data.tags import DISCOVERED, NEARLY_ALL, near_equal_tags
from teaser.errors import ParameterError
from teaser.explain import MIN_SHARE, Reason, main_reasons
from teaser.model.recipe import percent
from teaser.model.scores import top_k_rows
from teaser.model.solve import coarse_tol
from teaser.model.tables import sample_users
from teaser.model.teaser import Teaser
from teaser.notebook import draw_check
from teaser.profile import POPULARITY

Array = NDArray[Any]

# Items of a list, people whose lists are read, and people whose profiles are compared.
SHOWN = 20
PEOPLE = 300
# A feature below this share of the personal part says next to nothing.
SILENT = 0.01
# Above these shares, and below these measures of stability, there is advice.
MOSTLY_GENERAL = 0.5
MANY = 0.05
UNSTABLE = 0.5
STRONGEST = 5
_FEW = 5
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
        The share of each feature in what tags and viewed items say.
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

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, with the lines."""
        return {**asdict(self), "lines": self.lines()}

    def lines(self) -> list[str]:
        """Return what was found as sentences, each with its advice where there is any."""
        return [*self._list_lines(), *self._tag_lines(), *self._stability_lines()]

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
        if self.silent:
            yield f"Features that say next to nothing: {_few(self.silent)}."
            yield "  Leave these columns out, or cut their values so that they tell items apart."
        if self.common_tags:
            yield f"Tags on nearly all items: {_few(self.common_tags)}."
            yield "  They tell hardly any items apart: leave such values out."
        if self.near_equal:
            pairs = tuple(f"{a} and {b}" for a, b in self.near_equal)
            yield f"Tags on nearly the same items: {_few(pairs)}."
            yield "  They are shown as one reason. If both mean the same, leave one out."
        if self.lonely_tags:
            yield f"Tags on one item: {_few(self.lonely_tags)}."
            yield "  Nothing can be learned from other items: raise min_items."

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
    lists = _lists(model, rows, about)
    first, features, without = _read_lists(model, rows, about, lists)
    own = {tag.feature for tag in model.tag_table_.learned_tags} - {POPULARITY.feature}
    silent = tuple(
        f
        for f in dict.fromkeys(t.feature for t in model.tags_)
        if f in own and f != DISCOVERED and features.get(f, 0.0) < SILENT
    )
    known = about if model.user_tags_ else None
    return Check(
        n_users=rows.shape[0],
        parts=model.list_shares(rows, lists, shown=SHOWN, about=known),
        first_reasons=first,
        features=features,
        silent=silent,
        without_reasons=without,
        bare_items=_bare_share(model),
        stability=_stability(model, dataset, rows, about, generator) if stability else None,
        **_tag_facts(model),
    )


def _sample(dataset: Dataset, rng: np.random.Generator) -> tuple[sp.csr_array, sp.csr_array | None]:
    """Return the histories of some people (people x items), and their features."""
    X = dataset.X
    if isinstance(X, Interactions):
        places, rows = sample_users(X)
        with_history = np.flatnonzero(np.diff(rows.indptr) > 0)
        with_history = rng.permutation(with_history)[:PEOPLE]
        places, rows = np.asarray(places)[with_history], rows[with_history]
    else:
        places = rng.permutation(np.flatnonzero(np.diff(X.indptr) > 0))[:PEOPLE]
        rows = X[places]
    return sp.csr_array(rows), None if dataset.Q is None else dataset.Q[places]


def _lists(model: Teaser, rows: sp.csr_array, about: sp.csr_array | None) -> Array:
    """Return the top-20 of each person, without the history (people x 20)."""
    known = about if model.user_tags_ else None
    scores = model.score_batch(rows, about=known)
    return top_k_rows(scores, SHOWN, exclude=rows, tie=model.popularity_)


def _read_lists(
    model: Teaser, rows: sp.csr_array, about: sp.csr_array | None, lists: Array
) -> tuple[dict[str, float], dict[str, float], float]:
    """Return how often each feature is the first reason, feature shares, entries without."""
    first: Counter[str] = Counter()
    sizes: defaultdict[str, float] = defaultdict(float)
    known = about if model.user_tags_ else None
    states = model.user_states(model.check_histories(rows), about=known)
    for state, places in zip(states, lists.tolist(), strict=True):
        for place in places:
            if place < 0:
                break
            parts = model.contributions(place, state)
            shown = main_reasons(parts.reasons(min_share=MIN_SHARE))
            first[_feature(shown[0]) if shown else _NONE] += 1
            for position, part in zip(parts.positions.tolist(), parts.parts, strict=True):
                sizes[parts.tags[position].feature] += abs(float(part))
            if parts.viewed is not None:
                sizes[_VIEWED] += float(np.abs(parts.viewed.parts).sum())
    sizes.pop(POPULARITY.feature, None)
    return _shares(first), _shares(sizes), first[_NONE] / max(1, first.total())


def _feature(reason: Any) -> str:
    return reason.tag.feature if isinstance(reason, Reason) else _VIEWED


def _shares(counts: Mapping[str, float]) -> dict[str, float]:
    total = sum(counts.values())
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return {name: count / total for name, count in ordered} if total else {}


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
    halves = [_fit_half(model, dataset.at(np.sort(d))) for d in (drawn[:middle], drawn[middle:])]
    rows = rows[:, : dataset.n_items]
    profiles, lists = [], []
    for half in halves:
        known = about if half.user_tags_ else None
        profiles.append(half.affinity_batch(rows, about=known)[:, : half.tag_table_.n_personal])
        lists.append(_lists(half, rows, about))
    n_shown = max(1, min(SHOWN, dataset.n_items))
    return Stability(
        _mean_correlation(*profiles),
        _mean_overlap(*(_strongest(p) for p in profiles)),
        float(np.mean([len(_common(a, b)) for a, b in zip(*lists, strict=True)]) / n_shown),
    )


def _fit_half(model: Teaser, half: Dataset) -> Teaser:
    """Return the same model fitted to some of the people, with the groups of the whole."""
    coarse = {"tol": coarse_tol(model.tol, model.solver), "gram": "auto"}
    found, groups = Teaser(**{**model.parameters(), **coarse}), model.groups_
    if groups is None:
        return found.fit(half)
    S = sp.csr_array(sp.hstack([half.S, groups.members.astype(np.float32)], format="csr"))
    return found.fit(half, discovered=(replace(half, S=S, tags=(*half.tags, *groups.tags)), groups))


def _mean_correlation(a: Array, b: Array) -> float:
    """Return the mean correlation of the rows of two arrays; 0 without any that vary."""
    a, b = (x - x.mean(axis=1, keepdims=True) if x.shape[1] else x for x in (a, b))
    size = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    vary = size > 0
    return float(((a * b).sum(axis=1)[vary] / size[vary]).mean()) if vary.any() else 0.0


def _strongest(profiles: Array) -> Array:
    """Return the columns of each person's strongest affinities (people x 5)."""
    return np.argsort(-np.abs(profiles), axis=1, kind="stable")[:, :STRONGEST]


def _mean_overlap(a: Array, b: Array) -> float:
    if a.size == 0:
        return 0.0
    return float(np.mean([len(_common(x, y)) for x, y in zip(a, b, strict=True)]) / a.shape[1])


def _common(a: Array, b: Array) -> set[int]:
    return {i for i in a.tolist() if i >= 0} & set(b.tolist())


def _listed(shares: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {percent(share)}" for name, share in shares.items()) or "none"


def _few(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _FEW:,} more" if len(names) > _FEW else ""
    return ", ".join(names[:_FEW]) + more
