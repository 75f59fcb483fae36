"""Settings of Sphinx. Warnings are errors: see build.py."""

from typing import Any

from docutils import nodes

from teaser import __version__
from website.docstring import as_rst
from website.doctree import improve

project = "TEASER"
author = "the authors of TEASER"
release = version = __version__
language = "en"

extensions = [
    "myst_nb",  # Markdown, and notebooks with the outputs that they were saved with
    "sphinx.ext.autodoc",  # the reference, from docstrings
    "sphinx.ext.napoleon",  # ... in NumPy style
    "sphinx_copybutton",
]

# Pages read the same on a forge: plain Markdown, headings have anchors as there.
myst_enable_extensions = ["html_image"]
myst_heading_anchors = 4
smartquotes = False  # "--out" stays "--out"
highlight_language = "text"  # equations are not Python
nb_execution_mode = "off"
suppress_warnings = ["misc.highlighting_failure"]  # a console command over several lines

# A word in backticks leads to the name that it is, where there is one.
default_role = "py:obj"
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = "TEASER"
html_favicon = "../../src/teaser/app/pages/static/icon.svg"
html_theme_options = {
    # The colours of the served site.
    "light_css_variables": dict.fromkeys(
        ["color-brand-primary", "color-brand-content", "color-brand-visited"], "#0b6f66"
    ),
    "dark_css_variables": dict.fromkeys(
        ["color-brand-primary", "color-brand-content", "color-brand-visited"], "#63cdbf"
    ),
}
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
copybutton_prompt_text = "$ "


def setup(app: Any) -> None:
    """Rewrite docstrings before napoleon reads them, and pages before they are written."""
    app.connect("autodoc-process-docstring", _rewrite, priority=400)
    app.connect("doctree-resolved", _improve)


def _rewrite(_app: Any, _what: str, _name: str, _obj: Any, _options: Any, lines: list[str]) -> None:
    lines[:] = as_rst(lines)


def _improve(_app: Any, doctree: nodes.document, _name: str) -> None:
    improve(doctree)
