"""The house rules that a machine can check."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "teaser"
FILES = sorted(p for p in SOURCE.rglob("*.py") if "migrations" not in p.parts)

# A folder, or a module beside the folders, imports only from those above it in this list; see
# docs/maintainers/design.md.
ORDER = [
    "errors", "console", "files", "artifact", "steps", "templates", "notebook", "progress",
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
        if package in FREE:
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
