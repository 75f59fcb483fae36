"""The form of the site: what each field asks for, and tabs that press at once."""

import html
import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from app.conftest import TestClient, services_of

from teaser.app.pages.home import ActionForm
from teaser.app.state import Event
from teaser.app.store import Store
from teaser.errors import ParameterError

OWN = {"origin": "http://testserver"}
PART = b'--B\r\nContent-Disposition: form-data; name="view"\r\n\r\n'
SCRIPT = {"x-teaser-script": "1"}


@pytest.fixture
def visitor(client: TestClient) -> TestClient:
    """A browser that sends forms from our own pages."""
    client.headers.update(OWN)
    return client


def test_each_button_asks_for_one_action() -> None:
    for form, event in (
        (ActionForm(press="+1 town=Ghent"), Event("press", {"presses": {"town=Ghent": 1}})),
        (ActionForm(presses='{"a=b": -2}'), Event("press", {"presses": {"a=b": -2}})),
        (ActionForm(view="17"), Event("view", {"item": "17"})),
        (ActionForm(remove="i1"), Event("remove", {"item": "i1"})),
        (ActionForm(hide="i1"), Event("hide", {"item": "i1"})),
        (ActionForm(unhide="i1"), Event("unhide", {"item": "i1"})),
        (ActionForm(vary="0.5"), Event("vary", {"variety": 0.5})),
        (ActionForm(balance="1"), Event("balance", {"balance": 1})),
        (ActionForm(set_about="1", about=["a=b", ""]), Event("about", {"about": ["a=b", ""]})),
        (ActionForm(hide_tag="a=b"), Event("hide", {"tag": "a=b"})),
        (ActionForm(unhide_tag="a=b"), Event("unhide", {"tag": "a=b"})),
        (ActionForm(filter='{"only": ["a=b"]}'), Event("filter", {"filters": {"only": ["a=b"]}})),
        (ActionForm(feed="A"), Event("switch_feed", {"feed": "A"})),
        (ActionForm(main_feed="1"), Event("switch_feed", {"feed": ""})),
        (ActionForm(make_feed="A"), Event("make_feed", {"feed": "A"})),
        (ActionForm(rename_feed="A", name="B"), Event("rename_feed", {"feed": "A", "name": "B"})),
        (ActionForm(drop_feed="A"), Event("drop_feed", {"feed": "A"})),
        (ActionForm(profiling="on"), Event("profiling", {"on": True})),
        (ActionForm(profiling="newest"), Event("profiling", {"on": False, "order": "newest"})),
        (
            ActionForm(end_press="2099-11-17T00:00:00+00:00 -2 a=b c"),
            Event("press", {"presses": {"a=b c": -2}, "until": "2099-11-17T00:00:00+00:00"}),
        ),
        (
            ActionForm(make_feed="B", copy_of="A"),
            Event(
                "several",
                {"actions": [["switch_feed", {"feed": "A"}], ["make_feed", {"feed": "B"}]]},
            ),
        ),
        (ActionForm(undo="1"), Event("undo")),
        (ActionForm(redo="1"), Event("redo")),
        (ActionForm(reset="1"), Event("reset")),
    ):
        assert form.event() == event


def test_what_lasts_ends_at_midnight_at_the_site() -> None:
    zone = ZoneInfo("Pacific/Auckland")
    for form in (
        ActionForm(press="+1 a=b", lasts="today"),
        ActionForm(mute="today i1"),
        ActionForm(mute_tag="week a=b"),
    ):
        until = datetime.fromisoformat(form.event(zone).data["until"]).astimezone(zone)
        assert (until.hour, until.minute, until.second) == (0, 0, 0)
    for form in (ActionForm(press="+1 a=b", lasts="always"), ActionForm(hide="i1", lasts="week")):
        assert "until" not in form.event(zone).data


def test_a_form_that_cannot_be_read_is_refused() -> None:
    for form in (
        ActionForm(),
        ActionForm(about=["a=b"]),
        ActionForm(press="many a=b"),
        ActionForm(presses="[1]"),
        ActionForm(presses="{"),
        ActionForm(presses="[" * 20_000),
        ActionForm(vary="much"),
        ActionForm(filter="[]"),
        ActionForm(filter='{"only": ["\\ud800"]}'),
        ActionForm(press="+1 a=b", lasts="soon"),
        ActionForm(mute="soon i1"),
        ActionForm(end_press="soon much a=b"),
        ActionForm(end_press="2001-01-01T00:00:00+00:00 3 a=b"),
    ):
        with pytest.raises(ParameterError):
            form.event()


def test_a_refused_form_makes_no_person(client: TestClient) -> None:
    client.get("/")
    for fields in ({}, {"press": "many type=film"}):
        assert client.post("/act", data=fields, headers=OWN).status_code == 422
    assert services_of(client).store.find_person(client.cookies["teaser"]) is None


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

    def test_answer_the_script_with_the_page(self, visitor: TestClient) -> None:
        fields = {"press": "+1 type=film", "back": "/?only=type%3Dfilm"}
        response = visitor.post("/act", data=fields, headers=SCRIPT, follow_redirects=False)
        assert response.status_code == 200
        assert re.search(r"data-notice>\s*<p>\s*\+ on <b>film</b>", response.text)
        assert 'value="/?only=type%3Dfilm"' in response.text

    def test_refuse_what_is_not_possible(self, visitor: TestClient) -> None:
        for fields, status, fact in (
            ({"view": "nothing"}, 404, "'nothing'"),
            ({"press": "+1 type=opera"}, 404, "type=opera"),
            ({"press": "0.5 type=film"}, 422, "0.5"),
            ({"press": "+9 type=film"}, 422, "+9"),
            ({"press": "+1 film"}, 404, "'film'"),
            ({"presses": '{"type=film": "x"}'}, 422, "'x'"),
            (
                {"presses": json.dumps({f"type={n}": 1 for n in range(21)})},
                422,
                "20 tags, found 21",
            ),
            ({"remove": "i1"}, 404, "'i1'"),
            ({"unhide": "i1"}, 404, "'i1'"),
            ({"vary": "7"}, 422, "7"),
            ({"undo": "1"}, 422, "undo"),
            ({"redo": "1"}, 422, "redo"),
        ):
            response = visitor.post("/act", data=fields)
            assert response.status_code == status
            assert fact in html.unescape(response.text)
            assert "<h1>" in response.text

    def test_names_are_escaped(self, visitor: TestClient) -> None:
        response = visitor.post("/act", data={"view": "<script>alert(1)</script>"})
        assert response.status_code == 404
        assert "<script>alert" not in response.text


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


class TestEncodings:
    """A form means the same however it is sent."""

    @pytest.mark.parametrize(
        ("content_type", "body", "status"),
        [
            ("application/x-www-form-urlencoded", b"view=i1&back=%2F", 303),
            ("application/x-www-form-urlencoded; charset=UTF-8", b"hide=&view=i1", 303),
            ("Application/X-WWW-Form-Urlencoded", b"view=i0&view=i1", 303),
            ("multipart/form-data; boundary=B", PART + b"i1\r\n--B--\r\n", 303),
            ("application/x-www-form-urlencoded", b"view=%ff%", 404),
            ("application/x-www-form-urlencoded", b"view=i1" + b"&a=1" * 1_000, 400),
            ("application/x-www-form-urlencoded", b"", 422),
            ("text/plain", b"view=i1", 422),
        ],
    )
    def test_it_is_read_or_refused(
        self, visitor: TestClient, content_type: str, body: bytes, status: int
    ) -> None:
        headers = OWN | {"content-type": content_type}
        answer = visitor.post("/act", content=body, headers=headers, follow_redirects=False)
        assert answer.status_code == status
        assert ('data-card="seen i1"' in visitor.get("/").text) == (status == 303)


class TestBrokenTexts:
    """JSON and a form in parts can bring lone surrogates, which no answer can hold."""

    FIELDS = ("press", "view", "remove", "vary", "about", "back")

    def test_presses_with_lone_surrogates_are_refused(self, visitor: TestClient) -> None:
        visitor.post("/act", data={"view": "i1"})
        for tag in ("\\ud800", "town=\\ud800", "\\udfff=x"):
            answer = visitor.post("/act", data={"presses": f'{{"{tag}": 1}}'})
            assert answer.status_code == 422, tag

    @pytest.mark.parametrize("charset", ["unicode_escape", "utf-8", "idna", "undefined"])
    def test_a_form_may_name_any_charset(self, visitor: TestClient, charset: str) -> None:
        headers = {"content-type": f"multipart/form-data; boundary=B; charset={charset}"}
        part = b'--B\r\nContent-Disposition: form-data; name="%s"\r\n\r\n/\\ud800=x\r\n'
        for path in ("/act", "/language", "/theme", "/share/end"):
            names = {"/act": self.FIELDS, "/share/end": ("share_id",)}.get(path, ("back",))
            for name in (*names, path[1:]):
                body = part % name.encode() + b"--B--\r\n"
                answer = visitor.post(path, content=body, headers=headers)
                assert 400 <= answer.status_code < 500, (path, name)

    def test_presses_in_an_address_that_are_none_are_ignored(self, visitor: TestClient) -> None:
        visitor.post("/act", data={"view": "i1"})
        for text in ("[[1,1]]", '[["type=film",1]]', '{"\\ud800=x":1}', '{"type=film":null}', "{}"):
            answer = visitor.get("/", params={"far": text})
            assert answer.status_code == 200
            assert "data-notice" not in answer.text


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
