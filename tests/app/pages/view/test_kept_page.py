"""A page that is kept: pieces and holes stand where the template wrote them."""

from teaser.app.pages.view.kept_page import PageWriter
from teaser.app.pages.view.piece import Pieces, leaf


def test_a_page_is_filled_anew() -> None:
    writer = PageWriter()
    text = f"<p>{writer.hole('one')}</p>{writer.write('<b>kept</b>')}{writer.hole('two')}"
    page = writer.read(text)
    kept = leaf("<b>kept</b>")
    assert len(text) < page.n_letters == len(text) + len(kept.start)
    for one, two in (("a", "b"), ("<i>c</i>", "")):
        parts = list(page.filled({"one": [one], "two": [two]}))
        assert parts == ["<p>", one, "</p>", kept, "", two, ""]
    sent = Pieces(kept.version).html(page.filled({"one": ["a"], "two": []}))
    assert sent == f"<p>a</p><i data-same={kept.version}></i>"


def test_a_page_without_pieces_is_its_text() -> None:
    assert list(PageWriter().read("<p>a</p>").filled({})) == ["<p>a</p>"]
