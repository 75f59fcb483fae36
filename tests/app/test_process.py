"""Starting a server: the demonstration's model, free ports, and folders that are no model."""

import os
import shutil
import socket
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

import teaser
from teaser.app.process import demo_model, free_port, serve
from teaser.app.settings import Settings
from teaser.data import events
from teaser.errors import ArtifactError, ParameterError


def test_the_demonstrations_model_is_fitted_again_only_when_broken_or_past(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    today = date.today()
    size: dict[str, Any] = {"n_events": 50, "n_users": 100}
    folder = tmp_path / "teaser" / f"events-{teaser.__version__}-50-100-0"
    month_ago = events.dataset(**size, start=today - timedelta(days=30))
    teaser.Teaser().fit(month_ago).save(folder)
    assert demo_model(**size) == folder
    assert (teaser.load(folder).table_["date"] >= today).all()
    stamp = (folder / "manifest.json").stat().st_mtime_ns
    assert demo_model(**size) == folder
    assert (folder / "manifest.json").stat().st_mtime_ns == stamp
    (folder / "manifest.json").write_text("broken")
    assert len(teaser.load(demo_model(**size)).items_) == 50


def test_a_free_port_is_free() -> None:
    port = free_port("127.0.0.1")
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", port))


def test_a_port_in_use_is_refused(model_folder: Path) -> None:
    said: list[int] = []
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        with pytest.raises(ParameterError, match=f"port {port}: .*--port"):
            serve(Settings(model=model_folder, port=port), ready=lambda _, p: said.append(p))
    assert not said


def test_a_folder_that_is_no_model_is_refused_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError):
        serve(Settings(model=tmp_path))
    assert list(tmp_path.parent.glob("*.people.db")) == []
    with pytest.raises(ParameterError, match="workers"):
        serve(Settings(model=tmp_path), workers=0)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_damaged_model_is_refused_and_leaves_nothing_behind(
    model_folder: Path, tmp_path: Path, workers: int
) -> None:
    folder, copies = tmp_path / "model", tmp_path / "copies"
    shutil.copytree(model_folder, folder)
    copies.mkdir()
    os.truncate(next(folder.glob("*.safetensors")), 100)
    settings = Settings(model=folder, port=free_port("127.0.0.1"), copies=str(copies))
    said: list[int] = []
    with pytest.raises(ArtifactError, match=r"model.* has 100 bytes"):
        serve(settings, workers=workers, ready=lambda _, port: said.append(port))
    assert not said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copies", "model"]
    assert list(copies.iterdir()) == []
