"""Elements with versions: what a browser has is not sent again."""

import re

from hypothesis import given
from hypothesis import strategies as st
from page_pieces import elements, filled, gaps

from teaser.app.pages.view.piece import PLAIN, Pieces, element, leaf, row

TEXTS = st.text(st.characters(exclude_characters="<>", exclude_categories=["Cs"]), max_size=5)
LEAVES = st.lists(TEXTS, max_size=4)
LISTS = st.lists(LEAVES, max_size=4)


def page(lists: list[list[str]], held: str = "") -> str:
    parts = []
    for texts in lists:
        rows = [leaf(f"<li>{text}</li>") for text in texts]
        parts.append(element('<ul class="a">', ["<li></li>", row(rows)], "</ul>"))
    return str(Pieces(held).html(parts))


def held_of(html: str) -> str:
    return "".join(elements(html))


def test_a_version_follows_from_the_html_alone() -> None:
    one, other = leaf("<li>a</li>"), leaf("<li>b</li>")
    assert re.fullmatch(r"[\w-]{8}", one.version)
    assert Pieces().html([one]) == f"<li data-v={one.version}>a</li>"
    leaf.cache_clear()
    assert one == leaf("<li>a</li>")
    assert one.version != other.version
    assert Pieces().write("<li>a</li>") == Pieces().write("<li>a</li>", is_kept=False)


@given(LISTS, LISTS)
def test_an_answer_and_the_page_before_make_the_whole_page(
    before: list[list[str]], after: list[list[str]]
) -> None:
    old = page(before)
    answer = page(after, held_of(old))
    assert filled(answer, old) == page(after)
    assert {*gaps(answer)} <= {*elements(old)}
    # Nothing is sent that the page had, but for what stands around something new.
    assert not {*elements(answer)} & {*elements(old)}


def test_of_a_changed_element_only_what_changed_is_sent() -> None:
    before = page([["a", "b"], ["c"]])
    answer = page([["a", "x"], ["c"]], held_of(before))
    assert answer.count("<li") == 2  # the one without a version, and the new one
    assert len(gaps(answer)) == 2  # the first row, and the second list


def test_broken_or_endless_versions_are_left_aside() -> None:
    whole = page([["a"]])
    version = leaf("<li>a</li>").version
    for held in ("", "x", version[:7], "x" + version):
        assert page([["a"]], held) == whole
    assert gaps(page([["a"]], "x" * 8 * 3_999 + version)) == [version]
    assert gaps(page([["a"]], "x" * 8 * 4_000 + version)) == []


def test_parts_in_a_row_are_sent_one_by_one() -> None:
    parts = row(["a", "b", leaf("<li>c</li>"), "d"])
    assert parts.inner == ("ab", leaf("<li>c</li>"), "d")
    gap = f"<i data-same={leaf('<li>c</li>').version}></i>"
    held = parts.version + leaf("<li>c</li>").version
    assert Pieces(held).html([parts]) == f"ab{gap}d"  # they have no element that could be held
    assert row(["a", "b"]).version == row(["ab"]).version != row(["a"]).version


def test_other_pages_have_no_versions() -> None:
    item = leaf("<li>a</li>")
    assert PLAIN.html([item]) == "<li>a</li>"
    assert PLAIN.html([element("<ul>", [item, "b"], "</ul>")]) == "<ul><li>a</li>b</ul>"
    assert PLAIN.write("<p>a</p>") == "<p>a</p>"
