"""Documentation is run: its Python, its commands, its rules; and it names what there is."""

import re
import runpy
import shlex
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

import teaser
from teaser.cli.main import app
from teaser.evaluate.study.plan import Study
from teaser.evaluate.study.search import check_models
from teaser.words.interpreter import GROUP
from teaser.words.vocabulary import read_synonyms

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
OTHERS = ("CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/README.md", "experiments/README.md")


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.M | re.S)


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "python")], ids=lambda p: p.name)
def test_commands_and_examples_run_as_they_stand(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for block in blocks(page, "sh"):
        for line in block.splitlines():
            if line.startswith("teaser "):
                done = CliRunner().invoke(app, shlex.split(line)[1:])
                assert done.exit_code == 0, f"{line}\n{done.output}"
    names: dict[str, object] = {}
    for block in blocks(page, "python"):
        exec(compile(block, str(page), "exec"), names)  # noqa: S102


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "toml")], ids=lambda p: p.name)
def test_rules_and_studies_in_the_documentation_are_valid(page: Path, tmp_path: Path) -> None:
    for block in blocks(page, "toml"):
        path = tmp_path / "written.toml"
        path.write_text(block)
        if "[data]" in block:
            check_models(Study.read(path).models)
        elif "[project." in block:
            assert tomllib.loads(block)["project"]["entry-points"][GROUP]
        elif page.name == "words.md":
            assert read_synonyms(path)
        else:
            assert teaser.Rules.read(path).tags


def anchors(page: Path) -> set[str]:
    """Return the names by which links reach the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_between_pages_lead_somewhere() -> None:
    for page in [*PAGES, *(ROOT / other for other in OTHERS)]:
        for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
            if target.startswith("http"):
                continue
            path, _, anchor = target.partition("#")
            linked = page.parent / path if path else page
            assert linked.exists(), (page, target)
            assert not anchor or anchor in anchors(linked), (page, target)


def test_the_index_names_every_page() -> None:
    text = (ROOT / "docs" / "README.md").read_text()
    for page in PAGES[1:]:
        name = page.relative_to(ROOT / "docs").as_posix()
        assert name == "README.md" or f"({name})" in text, name


def test_every_public_name_is_documented() -> None:
    for name in teaser.__all__:
        if name != "__version__":
            assert getattr(teaser, name).__doc__, name


@pytest.mark.parametrize("script", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_examples_run_and_say_something(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(script), run_name="__main__")
    assert "because of your affinity" in capsys.readouterr().out
