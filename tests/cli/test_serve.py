"""The commands of the application: keys, servers and assistants; bad input is a sentence."""

import os
import pty
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from commands import refused
from typer.testing import CliRunner

from teaser.app.store import Store
from teaser.cli.main import app

pytestmark = pytest.mark.usefixtures("own_logs")


def run(*words: object) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, [str(w) for w in words])
    return done.exit_code, done.stdout, done.stderr


def test_a_key_is_made_listed_and_revoked(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'p.db'}"
    code, key, _ = run("keys", "create", "shop", "--database", url)
    assert code == 0
    store = Store(url)
    assert store.key_name(key.strip()) == "shop"
    assert key.strip().encode() not in (tmp_path / "p.db").read_bytes()
    assert "shop" in run("keys", "list", "--database", url)[1]
    assert run("keys", "revoke", "shop", "--database", url)[0] == 0
    assert store.key_name(key.strip()) is None
    assert "revoked" in run("keys", "list", "--database", url)[1]
    store.close()


def test_people_who_did_nothing_for_long_are_forgotten(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'p.db'}"
    store = Store(url, clock=lambda: datetime.now(UTC) - timedelta(days=31))
    store.migrate()
    store.create_person()
    store.close()
    assert "Removed 0 persons" in run("forget", "--days", 32, "--database", url)[1]
    assert "Removed 1 person without" in run("forget", "--days", 30, "--database", url)[1]
    missing = f"sqlite:///{tmp_path / 'none.db'}"
    assert "none.db is not there" in refused("forget", "--days", "30", "--database", missing)
    assert not (tmp_path / "none.db").exists()


@pytest.mark.parametrize(
    "url", ["nonsense", "sqlite:////proc/none/p.db", "postgresql://nobody@127.0.0.1:1/none"]
)
def test_a_database_that_cannot_be_used_is_one_sentence(url: str) -> None:
    code, _, error = run("keys", "list", "--database", url)
    assert code == 2
    assert "database" in error
    assert "Traceback" not in error


def test_serving_no_model_is_one_sentence(tmp_path: Path) -> None:
    code, _, error = run("serve", tmp_path / "none", "--port", 0)
    assert code == 2
    assert "does not exist" in error


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--accent", "teal", "must be a colour such as #0b6f66"),
        ("--name", "x" * 41, "1 to 40 characters"),
        ("--boost", "promoted", "ID_OR_TAG:number, several separated by semicolons"),
        ("--logo", "none.png", "The logo none.png cannot be read"),
    ],
)
def test_a_brand_that_cannot_be_used_is_one_sentence(
    tmp_path: Path, option: str, value: str, said: str
) -> None:
    code, _, error = run("serve", tmp_path, "--port", 0, option, value)
    assert code == 2
    assert said in " ".join(error.split())
    assert "Traceback" not in error


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
