"""The list of steps adds up, whatever draws it."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teaser import Teaser
from teaser.steps import MAX_VIEWED, Step, StepKind, arrange, fold_small

KINDS: st.SearchStrategy[StepKind] = st.sampled_from(
    ["general", "tag", "viewed", "disliked", "boost"]
)


@given(
    st.lists(st.tuples(KINDS, st.floats(-10, 10, allow_subnormal=False)), max_size=40),
    st.floats(-5, 5),
)
def test_steps_lead_from_the_start_to_the_sum(
    parts: list[tuple[StepKind, float]], start: float
) -> None:
    steps = arrange([Step(kind, "a", "", adds) for kind, adds in parts], start=start)
    total = start + sum(adds for _, adds in parts)
    for shown in (steps, fold_small(steps)):
        if shown:
            assert shown[0].start == start
            assert shown[-1].end == pytest.approx(total, abs=1e-9)
        for before, after in pairwise(shown):
            assert before.end == pytest.approx(after.start, abs=1e-9)
        assert sum(step.n for step in shown) == len(parts)
        assert sum(step.kind in ("viewed", "disliked") for step in shown) <= MAX_VIEWED + 1


def test_general_appeal_is_first_and_small_steps_are_last() -> None:
    parts = [Step("tag", "small", "f", 0.01), Step("tag", "large", "f", 5.0)]
    parts += [Step("boost", "promoted", "boost", 0.001), Step("general", "appeal", "", 0.001)]
    steps = arrange([*parts, Step("tag", "tiny", "f", -0.02)])
    assert [s.label for s in steps] == ["appeal", "large", "promoted", "small", "tiny"]
    assert [s.label for s in fold_small(steps)][-1] == "2 more"
    assert fold_small(steps, least=3) == steps


def test_a_score_and_a_difference_are_their_steps(model: Teaser) -> None:
    said = model.explain("i4", ["i1", "i5"], {"town=Ghent": 1})
    assert said.steps()[0].kind == "general"
    assert said.steps()[-1].end == pytest.approx(said.score, abs=1e-12)
    found = model.compare("i4", "i7", ["i1", "i5"], {"town=Ghent": 1})
    assert found.steps()[0].start == pytest.approx(found.other_score)
    assert found.steps()[-1].end == pytest.approx(found.score, abs=1e-12)
