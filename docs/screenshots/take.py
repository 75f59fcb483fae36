"""Take the pictures of this folder again: `take.py ADDRESS`, as `make demo` prints it."""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

FOLDER = Path(__file__).parent
CHROMIUM = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
PICKS = ("Jazz by the Scheldt", "Jazz in the park", "Once upon a time in Brussels")
DESK = (1320, 900)
PHONE = (390, 844)


def main(site: str) -> None:
    """Write every picture."""
    path = next(filter(None, map(shutil.which, CHROMIUM)), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        with visit(browser, site, DESK) as page:
            save(page, "start")
            steer(page)
            save(page, "main-desk")
            page.locator(".strongest .tag-name").nth(1).click()
            page.locator("dialog#about").wait_for()
            save(page, "tag")
            page.goto("/")
            page.locator("#q").press_sequentially("brus")
            page.get_by_role("listbox").wait_for()
            page.keyboard.press("ArrowDown")
            save(page, "search")
            page.goto("/?n=96")
            page.locator(".cards h3 a").nth(60).click()
            page.locator(".lift .pressing, .lift-found p").first.wait_for()
            save(page, "item")
        with visit(browser, site, PHONE, color_scheme="dark") as page:
            steer(page)
            page.evaluate("scrollTo(0, 0)")
            save(page, "main-phone-dark")
        browser.close()


@contextmanager
def visit(
    browser: Browser, site: str, size: tuple[int, int], color_scheme: str = "light"
) -> Iterator[Page]:
    """Open the site as somebody new who has seen the tour."""
    context = browser.new_context(
        base_url=site,
        viewport={"width": size[0], "height": size[1]},
        color_scheme=color_scheme,  # type: ignore[arg-type]
        locale="en-GB",
        reduced_motion="reduce",
    )
    context.add_init_script("localStorage.setItem('teaser-tour', 'seen')")
    page = context.new_page()
    page.goto("/")
    yield page
    context.close()


def steer(page: Page) -> None:
    """Look at three events, and press + on a theme."""
    for title in PICKS:
        page.goto(f"/search?q={title}")
        page.get_by_role("button", name=f"Look at {title}", exact=True).click()
        page.locator("#notice").wait_for()
    page.goto("/")
    page.locator(".strongest .tag:nth-child(4) .stepper button").last.click()
    page.locator("#notice").wait_for()
    page.evaluate("scrollTo(0, 0)")


def save(page: Page, name: str) -> None:
    """Write what can be seen, once every picture of it is there."""
    page.wait_for_load_state("networkidle")
    page.mouse.move(0, 0)
    page.screenshot(path=FOLDER / f"{name}.png")


if __name__ == "__main__":
    main(sys.argv[1])
