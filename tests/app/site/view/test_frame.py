"""A page that is kept: pieces and holes stand where the template wrote them."""

from teaser.app.site.view.frame import FrameWriter
from teaser.app.site.view.piece import Pieces, leaf


def test_a_frame_is_filled_anew() -> None:
    writer = FrameWriter()
    text = f"<p>{writer.hole('one')}</p>{writer.write('<b>kept</b>')}{writer.hole('two')}"
    frame = writer.read(text)
    kept = leaf("<b>kept</b>")
    assert len(text) < frame.n_letters == len(text) + len(kept.start)
    for one, two in (("a", "b"), ("<i>c</i>", "")):
        parts = list(frame.filled({"one": [one], "two": [two]}))
        assert parts == ["<p>", one, "</p>", kept, "", two, ""]
    sent = Pieces(kept.version).html(frame.filled({"one": ["a"], "two": []}))
    assert sent == f"<p>a</p><i data-same={kept.version}></i>"


def test_a_page_without_pieces_is_its_text() -> None:
    assert list(FrameWriter().read("<p>a</p>").filled({})) == ["<p>a</p>"]
