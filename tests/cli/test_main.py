"""The command line as a whole: help, exit codes, encodings."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import typer
from commands import refused, said
from typer.testing import CliRunner

import teaser
from teaser.cli.main import app
from teaser.errors import DataError


def installed(*words: Any, **env: str) -> subprocess.CompletedProcess[bytes]:
    command = Path(sys.executable).with_name("teaser")
    return subprocess.run(
        [command, *words], capture_output=True, check=False, env={**os.environ, **env}
    )


def test_the_help_lists_every_command() -> None:
    text = said("--help")
    names = (
        *("prepare", "partition", "fit", "estimate", "add", "check", "groups", "card"),
        *("recommend", "similar", "profile", "explain", "info", "demo", "serve", "keys"),
        *("evaluate", "tune", "simulate", "report"),
    )
    listed = [line.split()[1] for line in text.splitlines() if line.startswith("│")]
    assert [name for name in listed if name in names] == list(names)


def test_a_result_of_another_kind_is_not_replaced(shop: Path) -> None:
    assert "holds a data set" in refused("fit", shop / "data", "--out", shop / "data")
    tables = (shop / "ratings.csv", shop / "items.parquet")
    assert "holds a Teaser" in refused("prepare", *tables, "--out", shop / "model")
    assert teaser.Dataset.load(shop / "data").n_users


def test_expected_errors_are_one_sentence_and_others_are_raised() -> None:
    for error, message in (
        (DataError("No rows in [a]."), "error: No rows in [a].\n"),
        (PermissionError(13, "Permission denied", "x.csv"), "error: [Errno 13] Permission denied"),
        (MemoryError(), "error: out of memory.\n"),
    ):
        result = CliRunner().invoke(failing(error), ["fail"])
        assert result.exit_code == 2
        assert result.stderr.startswith(message)
    assert isinstance(CliRunner().invoke(failing(KeyError("bug")), ["fail"]).exception, KeyError)


def failing(error: Exception) -> typer.Typer:
    """An application like ours, with a command that fails."""
    like = typer.Typer(cls=app.info.cls)

    @like.command()
    def fail() -> None:
        raise error

    @like.callback()
    def group() -> None:
        pass

    return like


def test_a_plain_terminal_is_enough(shop: Path) -> None:
    done = installed("profile", shop / "model", "-i", "i2", PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert "=" in done.stdout.decode("ascii")
    words = ("recommend", shop / "model", "-i", "i2", "--json")
    done = installed(*words, PYTHONIOENCODING="latin-1")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.decode("latin-1"))


def test_the_installed_command_ends_with_code_2_and_no_traceback(tmp_path: Path) -> None:
    done = installed("info", tmp_path / "nothing")
    assert done.returncode == 2
    assert done.stderr.startswith(b"error: ")
    assert b"Traceback" not in done.stderr
    assert done.stdout == b""
    version = installed("--version")
    assert version.stdout.decode().strip() == f"teaser {teaser.__version__}"
    module = subprocess.run(
        [sys.executable, "-m", "teaser", "--version"], capture_output=True, check=True
    )
    assert module.stdout == version.stdout
