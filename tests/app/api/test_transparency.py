"""What decides here, over the API."""

from collections.abc import Callable
from pathlib import Path

import pytest
from app.conftest import API, TestClient
from saved_folder import forge

from teaser import Teaser

PATH = f"{API}/transparency"


def test_figures_are_those_of_the_model(client: TestClient, model: Teaser) -> None:
    found = client.get(PATH).json()
    told = model.transparency_
    assert told is not None
    shares = {(row["part"], row["feature"]): row["share"] for row in found["impacts"]["shares"]}
    assert shares == {(kind, name): share for kind, name, share in told.shares()}
    assert sum(shares.values()) == pytest.approx(1)
    for row in found["impacts"]["shares"]:
        wanted = told.impacts.press_changes.get(row["feature"] or row["part"])
        assert row["press_change"] == wanted
    for name in ("n_people", "k", "step", "press_change"):
        assert found["impacts"][name] == getattr(told.impacts, name)
    assert found["sources"]["n_interactions"] == 1_694
    assert found["sources"]["features"][0] == {"feature": "type", "columns": ["type"], "n_tags": 2}
    assert (found["version"], found["date"]) == (told.version, told.date.isoformat())


def test_the_settings_of_the_site_are_told(serve: Callable[..., TestClient]) -> None:
    plain = serve().get(PATH).json()
    assert (plain["learns_from_views"], plain["boosts"]) == (False, {})
    own = serve(learn=True, boost="town=Ghent:0.2").get(PATH).json()
    assert (own["learns_from_views"], own["boosts"]) == (True, {"town=Ghent": 0.2})


def test_a_model_of_an_earlier_version_tells_what_is_known(
    serve: Callable[..., TestClient], model: Teaser, tmp_path: Path
) -> None:
    folder = tmp_path / "old"
    model.save(folder)
    forge(folder, lambda manifest: manifest["settings"].pop("transparency"))
    found = serve(model=folder).get(PATH).json()
    assert found == {
        "impacts": None,
        "sources": None,
        "version": None,
        "date": None,
        "learns_from_views": False,
        "boosts": {},
    }
