"""The dial between tags and viewed items: accuracy against the share of scores from tags."""

import time
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from teaser.errors import ParameterError
from teaser.evaluate.protocol import SHOWN, evaluate, list_shares
from teaser.evaluate.study.plan import Study
from teaser.evaluate.study.results import (
    DIAL_SUFFIX,
    DialResults,
    DialSetting,
    personal_share,
    tag_share,
)
from teaser.evaluate.study.run import Planned, StudyRun, cells
from teaser.model.shared_fit import make_model
from teaser.progress import Update

COMPARED = ("EASE", "NeighbourEASE")
WITHIN = 0.01
STORAGE_SUFFIX = ".dial.jsonl"


def measure_dial(run: StudyRun) -> list[DialSetting]:
    """Fit and measure every setting of the dial: tags alone, tags then neighbours, and others.

    All are measured on the validation users of a study. One encoder serves all remainders of the
    same penalties on weights and encoder.
    """
    study, fold, grid = run.study, run.split.validation, run.study.dial
    metric, fixed = study.search.metric, fixed_parameters(study)

    def measure(
        name: str, kind: str, fixed: Mapping[str, Any], own: Mapping[str, Any]
    ) -> DialSetting:
        start = time.perf_counter()
        model = run.fits.fit(make_model(kind, {**fixed, **own}))
        seconds = time.perf_counter() - start
        found = evaluate(model, fold, metrics=[metric, f"recall@{SHOWN}"])
        value = found.summary()[metric]
        shares = list_shares(model, fold, found.lists)
        share, personal = tag_share(shares), personal_share(shares)
        return DialSetting(name, own, value.mean, value.error, share, seconds, personal, shares)

    first = {plan.kind: plan for plan in study.models[::-1]}
    compared = [first[kind] for kind in COMPARED if kind in first]
    planned: list[Planned] = [
        (plan.kind, plan.kind, plan.parameters, cell)
        for plan in compared
        for cell in cells(plan.grid)
    ]
    for l1, l2 in product(grid.l2_weights, grid.l2_encoder):  # fits with the same encoder together
        own = {"l2_weights": l1, "l2_encoder": l2}
        planned.append(("TEASER", "Teaser", fixed, own))
        for m, kappa in product(grid.neighbours, grid.remainder_l2):
            remainder = {"remainder.l2": kappa, "remainder.neighbours": m}
            planned.append(("remainder", "Teaser", fixed, {**own, **remainder}))
    return run.trials(planned, measure, DialSetting, STORAGE_SUFFIX)


def choose_setting(settings: Sequence[DialSetting], *, within: float = WITHIN) -> DialSetting:
    """Return the setting with the largest tag share whose value is near the best of all.

    Of equal shares the more accurate one is taken; one without tags never is. If none with tags
    is near the best of all, the best with tags stands for it.
    """
    _check_within(within)
    best = max(setting.value for setting in settings)
    tagged = [setting for setting in settings if setting.has_tags]
    if not tagged:
        raise ParameterError("No setting has tags: fit a TEASER as well as EASE.")
    goals = (best, max(setting.value for setting in tagged))
    nearest = ([s for s in tagged if s.value >= (1 - within) * goal] for goal in goals)
    return _most_tags(next(filter(None, nearest)))


def match_ease(settings: Sequence[DialSetting]) -> DialSetting | None:
    """Return the setting with the largest tag share that is no worse than EASE at its best.

    None if no setting is, or EASE was not measured.
    """
    ease = [setting.value for setting in settings if setting.kind == "EASE"]
    near = [s for s in settings if ease and s.has_tags and s.value >= max(ease)]
    return _most_tags(near) if near else None


def dial_study(
    study: Study,
    *,
    data: Path,
    out: Path,
    within: float = WITHIN,
    quick: bool = False,
    report: Update | None = None,
) -> DialResults:
    """Measure the dial on the validation users of a study, and write NAME.dial.json.

    Parameters
    ----------
    study
        The penalties are those of its [dial]. Data, split, metric, and the models without tags
        to compare with (EASE, EASE on neighbours) are the study's; further parameters are those
        that it fixes for the model that [dial] names.
    within
        How near to the best value the recommended setting must be.
    data, out, quick, report
        See `run_study`.
    """
    _check_within(within)
    run = StudyRun.start(study, data=data, out=out, quick=quick, report=report)
    settings = measure_dial(run)
    results = DialResults(
        **run.facts(),
        metric=run.study.search.metric,
        users=run.split.validation.n_users,
        shown=SHOWN,
        within=within,
        settings=tuple(settings),
        recommended=choose_setting(settings, within=within),
        at_ease=match_ease(settings),
        fixed=fixed_parameters(run.study),
    )
    results.write(out / f"{run.name}{DIAL_SUFFIX}")
    return results


def fixed_parameters(study: Study) -> dict[str, Any]:
    """Return what the study fixes for the model of the dial, without what the dial varies."""
    plan = study.dial_teaser
    varied = ("l2_weights", "l2_encoder", "remainder")
    given = plan.parameters if plan else {}
    return {k: v for k, v in given.items() if k.split(".")[0] not in varied}


def _most_tags(settings: Sequence[DialSetting]) -> DialSetting:
    return max(settings, key=lambda setting: (setting.tag_share, setting.value))


def _check_within(within: Any) -> None:
    if not isinstance(within, int | float) or not 0 <= within < 1:
        raise ParameterError(f"within must be from 0 to below 1, found {within!r}.")
