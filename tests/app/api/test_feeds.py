"""The lists of a person by the API: feeds, filters, hidden tags, wishes, without profile."""

import shutil
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl
import pytest
from app.conftest import API, TestClient, error_of, new_person

from teaser import Category, Dataset, Teaser, load
from teaser.app.catalogue import Catalogue, by_date

ZONE = ZoneInfo("Europe/Brussels")
GHENT = {"tag": "town=Ghent", "steps": 2}
NO_FILTERS = {"only": [], "without": [], "at_most": {}, "at_least": {}, "when": ""}


@pytest.fixture
def person(client: TestClient) -> str:
    return new_person(client)


@pytest.fixture
def at_events(serve: Callable[..., TestClient], events_folder: Path) -> TestClient:
    """A client of the built-in events, which have prices and dates."""
    return serve(model=events_folder, time_zone=ZONE.key)


def listed(client: TestClient, person: str, **options: Any) -> list[str]:
    found = client.get(f"{person}/recommendations", params={"k": 200, **options}).json()
    return [each["item_id"] for each in found["recommendations"]]


def reload_model(client: TestClient) -> None:
    """Load the folder again, after the watcher if it was the first to see the change."""
    while (status := client.post(f"{API}/admin/reload").status_code) == 409:
        time.sleep(0.05)
    assert status == 200


def test_presses_and_hidden_things_last_as_long_as_asked(client: TestClient, person: str) -> None:
    client.post(f"{person}/presses", json=GHENT)
    state = client.post(f"{person}/presses", json={**GHENT, "lasts": "today"}).json()
    assert state["presses"] == [{"tag": "town=Ghent", "steps": 4}]
    assert state["lasting"] == [{"tag": "town=Ghent", "steps": 2}]
    client.post(f"{person}/hidden", json={"item_id": "i3", "lasts": "week"})
    state = client.post(f"{person}/hidden", json={"tag": "type=film"}).json()
    assert (state["hidden"], state["hidden_tags"]) == (["i3"], ["type=film"])
    press, hide = state["ends"]
    assert (press["kind"], press["name"], press["steps"]) == ("press", "town=Ghent", 2)
    assert (hide["kind"], hide["name"], hide["is_item"]) == ("hide", "i3", True)
    now = datetime.now(UTC)
    until = [datetime.fromisoformat(end["until"]) for end in (press, hide)]
    assert now < until[0] <= now + timedelta(hours=25)
    assert until[1] - until[0] == timedelta(days=7)
    error_of(client.post(f"{person}/presses", json={**GHENT, "lasts": "month"}), 422)


def test_what_is_hidden_is_never_listed_and_can_be_shown_again(
    client: TestClient, person: str, model: Teaser
) -> None:
    catalogue = Catalogue(model)
    state = client.post(f"{person}/hidden", json={"tag": "type=film"}).json()
    films = {i for i in model.items_ if "film" in catalogue.card(i).facts["type"]}
    assert films
    assert not films & set(listed(client, person))
    assert not films & set(listed(client, person, where="type=film"))
    shown = client.delete(f"{person}/hidden", params={"tag": "type=film"}).json()
    assert shown["hidden_tags"] == []
    assert films <= set(listed(client, person))
    assert client.post(f"{person}/undo").json()["hidden_tags"] == state["hidden_tags"]
    for wrong in ({}, {"tag": "type=film", "item_id": "i1"}):
        assert (
            "item_id or a tag"
            in error_of(client.post(f"{person}/hidden", json=wrong), 422)["message"]
        )
        error_of(client.delete(f"{person}/hidden", params=wrong), 422)
    error_of(client.delete(f"{person}/hidden", params={"tag": "town=Ghent"}), 404)
    assert (
        "town=Ghent"
        in error_of(client.post(f"{person}/hidden", json={"tag": "town=Gent"}), 404)["message"]
    )
    error_of(client.post(f"{person}/hidden", json={"tag": "popularity=popularity"}), 422)


def test_filters_hold_until_they_are_changed(at_events: TestClient, events_folder: Path) -> None:
    person = new_person(at_events)
    catalogue = Catalogue(load(events_folder, Teaser), zone=ZONE)
    kind = str(catalogue.features["type"][0])
    given = {"without": [kind], "at_most": {"price": 20}, "when": "2026-01-10..2026-02-10"}
    state = at_events.put(f"{person}/filters", json=given).json()
    assert state["filters"] == {**NO_FILTERS, **given}
    found = listed(at_events, person)
    assert found
    prices = dict(zip(catalogue.model.items_, catalogue.model.table_["price"], strict=True))
    for item in found:
        card = catalogue.card(item)
        assert kind.split("=")[1] not in card.facts["type"]
        assert prices[item] <= 20
        assert card.date is not None
        assert "2026-01-10" <= card.date.isoformat() <= "2026-02-10"
    assert at_events.put(f"{person}/filters", json={}).json()["filters"] == NO_FILTERS
    assert at_events.post(f"{person}/undo").json()["filters"] == state["filters"]
    unknown: list[tuple[dict[str, Any], str]] = [
        ({"only": ["type=Wrkshop"]}, "type=Workshop"),
        ({"at_least": {"prise": 3}}, "price"),
    ]
    for wrong, said in unknown:
        assert said in error_of(at_events.put(f"{person}/filters", json=wrong), 404)["message"]
    impossible: list[tuple[dict[str, Any], str]] = [
        ({"only": [kind], "without": [kind]}, kind),
        ({"at_least": {"price": 3}, "at_most": {"price": 2}}, "price from 3 and up to 2"),
        ({"when": "soon"}, "'soon'"),
    ]
    for wrong, said in impossible:
        assert said in error_of(at_events.put(f"{person}/filters", json=wrong), 422)["message"]


def test_feeds_are_made_switched_renamed_and_dropped(client: TestClient, person: str) -> None:
    client.post(f"{person}/views", json={"item_id": "i0"})
    client.post(f"{person}/presses", json=GHENT)
    state = client.post(f"{person}/feeds", json={"feed": "Friday night"}).json()
    assert (state["feed"], state["presses"]) == ("Friday night", [GHENT])
    client.put(f"{person}/variety", json={"variety": 0.5})
    client.put(f"{person}/filters", json={"only": ["type=film"]})
    feeds = client.get(f"{person}/feeds").json()
    assert feeds == {"feed": "Friday night", "feeds": client.get(person).json()["feeds"]}
    assert [(f["feed"], f["variety"]) for f in feeds["feeds"]] == [("", 0), ("Friday night", 0.5)]
    films = listed(client, person)
    main = client.put(f"{person}/feed", json={"feed": ""}).json()
    assert (main["variety"], main["filters"], main["history"]) == (0, NO_FILTERS, ["i0"])
    assert len(listed(client, person)) > len(films)
    renamed = client.patch(f"{person}/feeds", json={"feed": "friday night", "name": "Saturday"})
    assert [f["feed"] for f in renamed.json()["feeds"]] == ["", "Saturday"]
    client.put(f"{person}/feed", json={"feed": "saturday"})
    assert listed(client, person) == films
    gone = client.delete(f"{person}/feeds", params={"feed": "Saturday"}).json()
    assert (gone["feed"], len(gone["feeds"])) == ("", 1)
    assert client.post(f"{person}/undo").json()["feed"] == "Saturday"
    assert (
        "Saturday"
        in error_of(client.put(f"{person}/feed", json={"feed": "Saturdy"}), 404)["message"]
    )
    error_of(client.post(f"{person}/feeds", json={"feed": "SATURDAY"}), 422)
    error_of(client.post(f"{person}/feeds", json={"feed": " \t"}), 422)


def test_a_feed_begins_with_what_is_given(client: TestClient, person: str) -> None:
    start = {"presses": [GHENT], "filters": {"only": ["type=film"]}, "variety": 0.25}
    state = client.post(f"{person}/feeds", json={"feed": "mine", "start": start}).json()
    assert state["presses"] == [GHENT]
    copy = client.get(f"{person}/feeds").json()["feeds"][1]
    again = client.post(f"{person}/feeds", json={"feed": "again", "start": copy}).json()
    assert again["feeds"][2] == {**copy, "feed": "again"}
    late = {"ends": [{"kind": "press", "name": "town=Ghent", "steps": 1, "until": "tomorrow"}]}
    error_of(client.post(f"{person}/feeds", json={"feed": "late", "start": late}), 422)


def test_a_shared_feed_can_be_copied_until_its_link_ends(client: TestClient, person: str) -> None:
    client.post(f"{person}/views", json={"item_id": "i0"})
    client.post(f"{person}/presses", json=GHENT)
    client.post(f"{person}/feeds", json={"feed": "Friday night"})
    client.put(f"{person}/filters", json={"without": ["type=film"]})
    link = client.post(f"{person}/shares", json={"feed": "Friday night"}).json()
    assert link["feed"] == "Friday night"
    whole = client.post(f"{person}/shares").json()
    assert whole["feed"] is None
    other = new_person(client)
    token = link["path"].split("/")[-1]
    copied = client.post(f"{other}/feeds/from-share", json={"token": token}).json()
    assert (copied["feed"], copied["presses"], copied["history"]) == ("Friday night", [GHENT], [])
    assert copied["feeds"][1] == client.get(f"{person}/feeds").json()["feeds"][1]
    named = client.post(f"{other}/feeds/from-share", json={"token": token, "feed": "Mine"}).json()
    assert named["feed"] == "Mine"
    # A link to a profile is none to a list, and an ended one shows nothing.
    for wrong in (whole["path"].split("/")[-1], "x" * 43):
        answer = client.post(f"{other}/feeds/from-share", json={"token": wrong})
        assert error_of(answer, 404)["code"] == "unknown_share"
    client.delete(f"{person}/shares/{link['share_id']}")
    before = client.get(other).json()
    answer = client.post(f"{other}/feeds/from-share", json={"token": token, "feed": "Late"})
    assert "its owner ended it" in error_of(answer, 404)["message"]
    assert client.get(other).json() == before
    error_of(client.post(f"{person}/shares", json={"feed": "Friday"}), 404)


def test_without_profile_the_list_is_that_of_everybody(client: TestClient, person: str) -> None:
    client.post(f"{person}/views", json={"item_id": "i0"})
    client.post(f"{person}/presses", json=GHENT)
    followed = listed(client, person)
    off = client.put(f"{person}/profiling", json={"on": False}).json()
    assert (off["profiling"], off["order"], off["history"]) == (False, "appeal", ["i0"])
    everybody = client.post(f"{API}/recommend", json={"k": 200}).json()
    found = client.get(f"{person}/recommendations", params={"k": 200}).json()
    assert found == everybody
    stateless = client.post(f"{API}/explain", json={"item_id": "i7"}).json()
    assert client.get(f"{person}/explanation", params={"item_id": "i7"}).json() == stateless
    client.post(f"{person}/hidden", json={"item_id": "i5"})
    assert "i5" not in listed(client, person)
    client.post(f"{person}/undo")
    assert client.put(f"{person}/profiling", json={"on": True}).json()["profiling"]
    assert listed(client, person) == followed
    answer = client.put(f"{person}/profiling", json={"on": False, "order": "newest"})
    assert "no dates" in error_of(answer, 422)["message"]


def test_the_newest_come_first_where_there_are_dates(
    at_events: TestClient, events_folder: Path
) -> None:
    person = new_person(at_events)
    at_events.post(f"{person}/views", json={"item_id": "e0001"})
    at_events.post(f"{person}/hidden", json={"item_id": "e0002"})
    at_events.put(f"{person}/profiling", json={"on": False, "order": "newest"})
    catalogue = Catalogue(load(events_folder, Teaser), zone=ZONE)
    order = [catalogue.model.items_[i] for i in by_date(catalogue, catalogue.today)]
    order.remove("e0002")
    assert listed(at_events, person, k=50) == order[:50]
    assert listed(at_events, person, exclude=order[:3], k=3) == order[3:6]


def test_wishes_are_applied_together(client: TestClient, person: str) -> None:
    wishes = ["press +2 town=Ghent for week", "without type=film", "variety 0.6"]
    state = client.post(f"{person}/wishes", json={"wishes": wishes}).json()
    assert (state["presses"], state["lasting"]) == ([GHENT], [])
    assert (state["filters"]["without"], state["variety"]) == (["type=film"], 0.6)
    assert (state["n_events"], len(state["ends"])) == (1, 1)
    back = client.post(f"{person}/undo").json()
    assert (back["presses"], back["filters"], back["variety"]) == ([], NO_FILTERS, 0)
    for wrong, status, said in (
        (["press +2 town=Ghent", "without town=Ghent"], 422, "cannot both be"),
        (["dance"], 422, "'dance' is not a wish"),
        (["variety 0.5", "only town=Gent"], 404, "town=Ghent"),
        (["when weekend"], 422, "no dates"),
    ):
        answer = client.post(f"{person}/wishes", json={"wishes": wrong})
        assert said in error_of(answer, status)["message"]
    assert client.get(person).json()["n_events"] == 2  # nothing of them was applied
    full = {"wishes": ["press +3 town=Ghent"]}
    client.post(f"{person}/wishes", json=full)
    client.post(f"{person}/wishes", json=full)
    state = client.post(f"{person}/wishes", json=full).json()
    assert state["presses"] == [{"tag": "town=Ghent", "steps": 5}]
    assert state["note"] == "town=Ghent: that is as far as it goes."


def test_feeds_and_what_is_hidden_survive_a_model_that_lacks_their_names(
    serve: Callable[..., TestClient],
    model_folder: Path,
    tables: tuple[pl.DataFrame, pl.DataFrame],
    tmp_path: Path,
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(model_folder, folder)
    client = serve(model=folder)
    person = new_person(client)
    client.post(f"{person}/views", json={"item_id": "i0"})
    client.post(f"{person}/presses", json=GHENT)
    client.post(f"{person}/hidden", json={"tag": "town=Ghent", "lasts": "week"})
    client.post(f"{person}/feeds", json={"feed": "Friday night"})
    client.put(f"{person}/filters", json={"only": ["town=Deinze"], "without": ["type=film"]})
    before, then = client.get(person).json(), listed(client, person)
    # A model that knows no towns, and has but half of the items.
    interactions, items = tables
    half = items.head(len(items) // 2).drop("town")
    kept = interactions.filter(pl.col("item_id").is_in(half["item_id"].implode()))
    few = Dataset.from_tables(kept, half, rules=[Category("type")])
    shutil.rmtree(folder)
    Teaser(l2_weights=5.0, l2_encoder=5.0).fit(few).save(folder)
    reload_model(client)
    now = client.get(person).json()
    assert now["unknown_tags"] == ["town=Ghent", "town=Deinze"]
    unknown = ("unknown_tags", "unknown_items")
    assert {**now, **{name: [] for name in unknown}} == before
    assert set(listed(client, person)) < set(half["item_id"])
    # What it does not know can be taken back, and stays if something else is changed.
    changed = client.put(f"{person}/filters", json={"only": ["town=Deinze"]}).json()
    assert changed["filters"]["only"] == ["town=Deinze"]
    shown = client.delete(f"{person}/hidden", params={"tag": "town=Ghent"}).json()
    assert shown["hidden_tags"] == []
    for _ in range(2):
        client.post(f"{person}/undo")
    shutil.rmtree(folder)
    shutil.copytree(model_folder, folder)
    reload_model(client)
    assert listed(client, person) == then
    after = client.get(person).json()
    assert {**after, "n_events": 0, "can_redo": False} == {**before, "n_events": 0}
