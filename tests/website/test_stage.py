"""The source tree of the site: pages under their addresses, with links of the site."""

import json
from pathlib import Path

import pytest
from website.stage import ROOT, address, navigation, pages, rewrite, stage


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
    (tree / "docs/users/lists.md").write_text(page)
    stage(tmp_path / "site", tree)
    text = (tmp_path / "site/users/lists.md").read_text()
    assert ":hidden:\n\n/examples/c\n/examples/a\n/examples/b\n/examples/n\n```" in text
    assert "Notebooks" not in (tmp_path / "site/index.md").read_text()


def test_navigation_follows_the_sections_of_the_index() -> None:
    index = "# I\n[no](no.md)\n## One\n[A a](a.md) and [b](b.md#x) [c](https://c)\n## Two\nnone\n"
    assert navigation(index) == "\n```{toctree}\n:hidden:\n:caption: One\n\nA a <a>\n```\n"


def test_every_page_is_on_the_site() -> None:
    names = {str(address(page)) for page in pages()}
    assert {"index.md", "about.md", "CHANGELOG.md", "users/studies.md", "users/data.md"} <= names
    assert not [name for name in names if "website" in name]
    assert (ROOT / "docs" / "README.md") in pages()
