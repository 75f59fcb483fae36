"""Measure what user features are worth: without history, with a short one, with all of it.

MovieLens 1M has age, gender and occupation. Test users are not in the training set. The model sees
some items of each test user, drawn at random, and must find the others; nDCG@100, with paired
bootstrap intervals of the differences. The penalties are the defaults.

The control is a model in which every user has the same feature. It has a starting profile too, but
one that does not distinguish users.
"""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from films import movielens, shared_folder
from report import report

from teaser import Teaser
from teaser.data.metadata import UserFeatures
from teaser.data.split import Fold, split
from teaser.data.tags import Tag
from teaser.evaluate.protocol import Evaluation, compare, evaluate
from teaser.model.baselines.popularity import Popularity

METRIC = "ndcg@100"
SHOWN = (0, 1, 2, 3, 5, 10, 20, 1000)


def measured(model: Any, fold: Fold, name: str, **how: Any) -> Evaluation:
    return evaluate(model, fold, metrics=[METRIC], name=name, **how)


def anybody(user_features: UserFeatures) -> UserFeatures:
    """Return user features with one tag that every user has."""
    tags = (Tag("person", "anybody"),)
    return replace(user_features, Q=sp.csr_array(np.ones((user_features.Q.shape[0], 1))), tags=tags)


def row(
    shown: int, fold: Fold, popular: Any, plain: Teaser, control: Teaser, known: Teaser
) -> dict[str, Any]:
    """Compare the model told of features with others, and with itself untold."""
    told = measured(known, fold, "features")
    same = replace(fold, user_features=sp.csr_array(np.ones((fold.n_users, 1))))
    others = {
        "popularity": measured(popular, fold, "popularity"),
        "plain": measured(plain, fold, "plain"),
        "control": measured(control, same, "control"),
        "untold": measured(known, fold, "untold", user_features=False),
    }
    out: dict[str, Any] = {
        "shown": "all of 80 %" if shown == 1000 else str(shown),
        "features": float(told.values[METRIC].mean()),
    }
    for name, other in others.items():
        found = compare(other, told, rng=0)[METRIC]
        out[name] = float(other.values[METRIC].mean())
        out[f"over {name}"] = f"{found.mean:+.4f} [{found.low:+.4f}, {found.high:+.4f}]"
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of MovieLens 1M with users.dat")
    parser.add_argument("--test", type=int, default=1500, help="number of test users")
    parser.add_argument("--rng", type=int, default=0, help="seed of split and histories")
    chosen = parser.parse_args()
    dataset = movielens(chosen.data or shared_folder() / "ml-1m", user_features=True)
    parts = split(dataset, n_validation=0, n_test=chosen.test, rng=chosen.rng)
    popular = Popularity().fit(parts.training)
    plain, known = Teaser(user_features=False).fit(parts.training), Teaser().fit(parts.training)
    user_features = parts.training.user_features
    control = Teaser().fit(
        replace(parts.training, user_features=user_features and anybody(user_features))
    )
    rng = np.random.default_rng(chosen.rng + 1)
    rows = [row(n, parts.test.shortened(n, rng=rng), popular, plain, control, known) for n in SHOWN]
    report(
        "user_features",
        rows,
        data="MovieLens 1M, rating >= 4",
        metric=METRIC,
        training_users=parts.training.n_users,
        tested_on=parts.test.n_users,
        items=dataset.n_items,
        tags=dataset.n_tags,
        user_tags=len(dataset.user_tags),
    )


if __name__ == "__main__":
    main()
