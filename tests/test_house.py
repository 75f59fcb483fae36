"""The house rules that a machine can see."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "teaser"
FILES = sorted(SOURCE.rglob("*.py"))

# What a part may import of the others; see docs/design.md. The command line may import all.
ORDER = [
    "errors",
    "artifact",
    "data",
    "profile",
    "explain",
    "model",
    "testing",
    "guide",
    "evaluate",
    "prepare",
    "terminal",
    "demo",
    "options",
    "fitting",
    "app",
    "cli",
]
FREE = {"_version", "__init__", "__main__"}


def part_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_parts(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if (
            isinstance(node, ast.ImportFrom)
            and node.module
            and node.module.split(".")[0] == "teaser"
        ):
            names = (
                [node.module.split(".")[1]] if "." in node.module else [a.name for a in node.names]
            )
            found |= set(names)
    return found - FREE


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_go_one_way(path: Path) -> None:
    part = part_of(path)
    if part in FREE:
        return
    allowed = set(ORDER[: ORDER.index(part) + 1])
    assert imported_parts(path) <= allowed


def test_the_site_does_without_the_experiments() -> None:
    for path in FILES:
        if part_of(path) == "app":
            assert "evaluate" not in imported_parts(path), path


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_every_file_says_its_job_and_stays_readable(path: Path) -> None:
    text = path.read_text()
    tree = ast.parse(text)
    assert ast.get_docstring(tree)
    assert len(text.splitlines()) <= 450
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            assert (node.end_lineno or 0) - node.lineno < 80, node.name


def test_the_library_neither_prints_nor_asserts() -> None:
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            assert not isinstance(node, ast.Assert) or path.stem == "testing", path
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id != "print", path


def test_the_global_random_state_is_never_touched() -> None:
    for path in FILES:
        found = re.findall(r"np\.random\.(\w+)", path.read_text())
        assert set(found) <= {"default_rng", "Generator", "SeedSequence"}, path
        assert not re.search(r"^import random|^from random", path.read_text(), re.M), path


def test_there_is_no_drawer_for_odds_and_ends() -> None:
    names = {p.stem for p in FILES}
    assert not names & {"utils", "util", "helpers", "misc", "common"}


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_public_modules_have_a_test_of_their_name(path: Path) -> None:
    parts = path.relative_to(SOURCE).parts
    inner = "migrations" in parts or any(part.startswith("_") for part in parts)
    if not inner:
        assert list((ROOT / "tests").rglob(f"test_{path.stem}.py")), path.name
