"""Measure whether disliked items help as history of a negative strength.

The sets with ratings: users are split by what they liked, as in the studies, and a fifth of what
an evaluated user disliked is held out too. A strength s is given to the disliked items of a
history, in the history alone or in the training too; it is chosen on validation users by nDCG@100,
and test users are looked at once. Reported with paired 95 % intervals:

- ndcg: nDCG@100 of the liked items that are held out;
- listed: how many disliked items, held out or not, are in the first 100 of a list;
- found: the share of the disliked items that are held out in the first 100;
- above: how often a liked item that is held out stands above a disliked one.

The ways: "today" knows nothing of dislikes. All others leave the disliked items of the history out
of the list; "hidden" does no more. "history" gives them the strength s; "taste" does so but for
general appeal; "input" fits with dislikes in what is predicted from, "both sides" also in what is
predicted; "learned" has an input of its own for every item that is disliked. "offered" is what
the library does.
"""

import argparse
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray
from report import report
from scipy.stats import rankdata

from teaser import Dataset, Teaser
from teaser.data.interactions import STRENGTH
from teaser.data.sources.folder import detect, read_source
from teaser.data.split import Fold, split
from teaser.errors import ConvergenceWarning
from teaser.evaluate.metrics import hits, ndcg, paired_bootstrap
from teaser.extensions import DiscoveredTags, Remainder, Weights
from teaser.model._inverse import invert
from teaser.model.gram import DenseGram
from teaser.model.ranking import top_k_rows
from teaser.model.solve import EncoderEquation, Limits, dispatch, prepare
from teaser.model.tables import popularity
from teaser.model.teaser import fixed_decoder

Array = NDArray[Any]
# Of the likes and the dislikes of users, the latter times their strength.
Scores = Callable[[sp.csr_array, sp.csr_array], Array]

TOL = 1e-2
# EASE, and dislikes as input alone, take dense items x items arrays: only for fewer items.
FEW = 5_000
STRENGTHS = (-1.0, -0.5, -0.25, -0.125, 0.0, 0.125, 0.25, 0.5, 1.0)
TRAINED = (-0.25, 0.25)


@dataclass(frozen=True)
class Ratings:
    """A set with ratings: what is liked and disliked, how many users, and the penalties."""

    folder: str
    liked: str
    disliked: str
    n_validation: int
    n_test: int
    ease: float
    paper: tuple[float, float]
    recommended: tuple[float, float, float, int]
    ridge_power: float = 0.75


# Penalties are those of the studies where there is one, else of the size that teaser.fit tries.
STARS = ("rating >= 4", "rating <= 2")
SETS = {
    "ml-1m": Ratings("ml-1m", *STARS, 750, 1000, 800, (500, 50), (150, 1300, 40, 100)),
    "ml-latest-small": Ratings(
        "ml-latest-small", *STARS, 150, 200, 200, (50, 100), (20, 1000, 50, 100)
    ),
    "goodbooks": Ratings(
        "goodbooks-5pct", *STARS, 400, 600, 50, (50, 500), (8, 20000, 15, 20), ridge_power=1.0
    ),
    "book-crossing": Ratings(
        "book-crossing", "rating >= 7", "rating <= 4", 150, 300, 50, (20, 200), (5, 3000, 15, 20),
        ridge_power=1.0,
    ),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class People:
    """Evaluated users: likes as in a fold, and dislikes, some of them held out."""

    fold: Fold
    disliked: sp.csr_array
    disliked_held: sp.csr_array


@dataclass(frozen=True, eq=False)
class Material:
    """The training data, the dislikes of its users, and the evaluated users."""

    training: Dataset
    disliked: sp.csr_array
    validation: People
    test: People


def read(kind: Ratings, data: Path) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Return the ratings of a set, and what `Dataset.from_tables` needs beside them."""
    folder = data / kind.folder
    if kind.folder == "book-crossing":
        ratings = pl.read_csv(folder / "book_ratings.dat", separator="\t")
        lines = (folder / "items_info.dat").read_text("utf-8").splitlines()[1:]
        rows = [line.split("\t") for line in lines]
        books = pl.DataFrame(
            [(int(r[0]), r[2], r[3], r[4], r[5]) for r in rows],
            schema=("item", "title", "author", "year", "publisher"),
            orient="row",
        )
        return ratings, {"items": books, "user": "user", "item": "item"}
    found = read_source(detect(folder), folder)
    return pl.DataFrame(found.interactions), {
        "items": found.items, "user": found.user, "item": found.item, "rules": found.rules,
    }  # fmt: skip


def load(kind: Ratings, data: Path) -> Material:
    """Return the data of a set, split; the likes of every user as in a study."""
    ratings, how = read(kind, data)
    rated = Dataset.from_tables(ratings, positive=kind.liked, negative=kind.disliked, **how)
    if rated.disliked is None:
        raise RuntimeError("the rule for dislikes was not read")
    # 1 in place of the strength that a history has.
    N, dataset = only(rated.disliked / STRENGTH), replace(rated, disliked=None)
    users = {name: place for place, name in enumerate(dataset.users)}
    parts = split(dataset, n_validation=kind.n_validation, n_test=kind.n_test, rng=0)
    of = [[users[u] for u in part.users] for part in (parts.training, parts.validation, parts.test)]
    rng = np.random.default_rng(1)
    people = []
    for fold, rows in zip((parts.validation, parts.test), of[1:], strict=True):
        shown, held = halves(only(N[rows]), rng)
        people.append(People(fold, shown, held))
    return Material(parts.training, only(N[of[0]]), *people)


def only(N: Any) -> sp.csr_array:
    """Return a sorted matrix without zeros."""
    out = sp.csr_array(N, dtype=np.float32)
    out.eliminate_zeros()
    out.sort_indices()
    return out


def halves(
    N: sp.csr_array, rng: np.random.Generator, share: float = 0.2
) -> tuple[sp.csr_array, ...]:
    """Return what is shown of dislikes, and a random fifth that is not."""
    held = rng.random(N.nnz) < share
    found = []
    for kept in (~held, held):
        part = N.copy()
        part.data = N.data * kept
        found.append(only(part))
    return tuple(found)


def linear(E: Array, D: sp.csr_array, R: Any = None, q: Array | None = None) -> Scores:
    """Return the scores of a history, which are linear in it: x (E D' + R).

    With q, the direction of the mean profile, dislikes say nothing of general appeal:
    their E_i is E_i - (E_i q) q'.
    """

    def scores(likes: sp.csr_array, dislikes: sp.csr_array) -> Array:
        rows = likes + dislikes
        P = rows @ E
        if q is not None:
            P -= np.outer((dislikes @ E) @ q, q)
        found = (D @ P.T).T
        return np.asarray(found if R is None else found + (rows @ R), dtype=np.float32)

    return scores


def teaser(
    material: Material, kind: Ratings, name: str, X: sp.csr_array | None = None
) -> tuple[Scores, Scores, Scores]:
    """Fit TEASER to the likes, or to the given interactions in their place.

    The second scores have dislikes without general appeal; the third are the library's.
    """
    training = material.training
    if X is not None:
        counts = training.item_counts
        training = replace(training, X=X)
        training.__dict__["item_counts"] = counts
    if name == "TEASER":
        l1, l2 = kind.paper
        model = Teaser(l2_weights=l1, l2_encoder=l2, tol=TOL, user_features=False)
    else:
        l1, l2, l2_remainder, neighbours = kind.recommended
        model = Teaser(
            l2_weights=l1,
            l2_encoder=l2,
            weights=Weights(user_power=0.5, ridge_power=kind.ridge_power, popularity_scale=0.5),
            discovered=DiscoveredTags(),
            remainder=Remainder(l2=l2_remainder, neighbours=neighbours),
            tol=TOL,
            user_features=False,
        )
    model.fit(training)
    R = None if model.remainder_ is None else sp.csr_array(model.remainder_)
    E, D = np.asarray(model.encoder_), model.tag_table_.learned_decoder
    q = np.asarray(material.training.X.mean(axis=0)).ravel() @ E
    signed, taste = linear(E, D, R), linear(E, D, R, q / np.linalg.norm(q))
    return signed, taste, lambda likes, dislikes: model.score_batch(likes + dislikes)


def signed_teaser(material: Material, kind: Ratings, s: float) -> Scores:
    """Fit the paper's TEASER with dislikes on the input side alone.

    |X+ - X P(E D')|^2 with X = X+ + s X-: G = X'X as ever, and P(X'X+) D on the right.
    """
    X = only(material.training.X + s * material.disliked)
    G = (X.T @ X).toarray()
    target = (X.T @ material.training.X).toarray()
    np.fill_diagonal(target, 0)
    D = fixed_decoder(material.training, None).astype(np.float32)
    system = prepare(DenseGram(G), D, solver="cg", rng=0)
    right = (D.T @ target.T).T @ system.V
    l1, l2 = kind.paper
    equation = EncoderEquation(system, float(l1), float(l2), right=np.ascontiguousarray(right))
    found = dispatch(equation, Limits(tol=TOL, max_iter=200, callback=None), solver="cg")
    return linear(found.encoder, D)


def ease(material: Material, kind: Ratings, s: float, *, target: bool = False) -> Scores:
    """Fit EASE, with dislikes of strength s on the input side, or on both.

    B = C (T - dM(gamma)), C = (X'X + l2 I)^-1, T = X'X+ or X'X, gamma so that diag(B) = 0.
    """
    X = only(material.training.X + s * material.disliked)
    G = (X.T @ X).toarray()
    T = G if target else (X.T @ material.training.X).toarray()
    A = G.copy()
    A.flat[:: len(A) + 1] += kind.ease
    C = invert(A)
    B = C @ T
    B -= C * (np.diag(B) / np.diag(C))
    return lambda likes, dislikes: np.asarray((likes + dislikes) @ B, dtype=np.float32)


def learned_ease(material: Material, kind: Ratings, least: int = 3) -> Scores:
    """Fit EASE with a second set of inputs, one for every item that enough users disliked.

    Z = [X+ | X-], B = (Z'Z + l2 I)^-1 Z'X+ with B_jj = 0 in both halves.
    """
    n = material.training.n_items
    often = np.flatnonzero(np.bincount(material.disliked.indices, minlength=n) >= least)
    Z = sp.csr_array(sp.hstack([material.training.X, material.disliked[:, often]]))
    A = (Z.T @ Z).toarray()
    T = A[:, :n].copy()
    A.flat[:: len(A) + 1] += kind.ease
    C = invert(A)
    B = C @ T
    second = np.full(n, -1)
    second[often] = n + np.arange(len(often))
    for j in range(n):
        K = [j] if second[j] < 0 else [j, second[j]]
        B[:, j] -= C[:, K] @ np.linalg.solve(C[np.ix_(K, K)], B[K, j])

    def scores(likes: sp.csr_array, dislikes: sp.csr_array) -> Array:
        # The strength of a dislike is -1: what it means was learned.
        return np.asarray(likes @ B[:n] - dislikes[:, often] @ B[n:], dtype=np.float32)

    return scores


@dataclass(frozen=True, eq=False)
class Measured:
    """Each user's values; NaN where a user has no dislikes."""

    ndcg: Array
    listed: Array
    found: Array
    above: Array

    def means(self) -> dict[str, float]:
        """Return the means over users."""
        return {name: float(np.nanmean(values)) for name, values in vars(self).items()}


def measure(scores: Array, people: People, tie: Array, *, hide: bool = True) -> Measured:
    """Return the measures of every user."""
    fold, held = people.fold, people.disliked_held
    exclude = only(fold.history + people.disliked) if hide else fold.history
    lists = top_k_rows(scores, 100, exclude=exclude, tie=tie)
    accuracy = ndcg(hits(lists, fold.held_out), np.diff(fold.held_out.indptr), 100)
    n_all, n_held = np.diff((people.disliked + held).indptr), np.diff(held.indptr)
    listed = hits(lists, only(people.disliked + held)).sum(axis=1)
    share = hits(lists, held).sum(axis=1) / np.where(n_held, n_held, np.nan)
    above = np.array(list(_above(scores, people)))
    return Measured(accuracy, np.where(n_all > 0, listed, np.nan), share, above)


def _above(scores: Array, people: People) -> Iterator[float]:
    good, bad = people.fold.held_out, people.disliked_held
    for user, own in enumerate(scores):
        liked = own[good.indices[good.indptr[user] : good.indptr[user + 1]]]
        disliked = own[bad.indices[bad.indptr[user] : bad.indptr[user + 1]]]
        if not len(disliked):
            yield np.nan
            continue
        n, ranks = len(liked), rankdata(np.concatenate([liked, disliked]))
        yield float((ranks[:n].sum() - n * (n + 1) / 2) / (n * len(disliked)))


@dataclass(frozen=True, eq=False)
class Fitted:
    """Scores of one fit, and the strength of dislikes in its training."""

    variant: str
    trained: float
    scores: Scores

    @property
    def strengths(self) -> tuple[float, ...]:
        """The strengths that dislikes may have in a history of this fit."""
        if self.variant == "library":
            return (STRENGTH,)
        return STRENGTHS if self.trained == 0 else (0.0, self.trained)

    def of(self, people: People, s: float) -> Array:
        """Return the scores of every user, dislikes having the strength s."""
        return self.scores(people.fold.history, only(s * people.disliked))


def fits(name: str, material: Material, kind: Ratings, *, quick: bool) -> Iterator[Fitted]:
    """Fit one model in every way; if quick, to likes alone."""
    X, N = material.training.X, material.disliked
    if name == "EASE":
        yield Fitted("history", 0.0, ease(material, kind, 0.0))
        if not quick:
            yield Fitted("learned", -1.0, learned_ease(material, kind))
        for s in () if quick else TRAINED:
            yield Fitted("input", s, ease(material, kind, s))
            yield Fitted("both sides", s, ease(material, kind, s, target=True))
        return
    plain, taste, library = teaser(material, kind, name)
    yield Fitted("history", 0.0, plain)
    yield Fitted("taste", 0.0, taste)
    yield Fitted("library", 0.0, library)
    for s in () if quick else TRAINED:
        if name == "TEASER" and material.training.n_items < FEW:
            yield Fitted("input", s, signed_teaser(material, kind, s))
        yield Fitted("both sides", s, teaser(material, kind, name, only(X + s * N))[0])


Rows = list[dict[str, Any]]


def run(name: str, of: str, material: Material, kind: Ratings, *, quick: bool) -> tuple[Rows, Rows]:
    """Return what every way reaches on validation users, and some of them on test users."""
    tie = popularity(material.training)
    tried: Rows = []
    best: dict[str, tuple[float, Fitted, float]] = {}
    base: Fitted | None = None
    offered: Fitted | None = None
    for fitted in fits(name, material, kind, quick=quick):
        base = base or fitted
        offered = fitted if fitted.variant in ("history", "library") else offered
        for s in fitted.strengths:
            found = measure(fitted.of(material.validation, s), material.validation, tie).means()
            told = {"set": of, "model": name, "dislikes": fitted.variant}
            tried.append({**told, "trained": fitted.trained, "s": s, **found})
            print({k: round(v, 4) if isinstance(v, float) else v for k, v in tried[-1].items()})
            sign = "below 0" if fitted.trained < 0 or s < 0 else "above 0"
            label = f"best {fitted.variant}, {sign}"
            if (
                fitted.variant != "library"
                and (s or fitted.trained)
                and (label not in best or found["ndcg"] > best[label][0])
            ):
                best[label] = (found["ndcg"], fitted, s)
    if base is None or offered is None:
        raise RuntimeError("no fit")
    plain = base.of(material.test, 0.0)
    today = measure(plain, material.test, tie, hide=False)
    hidden = measure(plain, material.test, tie)
    reached = {
        "today": (0.0, 0.0, today),
        "hidden": (0.0, 0.0, hidden),
        "offered": (0.0, STRENGTH, _test(offered, STRENGTH, material, tie)),
        **{k: (f.trained, s, _test(f, s, material, tie)) for k, (_, f, s) in best.items()},
    }
    return tried, [
        {"set": of, "model": name, "dislikes": label, "trained": trained, "s": s}
        | _told(found, today, hidden)
        for label, (trained, s, found) in reached.items()
    ]


def _test(fitted: Fitted, s: float, material: Material, tie: Array) -> Measured:
    return measure(fitted.of(material.test, s), material.test, tie)


def _told(found: Measured, today: Measured, hidden: Measured) -> dict[str, Any]:
    """Return the means, and how they differ from today's and from those of hidden dislikes."""
    means = found.means()
    return {
        **means,
        "ndcg - today": _gap(today.ndcg, found.ndcg),
        "ndcg - hidden": _gap(hidden.ndcg, found.ndcg),
        "listed - today": _gap(today.listed, found.listed),
        "found - hidden": _gap(hidden.found, found.found),
        "above - hidden": _gap(hidden.above, found.above),
    }


def _gap(a: Array, b: Array) -> str:
    """Return mean(b - a) with its paired 95 % interval, over the users that have both."""
    both = np.isfinite(a) & np.isfinite(b)
    found = paired_bootstrap({"x": a[both]}, {"x": b[both]}, rng=0)["x"]
    return f"{found.mean:+.4f} [{found.low:+.4f}, {found.high:+.4f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("data"), help="the public data sets")
    parser.add_argument("--set", nargs="*", default=list(SETS), help="which sets")
    parser.add_argument(
        "--model", nargs="*", default=["EASE", "TEASER", "recommended"], help="which models"
    )
    parser.add_argument("--name", default="dislikes", help="the name of the file of results")
    parser.add_argument("--quick", action="store_true", help="only fits to likes alone")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    tried: Rows = []
    rows: Rows = []
    for of in chosen.set:
        material = load(SETS[of], chosen.data)
        test = material.test
        print(
            f"{of}: {material.training.n_users} training users, {material.training.X.nnz} likes, "
            f"{material.disliked.nnz} dislikes; test users {test.fold.n_users}, of whom "
            f"{int((np.diff(test.disliked.indptr) > 0).sum())} dislike something and "
            f"{int((np.diff(test.disliked_held.indptr) > 0).sum())} have a dislike held out"
        )
        for name in chosen.model:
            if name == "EASE" and material.training.n_items >= FEW:
                continue
            more, found = run(name, of, material, SETS[of], quick=chosen.quick)
            tried, rows = [*tried, *more], [*rows, *found]
            report(f"{chosen.name}_validation", tried)
            report(chosen.name, rows)


if __name__ == "__main__":
    main()
