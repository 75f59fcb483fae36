"""The verdict: what is worse than a limit is a reason, and says by how much."""

import json
from dataclasses import replace
from typing import Any

import pytest

from teaser.errors import ParameterError
from teaser.evaluate.refit.gate import GateLimits, Measured, NamesKept
from teaser.evaluate.refit.measure import Comparison

FINE = Comparison(0.5, 0.49, -0.05, 0.02, 100)
GOOD = Measured(
    twins=FINE,
    models=FINE,
    origins={"site": FINE},
    coverage=(0.4, 0.3),
    items=NamesKept(10, 12, 9),
    tags=NamesKept(4, 4, 4),
    presses=NamesKept(3, 3, 3),
    sizes={"bytes": (1000, 900), "users": (None, 30)},
)


def test_a_candidate_within_the_limits_has_no_reasons() -> None:
    assert GateLimits().reasons(GOOD) == []
    assert json.loads(json.dumps(GOOD.as_dict()))["twins"]["change"] == pytest.approx(-0.02)
    assert "twins, on 100 held-out people: nDCG@100 0.500, then 0.490 (-2.0%" in GOOD.lines()[0]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"twins": Comparison(0.5, 0.47, -0.1, 0, 9)}, "Twins: nDCG@100 falls by 6.0%"),
        ({"models": Comparison(0.5, 0.4, -0.3, 0, 9)}, "The models themselves: nDCG@100 falls"),
        ({"twins": None, "models": None, "coverage": None}, "Fewer than 10 people"),
        ({"coverage": (0.4, 0.1)}, "Of the coverage of the present model 25 %"),
        ({"items": NamesKept(10, 100, 4)}, "Of the items of the present model 40 %"),
        ({"tags": NamesKept(10, 10, 4)}, "Of the tags of"),
        ({"presses": NamesKept(10, 10, 4)}, "Of the presses of visitors of"),
        ({"sizes": {"interactions": (100, 49)}}, "Of the interactions of"),
    ],
)
def test_each_limit_is_a_reason(changes: dict[str, Any], said: str) -> None:
    (reason,) = GateLimits().reasons(replace(GOOD, **changes))
    assert reason.startswith(said)


def test_the_margin_is_the_callers() -> None:
    assert GateLimits(margin=0.01).reasons(GOOD)
    assert not GateLimits(margin=0.03, least=0.9).reasons(replace(GOOD, coverage=None))
    for wrong in ({"margin": 1.5}, {"least": -0.1}):
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            GateLimits(**wrong)


def test_names_that_are_kept() -> None:
    assert NamesKept.of("abc", "bcd") == NamesKept(3, 3, 2)
    assert NamesKept(0, 5, 0).share == 1
