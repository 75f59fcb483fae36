"""A model with a remainder over HTTP: the slider, and the second kind of reason, everywhere."""

import html
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from app.conftest import TestClient
from hypothesis import given
from hypothesis import strategies as st

from teaser import Teaser
from teaser.app.catalogue import Catalogue, PersonalModel
from teaser.app.i18n.texts import texts_in
from teaser.app.pages.cards import TagRow, ViewedRow
from teaser.app.pages.steps import waterfall
from teaser.app.state import State
from teaser.explain import ViewedReason
from teaser.profile import Steering
from teaser.steps import MAX_VIEWED

API = "/api/v1"
HISTORY = ["i0", "i2", "i3"]
MINUS = "\N{MINUS SIGN}"


@pytest.fixture
def client(serve: Callable[..., TestClient], remainder_folder: Path) -> TestClient:
    served = serve(model=remainder_folder)
    served.headers.update({"origin": "http://testserver"})
    return served


@pytest.fixture
def visitor(client: TestClient) -> TestClient:
    for item in HISTORY:
        client.post("/act", data={"view": item})
    return client


def number(text: str) -> float:
    return float(re.sub(r"[^\d.-]", "", text.replace(MINUS, "-")))


def listed(page: str) -> list[str]:
    return re.findall(r'<li class="card" data-card="([^"]+)"', page)


def move(client: TestClient, balance: float) -> str:
    answer = client.post("/act", data={"balance": str(balance)})
    assert answer.status_code == 200
    return str(answer.text)


def card(page: str, item_id: str) -> str:
    return page.split(f'data-card="{item_id}"')[1].split("</article>")[0]


class TestSite:
    def test_the_slider_is_there_and_rests_until_something_is_viewed(
        self, client: TestClient
    ) -> None:
        slider = re.search(r'<input id="balance"[^>]*>', client.get("/").text)
        assert slider
        assert "disabled" in slider[0]
        assert 'aria-valuetext="once you have viewed something"' in slider[0]
        page = client.post("/act", data={"view": "i0"}).text
        slider = re.search(r'<input id="balance"[^>]*>', page)
        assert slider
        assert "disabled" not in slider[0]
        assert 'value="0.5"' in slider[0]
        assert 'aria-valuetext="both, as learned"' in slider[0]
        said = re.search(r'data-said="([^"]*)"', slider[0])
        assert said
        assert len(json.loads(html.unescape(said[1]))) == 11

    @pytest.mark.parametrize("balance", [0.0, 0.3, 0.5, 0.8, 1.0])
    def test_list_and_reasons_are_the_models_at_every_place(
        self, visitor: TestClient, remainder_model: Teaser, balance: float
    ) -> None:
        page = move(visitor, balance)
        expected = remainder_model.recommend(HISTORY, k=12, steering=Steering(balance=balance))
        assert listed(page) == [r.item_id for r in expected]
        for place in expected:
            shown = card(page, str(place.item_id))
            viewed = re.findall(
                r'<li class="because"[^>]*><b class="number (\w+)">([^<]+)</b>'
                r'<span class="tag-name">'
                r'because you viewed <a href="/item/([^"]+)">',
                shown,
            )
            own = [r for r in place.reasons if isinstance(r, ViewedReason)]
            assert [item for _, _, item in viewed] == [r.item_id for r in own]
            for (side, percent, _), reason in zip(viewed, own, strict=True):
                assert side == ("up" if reason.share > 0 else "down")
                assert number(percent) == round(100 * reason.share)
            tags = shown.count('class="stepper')
            assert tags == len(place.reasons) - len(own) + bool(place.general)
            assert tags == 0 or balance < 1
            assert shown.count('class="reasons general"') == bool(place.general)
            assert not own or balance > 0

    def test_what_it_did_is_said_kept_and_undone(self, visitor: TestClient) -> None:
        before = listed(visitor.get("/").text)
        page = move(visitor, 1.0)
        assert "Balance: <b>people like me alone</b>" in page
        assert listed(page) != before
        assert listed(visitor.get("/").text) == listed(page)
        undone = visitor.post("/act", data={"undo": "1"}).text
        assert listed(undone) == before
        assert "Taken back: Balance: <b>people like me alone</b>" in undone

    def test_a_viewed_item_can_be_removed_where_it_is_a_reason(self, visitor: TestClient) -> None:
        page = move(visitor, 1.0)
        button = re.search(r'<li class="because"[^>]*>.*?name="remove" value="(\w+)"', page, re.S)
        assert button
        page = visitor.post("/act", data={"remove": button[1]}).text
        assert f'because you viewed <a href="/item/{button[1]}"' not in page

    @pytest.mark.parametrize(
        ("language", "reason", "end"),
        [
            ("nl", "omdat u <a ", "Mensen zoals ik"),
            ("fr", "parce que vous avez regardé <a ", "Les gens comme moi"),
        ],
    )
    def test_in_other_languages(
        self, visitor: TestClient, language: str, reason: str, end: str
    ) -> None:
        visitor.post("/language", data={"language": language})
        page = html.unescape(move(visitor, 0.9))
        assert reason in page
        assert end in page

    @pytest.mark.parametrize("balance", [0.0, 0.3, 0.5, 0.8, 1.0])
    def test_the_steps_of_an_item_visibly_add_up(
        self, visitor: TestClient, remainder_model: Teaser, balance: float
    ) -> None:
        move(visitor, balance)
        page = visitor.get("/item/i5").text
        why = remainder_model.explain("i5", HISTORY, steering=Steering(balance=balance))
        rows = re.findall(r"<tr[^>]*><th scope=\"row\">.*?</tr>", page, re.S)[:-1]
        rows = [row for row in rows if "<details" not in row]  # the sum of the small steps
        rounding = [row for row in rows if "Rounding" in row]
        assert len(rows) - len(rounding) == 1 + len(why.reasons)
        assert "General appeal" in rows[0]
        total = 0.0
        for row in rows:
            adds = re.search(r'class="n number[^"]*">([^<]+)<', row)
            so_far = re.search(r'class="n sum">([^<]+)<', row)
            assert adds
            assert so_far
            total += number(adds[1])
            assert number(so_far[1]) == pytest.approx(total, abs=1e-6)
            if row in rounding:
                continue
            factors = re.search(r'class="n times">([^<]*)<', row)
            assert factors
            if "you viewed it" in row:
                assert factors[1] == ""
                assert 'name="remove"' in row
                assert "stepper" not in row
            else:
                product = 1.0
                for factor in factors[1].split(" × "):
                    product *= number(factor)
                assert product == pytest.approx(number(adds[1]), abs=0.02)
        assert total == pytest.approx(why.score, abs=0.006)
        viewed = sum(why.viewed.values())
        said = re.search(r'class="parts">(.*?)</p>', page)
        assert said
        parts = [number(text) for text in re.findall(r"<b>([^<]+)</b>", said[1])]
        assert len(parts) == (4 if balance else 3)
        assert sum(parts[:-1]) == pytest.approx(parts[-1], abs=1e-9)
        assert parts[0] == pytest.approx(why.general, abs=0.0051)
        if balance:
            assert parts[2] == pytest.approx(viewed, abs=0.0051)

    def test_what_would_bring_it_up_is_exact(
        self, visitor: TestClient, remainder_model: Teaser
    ) -> None:
        move(visitor, 0.7)
        steering = Steering(balance=0.7)
        ranked = [r.item_id for r in remainder_model.recommend(HISTORY, k=40, steering=steering)]
        promised = 0
        for place, item in enumerate(ranked[10:20], start=11):
            page = visitor.get(f"/lift/{item}").text
            found = re.search(r'name="presses" value="([^"]+)"', page)
            if found is None:
                continue
            said = re.search(r"Now it is number (\d+)\. These presses make it number (\d+)", page)
            assert said
            assert int(said[1]) == place
            presses = json.loads(html.unescape(found[1]))
            after = remainder_model.recommend(HISTORY, presses, k=40, steering=steering)
            assert [r.item_id for r in after].index(item) + 1 == int(said[2]) <= 10
            promised += 1
        assert promised > 3

    def test_where_tags_do_not_count_no_press_is_promised(self, visitor: TestClient) -> None:
        page = move(visitor, 1.0)
        last = next(f"i{i}" for i in range(39, 0, -1) if f"i{i}" not in listed(page)[:12])
        said = visitor.get(f"/lift/{last}").text
        assert "no press moves the list" in said
        assert 'name="presses"' not in said
        pressed = visitor.post("/act", data={"press": "-1 type=film"}).text
        assert listed(pressed) == listed(page)
        assert "no press moves the list" in pressed

    def test_a_shared_profile_tells_them_too_and_offers_nothing(self, visitor: TestClient) -> None:
        own = listed(move(visitor, 0.9))
        made = visitor.post("/share").text
        link = re.search(r"/s/[\w-]+", made)
        assert link
        page = visitor.get(link[0]).text
        assert listed(page) == own
        assert "because they viewed Event" in page
        assert "Balance: tags" in page
        assert 'name="remove"' not in page
        assert 'id="balance"' not in page

    def test_wrong_balances_are_refused(self, visitor: TestClient) -> None:
        for wrong in ("7", "-0.1", "much", "nan"):
            assert visitor.post("/act", data={"balance": wrong}).status_code == 422

    def test_the_tour_tells_of_it_only_where_it_is(
        self, client: TestClient, serve: Callable[..., TestClient]
    ) -> None:
        assert 'data-step="balance"' in client.get("/tour").text
        plain = serve()
        assert 'data-step="balance"' not in plain.get("/tour").text
        page = plain.get("/").text
        assert 'data-step="balance"' not in page
        assert 'id="balance"' not in page
        assert "about-you" not in page


@given(
    history=st.lists(st.integers(0, 39), max_size=16, unique=True),
    item=st.integers(0, 39),
    balance=st.floats(0, 1),
    film=st.integers(-5, 5),
)
def test_steps_add_up(
    remainder_model: Teaser, history: list[int], item: int, balance: float, film: int
) -> None:
    presses = {"type=film": film} if film else {}
    state = State(history=tuple(f"i{i}" for i in history), presses=presses, balance=balance)
    session = PersonalModel(Catalogue(remainder_model), state)
    fall = waterfall(session, f"i{item}", texts_in("en"))
    total = fall.explanation.score
    assert total == pytest.approx(session.scores[item], abs=1e-12)
    assert sum(s.contribution for s in fall.steps) == pytest.approx(total, abs=1e-9)
    parts = fall.from_general + fall.from_tags + fall.from_viewed
    assert parts == pytest.approx(round(total, 2), abs=1e-9)
    assert fall.from_general == round(fall.explanation.general, 2)
    assert [step.is_general for step in fall.steps] == [True] + [False] * (len(fall.steps) - 1)
    assert sum(s.is_viewed for s in fall.steps) <= MAX_VIEWED + 1
    for step in fall.steps:
        if isinstance(step.row, TagRow):
            assert step.weight is not None
            if not step.row.others:
                assert step.row.affinity == session.affinity(step.row.tag)
            product = step.row.affinity * step.weight * fall.tags_weight
            assert product == pytest.approx(step.contribution, abs=1e-12)


def test_a_long_history_is_told_in_few_steps(remainder_model: Teaser) -> None:
    state = State(history=tuple(f"i{i}" for i in range(20)), balance=0.7)
    fall = waterfall(PersonalModel(Catalogue(remainder_model), state), "i30", texts_in("en"))
    together = ViewedRow(None, "12 more that you viewed")
    assert together in [s.row for s in fall.steps]
    singles = [s for s in fall.steps if s.is_viewed and s.row != together]
    assert len(singles) == MAX_VIEWED
    rest = sorted(map(abs, fall.explanation.viewed.values()))[:-MAX_VIEWED]
    assert max(rest) <= min(abs(s.contribution) for s in singles)


class TestApi:
    @pytest.mark.parametrize("balance", [0.0, 0.25, 0.5, 1.0])
    def test_recommend_and_explain_equal_the_library(
        self, client: TestClient, remainder_model: Teaser, balance: float
    ) -> None:
        asked: dict[str, Any] = {"history": HISTORY, "balance": balance}
        steering = Steering(balance=balance)
        found = client.post(f"{API}/recommend", json={**asked, "k": 9}).json()["recommendations"]
        expected = remainder_model.recommend(HISTORY, k=9, steering=steering)
        assert [r["item_id"] for r in found] == [r.item_id for r in expected]
        for place, same in zip(found, expected, strict=True):
            assert place["score"] == pytest.approx(same.score)
            assert [r["share"] for r in place["reasons"]] == [
                pytest.approx(r.share) for r in same.reasons
            ]
        whole = client.post(f"{API}/explain", json={**asked, "item_id": "i5"}).json()
        why = remainder_model.explain("i5", HISTORY, steering=steering)
        kinds = {r["kind"] for r in whole["reasons"]}
        assert kinds == ({"tag", "viewed"} if balance else {"tag"})
        added = sum(r["contribution"] for r in whole["reasons"])
        assert whole["general"] + added == pytest.approx(whole["score"])
        parts = whole["general"] + whole["from_tags"] + whole["from_viewed"]
        assert parts == pytest.approx(whole["score"])
        assert whole["tag_share"] == pytest.approx(why.tag_share)
        viewed = {r["item_id"]: r for r in whole["reasons"] if r["kind"] == "viewed"}
        assert {i: r["contribution"] for i, r in viewed.items()} == pytest.approx(why.viewed)
        assert all(r["title"] == f"Event {i[1:]}" for i, r in viewed.items())

    def test_the_profile_says_what_tags_count(self, client: TestClient) -> None:
        def weight(**asked: Any) -> float:
            return float(client.post(f"{API}/profile", json=asked).json()["tags_weight"])

        assert weight(history=HISTORY) == 1
        assert weight(history=HISTORY, balance=0.9) == pytest.approx(0.2)
        assert weight(balance=0.9) == 1

    def test_a_balance_is_kept_used_and_undone(self, client: TestClient) -> None:
        person = f"{API}/people/{client.post(f'{API}/people').json()['person_id']}"
        for item in HISTORY:
            client.post(f"{person}/views", json={"item_id": item})
        assert client.get(person).json()["balance"] == 0.5
        assert client.put(f"{person}/balance", json={"balance": 0.9}).json()["balance"] == 0.9
        taste = {"history": HISTORY, "balance": 0.9}
        for path, other, asked in (
            ("recommendations", "recommend", {"k": 6}),
            ("profile", "profile", {"top": 2}),
            ("explanation", "explain", {"item_id": "i5"}),
        ):
            kept = client.get(f"{person}/{path}", params=asked).json()
            assert kept == client.post(f"{API}/{other}", json={**taste, **asked}).json()
            instead = client.get(f"{person}/{path}", params={**asked, "balance": 0}).json()
            taste_0 = {**taste, "balance": 0}
            assert instead == client.post(f"{API}/{other}", json={**taste_0, **asked}).json()
            assert instead != kept
        export = client.get(f"{person}/export").json()
        assert export["events"][-1]["kind"] == "balance"
        assert export["events"][-1]["balance"] == 0.9
        assert client.post(f"{person}/undo").json()["balance"] == 0.5

    def test_the_model_says_that_it_has_one(
        self, client: TestClient, serve: Callable[..., TestClient]
    ) -> None:
        found = client.get(f"{API}/model").json()
        assert found["remainder"] == {
            "items": 40, "entries": 40 * 39, "sparse": False, "neighbours": None,
            "without_neighbours": None,
        }  # fmt: skip
        plain = serve().get(f"{API}/model").json()
        assert (plain["remainder"], plain["user_tags"]) == (None, {})

    def test_a_plain_model_takes_a_balance_and_nothing_changes(
        self, serve: Callable[..., TestClient]
    ) -> None:
        plain = serve()
        lists = [
            plain.post(f"{API}/recommend", json={"history": HISTORY, "balance": b}).json()
            for b in (0, 0.5, 1)
        ]
        assert lists[0] == lists[1] == lists[2]
        kinds = {r["kind"] for place in lists[0]["recommendations"] for r in place["reasons"]}
        assert kinds == {"tag"}
