"""Control characters of texts are shown, and never reach the terminal."""

import json
import logging
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table
from rich.text import Text

from teaser.cli.output import VisibleConsole
from teaser.console import VisibleFormatter, visible, visible_json, visible_line

HOSTILE = "\x1b]0;owned\x07 \x1b[2J\x9b31m\u202ecod.exe\u2066\x7f\x00"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J", r"\x1b[2J"),
        ("\x9b2J\x7f\x00", r"\x9b2J\x7f\x00"),
        ("abc\u202eexe.\u2069", r"abc\u202eexe.\u2069"),
        ("a\tb\nc é 東京 עברית \u200f", "a\tb\nc é 東京 עברית \u200f"),
    ],
)
def test_what_a_terminal_would_obey_is_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_a_line_stays_one_line() -> None:
    assert visible_line("a\tb\nc\x1b\u2028") == r"a\x09b\x0ac\x1b\u2028"


@given(st.text())
def test_json_means_the_same(text: str) -> None:
    plain = json.dumps({"a": text}, ensure_ascii=False)
    assert json.loads(visible_json(plain)) == {"a": text}
    assert visible(visible_json(plain)) == visible_json(plain)


def printed(*what: object, terminal: bool = False) -> str:
    file = StringIO()
    console = VisibleConsole(file=file, width=200, force_terminal=terminal)
    for each in what:
        console.print(each)
    return file.getvalue()


def test_nothing_that_is_printed_has_control_characters() -> None:
    table = Table(title=HOSTILE)
    table.add_column(HOSTILE)
    table.add_row(Text(HOSTILE, style="bold"))
    text = printed(HOSTILE, Text(HOSTILE), table, [HOSTILE])
    assert visible(text) == text
    assert text.count(r"\x1b[2J") == 6
    assert text.count(r"\u202e") >= 4


def test_log_lines_have_no_control_characters() -> None:
    record = logging.LogRecord("teaser", logging.INFO, "x", 1, "%s left out", (HOSTILE,), None)
    line = VisibleFormatter().format(record)
    assert line.startswith(r"\x1b]0;owned")
    assert visible(line) == line
