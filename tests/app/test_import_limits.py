"""Imports cannot fill the disk: few a minute, not too large, and a budget of bytes a person."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from app.conftest import TestClient, append, error_of, new_key, new_person, services_of

from teaser.app.state import Event
from teaser.app.store import MAX_BYTES, Store
from teaser.errors import LimitError

LARGE = 300_000


def export(n_bytes: int) -> dict[str, Any]:
    """Return an export of a long history of items that the model does not have."""
    history = [f"{i:0>60}" for i in range(n_bytes // 64)]
    return {"state": {"history": history, "presses": [], "hidden": []}}


def test_an_import_larger_than_512_kib_is_refused(client: TestClient) -> None:
    person = new_person(client)
    error = error_of(client.post(f"{person}/import", json=export(600_000)), 413)
    assert "524,288 bytes" in error["message"]


def test_imports_fill_a_budget_of_bytes_and_then_end_with_413(client: TestClient) -> None:
    person, large = new_person(client), export(LARGE)
    services_of(client).limits.imports.per_minute = 0  # no limit
    answers = [client.post(f"{person}/import", json=large) for _ in range(10)]
    stored = sum(answer.status_code == 200 for answer in answers)
    assert stored == MAX_BYTES // LARGE
    error = error_of(answers[-1], 413)
    assert f"{MAX_BYTES:,} bytes" in error["message"]
    # The person can still be read, exported and deleted; others are not touched.
    assert client.get(person).status_code == 200
    assert len(client.get(f"{person}/export").json()["events"]) == stored
    other = new_person(client)
    assert client.post(f"{other}/import", json=large).status_code == 200
    assert client.delete(person).status_code == 204


def test_the_budget_counts_all_events_in_both_databases(store: Store) -> None:
    person_id, _ = store.create_person()
    tags = [f"theme={'x' * 990}{i:03}" for i in range(50)]
    event = Event("filter", {"filters": {"only": tags}})
    size = len(json.dumps(dict(event.data)))
    for _ in range(MAX_BYTES // size):
        append(store, person_id, event)
    with pytest.raises(LimitError, match="bytes"):
        append(store, person_id, event)


def test_an_address_can_import_six_times_a_minute(serve: Callable[..., TestClient]) -> None:
    client = serve(rate=1_200)
    answers = [client.post(f"{new_person(client)}/import", json=export(100)) for _ in range(7)]
    assert [answer.status_code for answer in answers] == [200] * 6 + [429]
    assert int(answers[-1].headers["retry-after"]) <= 10
    form = {"export": json.dumps(export(100))}
    site = client.post("/import", data=form, headers={"origin": "http://testserver"})
    assert site.status_code == 429


def test_with_a_key_each_person_can_import_six_times_a_minute(
    serve: Callable[..., TestClient],
) -> None:
    client = serve(rate=1_200, keys="on")
    client.headers["authorization"] = f"Bearer {new_key(client)}"
    first = [client.post(f"{new_person(client)}/import", json=export(100)) for _ in range(8)]
    assert {answer.status_code for answer in first} == {200}
    person = new_person(client)
    again = [client.post(f"{person}/import", json=export(100)) for _ in range(7)]
    assert [answer.status_code for answer in again] == [200] * 6 + [429]
    assert services_of(client).store.state(person.rpartition("/")[2]).n_events == 6


@pytest.mark.parametrize("rate", [0, 1_200])
def test_a_preview_counts_as_an_import_whatever_the_rate(
    serve: Callable[..., TestClient], rate: int
) -> None:
    client = serve(rate=rate)
    client.headers["origin"] = "http://testserver"
    files = {"file": ("export.json", json.dumps(export(100)))}
    form = {"export": json.dumps(export(100))}
    answers = [client.post("/import", files=files) for _ in range(5)]
    answers += [client.post("/import", data=form) for _ in range(2)]
    answers.append(client.post("/import", files=files))
    assert [answer.status_code for answer in answers] == [200] * 6 + [429] * 2
    assert client.post("/import").status_code == 422  # no file, nothing to count
