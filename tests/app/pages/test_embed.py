"""The list in pages of other sites: who may show it, what it says, what it leaves alone."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from app.conftest import API, TestClient, error_of

from teaser.app.settings import Settings
from teaser.errors import ParameterError

SHOP = {"origin": "https://shop.example"}


@pytest.fixture
def client(serve: Callable[..., TestClient], events_folder: Path) -> TestClient:
    """A server that needs keys, and lets one other site show the list."""
    return serve(
        model=events_folder, keys="on", origins="https://shop.example, http://b.example:81"
    )


def ask(client: TestClient, headers: Any = SHOP, **asked: Any) -> Any:
    return client.post("/embed", json=asked, headers=headers)


def test_the_list_is_that_of_the_api(
    client: TestClient, serve: Callable[..., TestClient], events_folder: Path
) -> None:
    presses = [{"tag": "town=Ghent", "steps": 2}]
    filters = {"only": ["type=Concert"], "at_most": {"price": 30}}
    asked: dict[str, Any] = {"history": ["e0001"], "presses": presses, "filters": filters, "k": 5}
    found = ask(client, **asked).json()
    api = serve(model=events_folder).post(f"{API}/recommend", json=asked).json()
    wanted = [entry["item_id"] for entry in api["recommendations"]]
    assert [item["item_id"] for item in found["items"]] == wanted
    reasons = [reason for item in found["items"] for reason in item["reasons"]]
    assert {"tag": "town=Ghent", "label": "Ghent", "presses": 2}.items() <= max(
        reasons, key=lambda reason: reason["presses"]
    ).items()
    assert all(item["link"].startswith("http") for item in found["items"])


@pytest.mark.parametrize(("language", "title"), [("en", "For you"), ("nl", "Voor u")])
def test_it_speaks_the_language_of_the_page(client: TestClient, language: str, title: str) -> None:
    by_name = ask(client, language=language).json()
    by_browser = ask(client, {**SHOP, "accept-language": f"{language}-BE"}).json()
    assert by_name["language"] == by_browser["language"] == language
    assert by_name["texts"]["title"] == title


def test_somebody_new_can_press_the_tags_of_an_item(client: TestClient) -> None:
    first = ask(client, k=1).json()["items"][0]
    assert len(first["reasons"]) == 3
    assert all(reason["share"] is None for reason in first["reasons"])
    tag = first["reasons"][0]["tag"]
    pressed = ask(client, k=40, presses=[{"tag": tag, "steps": -5}]).json()["items"]
    assert first["item_id"] not in [item["item_id"] for item in pressed[:5]]


def test_what_the_model_has_no_more_is_ignored_and_a_wrong_filter_is_not(
    client: TestClient,
) -> None:
    stale = [{"tag": "town=Atlantis", "steps": 5}]
    found = ask(client, history=["gone"], presses=stale)
    assert found.json()["items"] == ask(client).json()["items"]
    said = error_of(ask(client, filters={"only": ["town=Gent"]}), 404)
    assert "town=Ghent" in said["message"]
    error_of(ask(client, k=0), 422)


@pytest.mark.parametrize(
    "origin",
    ["https://other.example", "http://shop.example", "https://shop.example:444", "null", ""],
)
def test_a_page_of_another_origin_gets_a_sentence(client: TestClient, origin: str) -> None:
    answer = ask(client, {"origin": origin} if origin else {})
    assert "TEASER_ORIGINS" in error_of(answer, 403)["message"]
    assert answer.headers["access-control-allow-origin"] == "*", "the page can read why"


def test_browsers_may_load_the_script_and_send_the_request(client: TestClient) -> None:
    assert ask(client, {"origin": "http://b.example:81"}).status_code == 200
    preflight = {**SHOP, "access-control-request-method": "POST"}
    answer = client.options("/embed", headers=preflight)
    assert answer.status_code == 204
    assert answer.headers["access-control-allow-headers"] == "content-type"
    script = client.get("/embed.js")
    assert script.headers["content-type"].startswith("text/javascript")
    assert script.headers["cross-origin-resource-policy"] == "cross-origin"
    assert len(script.content) < 30_000
    assert not client.cookies
    # All else stays closed to other sites.
    page = client.get("/", headers=SHOP)
    assert page.headers["cross-origin-resource-policy"] == "same-origin"
    assert "access-control-allow-origin" not in page.headers


@pytest.mark.parametrize("origin", ["shop.example", "https://shop.example/", "*", "ftp://a.b"])
def test_what_is_no_origin_is_refused_at_the_start(origin: str) -> None:
    with pytest.raises(ParameterError, match=r"TEASER_ORIGINS.*https://example\.org"):
        Settings(model=Path("model"), origins=origin)
