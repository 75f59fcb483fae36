"""The command of assistants: bad input is a sentence; what it serves is in tests/app/mcp."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from commands import refused

pytestmark = pytest.mark.usefixtures("own_logs")


def test_no_model_is_a_sentence(tmp_path: Path) -> None:
    assert "does not exist" in refused("mcp", tmp_path / "none", "--stateless")


def test_a_wrong_database_is_a_sentence(shop: Path) -> None:
    assert "database" in refused("mcp", shop / "model", "--database", "nonsense")


def test_a_database_has_no_meaning_without_a_state(shop: Path) -> None:
    said = refused("mcp", shop / "model", "--stateless", "--database", "sqlite:///x.db")
    assert "--database does not go with" in said


def test_a_wrong_level_of_logs_is_a_sentence(shop: Path) -> None:
    assert "log_level" in refused("mcp", shop / "model", "--log-level", "loud")


def test_a_missing_package_is_a_sentence(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    said = refused("mcp", shop / "model")
    assert "mcp" in said
    assert "pip install" in said


def test_somebody_who_tries_it_by_hand_is_told_what_it_waits_for(shop: Path) -> None:
    typed, terminal = pty.openpty()
    command = [sys.executable, "-m", "teaser", "mcp", str(shop / "model"), "--stateless"]
    process = subprocess.Popen(
        command, stdin=terminal, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    said = process.stderr.readline()
    process.kill()
    process.wait()
    process.stderr.close()
    os.close(typed)
    os.close(terminal)
    assert "Waiting for an assistant" in said
    assert "stores nothing" in said
