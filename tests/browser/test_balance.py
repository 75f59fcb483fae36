"""A model with a remainder in a real browser: the slider from tags to people alike."""

from collections.abc import Callable, Iterator
from datetime import date

import pytest
from browser.conftest import served
from browser.steps import check_looks, listed, open_options, pick, unfold
from playwright.sync_api import Page, expect

from teaser import Teaser
from teaser.data import demo
from teaser.extensions import Remainder

Visit = Callable[..., Page]
MINUS = "\N{MINUS SIGN}"
NAME = "From my tags to people like me"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server of events, in a model where viewed items count too."""
    model = Teaser(remainder=Remainder(l2=50.0)).fit(
        demo.dataset(n_events=300, n_users=900, start=date(2026, 1, 1))
    )
    with served(model, tmp_path_factory.mktemp("site")) as address:
        yield address


def test_the_slider_moves_the_list_and_its_reasons(visit: Visit) -> None:
    page = visit()
    slider = page.get_by_role("slider", name=NAME)
    open_options(page)
    expect(slider).to_be_disabled()
    pick(page)
    before = listed(page)
    expect(slider).to_be_enabled()
    expect(slider).to_have_attribute("aria-valuetext", "both, as learned")
    slider.focus()
    slider.press("ArrowRight")
    expect(page.locator("#notice")).to_contain_text("Balance: tags 80")
    expect(slider).to_be_focused()
    expect(slider).to_have_attribute("aria-valuetext", page.locator(".balance .hint").inner_text())
    slider.press("End")
    expect(page.locator("#notice")).to_contain_text("Balance: people like me alone")
    expect(page.locator("#live")).to_contain_text("Balance: people like me alone")
    expect(page.locator(".cards .because").first).to_contain_text("which you viewed")
    people = listed(page)
    slider.press("Home")
    expect(page.locator("#notice")).to_contain_text("Balance: my tags alone")
    tags = listed(page)
    assert len({tuple(tags), tuple(before), tuple(people)}) == 3
    page.reload()
    assert listed(page) == tags
    open_options(page)
    expect(slider).to_have_value("0")
    page.goto(f"/why/{tags[0]}")
    expect(page.locator(".reasons li").first).to_be_visible()
    expect(page.locator(".reasons")).not_to_contain_text("because you viewed")


def test_axe_finds_nothing_and_nothing_is_too_wide(visit: Visit) -> None:
    page = visit()
    pick(page)  # test_site.py checks the start page and an item's page without a balance
    open_options(page)
    slider = page.get_by_role("slider", name=NAME)
    slider.focus()
    slider.press("ArrowRight")
    expect(page.locator("#notice")).to_contain_text("Balance:")
    unfold(page)
    check_looks(page, "balanced")
    item = listed(page)[0]
    slider.focus()
    slider.press("End")
    expect(page.locator("#notice")).to_contain_text("people like me alone")
    page.goto(f"/item/{item}")
    expect(page.locator("tr.nothing").first).to_be_attached()
    check_looks(page, "item without tags that count")
