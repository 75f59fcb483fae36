"""The caches of a new model are full before its first visitor comes."""

from collections.abc import Callable
from functools import cached_property
from pathlib import Path

import pytest
from app.conftest import TestClient, services_of

from teaser.app.serving.catalogue import Catalogue
from teaser.model.tag_table import TagTable

HEADERS = {"origin": "http://testserver", "x-teaser-fragment": "1"}


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
    client = serve(model=folder)
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


def test_a_start_fills_the_caches_too(serve: Callable[..., TestClient]) -> None:
    client = serve()
    with client:
        assert "Catalogue.tag_index" in computed(services_of(client).holder.current)
