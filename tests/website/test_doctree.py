"""Pages that Sphinx has read, made to read well."""

from docutils import nodes
from docutils.utils import new_document
from sphinx import addnodes
from website.doctree import improve


def described(kind: str, *fields: tuple[str, str]) -> nodes.document:
    """Return a document that describes one name with these fields."""
    document = new_document("a")
    found = addnodes.desc("", objtype=kind)
    content, several = addnodes.desc_content(), nodes.field_list()
    for name, text in fields:
        body = nodes.field_body("", nodes.paragraph("", "", *map(nodes.Text, text.split("|"))))
        several += nodes.field("", nodes.field_name("", name), body)
    content += several
    found += content
    document += found
    return document


def test_a_dash_stands_before_a_meaning_and_attributes_are_called_so() -> None:
    page = described("class", ("Variables", "users| -- |The users."))
    improve(page)
    assert page.astext() == "Attributes\n\nusers – The users."


def test_parameters_of_a_class_without_a_meaning_are_left_out() -> None:
    page = described("class", ("Parameters", "users (Ids)"), ("Variables", "users"))
    improve(page)
    assert "Parameters" not in page.astext()
    for kind, text in (("class", "users| -- |The users."), ("function", "users (Ids)")):
        kept = described(kind, ("Parameters", text))
        improve(kept)
        assert "Parameters" in kept.astext()


def test_types_are_told_by_their_last_name() -> None:
    page = new_document("a")
    page += addnodes.literal_emphasis("", "scipy.sparse._csr.csr_array")
    improve(page)
    assert page.astext() == "csr_array"
