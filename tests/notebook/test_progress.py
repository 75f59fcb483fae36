import io
from typing import Any

import pytest
from nbclient import NotebookClient
from notebooks import nbformat
from rich.console import Console

import teaser
from teaser import Teaser
from teaser.progress import draw_bar, progress_bar
from teaser.testing import example_dataset


def run_cells(*sources: str, fails: bool = False) -> list[list[Any]]:
    """Return the outputs of cells that a real kernel ran."""
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell(source) for source in sources]
    NotebookClient(notebook, timeout=120, allow_errors=fails, kernel_name="python3").execute()
    return [cell.outputs for cell in notebook.cells]


def in_terminal() -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=80)


def written(console: Console) -> str:
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


def test_a_terminal_shows_a_bar_and_clears_it() -> None:
    console = in_terminal()
    with progress_bar("preparing [it]", console=console) as update:
        update("trying [bold]", 0.5)
    assert "trying [bold]" in written(console)  # no markup
    assert "━" in written(console)
    assert written(console).endswith("\x1b[2K")  # the line is erased


def test_nothing_is_shown_unless_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("preparing", show=False) as update:
        update("working", 0.5)
    Teaser(l2_weights=5.0, l2_encoder=5.0).fit(example_dataset())
    assert capsys.readouterr() == ("", "")


def test_fits_show_their_progress_when_asked(capsys: pytest.CaptureFixture[str]) -> None:
    data = example_dataset()
    Teaser(l2_weights=5.0, l2_encoder=5.0).fit(data, progress=True)
    out, shown = capsys.readouterr()
    assert out == ""
    assert "iteration 1, residual" in shown
    teaser.fit(data, l2_weights=5.0, l2_encoder=5.0, progress=True)
    assert "100 % fitting as given to all users" in capsys.readouterr().err


def test_a_drawn_bar_is_escaped_and_says_its_share() -> None:
    drawn = draw_bar('fitting <script>"a"', 0.256)
    assert "<script>" not in drawn["text/html"]
    assert 'aria-label="fitting &lt;script&gt;&quot;a&quot;"' in drawn["text/html"]
    assert "26 % · fitting" in drawn["text/html"]
    assert drawn["text/plain"] == ' 26 % fitting <script>"a"'
    assert 'value="1.000"' in draw_bar("over", 3.0)["text/html"]


BAR = """
import sys, time
from teaser.progress import progress_bar
with progress_bar("preparing") as update:
    for n in range(8):
        update(f"step {n} <of> 8", n / 8)
        time.sleep(0.05)
assert "ipywidgets" not in sys.modules
"""
BROKEN = """
with progress_bar("preparing") as update:
    update("half way", 0.5)
    raise ValueError("broken")
"""


def test_a_notebook_shows_one_output_that_ends_as_a_sentence() -> None:
    whole, broken = run_cells(BAR, BROKEN, fails=True)
    (shown,) = whole
    assert shown["output_type"] == "display_data"
    assert shown["data"]["text/plain"].startswith("done in 0.")
    assert "<progress" not in shown["data"]["text/html"]
    assert broken[0]["data"]["text/plain"].startswith("half way: stopped in 0.")
    assert broken[1]["ename"] == "ValueError"


def test_a_command_writes_to_a_log_what_takes_long(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    console = Console(file=io.StringIO())
    with progress_bar("reading", console=console) as update:
        update("half of it", 0.5)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("teaser.progress.LOG_PAUSE", 0.0)
    with progress_bar("reading", console=console) as update:
        update("half of it", 0.5)
    assert capsys.readouterr().err == " 50 % half of it (0 s)\n"
