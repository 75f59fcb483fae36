"""Two items side by side, an item as a start and examples under a tag, over the API."""

from typing import Any

import pytest
from app.conftest import API, TestClient, error_of, new_person

from teaser import Steering, Tag, Teaser
from teaser.steer import tag_examples, vary_item

HISTORY = ["i0", "i2", "i4"]
PRESSES = [{"tag": "labels=free", "steps": 2}]
NET = {"labels=free": 2}


def post(client: TestClient, path: str, **asked: Any) -> Any:
    answer = client.post(f"{API}/{path}", json=asked)
    assert answer.status_code == 200, answer.text
    return answer.json()


def person_who_viewed(client: TestClient) -> str:
    """Return the address of a person with this history and these presses."""
    person = new_person(client)
    for item in HISTORY:
        assert client.post(f"{person}/views", json={"item_id": item}).status_code == 200
    assert client.post(f"{person}/presses", json=PRESSES[0]).status_code == 200
    return person


class TestCompare:
    def test_a_difference_equals_that_of_the_library(
        self, client: TestClient, model: Teaser
    ) -> None:
        asked = {"item_id": "i6", "other_id": "i9", "history": HISTORY, "presses": PRESSES}
        found = post(client, "compare", **asked, boost={"town=Ghent": 0.2})
        wanted = model.compare("i6", "i9", HISTORY, NET, boost={"town=Ghent": 0.2})
        assert (found["item_id"], found["other_id"]) == ("i6", "i9")
        assert (found["title"], found["other_title"]) == ("Event 6", "Event 9")
        assert (found["score"], found["other_score"]) == (wanted.score, wanted.other_score)
        assert found["said"] == wanted.sentence()
        moved = [part["difference"] for part in found["parts"]]
        assert moved == [part.difference for part in wanted.parts]
        assert sum(moved) == pytest.approx(found["difference"], abs=1e-9)
        assert found["difference"] == found["score"] - found["other_score"]
        boosts = [part for part in found["parts"] if part["kind"] == "boost"]
        assert [part["name"] for part in boosts] == ["town=Ghent"]
        assert boosts[0]["tags"][0]["value"] == "Ghent"

    def test_scale_and_balance_count(self, client: TestClient, model: Teaser) -> None:
        asked = {"item_id": "i6", "other_id": "i9", "history": HISTORY, "scale": "paper"}
        wanted = model.compare("i6", "i9", HISTORY, steering=Steering(scale="paper"))
        assert post(client, "compare", **asked)["difference"] == wanted.difference

    def test_a_person_gets_the_same(self, client: TestClient, model: Teaser) -> None:
        person = person_who_viewed(client)
        params = {"item_id": "i6", "other_id": "i9", "boost": "i6:0.5"}
        answer = client.get(f"{person}/comparison", params=params)
        assert answer.status_code == 200, answer.text
        wanted = model.compare("i6", "i9", HISTORY, NET, boost={"i6": 0.5})
        assert answer.json()["difference"] == pytest.approx(wanted.difference)

    def test_bad_questions_are_a_sentence_each(self, client: TestClient) -> None:
        asked = {"item_id": "i6", "other_id": "i6"}
        said = error_of(client.post(f"{API}/compare", json=asked), 422)
        assert "Both items are 'i6'" in said["message"]
        asked = {"item_id": "i6", "other_id": "j9"}
        said = error_of(client.post(f"{API}/compare", json=asked), 404)
        assert "Unknown item 'j9'" in said["message"]
        person = new_person(client)
        twice = client.get(f"{person}/comparison", params={"item_id": "i6", "other_id": "i6"})
        assert "Both items" in error_of(twice, 422)["message"]
        error_of(client.get(f"{person}/comparison", params={"item_id": "i6"}), 422)


class TestVariation:
    def test_a_list_equals_that_of_the_library(self, client: TestClient, model: Teaser) -> None:
        changes = {"town=Ghent": "town=Liège", "type=concert": None}
        asked: dict[str, Any] = {
            "item_id": "i2", "history": HISTORY, "presses": PRESSES, "n": 2, "steps": 3, "k": 4,
            "changes": [{"old": "town=Ghent", "new": "town=Liège"}, {"old": "type=concert"}],
            "exclude": ["i9"],
        }  # fmt: skip
        found = post(client, "variation", **asked)
        wanted = vary_item(model, "i2", changes, HISTORY, NET, n=2, steps=3, k=4, exclude=["i9"])
        assert {s["tag"]: s["steps"] for s in found["start"]} == {
            str(tag): n for tag, n in wanted.start.items()
        }
        assert {Tag.parse(s["tag"]): s["steps"] for s in found["presses"]} == wanted.presses
        listed = [entry["item_id"] for entry in found["recommendations"]]
        assert listed == [entry.item_id for entry in wanted.recommendations]
        assert len(listed) == 4
        assert (found["item_id"], found["title"]) == ("i2", "Event 2")

    def test_only_items_that_pass_are_listed(self, client: TestClient, model: Teaser) -> None:
        found = post(client, "variation", item_id="i2", where=["town=Liège"])
        towns = [model.explain(e["item_id"], []).tags for e in found["recommendations"]]
        assert towns
        assert all(Tag("town", "Liège") in tags for tags in towns)
        asked = {"item_id": "i2", "where": ["town=Nowhere"], "unknown": "ignore"}
        none = post(client, "variation", **asked)
        assert (none["recommendations"], none["ignored"]) == ([], 1)

    def test_bad_questions_are_a_sentence_each(self, client: TestClient) -> None:
        wrong = {"item_id": "i2", "changes": [{"old": "town=Liège"}]}
        said = error_of(client.post(f"{API}/variation", json=wrong), 422)
        assert "has no tag town=Liège, so it cannot be changed" in said["message"]
        wrong = {"item_id": "i2", "changes": [{"old": "town=Ghent", "new": "town=Gent"}]}
        error_of(client.post(f"{API}/variation", json=wrong), 404)
        error_of(client.post(f"{API}/variation", json={"item_id": "nowhere"}), 404)


class TestTagExamples:
    def test_examples_equal_those_of_the_library(self, client: TestClient, model: Teaser) -> None:
        asked: dict[str, Any] = {"tag": "town=Ghent", "history": HISTORY, "presses": PRESSES}
        found = post(client, "tag-examples", **asked, k=3, places=4)
        wanted = tag_examples(model, "town=Ghent", HISTORY, NET, k=3, places=4)
        assert (found["tag"], found["n_items"]) == ("town=Ghent", wanted.n_items)
        assert (found["affinity"], found["can_press"]) == (wanted.affinity, True)
        assert found["brings_up"] == [vars(each) for each in wanted.brings_up]
        assert found["would_bring_up"] == [vars(each) for each in wanted.would_bring_up]
        assert [b["tag"] for b in found["comes_with"]] == [str(b.tag) for b in wanted.comes_with]
        assert [b["times"] for b in found["comes_with"]] == [b.times for b in wanted.comes_with]

    def test_what_a_person_hid_is_left_out(self, client: TestClient, model: Teaser) -> None:
        person = person_who_viewed(client)
        params: dict[str, Any] = {"tag": "town=Ghent", "k": 3}
        first = client.get(f"{person}/tag-examples", params=params).json()
        wanted = tag_examples(model, "town=Ghent", HISTORY, NET, k=3)
        ids = [each["item_id"] for each in first["brings_up"]]
        assert ids == [each.item_id for each in wanted.brings_up]
        client.post(f"{person}/hidden", json={"item_id": ids[0]})
        second = client.get(f"{person}/tag-examples", params=params).json()
        assert [each["item_id"] for each in second["brings_up"]][:2] == ids[1:]

    def test_unknown_tags_are_refused(self, client: TestClient) -> None:
        said = error_of(client.post(f"{API}/tag-examples", json={"tag": "town=Gent"}), 404)
        assert "Closest: town=Ghent" in said["message"]
