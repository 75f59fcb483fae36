"""Filters with absurd values: every way in refuses them, and pages never fail because of them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from app.conftest import TestClient, error_of, new_person

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
