"""The loop by its commands, and the whole of it: site, events, refit, the new model is served."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from app.conftest import append
from commands import refused, run, said

from teaser import Teaser, load
from teaser.app.state import Event
from teaser.app.store import Store
from teaser.testing import example_dataset


@pytest.fixture
def place(shop: Path, tmp_path: Path) -> Path:
    """A copy of the model of the shop."""
    shutil.copytree(shop / "model", tmp_path / "model")
    return tmp_path / "model"


def test_without_the_opt_in_nothing_is_read(place: Path) -> None:
    assert "model.people.db is not there" in refused("refit", place)
    store = Store(f"sqlite:///{place}.people.db")
    store.migrate()
    assert "--learn (TEASER_LEARN=true)" in " ".join(refused("refit", place).split())
    store.close()
    out = said("refit", place, "--no-views")
    assert "Model 2 is in" in out
    assert "0 views of 0 visitors" in out


def test_models_are_listed_refused_and_brought_back(place: Path, shop: Path) -> None:
    assert "has no earlier models" in said("models", place)
    assert "does not exist" in refused("models", place.with_name("none"))
    assert "no model 1" in refused("models", place, "--rollback", 1)
    assert [path.name for path in place.parent.iterdir()] == ["model"]
    url = f"sqlite:///{shop.parent / place.name}-other.db"
    store = Store(url)
    store.migrate()
    store.switch_learning(True)
    person = store.create_person()  # of the API
    for item in ("i0", "i2", "gone"):
        append(store, person, Event("view", {"item": item}))
    store.close()
    words = ("refit", place, "--database", url)
    assert "0 views of 0 visitors" in said(*words)
    found = json.loads(said(*words, "--api-people", "--json"))
    assert (found["verdict"], found["facts"]["views"]) == ("accepted", 2)
    example_dataset(n_items=12).save(place.parent / "fewer")
    done = run(*words, "--api-people", "--data", place.parent / "fewer")
    assert done.exit_code == 1
    assert "Refused: the model in" in done.stdout
    assert "1 view of 1 item that the data set does not have left out" in done.stdout
    listed = json.loads(said("models", place, "--json"))
    assert [each["verdict"] for each in listed] == ["fitted", "accepted", "accepted", "refused"]
    assert [each["served"] for each in listed] == [False, False, True, False]
    assert "Model 1 is in" in said("models", place, "--rollback", 1)
    out = said("models", place)
    assert "4 was refused: Of the items of the present model 30 % would be left" in " ".join(
        out.split()
    )
    assert "4 models kept in" in " ".join(out.split())
    assert "served" in next(line for line in out.splitlines() if "fitted" in line)
    assert "no model 9" in refused("models", place, "--rollback", 9)
    for path in place.parent.rglob("*"):
        assert not path.is_file() or person.encode() not in path.read_bytes(), path


@pytest.fixture
def site(place: Path) -> Iterator[httpx.Client]:
    """A server of its own process, which learns."""
    words = [sys.executable, "-u", "-m", "teaser", "serve", str(place), "--port", "0", "--learn"]
    environment = {**os.environ, "TEASER_MCP": "false"}  # its imports take a second
    server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        with httpx.Client(base_url=address, timeout=60, headers={"origin": address[:-1]}) as client:
            _wait(lambda: client.get("/healthz").status_code == 200)
            yield client
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=60)


def _wait(happens: Any) -> None:
    """Wait until something happens, for at most a minute."""
    for _ in range(600):
        try:
            if happens():
                return
        except httpx.TransportError:
            pass
        time.sleep(0.1)
    raise TimeoutError


def visit(site: httpx.Client, *items: str) -> None:
    """Come as a new visitor, and view items."""
    site.cookies.clear()
    for item in items:
        assert site.post("/act", data={"view": item}).status_code == 303


def test_what_visitors_view_is_in_the_model_that_the_site_serves_next(
    site: httpx.Client, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rank_of(item: str) -> int:
        body = {"history": [], "k": 40}
        found = site.post("/api/v1/recommend", json=body).json()["recommendations"]
        return [each["item_id"] for each in found].index(item)

    before = rank_of("i38")
    for _ in range(15):
        visit(site, "i38", "i36")
    visit(site, "i1", "i3")
    page = site.get("/privacy", headers={"accept-language": "en"}).text
    assert "also learns from what you view" in page
    assert site.post("/delete").status_code == 303  # this visitor is not in the next model
    monkeypatch.setenv("TEASER_DATABASE_URL", "")
    found = json.loads(said("refit", place, "--json"))
    assert found["verdict"] == "accepted"
    assert (found["facts"]["visitors"], found["facts"]["views"]) == (15, 30)
    _wait(lambda: rank_of("i38") < before)
    assert load(place, Teaser).dataset_path_ is not None
