"""The parent of workers: it says why they cannot start."""

from pathlib import Path

import pytest

from teaser.app.process.listener import bound_sockets
from teaser.app.process.workers import Workers
from teaser.app.settings import Settings
from teaser.errors import ResourceError


def test_a_worker_that_cannot_start_ends_the_server_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in Settings(model=tmp_path / "none").as_environment().items():
        monkeypatch.setenv(name, value)
    said: list[str] = []
    with bound_sockets("127.0.0.1", 0) as sockets:
        workers = Workers(1, sockets, 1.0, ready=lambda: said.append("ready"))
        with pytest.raises(ResourceError, match=r"A worker cannot start: .*none"):
            workers.run()
    assert not said
