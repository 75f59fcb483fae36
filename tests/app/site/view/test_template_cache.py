"""Templates are compiled once, and anew where the files of the cache cannot be used."""

import sys
from pathlib import Path

import jinja2
import pytest

from teaser.app.site.view.template_cache import TemplateCache


def said(folder: Path, text: str = "{{ 1 + 1 }} items") -> str:
    """Return what a new environment makes of a template."""
    loader = jinja2.DictLoader({"page.html": text})
    environment = jinja2.Environment(
        loader=loader, autoescape=True, bytecode_cache=TemplateCache(folder)
    )
    return environment.get_template("page.html").render()


@pytest.fixture(autouse=True)
def written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)


def refuse(*_: object) -> None:
    raise AssertionError("a template was compiled")


def test_a_template_is_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert said(tmp_path) == "2 items"
    assert len(list(tmp_path.iterdir())) == 1
    monkeypatch.setattr(jinja2.Environment, "compile", refuse)
    assert said(tmp_path) == "2 items"
    with pytest.raises(AssertionError, match="was compiled"):
        said(tmp_path, "{{ 1 + 2 }} items")


def test_a_changed_template_and_a_damaged_file_are_compiled_anew(tmp_path: Path) -> None:
    said(tmp_path)
    assert said(tmp_path, "{{ 1 + 2 }} items") == "3 items"
    (file,) = tmp_path.iterdir()
    for damaged in (b"", b"no bytecode", file.read_bytes()[:-9]):
        file.write_bytes(damaged)
        assert said(tmp_path, "{{ 1 + 2 }} items") == "3 items"


def test_where_nothing_can_be_written_templates_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert said(tmp_path / "none") == "2 items"
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert said(tmp_path) == "2 items"
    assert not list(tmp_path.iterdir())
