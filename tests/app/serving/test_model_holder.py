"""The served model is replaced while requests go on; damage to its folder changes nothing."""

import gc
import os
import re
import shutil
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from app.conftest import TestClient, services_of

from teaser import Teaser
from teaser.app.serving.catalogue import Catalogue
from teaser.app.serving.model_holder import ModelHolder
from teaser.errors import ArtifactError, UnknownBoostError


@pytest.fixture
def folder(model_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(model_folder, tmp_path / "served"))


def test_a_new_model_is_taken_up_and_the_old_one_stays_usable(folder: Path, model: Teaser) -> None:
    holder = ModelHolder(folder)
    old = holder.current
    assert not holder.refresh()
    assert holder.current is old
    model.save(folder)
    (folder / "manifest.json").touch()
    assert holder.refresh()
    assert holder.current is not old
    assert old.model.recommend(["i1"]) == holder.current.model.recommend(["i1"])


def test_a_damaged_model_is_not_taken_up(folder: Path) -> None:
    holder = ModelHolder(folder)
    old = holder.current
    (folder / "manifest.json").write_text("{}")
    assert not holder.refresh()
    with pytest.raises(ArtifactError):
        holder.refresh(force=True)
    assert holder.current is old


def test_a_folder_that_vanishes_changes_nothing_and_is_said(
    folder: Path, model: Teaser, caplog: pytest.LogCaptureFixture
) -> None:
    holder = ModelHolder(folder)
    assert holder.load_error is None
    shutil.rmtree(folder)
    for _ in range(3):
        assert not holder.refresh()
    assert holder.load_error is not None
    assert len(caplog.records) == 1  # once, not every second
    assert holder.current.model.recommend(["i1"])
    model.save(folder)
    assert holder.refresh()
    assert holder.load_error is None


def test_a_process_that_begins_anew_goes_on_with_what_the_others_serve(
    folder: Path, tmp_path: Path, model: Teaser
) -> None:
    shared = tmp_path / "shared"
    ModelHolder(folder, shared_folder=shared)
    (folder / "manifest.json").write_text("{}")
    with pytest.raises(ArtifactError):
        ModelHolder(folder)
    late = ModelHolder(folder, shared_folder=shared)
    assert late.current.model.recommend(["i1"]) == model.recommend(["i1"])
    shutil.rmtree(folder)
    model.save(folder)
    assert late.refresh()


@pytest.mark.parametrize("is_shared", [True, False], ids=["shared", "own"])
@pytest.mark.parametrize("harm", ["cut", "overwritten", "missing"])
def test_files_harmed_in_place_are_noticed_and_so_is_the_cure(
    folder: Path, tmp_path: Path, is_shared: bool, harm: str
) -> None:
    holder = ModelHolder(folder, shared_folder=tmp_path / "shared" if is_shared else None)
    old = holder.current
    (file,) = folder.glob("*.safetensors")
    content, times = file.read_bytes(), file.stat()
    if harm == "missing":
        file.unlink()
    else:
        file.write_bytes(content[:10] if harm == "cut" else bytes(len(content)))
    assert not holder.refresh()
    assert holder.load_error is not None
    assert file.name in holder.load_error
    assert holder.current is old
    assert not holder.refresh()
    file.write_bytes(content)
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))  # as a careful copy does
    assert holder.refresh()
    assert holder.load_error is None
    assert holder.current.model.recommend(["i1"]) == old.model.recommend(["i1"])
    assert not holder.refresh()


def test_a_model_that_was_replaced_is_freed_after_pages_were_shown_from_it(
    serve: Callable[..., TestClient], folder: Path, model: Teaser
) -> None:
    client = serve(is_new=True, model=folder)
    holder = services_of(client).holder
    old = weakref.ref(holder.current)
    pages = ("/", "/?only=type%3Dfilm", "/search?q=event", "/suggest?q=event", "/item/i1")
    for path in pages:
        assert client.get(path).status_code == 200
    model.save(folder)
    assert holder.refresh()
    gc.collect()
    assert old() is None
    for path in pages:
        assert client.get(path).status_code == 200


@pytest.mark.parametrize("workers", [1, 2])
def test_at_most_two_models_stay_however_many_were_served(
    serve: Callable[..., TestClient],
    folder: Path,
    model: Teaser,
    remainder_model: Teaser,
    tmp_path: Path,
    workers: int,
) -> None:
    copies = tmp_path / "copies"
    copies.mkdir()
    place = {"shared_folder": str(copies / "shared")} if workers > 1 else {"copies": str(copies)}
    clients = [serve(is_new=True, model=folder, **place) for _ in range(workers)]
    for client in clients:
        services_of(client).store.migrate()
    for n in range(20 // workers):
        for client in clients:
            assert client.get(f"/?only=type%3Dfilm&n={n + 12}").status_code == 200
        (remainder_model, model)[n % 2].save(folder)
        for client in clients:
            assert services_of(client).holder.refresh()
            assert len(_mapped(copies)) <= 2
        assert len([*copies.rglob("*.safetensors")]) <= 1
    assert len(_mapped(copies)) == 1


def _mapped(copies: Path) -> set[str]:
    """Return the inodes of the copies of models that this process maps."""
    pattern = rf"\s(\d+)\s+{re.escape(str(copies))}/.*\.safetensors"
    return set(re.findall(pattern, Path("/proc/self/maps").read_text()))


def test_a_copy_that_had_no_room_is_tried_again(
    folder: Path, model: Teaser, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    copies = tmp_path / "copies"
    copies.mkdir()
    holder = ModelHolder(folder, base=copies)
    old = holder.current
    copies.rmdir()  # a disk that is not there refuses as a full one does
    model.save(folder)
    (folder / "manifest.json").touch()
    for _ in range(3):
        assert not holder.refresh()
    assert "TEASER_COPIES" in str(holder.load_error)
    assert len(caplog.records) == 1  # once, not every second
    copies.mkdir()
    assert holder.refresh()
    assert holder.load_error is None
    assert holder.current is not old


def test_caches_are_filled_before_a_model_is_served(folder: Path) -> None:
    seen: list[tuple[Catalogue, Catalogue]] = []

    def fill(new: Catalogue) -> Iterator[None]:
        seen.append((new, holder.current))
        yield

    holder = ModelHolder(folder, warm_up=fill)
    old = holder.current
    assert holder.refresh(force=True)
    ((new, served),) = seen
    assert served is old
    assert new is holder.current


def test_a_model_whose_pages_cannot_be_made_is_not_served(folder: Path) -> None:
    def fail(catalogue: Catalogue) -> Iterator[float]:
        yield 1 / 0

    holder = ModelHolder(folder, warm_up=fail)
    old = holder.current
    with pytest.raises(ArtifactError, match="ZeroDivisionError"):
        holder.refresh(force=True)
    assert holder.current is old
    assert "ZeroDivisionError" in str(holder.load_error)


def test_a_model_without_what_is_boosted_is_not_served(folder: Path, model: Teaser) -> None:
    with pytest.raises(UnknownBoostError, match="'promoted'"):
        ModelHolder(folder, boost={"promoted": 0.2})
    holder = ModelHolder(folder, boost={"i3": 0.2})
    old = holder.current
    assert old.placed.boosts_of(model.items_.index_of("i3")) == (("i3", 0.2),)
    holder.boost = {"nothing": 1.0}  # as if the next model had no such item
    model.save(folder)
    (folder / "manifest.json").touch()
    assert not holder.refresh()
    assert "'nothing'" in str(holder.load_error)
    assert holder.current is old
