"""The form of the site: what each field asks for, and tabs that press at once."""

import html
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from app.conftest import OWN, TestClient, services_of

from teaser.app.store import Store

SCRIPT = {"x-teaser-script": "1"}


class TestForms:
    def test_answer_by_redirect_to_the_page_they_were_on(self, visitor: TestClient) -> None:
        fields = {"press": "+1 type=film", "back": "/item/i3?x=1"}
        response = visitor.post("/act", data=fields, follow_redirects=False)
        assert response.status_code == 303
        assert response.headers["location"] == "/item/i3?x=1&did=1#notice"

    @pytest.mark.parametrize(
        "back", ["//evil.example/", "https://evil.example/", "/\\evil.example", "javascript:x", ""]
    )
    def test_never_send_anybody_elsewhere(self, visitor: TestClient, back: str) -> None:
        fields = {"press": "+1 type=film", "back": back}
        response = visitor.post("/act", data=fields, follow_redirects=False)
        assert response.headers["location"] == "/?did=1#notice"

    def test_refuse_what_is_not_possible(self, visitor: TestClient) -> None:
        for fields, status, fact in (
            ({"press": "0.5 type=film"}, 422, "0.5"),
            ({"presses": '{"type=film": "x"}'}, 422, "'x'"),
            (
                {"presses": json.dumps({f"type={n}": 1 for n in range(21)})},
                422,
                "20 tags, found 21",
            ),
            ({"vary": "7"}, 422, "7"),
        ):
            response = visitor.post("/act", data=fields)
            assert response.status_code == status
            assert fact in html.unescape(response.text)
            assert "<h1>" in response.text


def test_tabs_that_press_at_once_at_the_limit_meet_no_error(
    serve: Callable[..., TestClient], database_url: str
) -> None:
    client = serve(database_url=database_url)
    client.headers.update(OWN)
    client.post("/act", data={"press": "+3 type=film"})
    for _ in range(6):

        def press(_: int) -> int:
            fields = {"press": "+1 type=film"}
            return int(client.post("/act", data=fields, follow_redirects=False).status_code)

        with ThreadPoolExecutor(6) as pool:
            assert list(pool.map(press, range(6))) == [303] * 6
        store = services_of(client).store
        person = store.find_person(client.cookies["teaser"]) or ""
        assert store.state(person).presses == {"type=film": 5}
        client.post("/act", data={"press": "-2 type=film"})


@pytest.mark.parametrize("number", ["9" * 5_000, "9" * 4_299, "9" * 400, "1e999", "-1e308", "NaN"])
def test_no_number_is_too_much_for_a_form(client: TestClient, number: str) -> None:
    client.headers.update(OWN)
    for fields in (
        {"presses": f'{{"type=film": {number}}}'},
        {"press": f"{number} type=film"},
        {"filter": f'{{"at_most": {{"price": {number}}}}}'},
        {"filter": f'{{"only": [{number}]}}'},
        {"filter": f'{{"when": {number}}}'},
        {"vary": number},
        {"balance": number},
        {"end_press": f"2099-11-20T00:00:00+00:00 {number} type=film"},
        {"view": number},
        {"unhide": number},
        {"feed": number},
    ):
        assert client.post("/act", data=fields).status_code in (404, 422), fields
    for kind in ("at_most price", "at_least price", "variety", "like", "when"):
        wish = f"{kind} {number}"
        assert client.post("/say", data={"wish": wish}).status_code in (404, 422), wish
    page = f"/?far={{%22type=film%22:{number}}}&did={number}&k={number}"
    assert client.get(page).status_code < 500
    assert client.get("/say", params={"text": f"under {number}"}).status_code < 500


STEPS = (
    {"view": "i1"},
    {"view": "i7"},
    {"press": "+1 town=Ghent"},
    {"press": "-1 type=film"},
    {"undo": "1"},
    {"redo": "1"},
    {"vary": "0.4"},
    {"hide": "i4"},
    {"make_feed": "Other"},
    {"press": "+1 type=concert"},
    {"main_feed": "1"},
    {"filter": '{"only": ["type=concert"]}'},
    {"profiling": "appeal"},
    {"reset": "1"},
)


@pytest.mark.parametrize("language", ["en", "nl"])
def test_the_script_gets_the_page_that_a_reload_gives(visitor: TestClient, language: str) -> None:
    visitor.headers.update(SCRIPT | {"accept-language": language})
    for n, step in enumerate(STEPS, start=1):
        answer = visitor.post("/act", data=step, follow_redirects=False)
        assert answer.status_code == 200
        assert answer.text == visitor.get(f"/?did={n}").text, step


def test_whoever_was_deleted_by_another_process_begins_anew(client: TestClient) -> None:
    store = services_of(client).store
    client.get("/")
    client.headers["origin"] = "http://testserver"
    client.post("/act", data={"view": "i1"})
    token = client.cookies["teaser"]
    person_id = store.find_person(token)
    assert person_id is not None
    other = Store(store.url)
    other.delete_person(person_id)
    other.close()
    assert client.post("/act", data={"view": "i2"}).status_code == 200
    assert store.state(person_id).history == ("i2",)
