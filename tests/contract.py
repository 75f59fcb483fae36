"""What users have: commands, pages, forms, API, MCP tools, settings, Python names, files.

`python tests/contract.py` prints it as JSON. tests/contract.json is what there was before the
house was made small; test_contract.py says what of it is missing without a reason.
"""

import importlib
import inspect
import json
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

ROOT = Path(__file__).resolve().parents[1]
# The packages that people import from.
PACKAGES = (
    *("teaser", "teaser.extensions", "teaser.baselines", "teaser.model", "teaser.steer"),
    *("teaser.words", "teaser.evaluate", "teaser.data", "teaser.data.sources"),
    *("teaser.profile", "teaser.recommend", "teaser.explain", "teaser.transparency"),
    *("teaser.data.demo", "teaser.testing", "teaser.errors"),
)
FORM = re.compile(r"<form\b[^>]*\baction=\"([^\"]*)\"")
FIELD = re.compile(r"<(?:input|select|textarea|button)\b[^>]*?\sname=\"([^\"{]+)\"")


def commands() -> dict[str, list[str]]:
    """Return the arguments and options of every command."""
    from teaser.cli.main import app

    def walk(command: Any, name: str) -> Iterator[tuple[str, list[str]]]:
        if hasattr(command, "commands"):
            for below, child in command.commands.items():
                yield from walk(child, f"{name} {below}".strip())
            return
        found: set[str] = set()
        for parameter in command.params:
            is_argument = parameter.param_type_name == "argument"
            found |= {parameter.name.upper()} if is_argument else {*parameter.opts}
            found |= set() if is_argument else {*parameter.secondary_opts}
        yield name, sorted(found - {"--help", "-h"})

    return dict(sorted(walk(typer.main.get_command(app), "")))


def python_names() -> dict[str, list[str]]:
    """Return the public names of the packages, and the public members of their classes."""
    found: dict[str, set[str]] = {}
    for package in PACKAGES:
        try:
            module = importlib.import_module(package)
        except ModuleNotFoundError:
            continue
        for name in getattr(module, "__all__", [n for n in vars(module) if n[0] != "_"]):
            value = getattr(module, name)
            if inspect.ismodule(value):
                continue
            members = [m for m in dir(value) if m[0] != "_"] if inspect.isclass(value) else []
            fields = getattr(value, "__dataclass_fields__", {}) if members else {}
            found.setdefault(name, set()).update(members, (f for f in fields if f[0] != "_"))
    return {name: sorted(members) for name, members in sorted(found.items())}


def all_routes(routes: Any) -> Iterator[Any]:
    """Yield routes, those of included routers too."""
    for route in routes:
        inner = getattr(route, "routes", None) or getattr(
            getattr(route, "original_router", None), "routes", None
        )
        if inner:
            yield from all_routes(inner)
        elif hasattr(route, "path"):
            yield route


def served(folder: Path) -> dict[str, Any]:
    """Return the routes, API operations, schemas, MCP tools and settings of a server."""
    from teaser import Teaser
    from teaser.app.server import create_app
    from teaser.app.settings import Settings
    from teaser.testing import example_dataset

    Teaser(l2_weights=1.0, l2_encoder=1.0).fit(example_dataset()).save(folder / "model")
    app = create_app(Settings(model=folder / "model"))
    document = app.openapi()
    schemas = document["components"]["schemas"]
    operations: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            names = {p["name"] for p in operation.get("parameters", ())}
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            reference = str(body.get("schema", {}).get("$ref", "")).rsplit("/", 1)[-1]
            names |= {f"body.{n}" for n in schemas.get(reference, {}).get("properties", {})}
            operations[f"{method.upper()} {path}"] = sorted(names)
    pages = {
        f"{method} {route.path}"
        for route in all_routes(app.routes)
        for method in getattr(route, "methods", None) or ()
        if method != "HEAD" and f"{method} {route.path}" not in operations
    }
    return {
        "pages": sorted(pages),
        "api": dict(sorted(operations.items())),
        "api fields": sorted({n for s in schemas.values() for n in s.get("properties", {})}),
        "settings": sorted(Settings.model_fields),
        "model files": sorted(
            re.sub(r"-[0-9a-f]{16}", "", p.name) for p in (folder / "model").iterdir()
        ),
    }


def tools() -> dict[str, list[str]]:
    """Return the arguments of every MCP tool."""
    from teaser.app.mcp.tools import TOOLS

    schemas = {tool.name: tool.described.input_schema for tool in TOOLS}
    return {name: sorted(s.get("properties", {})) for name, s in sorted(schemas.items())}


def forms() -> dict[str, list[str]]:
    """Return the addresses that forms of the site post to, and the names of their fields."""
    texts = [p.read_text() for p in (ROOT / "src/teaser/app").rglob("templates/*.html")]
    actions = {re.sub(r"{{.*?}}", "*", a).split("?")[0] for t in texts for a in FORM.findall(t)}
    fields = {name for text in texts for name in FIELD.findall(text)}
    return {"actions": sorted(actions), "fields": sorted(fields)}


def contract() -> dict[str, Any]:
    """Return all of it."""
    with tempfile.TemporaryDirectory() as folder:
        rest = served(Path(folder))
    found = {"commands": commands(), "python": python_names(), "mcp": tools(), "forms": forms()}
    return {**found, **rest}


if __name__ == "__main__":
    json.dump(contract(), sys.stdout, indent=1, sort_keys=True)
