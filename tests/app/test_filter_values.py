"""Absurd filters and random queries, forms, cookies and headers meet no error of ours."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote_from_bytes

import pytest
from app.conftest import TestClient, error_of, new_person
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from teaser.app.i18n.texts import LANGUAGES
from teaser.errors import ParameterError
from teaser.words.wishes import MAX_BOUND, Wish

TOO_LARGE = ["1e28", "-1e300", "1.1e15", "9" * 30]


@pytest.fixture
def at_events(serve: Callable[..., TestClient], events_folder: Path) -> TestClient:
    """A browser on the built-in events, which have prices and dates."""
    client = serve(model=events_folder)
    client.headers.update({"origin": "http://testserver"})
    return client


def export(filters: dict[str, Any]) -> dict[str, Any]:
    return {"state": {"history": [], "presses": [], "hidden": [], "filters": filters}}


@pytest.mark.parametrize("number", TOO_LARGE)
@pytest.mark.parametrize("side", ["at_most", "at_least"])
def test_every_way_in_refuses_a_bound_that_is_too_large(
    at_events: TestClient, number: str, side: str
) -> None:
    person = new_person(at_events)
    bound = json.loads(number)
    filters = {side: {"price": bound}}
    error_of(at_events.put(f"{person}/filters", json=filters), 422)
    error_of(
        at_events.post(f"{person}/feeds", json={"feed": "x", "start": {"filters": filters}}), 422
    )
    error_of(at_events.post(f"{person}/import", json=export(filters)), 422)
    error_of(at_events.post(f"{person}/wishes", json={"wishes": [f"{side} price {number}"]}), 422)
    assert at_events.get(f"{person}/export").json()["state"]["filters"][side] == {}
    form = at_events.post("/act", data={"filter": json.dumps(filters)})
    assert form.status_code == 422
    said = at_events.post("/say", data={"apply": "1", "wish": f"{side} price {number}"})
    assert said.status_code == 422
    file = at_events.post("/import", files={"file": ("export.json", json.dumps(export(filters)))})
    assert file.status_code == 422
    with pytest.raises(ParameterError):
        Wish.parse(f"{side} price {number}")
    assert at_events.get("/").status_code == 200


def test_the_largest_bounds_and_days_are_shown_on_every_page(at_events: TestClient) -> None:
    filters = {
        "at_most": {"price": MAX_BOUND},
        "at_least": {"price": 1e-300},
        "when": "0001-01-01..9999-12-31",
    }
    for language in LANGUAGES:
        headers = {"accept-language": language}
        answer = at_events.post("/act", data={"filter": json.dumps(filters)}, headers=headers)
        assert answer.status_code == 200, answer.text
        for path in ("/", "/feeds", "/share"):
            assert at_events.get(path, headers=headers).status_code == 200


GET = [
    *("/", "/search", "/suggest", "/tags", "/tag", "/item/{}", "/lift/{}", "/picture/{}", "/share"),
    *("/s/{}", "/export", "/delete", "/deleted", "/tour", "/brand.css", "/static/{}", "/{}"),
    *("/compare", "/like/{}", "/about-recommendations", "/import"),
]
POST = [*["/act"] * 8, "/language", "/theme", "/skip", "/share", "/share/end"]
POST += ["/like/i5", "/import", "/s/x"]
NAMES = [
    *("q", "page", "far", "did", "only", "from", "to", "set_filter", "n", "feature", "rest", "tag"),
    *("press", "presses", "view", "remove", "hide", "unhide", "vary", "balance", "set_about"),
    *("about", "undo", "redo", "reset", "back", "language", "theme", "share_id", "set_filter"),
    *("item", "into"),
]
COOKIES = ["teaser", "teaser_language", "teaser_theme", "teaser_skipped"]
HEADERS = ["accept", "accept-language", "referer", "cookie", "range", "x-teaser-script"]
KNOWN = ["i1", "17", "2\x1c", "type=film", "town=Ghent", "+1 type=film", "1", "0.5", "town", "nl"]
ODD = ["nan", "9" * 400, "..", "//[", ""]
BROKEN = ["[[1,1]]", "[", '{"type=film":1e999}', '{"type=film":null}']
TAGS = st.sampled_from(["type=film", "town=\ud800", "\ud800", "=", "1"])
PRESSES = st.dictionaries(TAGS, st.integers(-9, 9), min_size=1, max_size=1).map(json.dumps)
JSON = PRESSES | st.sampled_from(BROKEN)
TEXTS = st.sampled_from(KNOWN + ODD) | st.text(st.characters())


def raw(text: str) -> str:
    """Return a text percent-encoded, lone surrogates too."""
    return quote_from_bytes(text.encode("utf-8", "surrogatepass"), safe="")


def pairs(names: list[str], *, end: str) -> st.SearchStrategy[str]:
    """Return texts of names and values, as queries, forms and cookies have them."""
    plain = st.tuples(st.sampled_from(names), TEXTS)
    presses = st.tuples(st.sampled_from(["far", "presses"]), JSON)
    one = (plain | presses).map(lambda pair: f"{pair[0]}={raw(pair[1])}")
    return st.lists(one, max_size=3).map(end.join)


@pytest.fixture
def client(serve: Callable[..., TestClient], remainder_folder: Path) -> TestClient:
    """A visitor of the site who has viewed something."""
    client = serve(model=remainder_folder)
    client.headers["origin"] = "http://testserver"
    client.post("/act", data={"view": "i1"})
    return client


HEADER = st.binary(max_size=20) | pairs(COOKIES, end="; ").map(str.encode)
SHORT = settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))


def test_no_page_fails(client: TestClient) -> None:
    met: set[int] = set()

    @SHORT
    @given(
        path=st.sampled_from(GET),
        name=TEXTS,
        query=pairs(NAMES, end="&"),
        headers=st.dictionaries(st.sampled_from(HEADERS), HEADER, max_size=2),
    )
    def probe(path: str, name: str, query: str, headers: Any) -> None:
        answer = client.get(f"{path.format(raw(name))}?{query}", headers=headers)
        met.add(answer.status_code)
        assert answer.status_code < 500, (path, name, query, headers)

    probe()
    assert 200 in met


def test_no_form_fails(client: TestClient) -> None:
    met: set[int] = set()
    kind = {"content-type": "application/x-www-form-urlencoded"}

    @SHORT
    @given(path=st.sampled_from(POST), form=pairs(NAMES, end="&"))
    def probe(path: str, form: str) -> None:
        answer = client.post(path, content=form, headers=kind, follow_redirects=False)
        met.add(answer.status_code)
        assert answer.status_code < 500, (path, form)

    probe()
    assert 422 in met
