"""Settings of Sphinx. Warnings are errors: see build.py."""

from typing import Any

from teaser import __version__
from website.docstring import as_rst

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
nb_execution_mode = "off"

# A word in backticks leads to the name that it is, where there is one.
default_role = "py:obj"
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"
add_module_names = False

html_theme = "furo"
html_title = "TEASER"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
copybutton_prompt_text = "$ "


def setup(app: Any) -> None:
    """Rewrite docstrings before napoleon reads their sections."""
    app.connect("autodoc-process-docstring", _rewrite, priority=400)


def _rewrite(_app: Any, _what: str, _name: str, _obj: Any, _options: Any, lines: list[str]) -> None:
    lines[:] = as_rst(lines)
