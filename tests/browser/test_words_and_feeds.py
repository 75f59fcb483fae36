"""Words, feeds, what is never shown or only for now, and the profile switch, in a real browser."""

from collections.abc import Callable

import pytest
from browser.steps import check_axe, listed, open_options, pick
from playwright.sync_api import Page, expect

Visit = Callable[..., Page]


def say(page: Page, words: str) -> None:
    page.get_by_label("What are you in the mood for?").fill(words)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="What are you in the mood for?")).to_be_visible()


@pytest.mark.parametrize("has_script", [True, False])
def test_words_are_shown_before_they_apply(visit: Visit, has_script: bool) -> None:
    page = visit(java_script_enabled=has_script)
    pick(page)
    before = listed(page)
    say(page, "more jazz, no workshops, with dragons")
    expect(page.locator(".unknown")).to_contain_text("dragons")
    chips = page.locator(".wishes")
    expect(chips.get_by_label("more Jazz")).to_be_checked()
    with_both = page.locator("#preview").inner_text()
    chips.get_by_label("more Jazz").press("Space")
    expect(chips.get_by_label("more Jazz")).not_to_be_checked()
    again = page.get_by_role("button", name="Update the preview")
    if has_script:
        expect(again).to_be_hidden()
    else:
        again.click()
    expect(page.locator("#preview")).not_to_have_text(with_both)
    expect(chips.get_by_label("more Jazz")).not_to_be_checked()
    page.get_by_role("button", name="Apply to my list").click()
    expect(page.locator("#notice")).to_contain_text("no Workshop")
    expect(page.locator("#notice")).not_to_contain_text("Jazz")
    page.locator("#notice").get_by_role("button", name="Undo").click()
    expect(page.locator("#notice")).to_contain_text("Undone")
    assert listed(page) == before


def test_a_contradiction_is_asked_back(visit: Visit) -> None:
    page = visit(width=390, height=844, color_scheme="dark")
    say(page, "more jazz, no jazz, more film")
    page.get_by_role("button", name="Apply to my list").click()
    # The browser asks for an answer first.
    expect(page.get_by_role("heading", name="What are you in the mood for?")).to_be_visible()
    check_axe(page, "say")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_role("radio", name="more Jazz").check()
    page.get_by_text("Keep it as a feed of its own").click()
    page.get_by_label("Name of the feed").fill("Friday night")
    page.keyboard.press("Enter")
    expect(page.locator("#notice")).to_contain_text("New feed: Friday night; ")
    expect(page.locator("#notice")).to_contain_text("+4 on Jazz")
    bar = page.get_by_role("navigation", name="Your feeds")
    expect(bar.get_by_role("button", name="Friday night")).to_have_attribute("aria-current", "true")
    check_axe(page, "feed")


def test_never_for_now_and_without_profile(visit: Visit) -> None:
    page = visit()
    pick(page)
    open_options(page)
    page.get_by_label("My presses last").select_option("today")
    expect(page.locator("#act input[name=lasts]")).to_have_value("today")
    page.locator(".strongest .stepper button[value^='+1']").first.click()
    expect(page.locator("#notice")).to_contain_text("today only")
    page.locator(".strongest a.tag-name").first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("Never show this").click()
    dialog.get_by_role("button", name="a week").click()
    expect(dialog.get_by_text("Items with this tag are not shown.")).to_be_visible()
    page.keyboard.press("Escape")
    page.goto("/profile")
    hidden = page.locator("#hidden")
    expect(hidden.get_by_role("listitem")).to_have_count(2)
    check_axe(page, "hidden")
    hidden.get_by_role("button", name="Show again").click()
    expect(hidden.get_by_role("listitem")).to_have_count(1)
    hidden.get_by_role("button", name="End now").click()
    expect(hidden).to_have_count(0)
    page.goto("/")
    own = listed(page)
    open_options(page)
    page.get_by_role("button", name="Without my profile").click()
    expect(page.get_by_text("This is the same list for everybody.")).to_be_visible()
    page.get_by_role("button", name="Upcoming, then newest").click()
    expect(page.get_by_role("button", name="Upcoming, then newest")).to_have_attribute(
        "aria-current", "true"
    )
    check_axe(page, "without profile")
    page.get_by_role("button", name="Use my profile").click()
    expect(page.get_by_text("This is the same list for everybody.")).to_have_count(0)
    assert listed(page) == own
