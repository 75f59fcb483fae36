"""A study in a real browser: on a phone without scripts, by keyboard, and held against axe."""

from collections.abc import Callable, Iterator

import pytest
from browser.conftest import listening
from browser.steps import check_looks
from playwright.sync_api import Locator, Page, expect

from teaser import Teaser
from teaser.userstudy.plan import UserStudy, new_study
from teaser.userstudy.server import create_study_app

Visit = Callable[..., Page]


@pytest.fixture(scope="module")
def site(events_model: Teaser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the example study."""
    folder = tmp_path_factory.mktemp("study")
    events_model.save(folder / "events")
    text = new_study().replace("min_seconds = 20", "min_seconds = 0")
    path = folder / "study.toml"
    path.write_text(text)
    database = f"sqlite:///{folder / 'people.db'}"
    settings = UserStudy.read(path).site_settings(database_url=database, rate=0, store_timeout=30.0)
    with listening(create_study_app(settings, path=path)) as address:
        yield address


def go_on(page: Page) -> None:
    page.locator("form[action='/next'] button").click()


def enter(page: Page, button: Locator) -> None:
    """Press Enter on a button, once the page is painted: before that the browser drops keys."""
    button.wait_for()
    page.wait_for_load_state()
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    button.focus()
    page.keyboard.press("Enter")


def begin(page: Page) -> None:
    page.get_by_label("I have read this").check()
    page.get_by_role("button", name="Begin").click()
    go_on(page)
    for done in range(3):
        expect(page.get_by_text(f"{done} of 3")).to_be_visible()
        page.locator("button[name=pick]").first.click()


def answer(page: Page) -> None:
    expect(page.get_by_role("heading", name="About this version")).to_be_visible()
    for points in page.locator(".points").all():
        points.locator("input").nth(1).check()
    go_on(page)


def test_a_person_on_a_phone_without_scripts_comes_to_the_code(visit: Visit) -> None:
    page = visit(width=390, height=844, java_script_enabled=False)
    begin(page)
    for _ in range(3):
        for chosen in range(3):
            expect(page.get_by_text(f"{chosen} of 3 chosen")).to_be_visible()
            page.locator("button[name=choose]").first.click()
        expect(page.get_by_text("3 of 3 chosen")).to_be_visible()
        go_on(page)
        answer(page)
    page.get_by_label("How old are you?").fill("30")
    page.get_by_label("the second").check()
    go_on(page)
    expect(page.get_by_text("Your completion code is REPLACE-ME.")).to_be_visible()
    code = page.locator(".note b").inner_text()
    page.get_by_role("link", name="Withdraw from the study").click()
    page.get_by_label("Your personal code").fill(code.lower())
    page.get_by_role("button", name="Delete everything about me").click()
    expect(page.get_by_text("is deleted. You can close this page.")).to_be_visible()


def test_the_back_button_leads_to_where_the_person_is(visit: Visit) -> None:
    page = visit()
    begin(page)
    expect(page.get_by_text("0 of 3 chosen")).to_be_visible()
    page.go_back()
    expect(page.get_by_text("0 of 3 chosen")).to_be_visible()


def test_the_keyboard_is_enough_and_axe_finds_nothing(visit: Visit) -> None:
    page = visit()
    check_looks(page, "consent")
    page.get_by_label("I have read this").focus()
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    enter(page, page.get_by_role("button", name="Go on"))
    for done in range(3):
        expect(page.get_by_text(f"{done} of 3")).to_be_visible()
        enter(page, page.locator("button[name=pick]").first)
    expect(page.get_by_text("0 of 3 chosen")).to_be_visible()
    check_looks(page, "task")
    for chosen in range(3):
        expect(page.get_by_text(f"{chosen} of 3 chosen")).to_be_visible()
        enter(page, page.locator("button[name=choose]").first)
    expect(page.get_by_text("3 of 3 chosen")).to_be_visible()
    enter(page, page.locator("form[action='/next'] button"))
    expect(page.get_by_role("heading", name="About this version")).to_be_visible()
    check_looks(page, "questions")
