"""The house rules that a machine can check."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "teaser"
FILES = sorted(p for p in SOURCE.rglob("*.py") if "migrations" not in p.parts)

# A folder, or a module beside the folders, imports only from those above it in this list; see
# docs/maintainers/design.md.
ORDER = [
    "errors", "console", "files", "artifact", "steps", "notebook", "progress",
    "parameters", "frame",
    "data", "leaning", "profile", "explain", "transparency", "recommend", "model",
    "extensions", "baselines", "testing", "steer", "words",
    "app", "evaluate", "userstudy", "bridges", "cli", "_command",
]  # fmt: skip
FREE = {"_version", "__init__", "__main__"}


@cache
def tree_of(path: Path) -> ast.Module:
    """Return the syntax tree of a file, which several rules look at."""
    return ast.parse(path.read_text())


def package_of(parts: tuple[str, ...]) -> str:
    """Return the folder or module below the package that a module belongs to."""
    return parts[0]


def imported(path: Path) -> Iterator[tuple[str, ...]]:
    """Yield the modules of this package that a file imports, anywhere in it."""
    for node in ast.walk(tree_of(path)):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("teaser"):
            continue
        below = tuple(str(node.module).split(".")[1:])
        for name in node.names:
            inner = SOURCE.joinpath(*below, name.name)
            is_module = inner.with_suffix(".py").exists() or inner.is_dir()
            yield (*below, name.name) if is_module else below


def test_imports_go_one_way() -> None:
    for path in FILES:
        package = package_of(path.relative_to(SOURCE).with_suffix("").parts)
        if package.split(".")[-1] in FREE:
            continue
        assert package in ORDER, f"{path} is in no place of the list"
        for module in imported(path):
            if not module or module[-1] in FREE:
                continue
            other = package_of(module)
            if other in ORDER:
                assert ORDER.index(other) <= ORDER.index(package), (
                    f"{path} imports {'.'.join(module)}"
                )


def test_the_site_does_without_the_experiments() -> None:
    for path in (SOURCE / "app").rglob("*.py"):
        assert all(module[:1] != ("evaluate",) for module in imported(path)), path


def test_every_file_says_its_job() -> None:
    for path in FILES:
        assert ast.get_docstring(tree_of(path)) or path.name == "__init__.py", path


def test_the_library_neither_prints_nor_asserts() -> None:
    for path in FILES:
        if path.parent.name == "testing":
            continue  # it is a set of tests
        for node in ast.walk(tree_of(path)):
            assert not isinstance(node, ast.Assert), path
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id != "print", path


def test_the_global_random_state_is_never_touched() -> None:
    for path in FILES:
        text = path.read_text()
        found = re.findall(r"np\.random\.(\w+)", text)
        assert set(found) <= {"default_rng", "Generator", "SeedSequence"}, path
        assert not re.search(r"^import random|^from random", text, re.M), path


def test_there_is_no_drawer_for_odds_and_ends() -> None:
    assert not {p.stem for p in FILES} & {"utils", "util", "helpers", "misc", "common"}


def test_few_types_are_ignored() -> None:
    texts = (p.read_text() for p in ROOT.glob("*/**/*.py") if ".venv" not in p.parts)
    assert sum(len(re.findall(r"#\s*type:\s*ignore", text)) for text in texts) <= 5
