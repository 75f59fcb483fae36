"""The dial between TEASER and EASE: accuracy against the share of scores that comes from tags."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from teaser.data.split import Fold
from teaser.errors import ParameterError
from teaser.evaluate.protocol import BATCH_MEMORY, batches, evaluate
from teaser.evaluate.study.data import describe
from teaser.evaluate.study.plan import DialPlan, Study
from teaser.evaluate.study.results import DIAL_SUFFIX, DialResults, DialSetting, circumstances
from teaser.evaluate.study.run import Progress, StudyRun, output_name
from teaser.model.base import Model
from teaser.model.shared_fit import SharedFits, make_model
from teaser.model.tagged import TaggedModel
from teaser.profile import Steering

Array = NDArray[Any]
Callback = Callable[[int, int, str], None]

SHOWN = 20
WITHIN = 0.01


def tag_share(
    model: Model, fold: Fold, lists: Array, *, shown: int = SHOWN, memory: int = BATCH_MEMORY
) -> float:
    """Return which share of the scores of recommended items comes from tags.

    A score is t + v, the part of the tags and that of the viewed items. The share is the mean of
    |t| / (|t| + |v|) over the first items of all lists.

    Parameters
    ----------
    lists
        Positions of the recommended items (users x k), -1 after the end of a list.
    shown
        How many items of each list count.
    """
    if not isinstance(model, TaggedModel):
        return 0.0
    if not model.has_remainder:
        return 1.0
    total, count = 0.0, 0
    for rows in batches(fold.n_users, fold.n_items, memory):
        some = lists[rows, :shown]
        listed = some >= 0
        parts = []
        for balance in (0.0, 1.0):
            scores = model.score_batch(fold.history[rows], steering=Steering(balance=balance))
            parts.append(np.abs(np.take_along_axis(scores, np.where(listed, some, 0), axis=1)))
        tags, viewed = parts
        whole = tags + viewed
        share = np.divide(tags, whole, out=np.ones_like(tags), where=whole > 0)
        total += float(share[listed].sum())
        count += int(listed.sum())
    return total / count if count else 1.0


def measure_dial(
    fits: SharedFits,
    fold: Fold,
    grid: DialPlan,
    *,
    metric: str = "ndcg@100",
    fixed: Mapping[str, Any] | None = None,
    callback: Callback | None = None,
) -> list[DialSetting]:
    """Fit and measure every setting of the dial: EASE, TEASER, and remainders between the two.

    One inverse serves all penalties on the encoder, and EASE of the same ridge.

    Parameters
    ----------
    fold
        The users to measure on: validation users, if a setting is to be chosen.
    fixed
        Further parameters of Teaser.
    callback
        Gets the number of finished fits, that of all, and the next fit.
    """
    settings: list[DialSetting] = []
    for kind, parameters in _settings(grid):
        if callback is not None:
            text = ", ".join(f"{name}={value:g}" for name, value in parameters.items())
            callback(len(settings), grid.size, f"{kind} {text}")
        start = time.perf_counter()
        if kind == "EASE":
            model = fits.fit_ease(parameters["l2_weights"])
        else:
            model = fits.fit(make_model("Teaser", {**(fixed or {}), **parameters}))
        seconds = time.perf_counter() - start
        found = evaluate(model, fold, metrics=[metric, f"recall@{SHOWN}"])
        value = found.summary()[metric]
        share = tag_share(model, fold, found.lists)
        settings.append(DialSetting(kind, parameters, value.mean, value.error, share, seconds))
    return settings


def choose_setting(settings: Sequence[DialSetting], *, within: float = WITHIN) -> DialSetting:
    """Return the setting with the largest tag share whose value is near the best of all.

    Of equal shares the more accurate one is taken; EASE, which has no tags, never is.
    """
    _check_within(within)
    best = max(setting.value for setting in settings)
    near = [s for s in settings if s.value >= (1 - within) * best and s.kind != "EASE"]
    if not near:
        near = sorted((s for s in settings if s.kind != "EASE"), key=lambda s: -s.value)[:1]
    if not near:
        raise ParameterError("No setting has tags: fit a TEASER as well as EASE.")
    return max(near, key=lambda s: (s.tag_share, s.value))


def dial_study(
    study: Study,
    *,
    data: Path,
    out: Path,
    grid: DialPlan | None = None,
    within: float = WITHIN,
    quick: bool = False,
    progress: Progress | None = None,
) -> DialResults:
    """Measure the dial on the validation users of a study, and write NAME.dial.json.

    Parameters
    ----------
    grid
        The penalties, unless those of the study's [dial] are taken. Data, split and metric are
        the study's; further parameters are those that it fixes for its first Teaser.
    within
        How near to the best value the recommended setting must be.
    data, out, quick, progress
        See `run_study`.
    """
    _check_within(within)
    grid = grid or study.dial
    name = output_name(study, quick=quick)
    if quick:
        study, grid = study.smaller(), grid.thinned()
    fixed = _fixed_parameters(study)
    make_model("Teaser", fixed)
    out.mkdir(parents=True, exist_ok=True)
    run = StudyRun.start(replace(study, models=()), data=data, progress=progress)
    settings = measure_dial(
        run.fits,
        run.split.validation,
        grid,
        metric=study.search.metric,
        fixed=fixed,
        callback=lambda done, total, doing: run.progress("dial", done, total, doing),
    )
    run.progress("dial", len(settings), len(settings), "")
    results = DialResults(
        study=study.name,
        title=study.title,
        quick=quick,
        data=describe(run.dataset),
        metric=study.search.metric,
        users=run.split.validation.n_users,
        shown=SHOWN,
        within=within,
        settings=tuple(settings),
        recommended=choose_setting(settings, within=within),
        **circumstances(),
    )
    results.write(out / f"{name}{DIAL_SUFFIX}")
    return results


def _settings(grid: DialPlan) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield kind and parameters of each fit; fits with the same ridge are neighbours."""
    for l1, l2 in product(grid.l2_weights, grid.l2_encoder):
        yield "TEASER", {"l2_weights": l1, "l2_encoder": l2}
    ridges: set[float] = set()
    for l1, kappa in product(grid.l2_weights, grid.remainder_l2):
        for l2 in grid.l2_encoder:
            yield "remainder", {"l2_weights": l1, "l2_encoder": l2, "remainder.l2": kappa}
        if l1 + kappa not in ridges:
            ridges.add(l1 + kappa)
            yield "EASE", {"l2_weights": l1 + kappa}


def _fixed_parameters(study: Study) -> dict[str, Any]:
    """Return what the study fixes for its first Teaser, without the penalties of the dial."""
    plan = study.first_teaser
    varied = ("l2_weights", "l2_encoder", "remainder.l2")
    given = {k: v for k, v in plan.parameters.items() if k not in varied} if plan else {}
    # A remainder cannot be learned together with user features: both ends go without.
    return {**given, "user_features": False}


def _check_within(within: Any) -> None:
    if not isinstance(within, int | float) or not 0 <= within < 1:
        raise ParameterError(f"within must be from 0 to below 1, found {within!r}.")
