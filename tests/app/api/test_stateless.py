"""The API without state equals the library; wrong requests get a sentence."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from app.conftest import API, TestClient, error_of, new_person
from conftest import RULES, small_tables

from teaser import Dataset, Tag, Teaser
from teaser.app import catalogue as serving
from teaser.explain import Reason
from teaser.steer import quick_picks, say, smallest_presses, statements, tag_examples, vary_item

HISTORY = ["i0", "i2", "i4"]
GHENT = {"tag": "town=Ghent", "steps": 3}


class TestStateless:
    def test_recommend_equals_the_library(self, client: TestClient, model: Teaser) -> None:
        asked = {"history": HISTORY, "presses": [GHENT], "k": 4}
        found = client.post(f"{API}/recommend", json=asked).json()["recommendations"]
        expected = model.recommend(HISTORY, {"town=Ghent": 3}, k=4)
        assert [r["item_id"] for r in found] == [r.item_id for r in expected]
        assert [r["title"] for r in found] == [r.title for r in expected]
        for place, same in zip(found, expected, strict=True):
            assert place["score"] == pytest.approx(same.score)
            assert place["match"] == pytest.approx(same.match)
            assert [(r["tag"], r["share"]) for r in place["reasons"]] == [
                (str(r.tag), pytest.approx(r.share)) for r in same.reasons if isinstance(r, Reason)
            ]
            assert all(r["tag"] == f"{r['feature']}={r['value']}" for r in place["reasons"])

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

    def test_a_boost_names_an_item_or_a_tag_and_no_column(self, client: TestClient) -> None:
        for name in ("title", "title=Event 3", "concert"):
            asked = {"boost": {name: 1.0}}
            said = error_of(client.post(f"{API}/recommend", json=asked), 404)
            assert "title=" in name or "no item id and no tag" in said["message"]
        assert "Closest: type=concert" in said["message"]
        for number in (2e6, None, "much", True):
            wrong = {"boost": {"i3": number}}
            said = error_of(client.post(f"{API}/recommend", json=wrong), 422)
            assert "boost" in said["message"]

    def test_profile_equals_the_library(self, client: TestClient, model: Teaser) -> None:
        asked = {"history": HISTORY, "presses": [GHENT]}
        found = client.post(f"{API}/profile", json=asked).json()
        expected = model.profile(HISTORY, {"town=Ghent": 3})
        assert found["certainty"] == expected.certainty
        impacts = [f["impact"] for f in found["features"]]
        assert impacts == sorted(impacts, reverse=True)
        assert sum(impacts) == pytest.approx(1)
        affinities = {t["tag"]: t["affinity"] for f in found["features"] for t in f["tags"]}
        assert affinities == pytest.approx({str(t): a for t, a in expected.affinities.items()})
        pressed = {t["tag"]: t["presses"] for f in found["features"] for t in f["tags"]}
        assert {tag: n for tag, n in pressed.items() if n} == {"town=Ghent": 3}

    def test_a_profile_can_be_cut(self, client: TestClient) -> None:
        asked = {"history": HISTORY, "top": 2, "features": ["town", "type"]}
        found = client.post(f"{API}/profile", json=asked).json()["features"]
        assert {f["feature"]: len(f["tags"]) for f in found} == {"town": 2, "type": 2}
        said = error_of(client.post(f"{API}/profile", json={"features": ["towns"]}), 404)
        assert "Closest: town" in said["message"]

    def test_an_explanation_adds_up(self, client: TestClient, model: Teaser) -> None:
        asked = {"history": HISTORY, "presses": [GHENT], "item_id": "i6"}
        found = client.post(f"{API}/explain", json=asked).json()
        assert found["item_id"] == "i6"
        parts = [r["contribution"] for r in found["reasons"]]
        assert found["general"] + sum(parts) == pytest.approx(found["score"])
        by_part = found["general"], *found["tags"].values(), *found["viewed"].values()
        assert sum(by_part) == pytest.approx(found["score"])
        shares = [found["general_share"], *(r["share"] for r in found["reasons"])]
        assert sum(map(abs, shares)) <= 1 + 1e-9
        expected = model.explain("i6", HISTORY, {"town=Ghent": 3})
        assert found["score"] == pytest.approx(expected.score)

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
            ("recommend", {"where": ["town=Gent"]}, "Closest: town=Ghent"),
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
            ("recommend", {"k": "many"}, "body.k"),
            ("recommend", {"k": True}, "body.k"),
            ("profile", {"balance": True}, "body.balance"),
            ("recommend", {"about": "age=young"}, "body.about"),
            ("recommend", {"scale": "huge"}, "body.scale"),
            ("recommend", {"histroy": []}, "body.histroy"),
            ("recommend", {"history": "i0"}, "body.history"),
            ("recommend", {"history": [True]}, "body.history.0"),
            ("recommend", {"history": [2**63]}, "body.history.0"),
            ("recommend", {"presses": [{"tag": "town=Ghent", "steps": 6}]}, "presses.0.steps"),
            ("recommend", {"history": {"i0": -1e10}}, "body.history.i0: must be at least -1e+09"),
            ("recommend", {"history": {"i0": "much"}}, "body.history.i0: must be a number"),
            ("recommend", {"history": {"": 1}}, "an item id must be"),
            ("explain", {"history": {f"i{n}": 1 for n in range(1001)}, "item_id": "i1"}, "1,000"),
            ("recommend", {"presses": {"town=Ghent": 1}}, "body.presses"),
            ("recommend", {"first_date": "soon"}, "body.first_date"),
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
            (400, b'{"k": 1,}'),
            (400, b"k=1"),
            (400, b"\xff\xfe"),
            (400, b'{"history": [' + b"9" * 5000 + b"]}"),
            (400, b"[" * 20_000),
            (422, b""),
            (422, b"[]"),
            (422, b"null"),
            (422, b"1"),
            (422, b'{"variety": NaN}'),
            (422, b'{"variety": Infinity}'),
            (422, b'{"history": ["\\ud800"]}'),
            (422, b'{"\\ud800": 1}'),
            (422, b'{"presses": [{"tag": "a=\\ud800", "steps": 1}]}'),
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

    def test_a_search_says_that_it_is_not_finished(self, client: TestClient, model: Teaser) -> None:
        last = model.recommend(HISTORY, k=13)[-1].item_id
        with serving._searching:  # as while another search is under way
            found = post(client, "lift", history=HISTORY, item_id=last)
        assert found == {"lift": None, "finished": False}
        assert post(client, "lift", history=HISTORY, item_id=last)["finished"]


class TestPicks:
    def test_equal_the_library(self, client: TestClient, model: Teaser) -> None:
        asked = {"picks": ["i3"], "shown": ["i5", "i7"], "k": 4}
        found = post(client, "picks", **asked)["picks"]
        wanted = quick_picks(model, ["i3"], shown=["i5", "i7"], k=4)
        assert [pick["item_id"] for pick in found] == wanted
        assert found[0]["title"] == f"Event {str(wanted[0])[1:]}"
        assert len(post(client, "picks")["picks"]) == 6


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


PRESSES = [{"tag": "labels=free", "steps": 2}]
NET = {"labels=free": 2}


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
