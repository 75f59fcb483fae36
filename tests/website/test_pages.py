"""Pages that are made from the program equal the program; sources of the site link as it does."""

import inspect
import json
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from website import python_reference, rule_fields
from website.command_reference import (
    command_page,
    flags,
    is_option,
    meaning_and_default,
    plain,
    walk,
)
from website.docstring import as_rst
from website.references import DOCS, MADE, stale
from website.stage import ROOT, address, navigation, pages, rewrite, stage

import teaser
from teaser.cli.main import app
from teaser.data.tagging.rule_kinds import KINDS
from teaser.data.tagging.rule_set import ROLES

COMMANDS = dict(walk(get_command(app), "teaser"))


def options(command: str) -> dict[str, Any]:
    return {p.name: p for p in COMMANDS[command].params}


def test_the_pages_made_from_the_program_are_up_to_date() -> None:
    assert not stale(), "Run make references: the program has changed."


def test_a_changed_page_is_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MADE, "users/commands.md", lambda text: text + "## teaser dance\n")
    assert list(stale()) == [DOCS / "users" / "commands.md"]


def test_every_command_and_option_is_documented_and_says_what_it_does() -> None:
    page = command_page()
    for name, command in COMMANDS.items():
        assert f"\n## {name}\n" in page
        assert command.help, name
        for parameter in command.params:
            assert parameter.help, f"{name} {parameter.name} has no help"
            if is_option(parameter):
                assert f"| {flags(parameter)} | " in page, f"{name} {parameter.name}"


def test_the_guide_names_every_command() -> None:
    guide = (DOCS / "users" / "cli.md").read_text()
    for name in COMMANDS:
        assert f"`{name}" in guide, f"docs/users/cli.md does not have {name}"


def test_defaults_are_written_as_they_would_be_typed() -> None:
    fit, serve = options("teaser fit"), options("teaser serve")
    assert meaning_and_default(fit["l2_weights"])[1] == "`200.0`"
    assert meaning_and_default(fit["keep_groups"])[1] == "`--keep-groups`"
    assert meaning_and_default(fit["weights"])[1] == ""
    assert meaning_and_default(fit["folder"])[1] == "*needed*"
    # The default of an entry of an extension stands in its help.
    text, default = meaning_and_default(fit["weights_user_power"])
    assert (default, "default" in text) == ("`0.5`", False)
    assert "Setting: `TEASER_PORT`." in meaning_and_default(serve["port"])[0]


def test_help_is_safe_in_a_table() -> None:
    assert plain("a | b\n[dim]c[/] *d* for --half-life") == r"a \| b c \*d\* for `--half-life`"


def test_the_rule_page_has_the_fields_of_every_kind_and_every_role() -> None:
    page = (DOCS / "users" / "rules.md").read_text()
    assert rule_fields.described(page) == [rule_fields.COMMON, *KINDS]
    for role in ROLES:
        assert f"\n| `{role}` | " in page
    for kind, rule in KINDS.items():
        assert f"\n## {kind}\n" in page
        own = set(rule_fields.parameter_texts(rule))
        assert own <= {
            line.split("`")[1] for line in rule_fields.field_table(kind).split("\n")[2:-1]
        }


def test_fields_are_told_by_type_default_and_meaning() -> None:
    table = rule_fields.field_table("number")
    assert "| `bins` | whole number | `10` | How many bins" in table
    assert "| `edges` | list of numbers | none | The boundaries" in table
    assert r'| `separator` | text | `"\|"` |' in rule_fields.field_table("list")
    assert "| `column` | text or list of texts | *needed* |" in rule_fields.field_table("text")
    assert "min_items" not in rule_fields.field_table("year")


def test_every_public_name_is_on_one_page_of_the_reference() -> None:
    by_page = python_reference.names_by_page()
    listed = [path for names in by_page.values() for path in names]
    assert len(listed) == len(set(listed))
    for name in teaser.__all__:
        assert f"teaser.{name}" in listed
    for path, value in python_reference.public_names().items():
        assert python_reference.summary(path, value).strip(), f"{path} has no docstring"
    titles = {page.name: names for page, names in by_page.items()}
    assert titles["models"][0] == "teaser.model.Model"
    assert titles["data"][0] == "teaser.Dataset"
    assert "teaser.model.EASE" in titles["models"]
    assert "teaser.errors.UnknownItemError" in titles["errors"]


def test_bridges_are_described_without_their_frameworks() -> None:
    names = {page.name: names for page, names in python_reference.names_by_page().items()}
    wanted = {"teaser.bridges.lenskit.TeaserScorer", "teaser.bridges.rectools.TeaserModel"}
    assert wanted <= set(names["bridges"])
    page = python_reference.reference_pages()["bridges.md"]
    assert ".. py:class:: teaser.bridges.lenskit.TeaserScorer(**options)\n\n   Score items" in page
    assert "\n   :ivar model_:" in page
    assert "   .. py:method:: train(data, options)\n\n      Fit a model" in page


def test_a_public_name_without_a_page_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    rest = tuple(p for p in python_reference.PAGES if p.name != "guide")
    monkeypatch.setattr(python_reference, "PAGES", rest)
    with pytest.raises(LookupError, match=r"teaser\.guide\.Lift.*python_reference"):
        python_reference.names_by_page()


def test_constants_are_public_names() -> None:
    for path in python_reference.CONSTANTS:
        assert not inspect.isclass(python_reference.public_names()[path])


def test_docstrings_become_markup() -> None:
    lines = ["It minimises", "", "    |X|^2", "    + |E|", "", "of |E|, not `a|b`."]
    assert as_rst(lines) == [
        *("It minimises", "", "::", "", "    |X|^2", "    + |E|", ""),
        r"of \|E\|, not `a|b`.",
    ]
    section = ["Parameters", "----------", "x", "    A number.", "", "    More."]
    assert as_rst(section) == section


def test_attributes_that_share_a_text_have_it_each() -> None:
    section = ["Attributes", "----------", "a, b", "    Two", "    lines.", "c", "    One."]
    assert as_rst(section)[2:] == [
        *("a", "    Two", "    lines.", "b", "    Two", "    lines.", "c", "    One."),
    ]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a small repository."""
    texts = {
        "docs/README.md": "# Index\n[all](../README.md)\n\n## Start\n[Us](users/a.md), [B](b.md)\n",
        "docs/users/a.md": "# A\n\n[x](../../README.md#x) ![](p.png) [t](../../examples/t.toml)\n\n"
        "```text\n[not](a.link)\n```\n[up](https://example.org/a.md) [here](#a)\n",
        "docs/users/p.png": "picture",
        "docs/b.md": "# B\n\n[n](../examples/n.ipynb)\n",
        "README.md": '# R\n\n<img src="docs/users/p.png" alt="a">\n\n## X\n',
        "examples/t.toml": "a = 1\n",
        "examples/n.ipynb": json.dumps(
            {"cells": [{"cell_type": "markdown", "source": ["# N\n", "[a](../docs/users/a.md)"]}]}
        ),
        "CONTRIBUTING.md": "# C\n",
        "CHANGELOG.md": "# Changes\n",
        "experiments/README.md": "# E\n",
        "experiments/results/TABLES.md": "## T\n",
        "benchmarks/README.md": "# M\n",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_files_of_the_repository_have_an_address_on_the_site(tree: Path) -> None:
    found = [str(address(tree / name, tree)) for name in ("docs/README.md", "README.md")]
    assert found == ["index.md", "about.md"]
    assert str(address(tree / "experiments/README.md", tree)) == "experiments/index.md"
    assert str(address(tree / "docs/users/a.md", tree)) == "users/a.md"


def test_links_are_rewritten_outside_code(tree: Path) -> None:
    text, files = rewrite(tree / "docs/users/a.md", tree)
    assert "[x](../about.md#x) ![](p.png) [t](../examples/t.toml)" in text
    assert "[not](a.link)" in text
    assert "(https://example.org/a.md) [here](#a)" in text
    assert files == [tree / "docs/users/p.png", tree / "examples/t.toml"]
    assert '<img src="users/p.png"' in rewrite(tree / "README.md", tree)[0]


def test_the_source_tree_has_pages_files_and_navigation(tree: Path, tmp_path: Path) -> None:
    target = tmp_path / "site"
    stage(target, tree)
    index = (target / "index.md").read_text()
    assert "[all](about.md)" in index
    assert ":caption: Start\n\nUs <users/a>\nB <b>\n```" in index
    assert ":caption: Notebooks\n\n/examples/n\n```" in index
    notebook = json.loads((target / "examples/n.ipynb").read_text())
    assert notebook["cells"][0]["source"] == "# N\n[a](../users/a.md)"
    assert (target / "users/p.png").read_text() == "picture"
    assert (target / "experiments/results/TABLES.md").read_text().startswith("# ")
    assert "autoclass:: teaser.Dataset" in (target / "reference/data.md").read_text()


def test_a_second_run_writes_what_changed_and_removes_what_is_gone(
    tree: Path, tmp_path: Path
) -> None:
    target = tmp_path / "site"
    stage(target, tree)
    same = (target / "users/a.md").stat().st_mtime_ns
    (tree / "examples/n.ipynb").unlink()
    (tree / "docs/b.md").write_text("# B\n")
    stage(target, tree)
    assert not (target / "examples/n.ipynb").exists()
    assert (target / "b.md").read_text() == "# B\n"
    assert (target / "users/a.md").stat().st_mtime_ns == same


def test_notebooks_stand_under_their_page_in_its_order(tree: Path, tmp_path: Path) -> None:
    notebook = (tree / "examples/n.ipynb").read_text()
    for name in ("a", "b", "c"):
        (tree / f"examples/{name}.ipynb").write_text(notebook)
    page = "# Notebooks\n\n[1](../../examples/c.ipynb) [2](../../examples/a.ipynb)\n"
    (tree / "docs/users/notebooks.md").write_text(page)
    stage(tmp_path / "site", tree)
    text = (tmp_path / "site/users/notebooks.md").read_text()
    assert ":hidden:\n\n/examples/c\n/examples/a\n/examples/b\n/examples/n\n```" in text
    assert "Notebooks" not in (tmp_path / "site/index.md").read_text()


def test_navigation_follows_the_sections_of_the_index() -> None:
    index = "# I\n[no](no.md)\n## One\n[A a](a.md) and [b](b.md#x) [c](https://c)\n## Two\nnone\n"
    assert navigation(index) == "\n```{toctree}\n:hidden:\n:caption: One\n\nA a <a>\n```\n"


def test_every_page_is_on_the_site() -> None:
    names = {str(address(page)) for page in pages()}
    assert {"index.md", "about.md", "CHANGELOG.md", "users/results.md", "users/rules.md"} <= names
    assert not [name for name in names if "website" in name]
    assert (ROOT / "docs" / "README.md") in pages()
