"""Why this above that: numbers that add up, from any two cards; odd choices get a sentence."""

import re
from itertools import pairwise

import pytest
from app.conftest import OWN, TestClient, listed, number

from teaser import Teaser

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

    def test_a_mixed_list_may_have_them_the_other_way_round(
        self, visitor: TestClient, model: Teaser
    ) -> None:
        said = "Your list has them the other way round"
        visitor.post("/act", data={"vary": "1"})
        order = listed(visitor.get("/").text)
        scores = {i: model.explain(i, ["i1"], {"type=film": -1}).score for i in order}
        found = set()
        for one, two in pairwise(order):
            is_told = said in visitor.get("/compare", params={"item": [one, two]}).text
            assert is_told == (scores[one] < scores[two])
            found.add(is_told)
        assert found == {True, False}


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
