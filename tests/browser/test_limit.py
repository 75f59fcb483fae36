"""Presses at the bound of an affinity, and a sentence that is denied, in a real browser."""

from collections.abc import Callable

from browser.steps import check_axe, pick
from playwright.sync_api import Page, expect

Visit = Callable[..., Page]


def test_a_press_at_the_limit_says_so_and_counts_for_nothing(visit: Visit) -> None:
    page = visit()
    more = page.locator('.features [data-key="p+type=Concert"]')
    less = page.locator('.features [data-key="p-type=Concert"]')
    for n in range(1, 6):
        more.click()
        expect(page.locator(".features .is-pressed .count")).to_contain_text(f"+{n}")
    expect(more).to_have_attribute("aria-disabled", "true")
    more.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#notice")).to_have_text("+ on Concert: that is as far as it goes.")
    expect(page.locator("#live")).to_contain_text("as far as it goes")
    expect(more).to_be_focused()
    expect(page.locator(".certainty")).to_contain_text("5 presses")
    check_axe(page, "at the limit")
    less.click()
    expect(page.locator(".features .is-pressed .count")).to_contain_text("+4")
    expect(more).not_to_have_attribute("aria-disabled", "true")


def test_one_click_denies_a_sentence(visit: Visit) -> None:
    page = visit()
    pick(page)
    first = page.locator(".statements p").first
    said = first.inner_text()
    page.locator('[data-key="deny 1"]').click()
    expect(page.locator(".statements p", has_text=said)).to_have_count(0)
    page.locator('[data-key="notice undo"]').click()
    expect(first).to_have_text(said)


def test_words_of_an_item_stay_whole_on_a_narrow_screen(visit: Visit) -> None:
    page = visit(width=320, height=700)
    pick(page)
    page.goto("/item/e0001")
    sums = page.locator(".fall td.sum")
    assert sums.count() > 4
    expect(sums.first).to_be_visible()
    # A word that breaks has more than one box on its line of text.
    broken = page.evaluate(
        """() => [...document.querySelectorAll(".fall th a")].filter((a) => {
            const range = document.createRange(), text = a.firstChild;
            return [...text.data.matchAll(/\\S+/g)].some((word) => {
                range.setStart(text, word.index);
                range.setEnd(text, word.index + word[0].length);
                return range.getClientRects().length > 1;
            });
        }).map((a) => a.textContent)"""
    )
    assert broken == []
    assert page.evaluate("document.documentElement.scrollWidth") == 320
