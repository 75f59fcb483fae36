"""The labels that the theme leaves out; tests of the built site are in test_site."""

from website.build import LABELS, label


def test_parts_of_a_page_get_their_labels_once() -> None:
    page = "".join(LABELS)
    labelled = label(page)
    assert labelled == "".join(LABELS.values())
    assert label("<p>text</p>") == "<p>text</p>"
    assert 'aria-label="All pages"' in labelled
    assert '<pre tabindex="0">' in labelled
