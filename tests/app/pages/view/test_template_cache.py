"""Templates are compiled once, and anew where the files of the cache cannot be used."""

import sys
from pathlib import Path
from typing import Any

import jinja2
import pytest

from teaser.app.pages.view.template_cache import TemplateCache

ADDS = "{{ 1 + 1 }} items"


@pytest.fixture(autouse=True)
def written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)


@pytest.fixture
def module(tmp_path: Path) -> Path:
    """A file of Python, and the folder of its bytecode."""
    (tmp_path / "__pycache__").mkdir()
    file = tmp_path / "pages.py"
    file.write_text("options = 1")
    return file


def kept(module: Path) -> list[Path]:
    return sorted((module.parent / "__pycache__").iterdir())


def said(module: Path, text: str = ADDS, **options: Any) -> str:
    """Return what a new environment makes of a template."""
    environment = jinja2.Environment(
        loader=jinja2.DictLoader({"page.html": text}),
        autoescape=True,
        bytecode_cache=TemplateCache(module),
        **options,
    )
    return environment.get_template("page.html").render()


def refuse(*_: object) -> None:
    raise AssertionError("a template was compiled")


def test_a_template_is_compiled_once(module: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert said(module) == "2 items"
    assert len(kept(module)) == 1
    monkeypatch.setattr(jinja2.Environment, "compile", refuse)
    assert said(module) == "2 items"
    with pytest.raises(AssertionError, match="was compiled"):
        said(module, "{{ 1 + 2 }} items")


def test_it_is_compiled_anew_when_it_or_what_compiles_it_changes(module: Path) -> None:
    text = "{% if true %}\n{{ 1 + 1 }} items{% endif %}"
    assert said(module, text) == "\n2 items"
    assert said(module, text.replace("+ 1", "+ 2")) == "\n3 items"
    module.write_text("options = 2")
    assert said(module, text, trim_blocks=True) == "2 items"


def test_a_damaged_file_is_replaced(module: Path) -> None:
    said(module)
    (file,) = kept(module)
    whole = file.read_bytes()
    for end in range(len(whole)):
        file.write_bytes(whole[:end])
        assert said(module) == "2 items"
        assert file.read_bytes() == whole


def test_where_nothing_can_be_read_or_written_templates_work(
    module: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert said(tmp_path / "no" / "folder.py") == "2 items"
    assert said(module) == "2 items"
    (file,) = kept(module)
    file.unlink()
    file.symlink_to(file)  # it leads to itself
    assert said(module) == "2 items"
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "elsewhere"))
    assert said(module) == "2 items"
    assert not (tmp_path / "elsewhere").exists()


def test_bytecode_may_be_kept_elsewhere(
    module: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "elsewhere"))
    folder = Path(f"{tmp_path}/elsewhere{module.parent}")
    folder.mkdir(parents=True)
    assert said(module) == "2 items"
    assert len(list(folder.iterdir())) == 1
    assert not kept(module)
