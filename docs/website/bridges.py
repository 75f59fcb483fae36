"""The classes of the bridges, read without the frameworks that they need.

LensKit and RecTools need versions of other packages that do not go together, so no environment
has both. The reference describes the bridges all the same, from their source.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from textwrap import indent
from typing import Any

from sphinx.ext.napoleon import Config
from sphinx.ext.napoleon.docstring import NumpyDocstring

from website.docstring import as_rst

MODULES = ("teaser.bridges.lenskit", "teaser.bridges.rectools")


@dataclass(frozen=True)
class Described:
    """A class as its source has it: its docstring, and its methods with theirs."""

    path: str
    text: str
    methods: tuple[tuple[str, str], ...]

    def directive(self) -> Iterator[str]:
        """Yield the description, as reStructuredText."""
        yield from (f".. py:class:: {self.path}(**options)", "", indent(_rst(self.text), "   "), "")
        for signature, text in self.methods:
            yield from (f"   .. py:method:: {signature}", "", indent(_rst(text), " " * 6), "")


def read_bridges() -> dict[str, Described]:
    """Return the public classes of the bridges, by their path."""
    found = {}
    for module in MODULES:
        spec = find_spec(module)
        source = Path(spec.origin).read_text() if spec and spec.origin else ""
        for node in ast.parse(source).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                path = f"{module}.{node.name}"
                found[path] = Described(path, ast.get_docstring(node) or "", tuple(_methods(node)))
    return found


def _methods(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for method in node.body:
        text = ast.get_docstring(method) if isinstance(method, ast.FunctionDef) else None
        if isinstance(method, ast.FunctionDef) and text and not method.name.startswith("_"):
            names = [a.arg for a in [*method.args.args, *method.args.kwonlyargs] if a.arg != "self"]
            yield f"{method.name}({', '.join(names)})", text


def _rst(text: str) -> str:
    config: Any = Config(napoleon_use_ivar=True, napoleon_use_rtype=False)
    return str(NumpyDocstring("\n".join(as_rst(text.splitlines())), config))
