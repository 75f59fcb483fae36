"""The served model is replaced while requests go on; damage to its folder changes nothing."""

import gc
import shutil
import time
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from app.conftest import TestClient, services_of

from teaser import Teaser
from teaser.app.models import ModelHolder
from teaser.app.settings import Settings
from teaser.errors import UnknownNameError


@pytest.fixture
def folder(model_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(model_folder, tmp_path / "served"))


def holder_of(folder: Path, **given: str) -> ModelHolder:
    return ModelHolder(Settings(model=folder, **given))


def test_a_harmed_folder_is_noticed_and_so_is_the_cure(folder: Path) -> None:
    holder = holder_of(folder)
    old = holder.current
    manifest = folder / "manifest.json"
    content = manifest.read_text()
    manifest.write_text("{}")
    assert not holder.refresh()
    assert holder.load_error is not None
    assert holder.current is old
    manifest.write_text(content)
    assert holder.refresh()
    assert holder.load_error is None
    assert holder.current.model.recommend(["i1"]) == old.model.recommend(["i1"])
    assert not holder.refresh()


def test_a_model_without_what_is_boosted_is_not_served(folder: Path, model: Teaser) -> None:
    with pytest.raises(UnknownNameError, match="'promoted'"):
        holder_of(folder, boost="promoted:0.2")
    holder = holder_of(folder, boost="i3:0.2")
    old = holder.current
    assert old.placed.boosts_of(model.items_.index_of("i3")) == (("i3", 0.2),)
    holder.settings = Settings(model=folder, boost="nothing:1")  # as if a model had no such item
    model.save(folder)
    (folder / "manifest.json").touch()
    assert not holder.refresh()
    assert "'nothing'" in str(holder.load_error)
    assert holder.current is old


def test_pages_do_not_hold_a_replaced_model(
    serve: Callable[..., TestClient], folder: Path, remainder_model: Teaser
) -> None:
    with serve(is_new=True, model=folder) as client:
        holder = services_of(client).holder
        old = weakref.ref(holder.current)
        gc.collect()
        gc.disable()
        try:
            for path in ("/", "/search?q=a", "/item/i1"):
                assert client.get(path).is_success
            remainder_model.save(folder)
            holder.refresh(force=True)
            assert old() is None
        finally:
            gc.enable()


def test_a_running_site_takes_up_a_new_model_by_itself(
    serve: Callable[..., TestClient], folder: Path, model: Teaser, remainder_model: Teaser
) -> None:
    with serve(is_new=True, model=folder) as client:
        before = client.get("/api/v1/model").json()
        remainder_model.save(folder)
        for _ in range(100):
            if (after := client.get("/api/v1/model").json()) != before:
                break
            time.sleep(0.1)
        assert after != before
        (folder / "manifest.json").write_text("{}")
        assert client.post("/api/v1/admin/reload").status_code == 503
        assert client.get("/api/v1/model").json() == after
        assert "teaser_model_stale 1.0" in client.get("/metrics").text
        assert "cannot be used" in client.get("/readyz").text
        model.save(folder)
        assert client.post("/api/v1/admin/reload").json() == before
        assert "teaser_model_stale 0.0" in client.get("/metrics").text


def test_one_reload_runs_at_a_time_and_others_are_told(serve: Callable[..., TestClient]) -> None:
    client = serve(alone=True)

    def reload(_: int) -> int:
        own = TestClient(client.app, raise_server_exceptions=False)
        return own.post("/api/v1/admin/reload").status_code

    found: set[int] = set()
    with ThreadPoolExecutor(8) as pool:
        while len(found) < 2:  # until two met
            found |= set(pool.map(reload, range(8)))
    assert found == {200, 409}
    assert reload(0) == 200
