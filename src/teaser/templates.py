"""Jinja templates that stand beside the modules that use them."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape


def environment(*folders: Path) -> Environment:
    """Return the templates of some folders; texts in HTML and SVG are escaped."""
    return Environment(
        loader=FileSystemLoader(folders),
        autoescape=select_autoescape(("html", "svg")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
