import pytest

from teaser.notebook.markup import (
    Column,
    Html,
    element,
    folded,
    join,
    listed,
    number,
    panel,
    percent,
    row,
    signed,
    table,
    title,
)

BAD = '<script>alert("x")</script>'


def test_content_is_escaped_unless_it_is_html() -> None:
    made = element("td", BAD, element("b", "a & b"), 5)
    assert made == ("<td>&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;<b>a &amp; b</b>5</td>")
    assert isinstance(made, Html)
    assert join(["<", Html("<b>")]) == "&lt;<b>"


def test_attributes_are_escaped_and_named_as_in_html() -> None:
    made = element("svg", aria_hidden="true", class_='a" onload="x', title=None)
    assert made == '<svg aria-hidden="true" class="a&quot; onload=&quot;x"></svg>'


def test_a_panel_has_one_style_and_no_script() -> None:
    made = panel(title(BAD, BAD), listed([BAD]), folded(BAD, BAD))
    assert type(made) is str
    assert made.count("<style>") == 1
    assert "<script" not in made
    assert made.startswith('<div class="teaser-out">')
    for name in ("http:", "https:", "url(", "@import", "src="):
        assert name not in made


def test_a_table_has_scopes_and_a_caption() -> None:
    columns = (Column("name"), Column("n", is_number=True))
    made = table("What", columns, [("a", "1"), ("b", BAD)], foot=row(columns, ("all", "2")))
    assert "<caption>What</caption>" in made
    assert '<th scope="col">name</th><th scope="col" class="n">n</th>' in made
    assert '<th scope="row">a</th><td class="n">1</td>' in made
    assert '<tfoot><tr><th scope="row">all</th><td class="n">2</td></tr></tfoot>' in made
    assert "<script" not in made
    with pytest.raises(ValueError, match="zip"):
        table("What", columns, [("too", "many", "cells")])


def test_numbers_carry_the_colour_of_their_sign() -> None:
    assert number("1", 1.0) == '<span class="n up">1</span>'
    assert number("−1", -1.0) == '<span class="n down">−1</span>'
    assert number("0") == '<span class="n">0</span>'


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.5, "50 %"), (-0.25, "−25 %"), (0.0, "0 %"), (0.001, "<1 %"), (-0.001, "<1 %")],
)
def test_shares_are_in_percent(share: float, text: str) -> None:
    assert percent(share) == text
    assert signed("-1.5") == "−1.5"
