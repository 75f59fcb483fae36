"""Small changes of the pages that Sphinx has read, before they are written."""

import re
from collections.abc import Iterator

from docutils import nodes
from sphinx import addnodes

DASH = " – "
_PATH = re.compile(r"\b(?:\w+\.)+(\w+)")


def improve(doctree: nodes.document) -> None:
    """Make the descriptions of Python names read well."""
    for text in list(doctree.findall(nodes.Text)):
        if text.astext() == " -- ":  # Sphinx leaves this dash to smart quotes, which are off
            text.parent.replace(text, nodes.Text(DASH))
    for kind in doctree.findall(addnodes.literal_emphasis):
        kind.children = [nodes.Text(_PATH.sub(r"\1", kind.astext()))]
    for description in doctree.findall(addnodes.desc):
        for name, field in list(_fields(description)):
            if name.astext() == "Variables":
                name.children = [nodes.Text("Attributes")]
            elif description["objtype"] == "class" and _says_nothing(name, field):
                field.parent.remove(field)


def _fields(description: addnodes.desc) -> Iterator[tuple[nodes.Element, nodes.Element]]:
    """Yield the fields of one description, without those of its members."""
    for field in description.findall(nodes.field):
        if field.parent.parent.parent is description:
            yield next(field.findall(nodes.field_name)), field


def _says_nothing(name: nodes.Element, field: nodes.Element) -> bool:
    """Whether a list of parameters has only names and types, which the attributes repeat."""
    return name.astext() == "Parameters" and DASH not in field.astext()
