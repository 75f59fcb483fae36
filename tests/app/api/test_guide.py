"""Fewest presses, picks and statements over the API equal those of the library."""

from typing import Any

import pytest
from app.conftest import TestClient

from teaser import Tag, Teaser
from teaser.app.api.schema.requests import MAX_PICKS
from teaser.app.serving import lift
from teaser.steer import quick_picks, say, smallest_presses, statements

API = "/api/v1"
HISTORY = ["i0", "i2", "i4"]


def post(client: TestClient, path: str, **asked: Any) -> Any:
    answer = client.post(f"{API}/{path}", json=asked)
    assert answer.status_code == 200, answer.text
    return answer.json()


def as_pairs(presses: list[dict[str, Any]]) -> dict[Tag, int]:
    return {Tag.parse(press["tag"]): press["steps"] for press in presses}


class TestLift:
    def test_equals_the_library_and_does_what_it_says(
        self, client: TestClient, model: Teaser
    ) -> None:
        last = model.recommend(HISTORY, k=13)[-1].item_id
        found = post(client, "lift", history=HISTORY, item_id=last)["lift"]
        same = smallest_presses(model, last, HISTORY)
        assert same is not None
        assert as_pairs(found["presses"]) == same.presses
        assert found["total"] == sum(abs(n) for n in same.presses.values()) > 0
        assert (found["rank_before"], found["rank_after"]) == (same.rank_before, same.rank_after)
        asked = {"history": HISTORY, "presses": found["presses"], "k": 10}
        after = post(client, "recommend", **asked)["recommendations"]
        assert last in [place["item_id"] for place in after]

    def test_presses_there_are_count(self, client: TestClient, model: Teaser) -> None:
        pressed = {"town=Ghent": -1}
        last = model.recommend(HISTORY, pressed, k=13)[-1].item_id
        presses = [{"tag": "town=Ghent", "steps": -1}]
        found = post(client, "lift", history=HISTORY, presses=presses, item_id=last)["lift"]
        same = smallest_presses(model, last, HISTORY, pressed)
        assert same is not None
        assert as_pairs(found["presses"]) == same.presses
        assert found["rank_before"] == 13

    def test_none_is_needed_or_none_helps(self, client: TestClient, model: Teaser) -> None:
        first = model.recommend(HISTORY, k=1)[0].item_id
        assert post(client, "lift", history=HISTORY, item_id=first)["lift"]["presses"] == []
        assert post(client, "lift", history=HISTORY, item_id="i0")["lift"] is None

    def test_a_search_says_that_it_is_not_finished(self, client: TestClient, model: Teaser) -> None:
        last = model.recommend(HISTORY, k=13)[-1].item_id
        with lift._searching:  # as while another search is under way
            found = post(client, "lift", history=HISTORY, item_id=last)
        assert found == {"lift": None, "finished": False}
        assert post(client, "lift", history=HISTORY, item_id=last)["finished"]

    def test_unknown_items_are_refused(self, client: TestClient) -> None:
        answer = client.post(f"{API}/lift", json={"item_id": "j1"})
        assert answer.status_code == 404
        assert "Closest" in answer.json()["error"]["message"]


class TestPicks:
    def test_equal_the_library(self, client: TestClient, model: Teaser) -> None:
        asked = {"picks": ["i3"], "shown": ["i5", "i7"], "k": 4}
        found = post(client, "picks", **asked)["picks"]
        wanted = quick_picks(model, ["i3"], shown=["i5", "i7"], k=4)
        assert [pick["item_id"] for pick in found] == wanted
        assert found[0]["title"] == f"Event {str(wanted[0])[1:]}"
        assert len(post(client, "picks")["picks"]) == 6

    @pytest.mark.parametrize("asked", [{"k": 0}, {"k": MAX_PICKS + 1}, {"history": []}])
    def test_odd_requests_are_refused(self, client: TestClient, asked: dict[str, Any]) -> None:
        assert client.post(f"{API}/picks", json=asked).status_code == 422


class TestStatements:
    def test_equal_the_library_and_can_be_denied(self, client: TestClient, model: Teaser) -> None:
        presses = [{"tag": "labels=free", "steps": 2}]
        found = post(client, "statements", history=HISTORY, presses=presses)["statements"]
        wanted = statements(model.profile(HISTORY, {"labels=free": 2}))
        assert [s["said"] for s in found] == [say(s) for s in wanted]
        assert [s["strength"] for s in found] == pytest.approx([s.strength for s in wanted])
        for said, same in zip(found, wanted, strict=True):
            assert said["leaning"] == ("towards" if same.leaning > 0 else "away")
            assert [tag["tag"] for tag in said["tags"]] == list(map(str, same.tags))
            net = {Tag("labels", "free"): 2}
            for tag, steps in as_pairs(said["denial"]).items():
                net[tag] = net.get(tag, 0) + steps
            asked = [{"tag": str(tag), "steps": steps} for tag, steps in net.items() if steps]
            after = post(client, "statements", history=HISTORY, presses=asked)["statements"]
            assert said["said"] not in [s["said"] for s in after]

    def test_nothing_is_said_of_somebody_new(self, client: TestClient) -> None:
        assert post(client, "statements") == {"statements": []}

    def test_unknown_tags_are_refused(self, client: TestClient) -> None:
        asked = {"presses": [{"tag": "town=Gent", "steps": 1}]}
        assert client.post(f"{API}/statements", json=asked).status_code == 404
