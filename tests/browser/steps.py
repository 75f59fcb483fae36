"""What several tests of the site do on a page."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect


def listed(page: Page) -> list[str]:
    """Return the items of the list, once all of the page has come."""
    page.wait_for_load_state("domcontentloaded")
    return [str(c.get_attribute("data-card")) for c in page.locator(".cards > .card").all()]


def pick(page: Page, n: int = 3) -> None:
    """Go through the quick start."""
    for done in range(1, n + 1):
        page.locator(".picks button").first.click()
        expect(page.locator(".seen li")).to_have_count(done)
    # Without JavaScript the history is there before the end of the page.
    page.wait_for_load_state()


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
