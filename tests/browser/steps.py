"""What several tests of the site do on a page."""

import re

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect


def listed(page: Page) -> list[str]:
    """Return the items of the list, once all of the page has come."""
    page.wait_for_load_state("domcontentloaded")
    return [str(c.get_attribute("data-card")) for c in page.locator(".cards > .card").all()]


def pick(page: Page, n: int = 3) -> None:
    """Go through the quick start."""
    for done in range(1, n + 1):
        page.locator(".picks button").first.click()
        expect(page.locator(".certainty")).to_contain_text(re.compile(rf"\b{done} "))
    # Without JavaScript the profile is there before the end of the page.
    page.wait_for_load_state()


def unfold(page: Page, place: int = 0) -> Locator:
    """Open what more there is to a card of the list, and return it."""
    card = page.locator(".cards > .card").nth(place)
    card.locator(".why-more > summary").click()
    expect(card.get_by_role("button", name="Look")).to_be_visible()
    return card


def open_options(page: Page) -> None:
    """Open the options of the list: a fold with JavaScript, a page without."""
    page.locator(".options > summary").click()
    link = page.get_by_role("link", name="Filters, variety, feeds and more")
    if page.evaluate("document.documentElement.classList.contains('scripted')"):
        expect(page.locator(".options .filters")).to_be_visible()
    else:
        link.click()
        expect(page.get_by_role("heading", name="Options")).to_be_visible()


def check_looks(
    page: Page, where: str, *, part: str | None = None, narrow: tuple[int, ...] = (320,)
) -> None:
    """Hold a page against axe as it is wide and in light, then on narrow screens, dark first.

    Nothing may be wider than the screen. Afterwards the page is wide and light again.

    Parameters
    ----------
    part
        See `check_axe`.
    narrow
        Widths of narrow screens; dark and light take turns.
    """
    before = page.viewport_size
    assert before is not None
    looks = [("light", before["width"])]
    looks += [("light" if k % 2 else "dark", width) for k, width in enumerate(narrow)]
    for scheme, width in looks:
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        page.set_viewport_size({"width": width, "height": before["height"]})
        check_axe(page, f"{where}, {scheme}, {width}", part=part)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, (where, width)
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(before)


def check_axe(page: Page, where: str, *, part: str | None = None) -> None:
    """Hold a page against the rules of axe that stand for WCAG 2.2 AA and good practice.

    Parameters
    ----------
    part
        A selector of what alone is looked at, where another test looks at the rest of the page.
    """
    tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
    # What is wrong is told by its HTML: to find a selector for every element takes a quarter.
    options = {"runOnly": tags, "resultTypes": ["violations"], "selectors": False}
    found = Axe().run(page, context=part, options=options)
    said = [
        (v["id"], [node["html"][:200] for node in v["nodes"][:3]])
        for v in found.response["violations"]
    ]
    assert said == [], (where, said)
