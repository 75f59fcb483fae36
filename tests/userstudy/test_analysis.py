"""The analysis against other people's, and how often it finds what is not there."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from teaser.userstudy.analyse import (
    StudyAnalysis,
    analyse,
    cronbach_alpha,
    holm,
    outcome_values,
    power,
)
from teaser.userstudy.plan import UserStudy
from teaser.userstudy.simulate import simulate_tables

REPETITIONS = 200


@pytest.fixture
def study(write: Callable[..., Path]) -> UserStudy:
    return UserStudy.read(write())


def simulated(
    study: UserStudy, people: int, effect: float, seed: int, *, mixed: bool = False
) -> StudyAnalysis:
    tables = simulate_tables(study, people, effect, np.random.default_rng(seed))
    return analyse(study, tables, mixed=mixed)


@pytest.mark.parametrize("design", ["within", "between"])
def test_without_an_effect_at_most_5_percent_of_repetitions_are_significant(
    study: UserStudy, design: Literal["within", "between"]
) -> None:
    study = replace(study, design=design)
    found = sum(simulated(study, 60, 0.0, seed).is_significant for seed in range(REPETITIONS))
    assert 0 < found <= 0.05 * REPETITIONS


def test_the_power_is_that_of_repeated_studies(study: UserStudy) -> None:
    study = replace(study, analysis=replace(study.analysis, primary=("control",)))
    study = replace(study, arms=study.arms[:2])
    expected, needed = power(study, 40, 0.45)
    found = [simulated(study, 40, 0.45, seed).is_significant for seed in range(REPETITIONS)]
    # Rounding to points, and the three questions of a scale, take a little of the effect.
    assert abs(np.mean(found) - expected) < 0.12
    more, _ = power(study, needed, 0.45)
    assert 0.8 <= more < 0.82
    assert power(study, needed - 1, 0.45)[0] < 0.8


def test_paired_differences_are_those_of_scipy(study: UserStudy) -> None:
    tables = simulate_tables(study, 50, 0.4, np.random.default_rng(3))
    found = analyse(study, tables, mixed=True)
    values = outcome_values(study, tables).filter(pl.col("outcome") == "control")
    wide = values.pivot("arm", index="person", values="value")
    outcome = next(o for o in found.outcomes if o.name == "control")
    for contrast in outcome.contrasts:
        x, y = wide[contrast.arm].to_numpy(), wide["list"].to_numpy()
        expected = stats.ttest_rel(x, y)
        interval = expected.confidence_interval(0.95)
        assert contrast.p == pytest.approx(expected.pvalue)
        assert (contrast.low, contrast.high) == pytest.approx((interval.low, interval.high))
        assert contrast.effect == pytest.approx((x - y).mean() / (x - y).std(ddof=1))
        # With everybody in every arm, the mixed model estimates the same difference.
        assert contrast.mixed == pytest.approx((x - y).mean(), abs=0.02)
    means = {arm.arm: arm for arm in outcome.arms}
    assert means["list"].mean == pytest.approx(wide["list"].mean())


def test_differences_between_people_are_those_of_scipy(study: UserStudy) -> None:
    study = replace(study, design="between")
    tables = simulate_tables(study, 61, 0.4, np.random.default_rng(4))
    found = analyse(study, tables)
    values = outcome_values(study, tables).filter(pl.col("outcome") == "control")
    by_arm = {arm: values.filter(pl.col("arm") == arm)["value"].to_numpy() for arm in study.by_arm}
    outcome = next(o for o in found.outcomes if o.name == "control")
    for contrast in outcome.contrasts:
        expected = stats.ttest_ind(by_arm[contrast.arm], by_arm["list"], equal_var=False)
        interval = expected.confidence_interval(0.95)
        assert contrast.p == pytest.approx(expected.pvalue)
        assert (contrast.low, contrast.high) == pytest.approx((interval.low, interval.high))
        assert contrast.mixed == pytest.approx(contrast.difference)


@pytest.mark.parametrize(
    "p_values", [[0.01, 0.04, 0.03, 0.005], [0.5], [0.2, 0.2, 0.9], [0.0, 1.0]]
)
def test_the_correction_is_holms(p_values: list[float]) -> None:
    expected = multipletests(p_values, method="holm")[1]
    assert holm(p_values) == pytest.approx(expected.tolist())


def test_reversed_questions_count_from_the_other_end(study: UserStudy) -> None:
    tables = simulate_tables(study, 80, 0.0, np.random.default_rng(5))
    alpha = cronbach_alpha(tables.answers, "control")
    unscored = tables.answers.with_columns(scored=pl.col("value"))
    assert alpha is not None
    assert alpha > 0.8
    assert (cronbach_alpha(unscored, "control") or 0.0) < 0.5
    assert cronbach_alpha(tables.answers, "attention") is None


def test_effects_of_the_position_are_told(study: UserStudy) -> None:
    tables = simulate_tables(study, 60, 0.0, np.random.default_rng(7))
    tired = pl.col("scored") - 1.0 * (pl.col("position") == 3)
    tables = replace(tables, answers=tables.answers.with_columns(scored=tired))
    outcome = analyse(study, tables).outcomes[0]
    told = [note for note in outcome.notes if "position" in note]
    assert told == ["All effects of the position together, mixed model: p < 0.001."]
    # The orders are balanced, so that the arms do not differ by it.
    assert all(abs(c.difference) < 0.5 for c in outcome.contrasts)


def test_few_people_give_a_report_and_no_error(study: UserStudy) -> None:
    for n in (1, 2, 3):
        found = simulated(study, n, 0.0, 0, mixed=True)
        assert [arm.n for arm in found.outcomes[0].arms] == [n] * 3
