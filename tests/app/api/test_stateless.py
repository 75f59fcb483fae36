"""Lists, profiles and explanations without state, asked rightly and wrongly."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from app.conftest import API, TestClient, error_of

from teaser import Tag, Teaser
from teaser.profile import Steering
from teaser.reason import Reason

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

    def test_somebody_unknown_gets_what_is_popular(self, client: TestClient, model: Teaser) -> None:
        found = client.post(f"{API}/recommend", json={}).json()["recommendations"]
        assert len(found) == 20
        assert found[0]["item_id"] == model.items_[int(model.popularity_.argmax())]

    def test_the_history_can_be_left_in(self, client: TestClient) -> None:
        asked = {"history": HISTORY, "k": 500}
        assert len(client.post(f"{API}/recommend", json=asked).json()["recommendations"]) == 37
        asked["exclude_history"] = False
        assert len(client.post(f"{API}/recommend", json=asked).json()["recommendations"]) == 40

    @pytest.mark.parametrize("variety", [0.0, 0.6])
    def test_negative_reasons_can_be_left_out(self, client: TestClient, variety: float) -> None:
        asked = {"history": HISTORY, "k": 30, "variety": variety}
        shares = {}
        for wanted in (True, False):
            answer = client.post(f"{API}/recommend", json={**asked, "negative_reasons": wanted})
            found = answer.json()["recommendations"]
            shares[wanted] = [[r["share"] for r in place["reasons"]] for place in found]
        assert min(share for place in shares[True] for share in place) < 0
        assert min(share for place in shares[False] for share in place) > 0
        assert len(shares[True]) == len(shares[False]) == 30

    def test_variety_changes_the_order_and_no_score(self, client: TestClient) -> None:
        asked = {"history": HISTORY, "k": 10}
        plain = client.post(f"{API}/recommend", json={**asked, "k": 40}).json()
        mixed = client.post(f"{API}/recommend", json={**asked, "variety": 0.7}).json()
        by_id = {r["item_id"]: r for r in plain["recommendations"]}
        assert [r["item_id"] for r in mixed["recommendations"]] != list(by_id)[:10]
        assert all(r == by_id[r["item_id"]] for r in mixed["recommendations"])

    def test_a_varied_list_can_hold_the_history(self, client: TestClient) -> None:
        asked = {"history": HISTORY, "variety": 0.5, "k": 40}
        without = client.post(f"{API}/recommend", json=asked).json()["recommendations"]
        asked["exclude_history"] = False
        found = client.post(f"{API}/recommend", json=asked).json()["recommendations"]
        ids = {place["item_id"] for place in found}
        assert set(HISTORY) <= ids
        assert ids - set(HISTORY) == {place["item_id"] for place in without}
        plain = client.post(f"{API}/recommend", json={**asked, "variety": 0}).json()
        by_id = {place["item_id"]: place for place in plain["recommendations"]}
        assert all(by_id[place["item_id"]] == place for place in found)
        assert [p["item_id"] for p in found] != [p["item_id"] for p in plain["recommendations"]]

    @pytest.mark.parametrize("variety", [0.0, 0.5])
    def test_filters_hold(self, client: TestClient, model: Teaser, variety: float) -> None:
        tags = ["town=Liège", "town=Deinze", "type=film"]
        asked = {"history": HISTORY, "only_tags": tags, "k": 40, "variety": variety}
        found = client.post(f"{API}/recommend", json=asked).json()["recommendations"]
        rows = {r["item_id"]: r for r in model.table_.iter_rows(named=True)}
        expected = {
            item_id
            for item_id, row in rows.items()
            if row["type"] == "film" and row["town"] in ("Liège", "Deinze")
        }
        assert {r["item_id"] for r in found} == expected - set(HISTORY)

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

    def test_dates_that_the_data_do_not_have_are_refused(self, client: TestClient) -> None:
        asked = {"first_date": "2026-01-01"}
        said = error_of(client.post(f"{API}/recommend", json=asked), 422)
        assert "no dates" in said["message"]

    def test_dates_hold(self, serve: Callable[..., TestClient], events_folder: Path) -> None:
        client = serve(model=events_folder)
        asked = {"first_date": "2026-03-01", "last_date": "2026-06-30", "k": 500}
        found = client.post(f"{API}/recommend", json=asked).json()["recommendations"]
        dates = [client.get(f"{API}/items?item_id={r['item_id']}").json()["date"] for r in found]
        assert 0 < len(dates) < 200
        assert all("2026-03-01" <= text <= "2026-06-30" for text in dates)

    def test_the_scale_is_the_one_asked_for(self, client: TestClient, model: Teaser) -> None:
        def strongest(scale: str) -> float:
            asked = {"history": HISTORY, "scale": scale}
            features = client.post(f"{API}/profile", json=asked).json()["features"]
            return float(max(abs(t["affinity"]) for f in features for t in f["tags"]))

        for scale in ("paper", "robust"):
            expected = model.profile(HISTORY, steering=Steering(scale=scale)).top(1)[0][1]
            assert strongest(scale) == pytest.approx(abs(expected))
        assert strongest("robust") != pytest.approx(strongest("paper"))

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

    def test_similar_items_share_tags(self, client: TestClient) -> None:
        found = client.post(f"{API}/similar", json={"item_id": "i2", "k": 3}).json()["similar"]
        assert len(found) == 3
        assert "i2" not in [s["item_id"] for s in found]
        own = client.get(f"{API}/items?item_id=i2").json()["facts"]
        for place in found:
            other = client.get(f"{API}/items?item_id={place['item_id']}").json()["facts"]
            both = {f"{f}={v}" for f in own for v in own[f] if v in other.get(f, [])}
            assert {t["tag"] for t in place["shared"]} == both
            assert sum(t["share"] for t in place["shared"]) == pytest.approx(1)

    def test_presses_on_one_tag_count_together(self, client: TestClient) -> None:
        asked: dict[str, Any] = {"presses": [{"tag": "town=Ghent", "steps": 2}] * 2}
        twice = client.post(f"{API}/profile", json=asked).json()
        asked = {"presses": [{"tag": " town = Ghent", "steps": 4}]}
        assert client.post(f"{API}/profile", json=asked).json() == twice
        asked = {"presses": [GHENT, GHENT]}
        said = error_of(client.post(f"{API}/profile", json=asked), 422)
        assert "out of range" in said["message"]

    def test_unknown_names_are_404_with_the_closest(self, client: TestClient) -> None:
        cases: list[tuple[str, dict[str, Any], str]] = [
            ("recommend", {"history": ["i0", "j1"]}, "Closest: i1"),
            ("recommend", {"presses": [{"tag": "town=Gent", "steps": 1}]}, "Closest: town=Ghent"),
            ("recommend", {"only_tags": ["town=Gent"]}, "Closest: town=Ghent"),
            ("recommend", {"only_tags": ["Ghent"]}, "Write it as feature=value"),
            ("profile", {"history": [17]}, "Unknown item 17"),
            ("explain", {"item_id": "i400"}, "Closest: i4"),
            ("origins", {"tag": "town=Gent"}, "Closest: town=Ghent"),
            ("similar", {"item_id": "j1"}, "Closest: i1"),
        ]
        for path, asked, closest in cases:
            said = error_of(client.post(f"{API}/{path}", json=asked), 404)
            assert said["code"] == "unknown_name"
            assert closest in said["message"]

    def test_wrong_values_are_422_and_say_where(self, client: TestClient) -> None:
        cases: list[tuple[str, dict[str, Any], str]] = [
            ("recommend", {"k": 0}, "body.k"),
            ("recommend", {"k": 501}, "body.k"),
            ("recommend", {"k": "many"}, "body.k"),
            ("recommend", {"k": True}, "body.k"),
            ("recommend", {"variety": True}, "body.variety"),
            ("recommend", {"variety": 1.1}, "body.variety"),
            ("recommend", {"variety": -0.1}, "body.variety"),
            ("recommend", {"balance": 1.01}, "body.balance"),
            ("profile", {"balance": True}, "body.balance"),
            ("explain", {"item_id": "i1", "balance": "x"}, "body.balance"),
            ("recommend", {"about": "age=young"}, "body.about"),
            ("recommend", {"scale": "huge"}, "body.scale"),
            ("recommend", {"histroy": []}, "body.histroy"),
            ("recommend", {"history": "i0"}, "body.history"),
            ("recommend", {"history": [True]}, "body.history.0"),
            ("recommend", {"history": [1.5]}, "body.history.0"),
            ("recommend", {"history": [None]}, "body.history.0"),
            ("recommend", {"history": [2**63]}, "body.history.0"),
            ("recommend", {"history": ["x" * 2001]}, "body.history.0"),
            ("recommend", {"history": [""]}, "body.history.0"),
            ("recommend", {"history": ["i0"] * 1001}, "body.history"),
            ("recommend", {"presses": [GHENT] * 201}, "body.presses"),
            ("recommend", {"presses": [{"tag": "town=Ghent", "steps": 6}]}, "presses.0.steps"),
            ("recommend", {"presses": [{"tag": "town=Ghent", "steps": 1.5}]}, "presses.0.steps"),
            ("recommend", {"presses": [{"tag": "town=Ghent", "steps": True}]}, "presses.0.steps"),
            ("recommend", {"presses": [{"tag": "x" * 2001, "steps": 1}]}, "presses.0.tag"),
            ("recommend", {"history": {"i0": -1e10}}, "body.history.i0: must be at least -1e+09"),
            ("recommend", {"history": {"i0": "much"}}, "body.history.i0: must be a number"),
            ("recommend", {"history": {"i0": True}}, "body.history.i0: must be a number"),
            ("recommend", {"history": {"i0": 1e10}}, "body.history.i0: must be at most 1e+09"),
            ("recommend", {"history": {"": 1}}, "an item id must be"),
            ("explain", {"history": {f"i{n}": 1 for n in range(1001)}, "item_id": "i1"}, "1,000"),
            ("recommend", {"presses": {"town=Ghent": 1}}, "body.presses"),
            ("recommend", {"first_date": "soon"}, "body.first_date"),
            ("profile", {"top": 0}, "body.top"),
            ("explain", {}, "body.item_id"),
            ("origins", {}, "body.tag"),
            ("similar", {"item_id": "i0", "k": 0}, "body.k"),
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

    def test_other_kinds_of_body_are_refused(self, client: TestClient) -> None:
        answer = client.post(f"{API}/recommend", data={"k": "5"})
        said = error_of(answer, 422)
        assert said["code"] == "invalid"
        assert "Content-Type: application/json" in said["message"]

    def test_the_request_keeps_nothing(self, client: TestClient) -> None:
        first = client.post(f"{API}/recommend", json={"k": 5}).json()
        client.post(f"{API}/recommend", json={"history": HISTORY, "presses": [GHENT]})
        assert client.post(f"{API}/recommend", json={"k": 5}).json() == first
