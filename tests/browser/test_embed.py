"""The list in a page of another site, which allows nothing but the script and its server."""

from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest
from browser.conftest import listening, served
from browser.steps import check_looks
from playwright.sync_api import Browser, BrowserContext, Page, expect
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

from teaser import Teaser

POLICY = (
    "default-src 'none'; script-src {site}; connect-src {site}; base-uri 'none'; "
    "require-trusted-types-for 'script'"
)
PAGE = """<!doctype html><html lang="en"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>Shop</title><main><h1>Shop</h1>
<script src="{site}/embed.js" data-k="4" {more}></script></main></html>"""


class Sites:
    """The address of our server, and that of a page that shows its list."""

    ours = theirs = refused = ""

    def page(self, request: Request) -> HTMLResponse:
        site = self.refused if "refused" in request.query_params else self.ours
        headers = {"content-security-policy": POLICY.format(site=site)}
        more = request.query_params.get("more", "")
        return HTMLResponse(PAGE.format(site=site, more=more), headers=headers)


@pytest.fixture(scope="module")
def sites(events_model: Teaser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sites]:
    found = Sites()
    with listening(Starlette(routes=[Route("/", found.page)])) as found.theirs:
        folder = tmp_path_factory.mktemp("embedded")
        open_to_them = {"keys": "on", "origins": found.theirs}
        with (
            served(events_model, folder / "open", **open_to_them) as found.ours,
            served(events_model, folder / "closed", keys="on") as found.refused,
        ):
            yield found


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    opened = browser.new_context(viewport={"width": 1000, "height": 800}, locale="en-GB")
    opened.set_default_timeout(10_000)
    yield opened
    opened.close()


@pytest.fixture
def show(context: BrowserContext, sites: Sites) -> Iterator[Callable[..., Page]]:
    """Open the page of the other site; errors on it fail the test."""
    troubles: list[str] = []

    def come(query: str = "") -> Page:
        page = context.new_page()
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", lambda m: troubles.append(m.text) if m.type == "error" else None)
        page.goto(f"{sites.theirs}/{query}")
        return page

    yield come
    assert troubles == []


def titles(page: Page) -> list[str]:
    expect(page.locator("ol > li").first).to_be_visible()
    return page.locator("ol > li a").all_inner_texts()


def test_presses_move_the_list_and_stay_in_the_page(
    show: Callable[..., Page], context: BrowserContext, sites: Sites
) -> None:
    asked: set[str] = set()
    context.on("request", lambda request: asked.add("{0.scheme}://{0.netloc}".format(
        urlsplit(request.url))))  # fmt: skip
    page = show()
    before = titles(page)
    assert len(before) == 4
    less = page.get_by_role("button", name="Less of").first
    name = str(less.get_attribute("aria-label"))
    for n in range(1, 4):
        less = page.get_by_role("button", name=name, exact=True).first
        if not less.count():
            break
        with page.expect_response("**/embed*"):
            less.click()
        expect(page.get_by_role("status")).to_contain_text(f"-{n}")
        page.wait_for_load_state("networkidle")
    expect(page.get_by_role("button", name="Start again")).to_be_visible()
    pressed = titles(page)
    assert pressed != before
    # By keyboard: the button that was pressed keeps the focus.
    more = page.get_by_role("button", name="More of").first
    label = str(more.get_attribute("aria-label"))
    more.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("1")
    focused = "document.querySelector('main > div').shadowRoot.activeElement?.ariaLabel"
    page.wait_for_function(f"{focused} === {label!r}")
    kept = titles(page)
    page.reload()
    assert titles(page) == kept
    page.get_by_role("button", name="Start again").click()
    expect(page.get_by_role("button", name="Start again")).to_have_count(0)
    assert titles(page) == before
    assert asked == {sites.theirs, sites.ours}
    assert context.cookies() == []


def test_it_can_be_read_by_everybody(show: Callable[..., Page]) -> None:
    page = show()
    titles(page)
    page.get_by_role("button", name="More of").first.click()
    expect(page.get_by_role("button", name="Start again")).to_be_visible()
    # axe runs in the page, whose policy asks for trusted types.
    page.evaluate("trustedTypes.createPolicy('default', { createScript: (text) => text })")
    check_looks(page, "embedded list", narrow=(360, 320))


def test_the_page_chooses_language_and_filters(show: Callable[..., Page]) -> None:
    more = "data-language='nl' data-only='type=Concert' data-title='Concerten' data-remember='no'"
    page = show(f"?more={more}")
    titles(page)
    expect(page.get_by_role("heading", name="Concerten")).to_be_visible()
    button = page.get_by_role("button", name="Meer").first
    button.click()
    expect(page.get_by_role("button", name="Opnieuw beginnen")).to_be_visible()
    assert page.evaluate("localStorage.length") == 0


def test_a_page_that_is_not_allowed_says_so(context: BrowserContext, sites: Sites) -> None:
    page = context.new_page()
    page.goto(f"{sites.theirs}/?refused=1")
    expect(page.get_by_role("alert")).to_contain_text("TEASER_ORIGINS")
