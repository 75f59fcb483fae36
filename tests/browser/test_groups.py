"""General appeal and discovered groups in a browser: pressed, explained, within axe's rules."""

from collections.abc import Callable, Iterator
from datetime import date

import pytest
from browser.conftest import served
from browser.steps import check_looks, listed, pick, unfold
from playwright.sync_api import Page, expect

from teaser import Teaser
from teaser.data import demo
from teaser.extensions import DiscoveredTags, Remainder, Weights

Visit = Callable[..., Page]
MINUS = "\N{MINUS SIGN}"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server of events, in a model with discovered tags and neighbours."""
    model = Teaser(
        weights=Weights(),
        discovered=DiscoveredTags(grains=(15,), factors=64),
        remainder=Remainder(),
    ).fit(demo.dataset(n_events=300, n_users=900, start=date(2026, 1, 1)))
    with served(model, tmp_path_factory.mktemp("site")) as address:
        yield address


def test_less_mainstream_is_one_press(visit: Visit) -> None:
    page = visit()
    pick(page)
    before = listed(page)
    page.goto("/profile")
    less = page.locator("#general").get_by_role("button", name="Less of General appeal")
    for _ in range(3):
        less.click()
        expect(page.locator("#notice")).to_contain_text(f"{MINUS} on General appeal")
    expect(page.locator("#general .count")).to_contain_text(f"{MINUS}3")
    page.goto("/")
    assert listed(page) != before
    expect(unfold(page).locator(".reasons")).to_contain_text("General appeal")


def test_a_group_opens_and_can_be_pressed(visit: Visit) -> None:
    page = visit()
    pick(page)
    page.goto("/profile")
    link = page.locator(".features .tag.group .tag-name").first
    expect(link).to_contain_text("found by the system")
    link.click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("heading", name="A group found by the system")).to_be_visible()
    expect(dialog).to_contain_text("The owner of the site did not make it.")
    dialog.locator("details.more summary").click()
    expect(dialog.locator(".members a").first).to_be_visible()
    dialog.locator(".stepper button").first.click()
    expect(dialog.get_by_role("status")).to_contain_text("on items like ")
    dialog.get_by_role("button", name="Show only these in my list").click()
    expect(page.locator(".chips")).to_be_visible()


def test_axe_finds_nothing_and_nothing_is_too_wide(visit: Visit) -> None:
    page = visit()
    pick(page)
    page.goto("/profile")
    check_looks(page, "profile", part=".features")
    address = str(page.locator(".features .tag.group .tag-name").first.get_attribute("href"))
    for path in (address, "/tags?feature=discovered"):
        page.goto(path)
        check_looks(page, path)
