"""The commands of the application: keys, servers and assistants; bad input is a sentence."""

import os
import pty
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from commands import refused, said

from teaser.app.store import Store

pytestmark = pytest.mark.usefixtures("own_logs")


def test_a_key_is_made_listed_and_revoked(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'p.db'}"
    key = said("keys", "create", "shop", "--database", url).strip()
    store = Store(url)
    assert store.key_name(key) == "shop"
    assert key.encode() not in (tmp_path / "p.db").read_bytes()
    assert "shop" in said("keys", "list", "--database", url)
    said("keys", "revoke", "shop", "--database", url)
    assert store.key_name(key) is None
    assert "revoked" in said("keys", "list", "--database", url)
    store.close()


def test_people_who_did_nothing_for_long_are_forgotten(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'p.db'}"
    store = Store(url, clock=lambda: datetime.now(UTC) - timedelta(days=31))
    store.migrate()
    store.create_person()
    store.close()
    assert "Removed 0 persons" in said("forget", "--days", 32, "--database", url)
    assert "Removed 1 person without" in said("forget", "--days", 30, "--database", url)
    missing = f"sqlite:///{tmp_path / 'none.db'}"
    assert "none.db is not there" in refused("forget", "--days", "30", "--database", missing)
    assert not (tmp_path / "none.db").exists()


@pytest.mark.parametrize(
    "url", ["nonsense", "sqlite:////proc/none/p.db", "postgresql://nobody@127.0.0.1:1/none"]
)
def test_a_database_that_cannot_be_used_is_one_sentence(url: str) -> None:
    assert "database" in refused("keys", "list", "--database", url)


def test_serving_no_model_is_one_sentence(tmp_path: Path) -> None:
    assert "does not exist" in refused("serve", tmp_path / "none", "--port", 0)


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("--accent", "teal", "must be a colour such as #0b6f66"),
        ("--name", "x" * 41, "at most 40 characters"),
        ("--boost", "promoted", "ID_OR_TAG:number"),
        ("--logo", "none.png", "The logo none.png cannot be read"),
    ],
)
def test_a_brand_that_cannot_be_used_is_one_sentence(
    tmp_path: Path, option: str, value: str, told: str
) -> None:
    assert told in " ".join(refused("serve", tmp_path, "--port", 0, option, value).split())


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--database", "nonsense"), "database"),
        (("--stateless", "--database", "sqlite:///x.db"), "--database does not go with"),
        (("--log-level", "loud"), "log_level"),
    ],
)
def test_what_an_assistant_cannot_be_given_is_a_sentence(
    shop: Path, words: tuple[str, ...], told: str
) -> None:
    assert told in refused("mcp", shop / "model", *words)


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
