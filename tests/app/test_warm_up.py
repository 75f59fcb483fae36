"""The caches of a new model are full before its first visitor comes."""

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from app.conftest import TestClient, services_of

from teaser.app.server import create_app
from teaser.app.serving.catalogue import Catalogue
from teaser.app.settings import Settings
from teaser.app.warm_up import visit
from teaser.errors import ArtifactError
from teaser.model.tables import TagTable

HEADERS = {"origin": "http://testserver", "x-teaser-script": "1"}


def computed(catalogue: Catalogue) -> set[str]:
    """Return the cached properties of a catalogue and its tags that were computed."""
    found = set()
    for thing, kind in ((catalogue, Catalogue), (catalogue.model.tag_table_, TagTable)):
        cached = {name for name, v in vars(kind).items() if isinstance(v, cached_property)}
        found |= {f"{kind.__name__}.{name}" for name in cached & set(vars(thing))}
    return found


@pytest.mark.parametrize("name", ["model_folder", "remainder_folder", "people_folder"])
def test_the_first_visitors_of_a_new_model_compute_nothing_that_stays(
    serve: Callable[..., TestClient], request: pytest.FixtureRequest, name: str
) -> None:
    folder: Path = request.getfixturevalue(name)
    client = serve(is_new=True, model=folder)
    holder = services_of(client).holder
    assert not computed(holder.current)
    assert holder.refresh(force=True)
    before = computed(holder.current)
    assert "Catalogue.tag_index" in before
    client.get("/")
    assert client.post("/act", data={"view": "i1", "back": "/"}, headers=HEADERS).is_success
    for path in ("/", "/search?q=event", "/item/i2"):
        assert client.get(path).status_code == 200
    assert computed(holder.current) <= before


def test_visitors_before_the_first_one_leave_no_trace(
    serve: Callable[..., TestClient], caplog: pytest.LogCaptureFixture
) -> None:
    client = serve()
    services = services_of(client)
    holder = services.holder
    caplog.set_level("INFO", "teaser.access")
    made: list[Any] = []

    def make(settings: Settings) -> Any:
        made.append(create_app(settings, holder=holder))
        return made[-1]

    steps = visit(make, services.settings, holder.current)
    assert not made
    assert list(steps) == [None]
    (own,) = made
    text = TestClient(own).get("/metrics").text
    assert 'route="/act",status="200"' in text
    assert 'status="4' not in text
    assert 'status="5' not in text
    assert "teaser.access" not in {record.name for record in caplog.records}
    assert "Catalogue.tag_index" in computed(holder.current)
    assert 'route="/act"' not in client.get("/metrics").text
    assert not Path(own.state.services.settings.database.removeprefix("sqlite:///")).exists()


def test_a_page_that_cannot_be_made_is_an_error(serve: Callable[..., TestClient]) -> None:
    services = services_of(serve())

    def make(settings: Settings) -> Any:
        app = create_app(settings, holder=services.holder)
        app.router.routes.clear()
        app.add_api_route("/", lambda: 1 / 0)
        return app

    with pytest.raises(ArtifactError, match="GET /"):
        list(visit(make, services.settings, services.holder.current))
