"""Starting a server: ports in use, folders that are no model; the address; stopping."""

import os
import shutil
import socket
from pathlib import Path

import pytest

from teaser.app.process.listener import free_port
from teaser.app.process.serve import serve
from teaser.app.settings import Settings
from teaser.errors import ArtifactError, ParameterError

pytestmark = pytest.mark.usefixtures("own_logs")


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
