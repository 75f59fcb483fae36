"""What opens beside a page: a tag's origins in a dialog, suggestions, links, pictures that fail."""

import io
import re
from collections.abc import Callable

import numpy as np
import pytest
from browser.steps import check_axe, listed, pick
from matplotlib.image import imread
from playwright.sync_api import Locator, Page, expect

Visit = Callable[..., Page]
MINUS = "\N{MINUS SIGN}"


def open_tag(page: Page) -> tuple[Locator, str]:
    """Tap the second tag of the profile; return its link and its name."""
    link = page.locator(".strongest .tag-name").nth(1)
    name = link.inner_text()
    link.click()
    expect(page.get_by_role("dialog", name=name)).to_be_visible()
    return link, name


class TestTagDialog:
    def test_tells_where_an_affinity_comes_from(self, visit: Visit) -> None:
        page = visit()
        pick(page)
        link, _ = open_tag(page)
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_role("heading", name="What that is made of")).to_be_visible()
        expect(dialog.locator(".origins:not(.made-of) li")).to_have_count(3)
        assert page.url.endswith("/"), "the page stays"
        asked = page.request.get(str(link.get_attribute("href"))).text()
        for number in dialog.locator(".origins .number").all_inner_texts():
            assert number in asked
        page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
        expect(link).to_be_focused()

    def test_a_press_in_it_moves_the_list_and_is_said_there(self, visit: Visit) -> None:
        page = visit()
        pick(page)
        _, name = open_tag(page)
        dialog = page.get_by_role("dialog")
        sign = MINUS
        button = dialog.get_by_role("button", name=f"Less of {name}", exact=True)
        button.focus()
        for count in (1, 2):
            page.keyboard.press("Enter")
            expect(dialog.locator(".stepper .count")).to_contain_text(f"{sign}{count}")
            expect(button).to_be_focused()
        expect(dialog.get_by_role("status")).to_contain_text(f"{sign} on {name}")
        expect(dialog).to_contain_text(re.compile(rf"{sign}\d\.\d+ from your presses"))
        expect(page.locator("#notice")).to_contain_text(f"{sign} on {name}")
        dialog.get_by_role("button", name="Close").click()
        expect(dialog).to_have_count(0)
        # The link was made anew with the page, and has the focus again.
        expect(page.locator(".strongest .tag-name").get_by_text(name, exact=True)).to_be_focused()

    def test_keys_open_it_and_stay_in_it(self, visit: Visit) -> None:
        page = visit()
        page.goto("/profile")
        link = page.locator(".features .tag-name").first
        link.focus()
        page.keyboard.press("Enter")
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("not looked at anything yet")
        expect(dialog.get_by_role("heading").first).to_be_focused()
        for _ in range(8):
            page.keyboard.press("Tab")
            inside = "document.querySelector('dialog#about').contains(document.activeElement)"
            assert page.evaluate(f"{inside} || document.activeElement === document.body")
        page.keyboard.press("Escape")
        expect(link).to_be_focused()

    def test_without_javascript_the_link_is_a_page(self, visit: Visit) -> None:
        page = visit(java_script_enabled=False)
        pick(page)
        page.locator(".strongest .tag-name").nth(1).click()
        expect(page.get_by_role("heading", name="What that is made of")).to_be_visible()
        expect(page.locator("[data-about-close]")).to_be_hidden()

    def test_a_tag_that_is_gone_shows_its_page(self, visit: Visit) -> None:
        page = visit(may_fail=True)
        page.goto("/profile")
        link = page.locator(".features .tag-name").first
        link.evaluate("e => e.setAttribute('href', '/tag?tag=a%3Db')")
        link.click()
        expect(page.get_by_text("There is no tag “a=b” here.")).to_be_visible()

    @pytest.mark.parametrize(("scheme", "width"), [("light", 1320), ("dark", 320)])
    def test_axe_finds_nothing(self, visit: Visit, scheme: str, width: int) -> None:
        page = visit(color_scheme=scheme, width=width)
        pick(page)
        _, name = open_tag(page)
        # The page behind it cannot be reached; test_site.py looks at it.
        check_axe(page, "dialog", part="dialog#about")
        dialog = page.get_by_role("dialog")
        dialog.get_by_role("button", name=f"More of {name}", exact=True).click()
        expect(dialog.get_by_role("status")).to_contain_text(f"+ on {name}")
        check_axe(page, "dialog after a press", part="dialog#about")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        box = dialog.bounding_box()
        assert box
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width


def options(page: Page) -> Locator:
    """The suggestions that are to be seen; the filters have options as well."""
    return page.locator("#suggestions").get_by_role("option")


class TestSuggestions:
    def field(self, page: Page) -> Locator:
        return page.get_by_role("combobox", name="Search items and tags")

    def test_keys_choose_an_item(self, visit: Visit) -> None:
        page = visit()
        page.keyboard.press("/")
        field = self.field(page)
        expect(field).to_be_focused()
        expect(field).to_have_attribute("aria-expanded", "false")
        page.keyboard.type("jazz")
        expect(options(page).first).to_be_visible()
        expect(field).to_have_attribute("aria-expanded", "true")
        expect(page.locator("#live")).to_contain_text("suggestions")
        item = page.locator('[role=option][data-href^="/item/"]').first
        title = item.locator(".name").inner_text()
        while item.get_attribute("aria-selected") != "true":
            page.keyboard.press("ArrowDown")
        expect(field).to_have_attribute("aria-activedescendant", str(item.get_attribute("id")))
        expect(page.locator('[aria-selected="true"]')).to_have_count(1)
        expect(field).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator("main h1")).to_have_text(title)

    def test_arrows_go_round_and_escape_closes(self, visit: Visit) -> None:
        page = visit()
        field = self.field(page)
        field.press_sequentially("jazz")
        expect(options(page).first).to_be_visible()
        page.keyboard.press("ArrowUp")
        expect(page.locator("#suggested-all")).to_have_attribute("aria-selected", "true")
        page.keyboard.press("ArrowDown")
        expect(page.locator('[aria-selected="true"]')).to_have_count(0)
        page.keyboard.press("ArrowDown")
        expect(options(page).first).to_have_attribute("aria-selected", "true")
        page.keyboard.press("Escape")
        expect(options(page)).to_have_count(0)
        expect(field).to_have_value("jazz")
        expect(field).to_have_attribute("aria-expanded", "false")
        page.keyboard.press("ArrowDown")
        expect(options(page).first).to_be_visible()
        page.keyboard.press("Tab")
        expect(options(page)).to_have_count(0)

    def test_a_tag_opens_its_dialog_and_gives_the_focus_back(self, visit: Visit) -> None:
        page = visit()
        field = self.field(page)
        field.press_sequentially("jazz")
        options(page).filter(has_text="Theme").click()
        expect(page.get_by_role("dialog", name="Jazz")).to_be_visible()
        expect(options(page)).to_have_count(0)
        page.keyboard.press("Escape")
        expect(field).to_be_focused()

    def test_a_refusal_only_closes_the_list(self, visit: Visit) -> None:
        page = visit(may_fail=True)
        page.route("**/suggest?*", lambda route: route.fulfill(status=429, body="slow down"))
        with page.expect_response("**/suggest?*"):
            self.field(page).press_sequentially("jazz")
        expect(options(page)).to_have_count(0)
        page.unroute("**/suggest?*")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Found for “jazz”")).to_be_visible()

    @pytest.mark.parametrize(("scheme", "width"), [("light", 1320), ("dark", 320)])
    def test_axe_finds_nothing(self, visit: Visit, scheme: str, width: int) -> None:
        page = visit(color_scheme=scheme, width=width)
        self.field(page).press_sequentially("jazz")
        expect(options(page).first).to_be_visible()
        page.keyboard.press("ArrowDown")
        check_axe(page, "suggestions", part="header.top")
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_links_are_listed_and_ended(visit: Visit) -> None:
    page = visit()
    pick(page, 1)
    page.goto("/share")
    links = []
    for _ in range(2):
        page.goto("/share")
        page.get_by_role("button", name="Make a link").click()
        links.append(page.get_by_label("The link").input_value())
    page.goto("/share")
    expect(page.locator(".links li")).to_have_count(2)
    check_axe(page, "links")
    page.get_by_role("button", name="End this link").first.click()
    expect(page.get_by_role("status").filter(has_text="The link is ended")).to_be_visible()
    expect(page.locator(".links li")).to_have_count(1)
    check_axe(page, "ended")
    other = visit(may_fail=True)
    other.goto(links[1])
    expect(other.get_by_text("There is no such link.")).to_be_visible()
    other.goto(links[0])
    expect(other.get_by_role("heading", name="Their list")).to_be_visible()


class TestPicturesThatFail:
    """The drawn cover stands behind a picture, and is seen where the picture cannot be loaded."""

    def fail(self, page: Page) -> Locator:
        page.route("**/picture/**", lambda route: route.fulfill(status=404))
        page.goto("/")
        return page.locator(".cards .frame").first

    def test_show_the_drawn_cover_also_on_parts_that_come_later(self, visit: Visit) -> None:
        page = visit(may_fail=True)
        cover = self.fail(page)
        expect(cover.locator("img")).to_have_count(0)
        expect(cover.locator("text")).to_be_visible()
        box = cover.bounding_box()
        assert box
        assert box["height"] > 60, "the place stays as large as a picture"
        pick(page, 1)
        for place in (".cards", ".picks"):
            expect(page.locator(f"{place} .frame").first.locator("text")).to_be_visible()
            expect(page.locator(f"{place} .frame").first.locator("img")).to_have_count(0)

    def test_before_the_script_came_too(self, visit: Visit) -> None:
        page = visit(may_fail=True)
        page.route(re.compile(r"teaser\.js\?\d"), lambda route: route.abort())
        cover = self.fail(page)
        page.wait_for_load_state("networkidle")
        expect(cover.locator("img")).to_have_count(1)
        page.add_script_tag(url="/static/teaser.js?late", type="module")
        expect(cover.locator("img")).to_have_count(0)

    def test_without_scripts_too(self, visit: Visit) -> None:
        page = visit(may_fail=True, java_script_enabled=False)
        cover = self.fail(page)
        page.wait_for_load_state("networkidle")
        pixels = imread(io.BytesIO(cover.screenshot()), format="png")[..., :3]
        colour = pixels[-8, 8]
        assert np.ptp(colour) > 0.1, "a colour, not the grey of an empty frame"
        # Nothing lies over it: no icon in the corner, and the letter is white.
        assert np.allclose(pixels[6:20, 6:20], colour, atol=0.02)
        assert (pixels.min(axis=2) > 0.98).sum() > 50


def test_an_item_with_many_tags_holds_together(visit: Visit) -> None:
    page = visit()
    page.goto(f"/item/{listed(page)[0]}")
    page.wait_for_load_state("networkidle")  # the fewest presses come later
    # As many reasons as an item of sixty tags has.
    page.evaluate(
        "() => { const rows = document.querySelector('.fall tbody');"
        "for (let i = 0; i < 60; i++) rows.append(rows.rows[0].cloneNode(true)); }"
    )
    sections = page.locator(".item-grid > section")
    boxes = {str(s.get_attribute("class")).split()[-1]: s.bounding_box() for s in sections.all()}
    hero, why, lift, alike = (boxes[name] for name in ("hero", "why", "lift", "alike"))
    assert hero and why and lift and alike  # noqa: PT018
    assert why["height"] > 2000
    assert why["y"] == hero["y"]
    for above, below in ((hero, lift), (lift, alike)):
        gap = below["y"] - above["y"] - above["height"]
        assert 0 < gap < 40, "the sections beside the reasons follow one another"


@pytest.mark.parametrize("width", [320, 834])
def test_very_long_names_do_not_widen_a_page(visit: Visit, width: int) -> None:
    page = visit(width=width)
    pick(page)
    names = ".tag-name, h1, h3, h3 a, .facts, .name a, .seen a, .crumb a, .fall th a, .notice b"
    item = listed(page)[0]
    paths = ["/", f"/item/{item}", "/search?q=jazz", "/tags?feature=town", "/tag?tag=theme=Jazz"]
    for path in paths:
        page.goto(path)
        page.evaluate(
            "css => document.querySelectorAll(`main :is(${css})`).forEach("
            "e => { if (!e.childElementCount) e.textContent = 'Long'.repeat(80); })",
            names,
        )
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        for name in page.locator("main .tag-name").all()[:3]:
            box = name.bounding_box()
            assert box is None or box["height"] < 60, path
