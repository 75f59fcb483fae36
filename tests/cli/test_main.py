"""The command line as a whole: help, exit codes, encodings."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import typer
from commands import refused, run, said
from conftest import small_tables
from typer.testing import CliRunner

import teaser
from teaser.cli.main import app
from teaser.console import visible
from teaser.errors import DataError


def installed(*words: Any, **env: str) -> subprocess.CompletedProcess[bytes]:
    command = Path(sys.executable).with_name("teaser")
    return subprocess.run(
        [command, *words], capture_output=True, check=False, env={**os.environ, **env}
    )


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


def test_a_reader_that_leaves_early_is_no_error(shop: Path) -> None:
    """As of `teaser ... | head -1`."""
    long = ("recommend", shop / "model", "--history", "i1,i2", "--k", "500", "--json")
    for words in (long, long[:-1], ("--version",), ("--help",)):
        command = [sys.executable, "-m", "teaser", *map(str, words)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.close()
        _, error = process.communicate(timeout=60)
        assert error == b"", words
        assert process.returncode in (0, 1), words


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


HOSTILE = "\x1b[2Jowned\x07\x9b2J\u202e"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables whose ids, titles and tags hold escape sequences, and a model of them."""
    folder = tmp_path_factory.mktemp("hostile")
    rows, items = small_tables()
    rows.with_columns(pl.col("item_id") + HOSTILE).write_parquet(folder / "rows.parquet")
    texts = pl.col("item_id", "title", "type", "town") + HOSTILE
    items.with_columns(texts).write_parquet(folder / "items.parquet")
    said("prepare", folder / "rows.parquet", folder / "items.parquet", "-o", folder / "data")
    penalties = ("--l2-weights", 5, "--l2-encoder", 5)
    said("fit", folder / "data", "-o", folder / "model", *penalties)
    return folder


def test_no_command_sends_control_characters_to_the_terminal(hostile: Path) -> None:
    model, item = hostile / "model", f"i3{HOSTILE}"
    tables = (hostile / "rows.parquet", hostile / "items.parquet")
    asked = [
        *(("recommend", model, "-i", item), ("profile", model, "-i", item)),
        *(("explain", model, item, "-i", item), ("similar", model, item)),
        *(("info", model, "--find", "owned"), ("info", hostile / "data")),
        *(("recommend", model, "-i", f"none{HOSTILE}"), ("profile", model, "-p", HOSTILE)),
        *(("check", model, hostile / "data"), ("prepare", *tables, "-o", hostile / "again")),
    ]
    for words in asked:
        result = run(*words)
        assert "Traceback" not in result.output
        assert "owned" in result.output, words
        assert visible(result.output) == result.output, words


def test_json_has_the_texts_as_they_are_and_escapes_them(hostile: Path) -> None:
    model, item = hostile / "model", f"i3{HOSTILE}"
    for words in (("recommend", model, "-i", item), ("similar", model, item)):
        text = said(*words, "--json")
        assert visible(text) == text
        assert all(found["item_id"].endswith(HOSTILE) for found in json.loads(text))


def test_a_pipe_in_the_place_of_a_file_is_one_sentence(shop: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "manifest.json").symlink_to(pipe)
    tables, to = (shop / "ratings.csv", shop / "items.parquet"), ("-o", tmp_path / "out")
    for words in (
        ("prepare", pipe, tables[1], *to),
        ("prepare", *tables, "--rules", pipe, *to),
        ("partition", pipe, *to),
        ("info", tmp_path / "model"),
        ("evaluate", pipe, *to),
        ("fit", shop / "data", "--discovered-names", pipe, *to),
        ("serve", shop / "model", "--logo", pipe),
    ):
        text = " ".join(refused(*words).split())
        assert "not a regular file" in text, words
        assert str(tmp_path) in text, words


def test_a_second_sigterm_ends_what_swallowed_the_first() -> None:
    code = """if True:
        import os, signal, time
        from contextlib import suppress
        from teaser.cli import main

        def careless():
            with suppress(SystemExit):
                os.kill(os.getpid(), signal.SIGTERM)
            print("goes on", flush=True)
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(60)

        main.app = careless
        main.main()
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("goes on\n", -signal.SIGTERM)
