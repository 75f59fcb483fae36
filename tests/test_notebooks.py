"""The notebooks of examples/ run, and what they show was made by them."""

import re
import shlex
from pathlib import Path
from typing import Any, cast

import pytest
from commands import said
from notebooks import NOTEBOOKS, nbformat, read_notebook, run_notebook
from typer.core import TyperGroup
from typer.main import get_command

from teaser.cli.main import app

ROOT = Path(__file__).resolve().parents[1]
# Folders of whoever ran a notebook last.
PLACES = re.compile(r"/(home|root|tmp|work|Users|var|mnt|opt|private)/|[A-Z]:\\\\|site-packages")


def code_cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def outputs(notebook: Any) -> list[Any]:
    return [output for cell in code_cells(notebook) for output in cell.outputs]


def commands(notebook: Any) -> list[list[str]]:
    """Return the commands in the texts of a notebook, each as its words."""
    texts = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    blocks = re.findall(r"^```sh\n(.*?)^```", texts, re.M | re.S)
    return [shlex.split(line)[1:] for block in blocks for line in block.splitlines()]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_and_its_commands_run_in_an_empty_folder(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    again, kept = run_notebook(path, tmp_path), read_notebook(path)
    shown = [[sorted(o.get("data", ())) for o in cell.outputs] for cell in code_cells(again)]
    committed = [[sorted(o.get("data", ())) for o in cell.outputs] for cell in code_cells(kept)]
    assert shown == committed  # run tests/notebooks.py after a change
    assert all(output.output_type != "error" for output in outputs(again))
    monkeypatch.chdir(tmp_path)
    for words in commands(kept):
        if words[0] == "serve":  # it would not end
            assert cast(TyperGroup, get_command(app)).make_context("teaser", list(words))
            assert Path(words[1]).is_dir()
        else:
            said(*words)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_what_is_kept_of_a_notebook_can_be_published(path: Path) -> None:
    kept = read_notebook(path)
    nbformat.validate(kept)
    text = path.read_text(encoding="utf-8")
    assert PLACES.search(text) is None
    assert "<script" not in text
    assert len(text) < 250_000
    assert sorted(kept.metadata) == ["kernelspec", "language_info"]
    counts = [cell.execution_count for cell in code_cells(kept)]
    assert counts == list(range(1, len(counts) + 1))  # from top to bottom, once
