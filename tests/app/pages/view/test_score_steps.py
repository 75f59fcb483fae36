"""The steps of a score add up, on the scale that they are drawn on too."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teaser import Teaser
from teaser.app.i18n.texts import texts_in
from teaser.app.pages.view.card_view import BoostRow, ViewedRow
from teaser.app.pages.view.profile_view import TagRow
from teaser.app.pages.view.score_steps import waterfall
from teaser.app.serving.catalogue import Catalogue
from teaser.app.serving.personal_model import PersonalModel
from teaser.app.state import State


@given(
    history=st.lists(st.integers(0, 39), max_size=4, unique=True),
    item=st.integers(0, 39),
    film=st.integers(-5, 5),
)
def test_steps_add_up(model: Teaser, history: list[int], item: int, film: int) -> None:
    presses = {"type=film": film} if film else {}
    state = State(history=tuple(f"i{i}" for i in history), presses=presses)
    fall = waterfall(PersonalModel(Catalogue(model), state), f"i{item}", texts_in("en"))
    total = fall.explanation.score
    assert sum(s.contribution for s in fall.steps) == pytest.approx(total, abs=1e-9)
    shown = 0.0
    for step in fall.steps:
        shown += step.shown
        assert step.shown == round(step.contribution, 2)
        assert step.running == pytest.approx(shown, abs=1e-9)
        assert isinstance(step.row, TagRow)
        assert step.weight is not None
        product = round(step.row.affinity, step.digits) * round(step.weight, step.digits)
        assert abs(product - step.shown) <= 0.005 + 1e-6
        assert step.row.affinity * step.weight == pytest.approx(step.contribution)
        assert -0.01 <= step.start <= step.start + step.length <= 100.02
    assert shown + fall.rounding == pytest.approx(round(total, 2), abs=1e-9)
    fold = fall.fold
    assert fall.large + (fold.steps if fold else []) == fall.steps
    if fold:
        least = 0.01 * fall.explanation.total
        assert len(fold.steps) >= 3
        assert all(abs(s.contribution) < least for s in fold.steps)
        assert all(s.is_general or abs(s.contribution) >= least for s in fall.large)
        assert fall.large[-1].running + fold.shown == pytest.approx(fold.running, abs=1e-9)
        assert fold.running == fall.steps[-1].running
        added = sum(s.contribution for s in fold.steps)
        assert fold.share * fall.explanation.total == pytest.approx(added)
        assert fold.length <= sum(s.length for s in fold.steps) + 0.03
    # Each bar begins or ends where the one before it ended or began.
    edge = fall.zero
    for step in fall.steps:
        ends = (step.start, step.start + step.length)
        near = min(ends, key=lambda end: abs(end - edge))
        assert near == pytest.approx(edge, abs=0.03)
        edge = ends[1] if near == ends[0] else ends[0]
    if any(s.contribution for s in fall.steps):
        assert fall.length == pytest.approx(abs(edge - fall.zero), abs=0.05)


def test_small_steps_are_folded_behind_the_large_ones(
    remainder_model: Teaser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("teaser.app.pages.view.score_steps.SMALL_SHARE", 0.04)
    history = tuple(f"i{i}" for i in range(30))
    seen = PersonalModel(Catalogue(remainder_model), State(history=history))
    fall = waterfall(seen, "i33", texts_in("en"))
    assert fall.has_viewed
    assert fall.fold is not None
    assert fall.large[0].is_general
    # Several viewed items together come before the small steps, if they are large.
    together = [s.row for s in fall.steps if isinstance(s.row, ViewedRow) and s.row.item_id is None]
    assert len(together) == 1
    assert together[0] in [step.row for step in fall.large]
    edges = [edge for step in fall.fold.steps for edge in step.edges]
    assert fall.fold.start == min(edges[0], edges[-1])
    assert fall.fold.start + fall.fold.length == pytest.approx(max(edges[0], edges[-1]), abs=0.01)


@pytest.mark.parametrize("boost", [{"town=Ghent": 0.4, "i9": 0.004}, {"town=Ghent": -3.0}])
def test_what_the_site_adds_is_a_step_of_its_own(model: Teaser, boost: dict[str, float]) -> None:
    catalogue = Catalogue(model, boost)
    seen = PersonalModel(catalogue, State(history=("i1", "i5")))
    for item in ("i9", "i3", "i12"):
        fall = waterfall(seen, item, texts_in("en"))
        plain = waterfall(PersonalModel(Catalogue(model), seen.state), item, texts_in("en"))
        boosts = [s for s in fall.steps if isinstance(s.row, BoostRow)]
        assert fall.has_boost is bool(boosts)
        added = sum(s.contribution for s in boosts)
        assert added == pytest.approx(fall.explanation.score - plain.explanation.score)
        assert sum(s.contribution for s in fall.steps) == pytest.approx(fall.explanation.score)
        parts = fall.from_general + fall.from_tags + fall.from_viewed + fall.from_boost
        assert parts == pytest.approx(round(fall.explanation.score, 2), abs=1e-9)
        assert [s for s in fall.large if s.is_boost] == boosts  # never folded
        for step in boosts:
            assert isinstance(step.row, BoostRow)
            assert step.row.promotes is (step.contribution > 0)
            assert step.row.name in ("Ghent", "")
