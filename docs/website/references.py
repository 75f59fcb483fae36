"""Write the pages and tables that are made from the program: `python -m website.references`."""

from collections.abc import Callable
from pathlib import Path

from website.command_reference import command_page
from website.python_reference import index_page
from website.rule_fields import fill_rule_fields

DOCS = Path(__file__).resolve().parents[1]
MADE: dict[str, Callable[[str], str]] = {
    "users/commands.md": lambda _: command_page(),
    "users/python.md": lambda _: index_page(),
    "users/data.md": fill_rule_fields,
}


def stale() -> dict[Path, str]:
    """Return the pages that differ from the program, with the text that they should have."""
    found = {}
    for name, make in MADE.items():
        page = DOCS / name
        text = page.read_text() if page.exists() else ""
        if make(text) != text:
            found[page] = make(text)
    return found


if __name__ == "__main__":
    for path, text in stale().items():
        path.write_text(text)
        print("wrote", path.relative_to(DOCS.parent))
