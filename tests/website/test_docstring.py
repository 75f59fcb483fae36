"""Docstrings as markup."""

from website.docstring import as_rst


def test_docstrings_become_markup() -> None:
    lines = ["It minimises", "", "    |X|^2", "    + |E|", "", "of |E|, not `a|b`."]
    assert as_rst(lines) == [
        *("It minimises", "", "::", "", "    |X|^2", "    + |E|", ""),
        r"of \|E\|, not `a|b`.",
    ]
    section = ["Parameters", "----------", "x", "    A number.", "", "    More."]
    assert as_rst(section) == section


def test_attributes_that_share_a_text_have_it_each() -> None:
    section = ["Attributes", "----------", "a, b", "    Two", "    lines.", "c", "    One."]
    assert as_rst(section)[2:] == [
        *("a", "    Two", "    lines.", "b", "    Two", "    lines.", "c", "    One."),
    ]
