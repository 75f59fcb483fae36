"""The dial, for people who build: accuracy against the share of scores that comes from tags."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from teaser.data.split import Fold
from teaser.errors import ParameterError
from teaser.evaluate.protocol import BATCH_MEMORY, batches, evaluate
from teaser.evaluate.study.data import describe, read_data
from teaser.evaluate.study.grid_search import Bench, make
from teaser.evaluate.study.plan import DialPlan, Study
from teaser.evaluate.study.run import Progress, Run, circumstances, write_json
from teaser.model.base import Model
from teaser.model.tagged import TaggedModel
from teaser.profile import Steering

Array = NDArray[Any]
Callback = Callable[[int, int, str], None]

SHOWN = 20
WITHIN = 0.01


@dataclass(frozen=True)
class Setting:
    """One point of the dial.

    Attributes
    ----------
    kind
        `"EASE"`, `"TEASER"`, or `"remainder"` for what lies between the two.
    value, error
        The metric's mean over the people, and its standard error.
    tag_share
        The share of the first recommendations' scores that comes from tags.
    """

    kind: str
    parameters: Mapping[str, float]
    value: float
    error: float
    tag_share: float
    seconds: float


def tag_share(
    model: Model, fold: Fold, lists: Array, *, shown: int = SHOWN, memory: int = BATCH_MEMORY
) -> float:
    """Return which share of the scores of recommended items comes from tags.

    With the tags' part t and the viewed items' part v of a score, the mean of |t| / (|t| + |v|)
    over the first items of all lists.

    Parameters
    ----------
    lists
        Positions of the items recommended (people x k), -1 after the end of a list.
    shown
        How many of each list count.
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


def turn_dial(
    bench: Bench,
    fold: Fold,
    grid: DialPlan,
    *,
    metric: str = "ndcg@100",
    fixed: Mapping[str, Any] | None = None,
    callback: Callback | None = None,
) -> list[Setting]:
    """Fit and measure every point of the dial: EASE, TEASER, and remainders between the two.

    One inverse serves all penalties on the encoder, and EASE of the same ridge.

    Parameters
    ----------
    fold
        The people to measure on: validation people, if a setting is to be chosen.
    fixed
        Further parameters of Teaser.
    callback
        Told how many fits are done, of how many, and which comes next.
    """
    out: list[Setting] = []

    def measure(kind: str, parameters: Mapping[str, float], fit: Callable[[], Model]) -> None:
        if callback is not None:
            said = ", ".join(f"{name}={value:g}" for name, value in parameters.items())
            callback(len(out), grid.size, f"{kind} {said}")
        start = time.perf_counter()
        model = fit()
        seconds = time.perf_counter() - start
        found = evaluate(model, fold, metrics=[metric, f"recall@{SHOWN}"])
        reached = found.summary()[metric]
        share = tag_share(model, fold, found.lists)
        out.append(Setting(kind, parameters, reached.mean, reached.error, share, seconds))

    def teaser(parameters: Mapping[str, float]) -> Callable[[], Model]:
        return lambda: bench.fit("Teaser", {**(fixed or {}), **parameters})

    for l1 in grid.l1:
        for l2 in grid.l2:
            cell = {"l2_weights": l1, "l2_encoder": l2}
            measure("TEASER", cell, teaser(cell))
    ridges: set[float] = set()
    for l1 in grid.l1:
        for k in grid.k:
            for l2 in grid.l2:
                cell = {"l2_weights": l1, "l2_encoder": l2, "remainder.l2": k}
                measure("remainder", cell, teaser(cell))
            if l1 + k not in ridges:
                ridges.add(l1 + k)
                measure("EASE", {"l2_weights": l1 + k}, lambda ridge=l1 + k: bench.fit_ease(ridge))  # type: ignore[misc]
    return out


def choose_setting(settings: Sequence[Setting], *, within: float = WITHIN) -> Setting:
    """Return the setting of the largest tag share within a share of the best value of all.

    Of equals the more accurate one; EASE, which has no tags, is never chosen.
    """
    _check_within(within)
    best = max(setting.value for setting in settings)
    near = [s for s in settings if s.value >= (1 - within) * best and s.kind != "EASE"]
    if not near:
        near = sorted((s for s in settings if s.kind != "EASE"), key=lambda s: -s.value)[:1]
    if not near:
        raise ParameterError("There is no setting with tags to choose from.")
    return max(near, key=lambda s: (s.tag_share, s.value))


def tune_study(
    study: Study,
    *,
    data: Path,
    out: Path,
    grid: DialPlan | None = None,
    within: float = WITHIN,
    quick: bool = False,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Turn the dial on the validation people of a study, and write NAME.dial.json.

    Parameters
    ----------
    grid
        What to try, unless it is what the study's [dial] says; its data, split and metric are
        used. Further parameters are those that the study fixes for its first Teaser.
    within
        How near to the best value the recommended setting must be.

    For the others see `run_study`.
    """
    _check_within(within)
    grid = grid or study.dial
    name = f"{study.name}-quick" if quick else study.name
    if quick:
        study, grid = study.smaller(), grid.thinned()
    fixed = _fixed(study)
    make("Teaser", fixed)
    out.mkdir(parents=True, exist_ok=True)
    dataset = read_data(study.data, data, beside=study.path.parent)
    run = Run.start(replace(study, models=()), dataset, progress=progress)
    settings = turn_dial(
        run.bench,
        run.split.validation,
        grid,
        metric=study.search.metric,
        fixed=fixed,
        callback=lambda done, total, doing: run.progress("dial", done, total, doing),
    )
    run.progress("dial", len(settings), len(settings), "")
    results = {
        "format": 1,
        "study": study.name,
        "title": study.title,
        "quick": quick,
        "data": describe(dataset),
        "metric": study.search.metric,
        "people": run.split.validation.n_users,
        "shown": SHOWN,
        "within": within,
        "settings": [asdict(setting) for setting in settings],
        "recommended": asdict(choose_setting(settings, within=within)),
        **circumstances(),
    }
    write_json(out / f"{name}.dial.json", results)
    return results


def _fixed(study: Study) -> dict[str, Any]:
    """Return what the study fixes for its first Teaser, less what the dial turns."""
    plan = next((p for p in study.models if p.kind == "Teaser"), None)
    turned = ("l2_weights", "l2_encoder", "remainder.l2")
    given = {k: v for k, v in plan.parameters.items() if k not in turned} if plan else {}
    # No remainder is learnt beside features of people: both ends of the dial go without.
    return {**given, "user_features": False}


def _check_within(within: Any) -> None:
    if not isinstance(within, int | float) or not 0 <= within < 1:
        raise ParameterError(f"within must be from 0 to below 1, found {within!r}.")
