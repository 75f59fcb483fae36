"""The source tree of the site: the repository's pages under their addresses, and made pages.

Pages are written for a forge: links go from file to file of the repository. The site has the
folder `docs` as its root. So every page is copied, and its links are rewritten to match.
"""

import json
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath

from website.python_reference import index_page, reference_pages

ROOT = Path(__file__).resolve().parents[2]
# The pages outside docs that are part of the site.
OTHERS = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "experiments/README.md",
    "experiments/results/TABLES.md",
    "benchmarks/README.md",
)
_TARGET = re.compile(r"(\]\(|\bsrc=\")([^)\s\"]+)")
_LINK = re.compile(r"\[([^]]+)\]\(([^)#\s]+)\.md\)")
_SECTION = re.compile(r"^## (.+)$", re.M)


def pages(root: Path = ROOT) -> list[Path]:
    """Return the pages and notebooks of the site."""
    docs = [p for p in sorted((root / "docs").rglob("*.md")) if "website" not in p.parts]
    return [*docs, *(root / other for other in OTHERS), *sorted(root.glob("examples/*.ipynb"))]


def address(path: Path, root: Path = ROOT) -> PurePosixPath:
    """Return the place of a file of the repository in the source tree of the site."""
    place = PurePosixPath(path.relative_to(root).as_posix())
    if str(place) == "README.md":
        return PurePosixPath("about.md")  # index.md is the index of the documentation
    if place.parts[0] == "docs":
        place = place.relative_to("docs")
    return place.with_name("index.md") if place.name == "README.md" else place


def stage(target: Path, root: Path = ROOT) -> None:
    """Write the source tree of the site; files that would not change are not touched."""
    made: dict[str, bytes] = {}
    for page in pages(root):
        text, linked = rewrite(page, root)
        if page.name == "TABLES.md":  # `teaser report` writes it to be part of another page
            text = "# The studies in tables\n\n" + text
        if page == root / "docs" / "README.md":
            text += navigation(text)
        made[str(address(page, root))] = text.encode()
        made |= {str(address(file, root)): file.read_bytes() for file in linked}
    _add_notebooks(made)
    reference = reference_pages()
    made |= {f"reference/{name}": text.encode() for name, text in reference.items()}
    made["users/python.md"] = (index_page(linked=True) + tree(reference, "/reference/")).encode()
    _write(target, made)


def rewrite(page: Path, root: Path) -> tuple[str, list[Path]]:
    """Return the text of a page with the links of the site, and the other files it links to."""
    files: list[Path] = []
    known = set(pages(root))

    def replace(found: re.Match[str]) -> str:
        path, mark, anchor = found[2].partition("#")
        if not path or re.match(r"[a-z]+:", path):
            return found[0]
        linked = Path(os.path.normpath(page.parent / path))
        if linked not in known:
            files.append(linked)
        here = address(page, root).parent
        return f"{found[1]}{os.path.relpath(address(linked, root), here)}{mark}{anchor}"

    def rewritten(text: str) -> str:
        return _outside_code(text, lambda prose: _TARGET.sub(replace, prose))

    text = page.read_text()
    if page.suffix != ".ipynb":
        return rewritten(text), files
    notebook = json.loads(text)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = rewritten("".join(cell["source"]))
    return json.dumps(notebook), files


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    """Return a text of which everything but the blocks of code is changed."""
    parts = re.split(r"(^```.*?^```$)", text, flags=re.M | re.S)
    return "".join(part if i % 2 else change(part) for i, part in enumerate(parts))


def _add_notebooks(made: dict[str, bytes]) -> None:
    """Add the notebooks to the navigation: under their own page, in its order, or at the end."""
    parent = "users/lists.md" if "users/lists.md" in made else "index.md"
    text = made[parent].decode()
    found = sorted(name for name in made if name.endswith(".ipynb"))
    found.sort(key=lambda name: text.find(name) % (len(text) + 1))  # not found (-1): last
    caption = "Notebooks" if parent == "index.md" else ""
    made[parent] += tree(found, "/", caption=caption).encode()


def navigation(index: str) -> str:
    """Return the navigation of the site: the links of each section of the index, in order."""
    titles = _SECTION.findall(index)
    sections = zip(titles, _SECTION.split(index)[2::2], strict=True)
    return "".join(
        tree((f"{name} <{page}>" for name, page in _LINK.findall(text)), caption=title)
        for title, text in sections
    )


def tree(names: Iterable[str], folder: str = "", *, caption: str = "") -> str:
    """Return a hidden table of contents, in the words of Sphinx.

    Parameters
    ----------
    names
        The pages, each as a name or as `title <name>`.
    folder
        The folder of the names; that of the page unless given.
    caption
        The heading of the table.
    """
    listed = [f"{folder}{re.sub('[.](md|ipynb)$', '', name)}" for name in names]
    if not listed:
        return ""
    heading = f":caption: {caption}\n" if caption else ""
    return f"\n```{{toctree}}\n:hidden:\n{heading}\n" + "\n".join(listed) + "\n```\n"


def _write(target: Path, made: dict[str, bytes]) -> None:
    """Write what changed, and remove what is no longer made."""
    for name, content in made.items():
        path = target / name
        if not path.exists() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    for path in target.rglob("*"):
        if path.is_file() and path.relative_to(target).as_posix() not in made:
            path.unlink()
