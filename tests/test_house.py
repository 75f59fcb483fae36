"""The house rules that a machine can check."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "teaser"
FILES = sorted(p for p in SOURCE.rglob("*.py") if "migrations" not in p.parts)

# A room is a folder, or a module that stands in a folder of rooms. It imports only from rooms
# above it in this list; see docs/maintainers/design.md.
ORDER = [
    "closeness", "errors", "console", "files", "artifact", "notebook", "parameters", "frame",
    "data.ids", "data.sparse_matrix", "data.reading", "data.times", "data.disliked",
    "data.decay", "data.tagging", "data.unused_columns", "data.assemble",
    "data.saved_dataset", "data.dataset", "data.split", "data.temporal_split",
    "data.sources", "data.events",
    "percentile", "profile", "reason", "explain", "difference", "transparency",
    "recommendation", "choose.record",
    "model.checks", "model.cuda", "model.compiled", "model.gram", "model.solver", "model.packed",
    "model.basis", "model.item_table", "model.tag_table", "model.extensions", "model.registry",
    "model.user_state", "model.lists", "model.base", "model.new_items", "model.tag_scores",
    "model.tagged", "model.encoder", "model.teaser", "model.baselines", "model.shared_fit",
    "testing", "guide", "words.phrases", "words",
    "evaluate.metrics", "evaluate.protocol", "evaluate.simulation", "evaluate.study",
    "choose.recipe", "choose.plan", "choose.search", "choose.choose", "choose.check",
    "choose.proposal", "choose.card", "bridges",
    "evaluate.report.tables", "evaluate.report.pictures", "evaluate.report",
    "app.settings", "app.telemetry", "app.brand", "app.cache", "app.database", "app.people",
    "app.http", "app.i18n", "app.serving", "app.dependencies", "app.actions", "app.wishes",
    "app.api.schema", "app.api",
    "app.site.view", "app.site", "app.warm_up", "app.error_handlers", "app.mcp",
    "app.server", "app.process",
    "refit",
    "cli.output", "cli.options", "cli.study", "cli.ask", "cli.card", "cli.check",
    "cli.compare", "cli.fit", "cli.lists", "cli.prepare", "cli.serve", "cli.mcp",
    "cli.refit", "cli.demo", "cli.main",
]  # fmt: skip
FREE = {"_version", "__init__", "__main__"}
# Imported late, inside of functions, because they need extra packages that take long to import:
# the compiled kernels, the SDK of assistants, the driver of PostgreSQL. The command line does the
# same everywhere.
LATE = {
    *(SOURCE / "model" / "gram" / name for name in ("operator.py", "pairs.py")),
    SOURCE / "model" / "lists" / "ranking.py",
    SOURCE / "model" / "solver" / "steps.py",
    SOURCE / "app" / "mcp" / "mount.py",
    SOURCE / "app" / "database" / "database.py",
}
# The folders whose own modules are rooms.
HALLS = {"", "app", "choose", "cli", "data", "model", "evaluate"}


@cache
def tree_of(path: Path) -> ast.Module:
    """Return the syntax tree of a file, which several rules look at."""
    return ast.parse(path.read_text())


def room_of(parts: tuple[str, ...]) -> str:
    """Return the room of a module, given as the parts of its path below the package."""
    folder = ".".join(parts[:-1])
    return ".".join(parts) if folder in HALLS else folder


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
        room = room_of(path.relative_to(SOURCE).with_suffix("").parts)
        if room.split(".")[-1] in FREE:
            continue
        assert room in ORDER, f"{path} is in no room of the list"
        for module in imported(path):
            if not module or module[-1] in FREE:
                continue
            is_folder = SOURCE.joinpath(*module).is_dir()
            other = ".".join(module) if is_folder else room_of(module)
            if other in ORDER:
                assert ORDER.index(other) <= ORDER.index(room), f"{path} imports {'.'.join(module)}"


def test_the_site_does_without_the_experiments() -> None:
    for path in (SOURCE / "app").rglob("*.py"):
        assert all(module[:1] != ("evaluate",) for module in imported(path)), path


def test_a_room_holds_about_a_dozen_files() -> None:
    sizes = Counter(path.parent for path in FILES if path.name != "__init__.py")
    assert {str(folder): n for folder, n in sizes.items() if n > 14} == {}


def test_no_import_stands_in_a_function_to_get_around_a_circle() -> None:
    for path in FILES:
        if "cli" in path.parts or path in LATE:
            continue
        for function in ast.walk(tree_of(path)):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                for node in ast.walk(function):
                    if isinstance(node, ast.ImportFrom):
                        assert not (node.module or "").startswith("teaser"), path


def test_every_file_says_its_job_and_stays_readable() -> None:
    for path in FILES:
        text, tree = path.read_text(), tree_of(path)
        assert ast.get_docstring(tree), path
        assert len(text.splitlines()) <= 450, path
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                assert (node.end_lineno or 0) - node.lineno < 80, f"{path}: {node.name}"


def test_functions_have_few_parameters() -> None:
    for path in FILES:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.FunctionDef) and node.name != "__init__":
                n = len(node.args.args) + len(node.args.kwonlyargs)
                assert n <= 17, f"{path}: {node.name} has {n} parameters"


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


def test_modules_have_a_test_at_the_same_path() -> None:
    for path in FILES:
        below = path.relative_to(SOURCE)
        if below.name not in ("__init__.py", "__main__.py", "_version.py"):
            test = ROOT / "tests" / below.with_name(f"test_{below.name}")
            assert test.exists(), f"{below} has no {test.relative_to(ROOT)}"
