"""The API without state equals the library; wrong requests get a sentence."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from app.conftest import API, TestClient, check_same, error_of, new_person
from conftest import RULES, small_tables

from teaser import Dataset, Tag, Teaser
from teaser.steer import quick_picks, say, smallest_presses, statements, tag_examples, vary_item

HISTORY = ["i0", "i2", "i4"]
GHENT = {"tag": "town=Ghent", "steps": 3}


class TestStateless:
    def test_ids_and_tags_say_what_may_be_listed(self, client: TestClient, model: Teaser) -> None:
        asked: dict[str, Any] = {"history": HISTORY, "items": ["i1", "i3", "i5", "i6"]}
        asked |= {"exclude": ["i3"], "where": ["type=film"]}
        found = client.post(f"{API}/recommend", json=asked).json()["recommendations"]
        assert {r["item_id"] for r in found} == {"i1", "i5"}
        unknown = {**asked, "history": [*HISTORY, "x"], "items": [*asked["items"], "y"]}
        unknown |= {"where": ["type=film", "type=flim"], "boost": {"town=Gent": 1, "nothing": 1}}
        assert error_of(client.post(f"{API}/recommend", json=unknown), 404)
        ignored = client.post(f"{API}/recommend", json={**unknown, "unknown": "ignore"})
        assert ignored.json() == {"recommendations": found, "ignored": 5}
        nowhere = {"where": ["type=film", "town=Gent"], "unknown": "ignore"}
        none = client.post(f"{API}/recommend", json=nowhere)
        assert none.json() == {"recommendations": [], "ignored": 1}

    @pytest.mark.parametrize("variety", [0.0, 0.5])
    def test_a_boost_is_a_reason_of_its_own(
        self, client: TestClient, model: Teaser, variety: float
    ) -> None:
        boost = {"i9": 40.0, "town=Ghent": 0.5}
        asked = {"history": HISTORY, "boost": boost, "variety": variety}
        first = client.post(f"{API}/recommend", json=asked).json()["recommendations"][0]
        assert first["item_id"] == "i9"
        assert first["reasons"][0]["kind"] == "boost"
        assert first["reasons"][0]["name"] == "i9"
        wanted = model.explain("i9", HISTORY, boost=boost)
        said = client.post(
            f"{API}/explain", json={"history": HISTORY, "boost": boost, "item_id": "i9"}
        ).json()
        assert said["boost"] == pytest.approx(wanted.boost)
        parts = said["general"] + said["from_tags"] + said["from_viewed"] + said["boost"]
        assert parts == pytest.approx(said["score"])

    def test_a_boost_that_names_nothing_is_refused(self, client: TestClient) -> None:
        said = error_of(client.post(f"{API}/recommend", json={"boost": {"concrt": 1.0}}), 404)
        assert "Closest: " in said["message"]
        for number in (2e6, None, "much", True):
            wrong = {"boost": {"i3": number}}
            said = error_of(client.post(f"{API}/recommend", json=wrong), 422)
            assert "boost" in said["message"]

    def test_a_profile_can_be_cut(self, client: TestClient) -> None:
        asked = {"history": HISTORY, "top": 2, "features": ["town", "type"]}
        found = client.post(f"{API}/profile", json=asked).json()["features"]
        assert {f["feature"]: len(f["tags"]) for f in found} == {"town": 2, "type": 2}
        said = error_of(client.post(f"{API}/profile", json={"features": ["towns"]}), 404)
        assert "Closest: town" in said["message"]

    def test_origins_add_up(self, client: TestClient, model: Teaser) -> None:
        asked = {"history": HISTORY, "presses": [GHENT], "tag": "town=Ghent"}
        found = client.post(f"{API}/origins", json=asked).json()
        assert sum(o["part"] for o in found["origins"]) == pytest.approx(found["raw"])
        parts = {o["item_id"]: o["part"] for o in found["origins"]}
        assert parts == pytest.approx(model.origins("town=Ghent", HISTORY))
        sizes = [abs(o["part"]) for o in found["origins"]]
        assert sizes == sorted(sizes, reverse=True)
        affinities = model.profile(HISTORY, {"town=Ghent": 3}).affinities
        assert found["affinity"] == pytest.approx(affinities[Tag("town", "Ghent")])

    def test_unknown_names_are_404_with_the_closest(self, client: TestClient) -> None:
        cases: list[tuple[str, dict[str, Any], str]] = [
            ("recommend", {"history": ["i0", "j1"]}, "Closest: i1"),
            ("recommend", {"presses": [{"tag": "town=Gent", "steps": 1}]}, "Closest: town=Ghent"),
            ("recommend", {"where": ["Ghent"]}, "Write it as feature=value"),
            ("profile", {"history": [17]}, "Unknown item 17"),
            ("explain", {"item_id": "i399"}, "Closest: i39"),
            ("origins", {"tag": "town=Gent"}, "Closest: town=Ghent"),
            ("similar", {"item_id": "j1"}, "Closest: i1"),
        ]
        for path, asked, closest in cases:
            said = error_of(client.post(f"{API}/{path}", json=asked), 404)
            assert said["code"] == "unknown_name"
            assert closest in said["message"]

    def test_wrong_values_are_422_and_say_where(self, client: TestClient) -> None:
        cases: list[tuple[str, dict[str, Any], str]] = [
            ("recommend", {"where": ["town=Gent"]}, "Such as: Ghent"),
            ("recommend", {"k": "many"}, "body.k"),
            ("recommend", {"about": "age=young"}, "body.about"),
            ("recommend", {"scale": "huge"}, "body.scale"),
            ("recommend", {"histroy": []}, "body.histroy"),
            ("recommend", {"history": "i0"}, "body.history"),
            ("recommend", {"history": [True]}, "body.history.0"),
            ("recommend", {"history": [2**63]}, "body.history.0"),
            ("recommend", {"presses": [{"tag": "town=Ghent", "steps": 6}]}, "presses.0.steps"),
            ("recommend", {"history": {"i0": -1e10}}, "body.history.i0: must be greater than"),
            ("recommend", {"history": {"i0": "much"}}, "body.history.i0: must be a valid number"),
            ("recommend", {"history": {"": 1}}, "must be an item id"),
            ("explain", {"history": {f"i{n}": 1 for n in range(1001)}, "item_id": "i1"}, "1000"),
            ("recommend", {"presses": {"town=Ghent": 1}}, "body.presses"),
            ("recommend", {"first_date": "soon"}, "body.first_date"),
            ("recommend", {"last_date": 0}, "body.last_date"),
            ("recommend", {"last_date": "0"}, "body.last_date"),
            ("explain", {}, "body.item_id"),
        ]
        for path, asked, place in cases:
            found = error_of(client.post(f"{API}/{path}", json=asked), 422)
            assert found["code"] == "invalid"
            assert place in found["message"]

    def test_no_json_is_400_and_wrong_json_422(self, client: TestClient) -> None:
        headers = {"content-type": "application/json"}
        for status, body in [
            (400, b"{"),
            (400, b"{'k': 1}"),
            (400, b"\xff\xfe"),
            (400, b'{"history": [' + b"9" * 5000 + b"]}"),
            (400, b"[" * 20_000),
            (422, b""),
            (422, b"[]"),
            (422, b'{"variety": NaN}'),
            (422, b'{"history": ["\\ud800"]}'),
        ]:
            answer = client.post(f"{API}/recommend", content=body, headers=headers)
            said = error_of(answer, status)
            assert said["code"] == ("unreadable" if status == 400 else "invalid")
            assert said["message"].endswith(".")
            assert not re.search("Input should|pydantic|parsing the body|required", said["message"])


def post(client: TestClient, path: str, **asked: Any) -> Any:
    answer = client.post(f"{API}/{path}", json=asked)
    assert answer.status_code == 200, answer.text
    return answer.json()


PRESSES = [GHENT]
NET = {"town=Ghent": 3}


Answer = Callable[[Teaser], Any]
EQUAL: dict[str, tuple[dict[str, Any], Answer]] = {
    "recommend": ({"k": 4}, lambda m: {"recommendations": m.recommend(HISTORY, NET, k=4)}),
    "profile": ({}, lambda m: m.profile(HISTORY, NET)),
    "explain": ({"item_id": "i6"}, lambda m: m.explain("i6", HISTORY, NET)),
    "compare": (
        {"item_id": "i6", "other_id": "i9", "boost": {"town=Ghent": 0.2}},
        lambda m: m.compare("i6", "i9", HISTORY, NET, boost={"town=Ghent": 0.2}),
    ),
    "lift": ({"item_id": "i39"}, lambda m: {"lift": smallest_presses(m, "i39", HISTORY, NET)}),
    "tag-examples": (
        {"tag": "town=Ghent", "k": 3, "places": 4},
        lambda m: tag_examples(m, "town=Ghent", HISTORY, NET, k=3, places=4),
    ),
    "variation": (
        {"item_id": "i2", "changes": [{"old": "town=Ghent", "new": "town=Liège"}], "k": 4, "n": 2},
        lambda m: vary_item(m, "i2", {"town=Ghent": "town=Liège"}, HISTORY, NET, k=4, n=2),
    ),
}


@pytest.mark.parametrize("path", EQUAL)
def test_an_answer_equals_that_of_the_library(client: TestClient, model: Teaser, path: str) -> None:
    asked, wanted = EQUAL[path]
    check_same(post(client, path, history=HISTORY, presses=PRESSES, **asked), wanted(model))


def test_the_tags_of_a_profile_and_statements_equal_the_library(
    client: TestClient, model: Teaser
) -> None:
    wanted = model.profile(HISTORY, NET)
    found = post(client, "profile", history=HISTORY, presses=PRESSES)["features"]
    assert {f["feature"]: f["impact"] for f in found} == pytest.approx(wanted.impacts)
    tags = [tag for feature in found for tag in feature["tags"]]
    affinities = {str(tag): affinity for tag, affinity in wanted.affinities.items()}
    assert {tag["tag"]: tag["affinity"] for tag in tags} == pytest.approx(affinities)
    assert {tag["tag"]: tag["presses"] for tag in tags if tag["presses"]} == NET
    told = post(client, "statements", history=HISTORY, presses=PRESSES)["statements"]
    assert [each["said"] for each in told] == list(map(say, statements(wanted)))


def test_picks_equal_the_library(client: TestClient, model: Teaser) -> None:
    asked: dict[str, Any] = {"picks": ["i3"], "shown": ["i5", "i7"], "k": 4}
    found = [pick["item_id"] for pick in post(client, "picks", **asked)["picks"]]
    assert found == quick_picks(model, ["i3"], shown=["i5", "i7"], k=4)


def read(client: TestClient, text: str, **asked: Any) -> Any:
    answer = client.post(f"{API}/words", json={"text": text, **asked})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_wishes_unknown_words_and_contradictions(client: TestClient, model: Teaser) -> None:
    assert "town=Ghent" in map(str, model.tags_)
    found = read(client, "a bit more Ghent, no Ghent, dragons")
    both = ["press +2 town=Ghent", "without town=Ghent"]
    assert [wish["wish"] for wish in found["wishes"]] == both
    assert found["wishes"][0] == {
        "wish": "press +2 town=Ghent", "kind": "press", "name": "town=Ghent", "steps": 2,
        "number": None, "lasts": "always", "words": "a bit more Ghent",
    }  # fmt: skip
    assert found["unknown"] == ["dragons"]
    assert found["contradictions"] == [both]


class TestCatalogue:
    def test_a_card(self, client: TestClient) -> None:
        assert client.get(f"{API}/items?item_id=i7").json() == {
            "item_id": "i7",
            "title": "Event 7",
            "description": None,
            "link": None,
            "date": None,
            "has_picture": False,
            "facts": {"type": ["film"], "town": ["Deinze"], "labels": ["free", "late"]},
            "groups": [],
            "placed_by": None,
        }
        assert "Closest: i7" in error_of(client.get(f"{API}/items?item_id=i77"), 404)["message"]

    def test_ids_may_be_numbers(self, serve: Callable[..., TestClient], tmp_path: Path) -> None:
        new = {f"i{i}": i for i in range(40)}
        frames = [
            frame.with_columns(frame["item_id"].replace_strict(new).alias("item_id"))
            for frame in small_tables()
        ]
        dataset = Dataset.from_tables(*frames, rules=RULES)
        Teaser(l2_weights=5.0, l2_encoder=5.0).fit(dataset).save(tmp_path / "numbers")
        client = serve(model=tmp_path / "numbers")
        assert client.get(f"{API}/items?item_id=3").json()["item_id"] == 3
        person = new_person(client)
        assert client.post(f"{person}/views", json={"item_id": "3"}).json()["history"] == [3]
        assert client.delete(f"{person}/views?item_id=3").json()["history"] == []

    def test_ids_may_be_any_text(self, serve: Callable[..., TestClient], tmp_path: Path) -> None:
        odd = [".", "..", "a/../b", "/", "%2e%2e", "?", "#", "&", "+", "a b"]
        new = {f"i{i}": name for i, name in enumerate(odd)}
        frames = [frame.with_columns(frame["item_id"].replace(new)) for frame in small_tables()]
        dataset = Dataset.from_tables(*frames, rules=RULES)
        Teaser(l2_weights=5.0, l2_encoder=5.0).fit(dataset).save(tmp_path / "odd")
        client = serve(model=tmp_path / "odd")
        person = new_person(client)
        for name in odd:
            query = {"item_id": name}
            assert client.get(f"{API}/items", params=query).json()["item_id"] == name
            for kind, field in (("views", "history"), ("hidden", "hidden")):
                assert client.post(f"{person}/{kind}", json=query).json()[field] == [name]
                assert client.delete(f"{person}/{kind}", params=query).json()[field] == []
            explained = client.get(f"{person}/explanation", params=query).json()
            assert explained["item_id"] == name

    def test_search(self, client: TestClient) -> None:
        found = client.get(f"{API}/search", params={"q": "GHENT"}).json()
        assert [t["tag"] for t in found["tags"]] == ["town=Ghent"]
        assert found["tags"][0]["n_items"] == 17
        assert found["items"] == []
        found = client.get(f"{API}/search", params={"q": "event 39"}).json()
        assert found["items"] == [{"item_id": "i39", "title": "Event 39"}]
        found = client.get(f"{API}/search", params={"q": "liege"}).json()
        assert [t["tag"] for t in found["tags"]] == ["town=Liège"]
        query, dutch = {"q": "luik"}, {"accept-language": "nl-BE"}
        assert client.get(f"{API}/search", params=query).json()["tags"] == []
        found = client.get(f"{API}/search", params=query, headers=dutch).json()
        assert [t["tag"] for t in found["tags"]] == ["town=Liège"]
        found = client.get(f"{API}/search", params={"q": "event", "k": 3}).json()
        assert len(found["items"]) == 3
        wrong: list[Any] = [{}, {"q": ""}, {"q": "x" * 201}, {"q": "a", "k": 0}]
        for query in [*wrong, {"q": "a", "x": 1}]:
            error_of(client.get(f"{API}/search", params=query), 422)

    def test_what_is_served(self, client: TestClient, model: Teaser) -> None:
        expected = {**model.describe(), "weights": None, "recipe": None}
        assert client.get(f"{API}/model").json() == expected
        assert (expected["remainder"], expected["discovered"]) == (None, None)


PATH = f"{API}/transparency"


def test_figures_are_those_of_the_model(client: TestClient, model: Teaser) -> None:
    found = client.get(PATH).json()
    told = model.transparency_
    assert told is not None
    shares = {(row["part"], row["feature"]): row["share"] for row in found["impacts"]["shares"]}
    assert shares == {(kind, name): share for kind, name, share in told.shares()}
    assert sum(shares.values()) == pytest.approx(1)
    for row in found["impacts"]["shares"]:
        wanted = told.impacts.press_changes.get(row["feature"] or row["part"])
        assert row["press_change"] == wanted
    for name in ("n_people", "k", "step", "press_change"):
        assert found["impacts"][name] == getattr(told.impacts, name)
    assert found["sources"]["n_interactions"] == 1_694
    assert found["sources"]["features"][0] == {"feature": "type", "columns": ["type"], "n_tags": 2}
    assert (found["version"], found["date"]) == (told.version, told.date.isoformat())


def test_the_settings_of_the_site_are_told(serve: Callable[..., TestClient]) -> None:
    plain = serve().get(PATH).json()
    assert (plain["learns_from_views"], plain["boosts"]) == (False, {})
    own = serve(learn=True, boost="town=Ghent:0.2").get(PATH).json()
    assert (own["learns_from_views"], own["boosts"]) == (True, {"town=Ghent": 0.2})


class TestFilters:
    """The conditions of a stored list hold in a list without state too."""

    def names(self, answer: Any) -> list[Any]:
        assert answer.status_code == 200, answer.text
        return [entry["item_id"] for entry in answer.json()["recommendations"]]

    @pytest.mark.parametrize(
        "filters",
        [
            {"only": ["town=Ghent", "type=Concert"], "at_most": {"price": 20}},
            {"when": "..2026-01-15", "at_least": {"price": 5}, "at_most": {"price": 15}},
        ],
    )
    def test_they_are_those_of_a_person(
        self, serve: Callable[..., TestClient], events_folder: Path, filters: dict[str, Any]
    ) -> None:
        client = serve(model=events_folder)
        person = new_person(client)
        client.post(f"{person}/views", json={"item_id": "e0001"})
        assert client.put(f"{person}/filters", json=filters).status_code == 200
        wanted = self.names(client.get(f"{person}/recommendations?k=500"))
        asked = {"history": ["e0001"], "k": 500}
        found = self.names(client.post(f"{API}/recommend", json={**asked, "filters": filters}))
        everything = self.names(client.post(f"{API}/recommend", json=asked))
        assert found == wanted
        assert 0 < len(found) < len(everything)
