"""A model with facts about people in a real browser: a form that nobody has to fill in."""

from collections.abc import Callable, Iterator
from datetime import date

import polars as pl
import pytest
from browser.conftest import served
from browser.steps import check_looks, listed
from playwright.sync_api import Page, expect

from teaser import Category, Dataset, Teaser
from teaser.data.demo import generate

Visit = Callable[..., Page]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server of events, in a model that knows the age of its people."""
    made = generate(n_events=200, n_users=600, start=date(2026, 1, 1))
    # Whoever goes to the first half of the catalogue is young.
    users = made.interactions.group_by("user_id", maintain_order=True).agg(
        age=pl.when((pl.col("item_id") < "e0100").mean() > 0.5)
        .then(pl.lit("young"))
        .otherwise(pl.lit("old"))
    )
    dataset = Dataset.from_tables(
        made.interactions,
        made.items,
        rules=[Category("type"), Category("town"), Category("theme")],
        users=users,
        user_rules=[Category("age")],
    )
    with served(Teaser().fit(dataset), tmp_path_factory.mktemp("site")) as address:
        yield address


def set_about(page: Page, value: str) -> None:
    page.goto("/profile")
    page.get_by_text("About you (optional)").click()
    page.locator("#about-you select").select_option(label=value)
    page.get_by_role("button", name="Save").click()


@pytest.mark.parametrize("has_script", [True, False])
def test_a_fact_changes_the_list_and_can_be_taken_back(visit: Visit, has_script: bool) -> None:
    page = visit(java_script_enabled=has_script)
    popular = listed(page)
    set_about(page, "old")
    expect(page.locator("#notice")).to_contain_text("About you: old")
    expect(page.locator(".certainty")).to_contain_text("1 fact about you")
    page.goto("/")
    assert listed(page) != popular
    page.locator(".top").get_by_role("button", name="Undo").click()
    expect(page.locator("#notice")).to_contain_text("Undone: About you: old")
    assert listed(page) == popular


def test_axe_finds_nothing_and_nothing_is_too_wide(visit: Visit) -> None:
    page = visit()
    set_about(page, "young")
    expect(page.locator("#notice")).to_contain_text("About you: young")
    expect(page.get_by_role("combobox", name="Age", exact=True)).to_have_value("age=young")
    check_looks(page, "notice")
    page.goto("/tag?tag=type=Concert")
    origins = page.locator(".origins:not(.made-of)")
    expect(origins.locator("li")).to_have_count(1)
    expect(origins).to_contain_text("young")
    check_looks(page, "tag")
