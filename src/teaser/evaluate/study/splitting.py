"""The split of a study: by users, by each user's last interaction, or by a point in time."""

from dataclasses import replace
from typing import Any

import numpy as np

from teaser.data.dataset import Dataset
from teaser.data.split import Split, split, split_last, split_time
from teaser.evaluate.study.plan import SPLITS, SplitPlan


def make_split(dataset: Dataset, plan: SplitPlan) -> Split:
    """Return the split that a study plans."""
    sizes: dict[str, Any] = {"n_validation": plan.validation, "n_test": plan.test}
    how = {name: getattr(plan, name) for name in SPLITS[plan.kind]}
    if plan.kind == "users":
        parts = split(dataset, **sizes, **how, rng=plan.seed)
        if not plan.training:
            return parts
        return replace(parts, training=parts.training.at(_first(parts.training, plan.training)))
    if 0 < plan.training < dataset.n_users:
        # Evaluated users are learned from too, so that whole users are drawn before the split.
        drawn = np.random.default_rng(plan.seed).permutation(dataset.n_users)[: plan.training]
        dataset = dataset.at(np.sort(drawn))
    splitting = split_last if plan.kind == "last" else split_time
    return splitting(dataset, **sizes, **how, rng=plan.seed)


def _first(dataset: Dataset, most: int) -> Any:
    return np.arange(min(most, dataset.n_users))
