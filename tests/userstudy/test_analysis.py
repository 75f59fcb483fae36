"""The analysis against other people's, and how often it finds what is not there."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
import pytest
from scipy import stats

from teaser.userstudy.analyse import (
    StudyAnalysis,
    analyse,
    cronbach_alpha,
    outcome_values,
    power,
)
from teaser.userstudy.export import COLUMNS, StudyTables
from teaser.userstudy.plan import UserStudy
from teaser.userstudy.simulate import draw_answers

REPETITIONS = 200


@pytest.fixture
def study(write: Callable[..., Path]) -> UserStudy:
    return UserStudy.read(write())


def simulated(
    study: UserStudy, people: int, effect: float, seed: int, *, mixed: bool = False
) -> StudyAnalysis:
    tables = simulate_tables(study, people, effect, np.random.default_rng(seed))
    return analyse(study, tables, mixed=mixed)


def _empty(name: str) -> pl.DataFrame:
    return pl.DataFrame(schema={column: kind for column, (kind, _) in COLUMNS[name].items()})


def simulate_tables(
    study: UserStudy, people: int, effect: float, rng: np.random.Generator
) -> StudyTables:
    """Return the tables of simulated people who did not use the pages: answers alone."""
    drawn = draw_answers(study, people, effect, rng)
    asked, orders = study.arm_questions, study.orders
    n_arms = len(orders[0])
    names = [f"simulated {n}" for n in range(people)]
    order = [orders[n % len(orders)] for n in range(people)]
    places = {arm.name: n for n, arm in enumerate(study.arms)}
    seen = np.array([[places[arm] for arm in each] for each in order])
    values = np.take_along_axis(drawn, seen[:, :, None], axis=1)
    flip = np.array([q.reversed for q in asked])
    scored = np.where(flip, np.array([q.points for q in asked]) + 1 - values, values)
    size = (people, n_arms, len(asked))
    answers = pl.DataFrame(
        {
            "person": np.repeat(names, n_arms * len(asked)),
            "position": np.broadcast_to(np.arange(1, n_arms + 1)[None, :, None], size).ravel(),
            "arm": np.repeat([arm for each in order for arm in each], len(asked)),
            "question": np.tile([q.id for q in asked], people * n_arms),
            "outcome": np.tile([q.outcome for q in asked], people * n_arms),
            "value": values.ravel(),
            "scored": scored.ravel(),
        }
    )
    frames: dict[str, Any] = {name: _empty(name) for name in COLUMNS}
    answers = answers.with_columns(
        seconds=pl.lit(0.0), task=pl.lit(""), text=pl.lit(None, pl.String)
    )
    frames["answers"] = answers.select(*COLUMNS["answers"])
    said = {"person": names, "order": [" > ".join(each) for each in order], "mode": "simulated"}
    frames["people"] = pl.concat(
        [_empty("people"), pl.DataFrame({**said, "is_finished": True})], how="diagonal"
    )
    return StudyTables(**frames)


def is_significant(found: StudyAnalysis) -> bool:
    """Whether any planned difference is significant after correction."""
    return any(found.is_clear(c) for o in found.outcomes for c in o.contrasts)


@pytest.mark.parametrize("design", ["within", "between"])
def test_without_an_effect_at_most_5_percent_of_repetitions_are_significant(
    study: UserStudy, design: Literal["within", "between"]
) -> None:
    study = replace(study, design=design)
    found = sum(is_significant(simulated(study, 60, 0.0, seed)) for seed in range(REPETITIONS))
    assert 0 < found <= 0.05 * REPETITIONS


def test_the_power_is_that_of_repeated_studies(study: UserStudy) -> None:
    study = replace(study, analysis=replace(study.analysis, primary=("control",)))
    study = replace(study, arms=study.arms[:2])
    expected, needed = power(study, 40, 0.45)
    found = [is_significant(simulated(study, 40, 0.45, seed)) for seed in range(REPETITIONS)]
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
