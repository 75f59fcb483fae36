"""The steps of a score and of a difference add up, also in rounded numbers and on the page."""

import re

import pytest
from app.conftest import OWN, TestClient, number
from hypothesis import given
from hypothesis import strategies as st

from teaser import Teaser
from teaser.app.catalogue import Catalogue, PersonalModel
from teaser.app.i18n.texts import texts_in
from teaser.app.pages.cards import BoostRow, ViewedRow
from teaser.app.pages.item import Fall, difference_fall, parts_of_score, waterfall
from teaser.app.pages.profile import TagRow
from teaser.app.state import State
from teaser.explain import Difference
from teaser.steps import MAX_VIEWED


def check_bars(fall: Fall) -> None:
    """Hold each bar against the one before it, which ends where it begins."""
    edge = fall.zero
    for step in fall.steps:
        assert -0.01 <= step.start <= step.start + step.length <= 100.02
        ends = (step.start, step.start + step.length)
        near = min(ends, key=lambda end: abs(end - edge))
        assert near == pytest.approx(edge, abs=0.03)
        edge = ends[1] if near == ends[0] else ends[0]
    if any(s.step.adds for s in fall.steps):
        assert fall.length == pytest.approx(abs(edge - fall.zero), abs=0.05)


def check_running(fall: Fall) -> None:
    """Hold the sums on the page against the rounded steps before them."""
    shown = 0.0
    for step in fall.steps:
        shown += step.shown
        assert step.running == pytest.approx(shown, abs=1e-9)
    assert shown + fall.missing["shown"] == pytest.approx(fall.totals["shown"], abs=1e-9)
    assert not fall.small or len(fall.small) >= 3
    check_bars(fall)


@given(
    history=st.lists(st.integers(0, 39), max_size=4, unique=True),
    item=st.integers(0, 39),
    film=st.integers(-5, 5),
)
def test_steps_add_up(model: Teaser, history: list[int], item: int, film: int) -> None:
    presses = {"type=film": film} if film else {}
    state = State(history=tuple(f"i{i}" for i in history), presses=presses)
    found, fall = waterfall(PersonalModel(Catalogue(model), state), f"i{item}", texts_in("en"))
    check_running(fall)
    assert fall.totals["shown"] == round(found.score, 2)
    assert sum(s.step.adds for s in fall.steps) == pytest.approx(found.score, abs=1e-9)
    for shown in fall.steps:
        step, row = shown.step, shown.row
        assert shown.shown == round(step.adds, 2)
        assert isinstance(row, TagRow)
        assert step.weight is not None
        product = round(row.affinity, shown.digits) * round(step.weight, shown.digits)
        assert abs(product - shown.shown) <= 0.005 + 1e-6
        assert row.affinity * step.weight == pytest.approx(step.adds)
    if fall.small:
        whole = found.total
        assert all(abs(s.step.adds) < 0.01 * whole for s in fall.small)
        assert all(s.step.kind == "general" or abs(s.step.adds) >= 0.01 * whole for s in fall.large)
        assert fall.small_length <= sum(s.length for s in fall.small) + 0.03


@pytest.mark.parametrize("boost", [{"town=Ghent": 0.4, "i9": 0.004}, {"town=Ghent": -3.0}])
def test_what_the_site_adds_is_a_step_of_its_own(model: Teaser, boost: dict[str, float]) -> None:
    catalogue = Catalogue(model, boost)
    seen = PersonalModel(catalogue, State(history=("i1", "i5")))
    for item in ("i9", "i3", "i12"):
        found, fall = waterfall(seen, item, texts_in("en"))
        plain, _ = waterfall(PersonalModel(Catalogue(model), seen.state), item, texts_in("en"))
        boosts = [s for s in fall.steps if isinstance(s.row, BoostRow)]
        assert ("boost" in fall.kinds) is bool(boosts)
        added = sum(s.step.adds for s in boosts)
        assert added == pytest.approx(found.score - plain.score)
        assert sum(s.step.adds for s in fall.steps) == pytest.approx(found.score)
        parts = parts_of_score(found).values()
        assert sum(parts) == pytest.approx(round(found.score, 2), abs=1e-9)
        assert [s for s in fall.large if s.step.kind == "boost"] == boosts  # never folded
        for shown in boosts:
            assert isinstance(shown.row, BoostRow)
            assert shown.row.promotes is (shown.step.adds > 0)
            assert shown.row.name in ("Ghent", "")


ENGLISH = texts_in("en")


def check_sums(found: Difference, fall: Fall) -> None:
    """Hold the visible numbers against each other, and against the exact ones."""
    check_running(fall)
    totals = fall.totals
    assert (totals["own"], totals["other"]) == (round(found.score, 2), round(found.other_score, 2))
    exact = sum(step.step.adds for step in fall.steps)
    assert exact == pytest.approx(found.score - found.other_score, abs=1e-9)
    for step in fall.steps:
        assert step.own - step.other == pytest.approx(step.shown, abs=1e-9)
        assert step.shown == pytest.approx(step.step.adds, abs=0.01 + 1e-9)
    for name in ("own", "other"):
        shown = sum(getattr(step, name) for step in fall.steps)
        assert shown + fall.missing[name] == pytest.approx(totals[name], abs=1e-9)
    assert totals["own"] - totals["other"] == pytest.approx(totals["shown"], abs=1e-9)


@given(
    history=st.lists(st.integers(0, 39), max_size=4, unique=True),
    pair=st.lists(st.integers(0, 39), min_size=2, max_size=2, unique=True),
    film=st.integers(-5, 5),
)
def test_steps_of_a_difference_add_up(
    model: Teaser, history: list[int], pair: list[int], film: int
) -> None:
    presses = {"type=film": film} if film else {}
    state = State(history=tuple(f"i{i}" for i in history), presses=presses)
    first, second = (f"i{i}" for i in pair)
    personal = PersonalModel(Catalogue(model), state)
    found, fall = difference_fall(personal, first, second, ENGLISH)
    check_sums(found, fall)
    whys = [model.explain(i, personal.history, personal.presses) for i in (first, second)]
    assert (found.score, found.other_score) == pytest.approx([why.score for why in whys])
    _, back = difference_fall(personal, second, first, ENGLISH)
    assert back.totals["shown"] == pytest.approx(-fall.totals["shown"], abs=1e-9)


def test_viewed_items_are_steps_and_the_smallest_are_one(remainder_model: Teaser) -> None:
    viewed = tuple(f"i{i}" for i in range(20))
    personal = PersonalModel(Catalogue(remainder_model), State(history=viewed))
    found, fall = difference_fall(personal, "i30", "i31", ENGLISH)
    check_sums(found, fall)
    rows = [step.row for step in fall.steps if isinstance(step.row, ViewedRow)]
    assert len(rows) == MAX_VIEWED + 1
    assert [row.title for row in rows if row.item_id is None] == ["12 more that you viewed"]
    assert "viewed" in fall.kinds


ROW = re.compile(
    r'<td class="n pair">(?:<b>)?([^<]+)(?:</b>)?</td><td class="n pair">(?:<b>)?([^<]+)(?:</b>)?'
    r'</td>\s*<td class="n(?: number[^"]*)?">(?:<b>)?([^<]+)(?:</b>)?</td>.*?'
    r'<td class="n sum">(?:<b>)?([^<]+)(?:</b>)?</td>',
    re.S,
)


@pytest.fixture
def visitor(client: TestClient) -> TestClient:
    client.headers.update(OWN)
    client.post("/act", data={"view": "i1"})
    client.post("/act", data={"press": "-1 type=film"})
    return client


class TestPage:
    def test_the_visible_numbers_add_up_to_the_scores(
        self, visitor: TestClient, model: Teaser
    ) -> None:
        page = visitor.get("/compare", params={"item": ["i3", "i4"]}).text
        whys = [model.explain(i, ["i1"], {"type=film": -1}) for i in ("i3", "i4")]
        *rows, total = [tuple(map(number, row)) for row in ROW.findall(page)]
        assert len(rows) >= 2
        running = 0.0
        for own, other, difference, so_far in rows:
            assert own - other == pytest.approx(difference, abs=1e-9)
            running += difference
            assert so_far == pytest.approx(running, abs=1e-9)
        assert [sum(row[i] for row in rows) for i in range(3)] == pytest.approx(total[:3], abs=1e-9)
        assert total[:2] == tuple(round(why.score, 2) for why in whys)
        assert total[3] == total[2]


class TestChoice:
    @pytest.mark.parametrize(
        ("items", "said"),
        [
            ([], "No item is chosen."),
            ([""], "No item is chosen."),
            (["i3"], "One item is chosen."),
            (["i3", "i3"], "Both are the same item."),
            (["i3", "i4", "i5"], "3 items are chosen, and two can be compared."),
        ],
    )
    def test_a_sentence_and_a_way_on(
        self, visitor: TestClient, items: list[str], said: str
    ) -> None:
        response = visitor.get("/compare", params={"item": items})
        assert response.status_code == (422 if len(items) > 1 else 200)
        assert said in response.text
        offered = re.findall(
            r'<input type="(?:radio|checkbox)" name="item" value="([^"]+)"', response.text
        )
        assert len(offered) >= 2
        if len(items) > 2:
            assert offered == items
        else:
            assert "i3" not in offered or not any(items)

    def test_markup_in_a_name_is_shown_as_text(self, visitor: TestClient) -> None:
        response = visitor.get("/compare", params={"item": "<script>alert(1)</script>"})
        assert response.status_code == 404
        assert "<script>alert" not in response.text
