"""The analysis of a study: arms with intervals, differences, a mixed model, effect sizes, power.

The planned tests are t tests of each arm against the one that others are compared with, paired
where people saw both, in the primary outcomes, with Holm's correction over all of them. The mixed
model has people as random and arms, positions and orders as fixed effects. It stands beside them.
"""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import stats

from teaser.errors import MissingPackageError
from teaser.userstudy.export import StudyTables
from teaser.userstudy.plan import MEASURED, UserStudy

LEVEL = 0.95
# The correlation of two answers of a person, of which the power of paired tests depends.
_CORRELATION = 0.5
_POWER = 0.8
# A column of a model: the factor, its level, and which rows have it.
_Column = tuple[str, Any, NDArray[np.float64]]


@dataclass(frozen=True)
class ArmSummary:
    """An outcome in one arm: mean, standard deviation, interval of the mean."""

    arm: str
    n: int
    mean: float
    sd: float
    low: float
    high: float


@dataclass
class Contrast:
    """The difference of an arm to the one that it is compared with.

    Attributes
    ----------
    n
        The people who count: those who saw both arms, or the sum of both groups.
    difference, low, high
        The mean difference and its interval.
    effect
        In standard deviations: of the paired differences (d_z), or pooled (Hedges' g).
    p
        Of the t test; 1 where all differences are the same, so that there is nothing to test by.
    p_corrected
        The same after Holm's correction; None if the outcome was not named as primary.
    mixed, mixed_p
        The difference by the mixed model, and its p value; None if it could not be fitted.
    """

    arm: str
    other: str
    n: int
    difference: float
    low: float
    high: float
    effect: float
    p: float
    p_corrected: float | None = None
    mixed: float | None = None
    mixed_p: float | None = None


@dataclass(frozen=True)
class Outcome:
    """An outcome in all arms; `alpha` is Cronbach's, for one of several questions."""

    name: str
    label: str
    is_primary: bool
    arms: tuple[ArmSummary, ...]
    contrasts: tuple[Contrast, ...]
    alpha: float | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class StudyAnalysis:
    """All that the report tells; see the fields of its tables."""

    study: UserStudy
    mode: str
    outcomes: tuple[Outcome, ...]
    funnel: tuple[tuple[str, int], ...]
    orders: tuple[tuple[str, int, int], ...]
    times: tuple[tuple[str, float, float, float], ...]
    checks: tuple[int, int, int]
    n_left_out: int = 0
    without_failed: tuple[Outcome, ...] = ()

    def is_clear(self, contrast: Contrast) -> bool:
        """Return whether a planned difference is significant after correction."""
        p = contrast.p_corrected
        return p is not None and p <= self.study.analysis.alpha


def analyse(study: UserStudy, tables: StudyTables, *, mixed: bool = True) -> StudyAnalysis:
    """Return the analysis of a study.

    Parameters
    ----------
    study
        The study.
    tables
        Its tables; see `teaser.userstudy.export`.
    mixed
        Whether to fit the mixed models, which takes most of the time.
    """
    need_statsmodels()
    values = outcome_values(study, tables)
    failed = tables.people.filter(pl.col("checks_failed") > 0)["person"].to_list()
    modes = tables.people["mode"].unique().to_list()
    checks, wrong = (int(tables.people[n].fill_null(0).sum()) for n in ("checks", "checks_failed"))
    attentive = values.filter(~pl.col("person").is_in(failed))
    return StudyAnalysis(
        study=study,
        mode=modes[0] if len(modes) == 1 else "",
        outcomes=measure(study, values, tables, mixed=mixed),
        funnel=_funnel(study, tables),
        orders=_orders(study, tables),
        times=_times(study, tables),
        checks=(checks, wrong, len(failed)),
        n_left_out=tables.n_left_out,
        without_failed=measure(study, attentive, tables, mixed=False) if failed else (),
    )


def need_statsmodels() -> Any:
    """Return statsmodels, or raise `MissingPackageError`."""
    try:
        import statsmodels.api as found
    except ImportError as error:
        raise MissingPackageError("The analysis", "statsmodels", extra="study") from error
    return found


def outcome_values(study: UserStudy, tables: StudyTables) -> pl.DataFrame:
    """Return outcome, person, arm, position, order and value: one row an outcome of a session.

    The answers to the questions of a scale are averaged, reversed ones counted from the other end.
    """
    asked = (
        tables.answers.filter((pl.col("outcome") != "") & (pl.col("position") > 0))
        .group_by("person", "position", "arm", "outcome", maintain_order=True)
        .agg(value=pl.col("scored").mean())
    )
    done = tables.sessions.filter(pl.col("is_finished"))
    measured = done.unpivot(
        list(MEASURED), index=["person", "position", "arm"], variable_name="outcome"
    )
    found = pl.concat([asked, measured.select(asked.columns)]).drop_nulls("value")
    return found.join(tables.people.select("person", "order"), on="person", maintain_order="left")


def measure(
    study: UserStudy, values: pl.DataFrame, tables: StudyTables, *, mixed: bool = True
) -> tuple[Outcome, ...]:
    """Return every outcome that has values, those named as primary first and corrected."""
    found = []
    by_name = {str(key[0]): own for key, own in values.group_by("outcome", maintain_order=True)}
    for name in study.outcomes:
        if name not in by_name:
            continue
        own, notes = by_name[name], list[str]()
        contrasts = [c for arm in study.arms if (c := _contrast(study, own, arm.name))]
        if mixed:
            fitted, notes = _mixed_model(study, own)
            for each in contrasts:
                each.mixed, each.mixed_p = fitted.get(each.arm, (None, None))
        found.append(
            Outcome(
                name,
                MEASURED.get(name, name),
                name in study.analysis.primary,
                tuple(_arm_summary(own, arm.name) for arm in study.arms),
                tuple(contrasts),
                cronbach_alpha(tables.answers, name),
                tuple(notes),
            )
        )
    planned = [c for outcome in found if outcome.is_primary for c in outcome.contrasts]
    for contrast, p in zip(planned, _holm([c.p for c in planned]), strict=True):
        contrast.p_corrected = p
    return tuple(found)


def _holm(p_values: Sequence[float]) -> list[float]:
    """Return p values after Holm's correction.

    That of statsmodels collects garbage at each call, which takes longer than all else here.
    """
    p = np.asarray(p_values)
    order = np.argsort(p, kind="stable")
    steps = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(steps, 1.0)
    return [float(each) for each in corrected]


def _arm_summary(own: pl.DataFrame, arm: str) -> ArmSummary:
    x = own.filter(pl.col("arm") == arm)["value"].to_numpy()
    if len(x) < 2:
        mean = float(x[0]) if len(x) else math.nan
        return ArmSummary(arm, len(x), mean, math.nan, math.nan, math.nan)
    mean, sd = float(x.mean()), float(x.std(ddof=1))
    half = float(stats.t.ppf(0.5 + LEVEL / 2, len(x) - 1)) * sd / math.sqrt(len(x))
    return ArmSummary(arm, len(x), mean, sd, mean - half, mean + half)


def _contrast(study: UserStudy, own: pl.DataFrame, arm: str) -> Contrast | None:
    """Return the difference of an arm to the baseline; None without enough people."""
    other = study.baseline
    if arm == other:
        return None
    new, old = (own.filter(pl.col("arm") == name) for name in (arm, other))
    if study.design == "within":
        paired = new.join(old, on="person", suffix="_old")
        x, y = paired["value"].to_numpy(), paired["value_old"].to_numpy()
    else:
        x, y = new["value"].to_numpy(), old["value"].to_numpy()
    if min(len(x), len(y)) < 2:
        return None
    difference = float(x.mean() - y.mean())
    if study.design == "within":
        n, sd, test = len(x), (x - y).std(ddof=1), stats.ttest_rel
        effect = difference / sd if sd else 0.0
    else:
        n, test = len(x) + len(y), partial(stats.ttest_ind, equal_var=False)
        squares = (len(x) - 1) * x.var(ddof=1) + (len(y) - 1) * y.var(ddof=1)
        sd = math.sqrt(squares / (n - 2))
        effect = difference / sd * (1 - 3 / (4 * n - 9)) if sd else 0.0
    if not sd:
        return Contrast(arm, other, n, difference, difference, difference, 0.0, 1.0)
    found = test(x, y)
    low, high = found.confidence_interval(LEVEL)
    p = float(found.pvalue)
    return Contrast(arm, other, n, difference, float(low), float(high), float(effect), p)


def _mixed_model(
    study: UserStudy, own: pl.DataFrame
) -> tuple[dict[str, tuple[float, float]], list[str]]:
    """Return difference and p value of each arm by the mixed model, and what to say of the fit.

    Where each person has one value there are no effects of people: the model is then linear.
    """
    sm = need_statsmodels()
    columns: list[_Column] = [("", "", np.ones(len(own)))]
    levels = {"arm": [arm.name for arm in study.arms if arm.name != study.baseline]}
    levels |= {name: own[name].unique().sort().to_list()[1:] for name in ("position", "order")}
    for factor, own_levels in levels.items():
        columns += [(factor, x, (own[factor] == x).to_numpy().astype(float)) for x in own_levels]
    columns = _independent(columns)
    if len(own) <= len(columns) or study.baseline not in own["arm"]:
        return {}, ["There are too few people for a mixed model."]
    X, y = np.column_stack([x for _, _, x in columns]), own["value"].to_numpy()
    if not np.ptp(y):
        return {}, ["All values are the same."]
    notes = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if own["person"].n_unique() < len(own):
                fitted = sm.MixedLM(y, X, groups=own["person"].to_numpy()).fit(reml=True)
                notes += [] if fitted.converged else ["The mixed model did not converge."]
            else:
                fitted = sm.OLS(y, X).fit()
        if any("boundary" in str(w.message) or "singular" in str(w.message) for w in caught):
            notes.append("The variance of people is estimated as none, or nearly.")
        for factor in ("position", "order"):
            if places := [n for n, (name, _, _) in enumerate(columns) if name == factor]:
                p = _joint_p(fitted, places)
                told = "< 0.001" if p < 0.001 else f"= {p:.3f}"
                if not math.isnan(p):
                    notes.append(f"All effects of the {factor} together, mixed model: p {told}.")
    except (np.linalg.LinAlgError, ValueError) as error:
        return {}, [f"The mixed model could not be fitted: {error}."]
    arms = {level: n for n, (factor, level, _) in enumerate(columns) if factor == "arm"}
    return {x: (float(fitted.params[n]), float(fitted.pvalues[n])) for x, n in arms.items()}, notes


def _joint_p(fitted: Any, places: list[int]) -> float:
    """Return the p value of Wald's test that some effects are all 0."""
    effects = fitted.params[places]
    covariance = np.asarray(fitted.cov_params())[np.ix_(places, places)]
    return float(stats.chi2.sf(effects @ np.linalg.solve(covariance, effects), len(places)))


def _independent(columns: list[_Column]) -> list[_Column]:
    """Return the columns that are no sum of those before them."""
    kept: list[_Column] = []
    for column in columns:
        if np.linalg.matrix_rank(np.column_stack([x for _, _, x in (*kept, column)])) > len(kept):
            kept.append(column)
    return kept


def cronbach_alpha(answers: pl.DataFrame, outcome: str) -> float | None:
    """Return Cronbach's alpha of the questions of an outcome; None if it has but one."""
    own = answers.filter((pl.col("outcome") == outcome) & (pl.col("position") > 0))
    if own["question"].n_unique() < 2:
        return None
    wide = own.pivot("question", index=["person", "position", "task"], values="scored")
    x = wide.drop("person", "position", "task").drop_nulls().to_numpy()
    total = x.sum(axis=1).var(ddof=1) if len(x) > 1 else 0.0
    if total == 0:
        return None
    k = x.shape[1]
    return float(k / (k - 1) * (1 - x.var(axis=0, ddof=1).sum() / total))


def power(study: UserStudy, people: int, effect: float) -> tuple[float, int]:
    """Return the power of one planned test for an effect, and the people for a power of 0.8.

    The effect is in standard deviations of an arm. Alpha is divided by the number of planned
    tests, which is what Holm's correction asks of the first of them.
    """
    need_statsmodels()
    from statsmodels.stats.power import TTestIndPower, TTestPower

    n_tests = max(1, len(study.analysis.primary)) * max(1, len(study.arms) - 1)
    alpha, n_arms = study.analysis.alpha / n_tests, len(study.arms)
    if study.design == "within":
        test, size, share = TTestPower(), effect / math.sqrt(2 * (1 - _CORRELATION)), 1
    else:
        test, size, share = TTestIndPower(), effect, n_arms
    if not effect:
        return alpha, 0
    found = float(test.power(size, max(2, people // share), alpha))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a very large effect
        needed = float(np.max(test.solve_power(size, None, alpha, _POWER)))
    return found, math.ceil(needed) * share


def _funnel(study: UserStudy, tables: StudyTables) -> tuple[tuple[str, int], ...]:
    """Return how many people came to each page."""
    steps = study.steps(0)
    last = tables.people["last_page"].fill_null(len(steps))
    named = (((f"arm {s.position}" if s.position else ""), s.task, s.kind) for s in steps)
    return tuple(
        (" ".join(filter(None, parts)), int((last >= number).sum()))
        for number, parts in enumerate(named, 1)
    )


def _orders(study: UserStudy, tables: StudyTables) -> tuple[tuple[str, int, int], ...]:
    """Return how many people began and finished each order."""
    own = tables.people.group_by("order").agg(pl.len(), pl.col("is_finished").sum())
    counts = {name: (began, finished) for name, began, finished in own.rows()}
    names = [" > ".join(order) for order in study.orders]
    return tuple((name, *counts.get(name, (0, 0))) for name in names)


def _times(study: UserStudy, tables: StudyTables) -> tuple[tuple[str, float, float, float], ...]:
    """Return lower quartile, median and upper quartile of the seconds in all and in each arm."""
    seconds = {"the whole study": tables.people.filter(pl.col("is_finished"))["seconds"]}
    for arm in study.arms:
        own = tables.sessions.filter(pl.col("arm") == arm.name)
        seconds[f"tasks of the arm {arm.name}"] = own["seconds"]
    return tuple(
        (name, *np.quantile(x, (0.25, 0.5, 0.75)).tolist())
        for name, each in seconds.items()
        if len(x := each.drop_nulls().to_numpy())
    )
