"""The site as a person meets it, from the first visit to a steered list."""

import re
from collections.abc import Callable
from urllib.parse import quote

import pytest
from browser.steps import check_axe, check_looks, listed, open_options, pick, unfold
from playwright.sync_api import Page, expect

from teaser import Tag, Teaser
from teaser.steer import statements

Visit = Callable[..., Page]
MINUS = "\N{MINUS SIGN}"


def press_a_reason(page: Page) -> str:
    """Press + on a reason of a card, and return its tag."""
    button = unfold(page, 3).locator('.reasons button[aria-label^="More of"]').first
    label = str(button.get_attribute("aria-label")).removeprefix("More of ")
    button.click()
    expect(page.locator("#notice")).to_contain_text(f"+ on {label}")
    return label


def test_from_the_first_visit_to_a_steered_list_and_back(visit: Visit) -> None:
    page = visit()
    expect(page.get_by_role("heading", name="Liked by many")).to_be_visible()
    popular = listed(page)
    pick(page)
    expect(page.get_by_role("heading", name="For you")).to_be_visible()
    expect(page.locator(".picks")).to_have_count(0)
    personal = listed(page)
    assert personal != popular
    expect(page.locator(".certainty")).to_have_text(
        re.compile(r"^\d+\W% sure: 3 items seen, 0 presses\.$")
    )

    strongest = page.locator(".strongest")
    expect(strongest.locator(".tag-name").first).to_be_visible()
    name = strongest.locator(".tag-name").nth(2).inner_text()
    for count in (1, 2, 3):
        strongest.get_by_role("button", name=f"Less of {name}", exact=True).click()
        expect(strongest.locator(".is-pressed .count")).to_contain_text(f"{MINUS}{count}")
    expect(strongest.locator(".tag-name").nth(2)).to_have_text(name)
    steered = listed(page)
    assert steered != personal
    assert page.url.endswith("/"), "the page was swapped, not loaded"
    expect(page.locator("#notice")).to_contain_text(f"{MINUS} on {name}")
    expect(page.locator("#live")).to_contain_text(f"{MINUS} on {name}")
    focused = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert focused == f"Less of {name}"

    for _ in range(3):
        page.locator(".top").get_by_role("button", name="Undo").click()
        expect(page.locator("#notice")).to_contain_text("Undone")
    expect(page.locator(".is-pressed")).to_have_count(0)
    assert listed(page) == personal
    page.reload()
    assert listed(page) == personal


@pytest.mark.parametrize("script", [True, False])
def test_not_really_takes_a_statement_back(
    visit: Visit, events_model: Teaser, script: bool
) -> None:
    items, kind = events_model.items_, Tag("type", "Exhibition")
    carriers = events_model.tag_table_.carriers.items[[events_model.tags_.index(kind)]].indices
    titles = [events_model.title(place) or "" for place in carriers[:6].tolist()]
    told = statements(events_model.profile([items[place] for place in carriers[:6].tolist()]))
    assert told[0].tags[0] == kind
    page = visit(java_script_enabled=script)
    for title in titles:
        page.goto(f"/search?q={quote(title)}")
        page.get_by_role("button", name=f"Look at {title}", exact=True).first.click()
        page.wait_for_load_state()
    page.goto("/")
    said = page.get_by_text("You lean towards Exhibition: 6 of your 6")
    expect(said).to_be_visible()
    page.get_by_role("button", name="not really (Exhibition)").click()
    expect(said).to_have_count(0)
    page.locator(".top").get_by_role("button", name="Undo").click()
    expect(said).to_be_visible()


def test_arrows_and_the_sentence_agree(visit: Visit) -> None:
    page = visit()
    pick(page)
    before = listed(page)
    press_a_reason(page)
    after = listed(page)
    came = [item for item in after if item not in before]
    expect(page.locator(".moved.new")).to_have_count(len(came))
    rose = [i for i in after if i in before and before.index(i) > after.index(i)]
    expect(page.locator(".moved.rose")).to_have_count(len(rose))
    if rose:
        expect(page.locator("#notice")).to_contain_text(f"{len(rose)} rose")
    page.locator("#notice").get_by_role("button", name="Undo").click()
    expect(page.locator("#notice")).to_contain_text("Undone: + on")
    assert listed(page) == before


def test_many_tags_are_found_by_search(visit: Visit) -> None:
    page = visit()
    page.goto("/profile")
    page.get_by_role("link", name="more (Theme)").click()
    expect(page.locator(".tag").nth(20)).to_be_attached()
    page.get_by_role("searchbox", name="Search in Theme").fill("jaz")
    page.keyboard.press("Enter")
    expect(page.locator(".tag")).to_have_count(1)
    page.get_by_role("button", name="More of Jazz").click()
    expect(page.locator("#notice")).to_contain_text("+ on Jazz")


def test_variety_and_filters(visit: Visit) -> None:
    page = visit()
    pick(page)
    before = listed(page)
    open_options(page)
    slider = page.get_by_label("Variety")
    slider.focus()
    slider.press("End")
    expect(page.locator("#notice")).to_contain_text("Variety at 100")
    assert listed(page) != before
    expect(slider).to_be_focused()
    expect(slider).to_have_value("1")
    page.get_by_label("Type").select_option("Concert")
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.locator(".chip").first).to_contain_text("Concert")
    for facts in page.locator(".card .facts").all():
        assert facts.inner_text().startswith("Concert")


def test_the_item_page_adds_up_and_brings_up(visit: Visit) -> None:
    page = visit()
    pick(page)
    page.goto("/search?q=workshop")
    page.goto("/?n=24")
    last = listed(page)[-1]
    page.goto(f"/item/{last}")

    def numbers(css: str) -> list[float]:
        cells = page.locator(css).all_inner_texts()
        return [float(cell.replace(MINUS, "-")) for cell in cells]

    adds = numbers("tbody td.number")
    (total,) = numbers("tfoot td.sum")
    assert sum(adds) == pytest.approx(total, abs=0.005 * len(adds))
    expect(page.locator(".lift .pressing li").first).to_be_visible()
    page.locator(".lift").get_by_role("button").click()
    expect(page.locator(".lift")).to_contain_text("It is in the first 10 already")
    page.goto("/")
    assert last in listed(page)[:10]


def test_without_javascript(visit: Visit) -> None:
    page = visit(java_script_enabled=False)
    pick(page)
    before = listed(page)
    button = page.locator('.strongest button[aria-label^="More of"]').first
    label = str(button.get_attribute("aria-label")).removeprefix("More of ")
    button.click()
    assert "did=4" in page.url
    page.locator("#notice").get_by_role("button", name="Undo").click()
    expect(page.locator("#notice")).to_contain_text(f"Undone: + on {label}")
    assert listed(page) == before
    card = page.locator(".card").first
    card.locator(".why-more > summary").click()
    card.get_by_role("link", name="All reasons").click()
    page.get_by_role("link", name="Find the fewest presses").click()
    expect(page.get_by_text("It is in the first 10 already")).to_be_visible()
    page.goto("/")
    open_options(page)
    page.get_by_role("button", name="Apply", exact=True).click()
    expect(page.locator("#notice")).to_contain_text("Variety at")
    page.locator(".menu summary").click()
    page.get_by_role("link", name="Tour").click()
    expect(page.get_by_text("Your strongest tags")).to_be_visible()


def test_the_tour_comes_once_and_again_on_demand(visit: Visit) -> None:
    page = visit(tour=True)
    tour = page.get_by_role("dialog")
    expect(tour.get_by_text("What I learned about you")).to_be_visible()
    expect(page.locator(".spot")).to_have_attribute("data-tour", "learned")
    tour.get_by_role("button", name="Next").click()
    expect(tour.get_by_text("Recommendations with their reasons")).to_be_visible()
    page.keyboard.press("Escape")
    expect(tour).to_have_count(0)
    expect(page.locator(".spot")).to_have_count(0)
    page.reload()
    expect(tour).to_have_count(0)
    page.locator(".menu summary").click()
    page.get_by_role("link", name="Tour").click()
    expect(tour).to_be_visible()
    for _ in range(4):
        tour.get_by_role("button", name="Next").click()
    tour.get_by_role("button", name="Done").click()
    expect(tour).to_have_count(0)


def test_a_server_that_is_away_is_said_and_nothing_lost(visit: Visit) -> None:
    page = visit(may_fail=True)
    before = listed(page)
    page.route("**/act", lambda route: route.fulfill(status=503, body="gone"))
    page.locator(".picks button").first.click()
    expect(page.get_by_role("alert")).to_contain_text("Nothing was changed")
    assert listed(page) == before
    page.unroute("**/act")
    page.locator(".picks button").first.click()
    expect(page.locator(".certainty")).to_contain_text("1 item")
    expect(page.locator("#trouble")).to_be_empty()


def test_a_press_at_the_limit_says_so_and_counts_for_nothing(visit: Visit) -> None:
    page = visit()
    page.goto("/profile")
    more = page.locator('.features [data-key="p+type=Concert"]')
    less = page.locator('.features [data-key="p-type=Concert"]')
    for n in range(1, 6):
        more.click()
        expect(page.locator(".features .is-pressed .count")).to_contain_text(f"+{n}")
    expect(more).to_have_attribute("aria-disabled", "true")
    more.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#notice")).to_have_text("+ on Concert: that is as far as it goes.")
    expect(page.locator("#live")).to_contain_text("as far as it goes")
    expect(more).to_be_focused()
    expect(page.locator(".certainty")).to_contain_text("5 presses")
    less.click()
    expect(page.locator(".features .is-pressed .count")).to_contain_text("+4")
    expect(more).not_to_have_attribute("aria-disabled", "true")


def test_words_of_an_item_stay_whole_on_a_narrow_screen(visit: Visit) -> None:
    page = visit(width=320, height=700)
    pick(page)
    page.goto("/item/e0001")
    sums = page.locator(".fall td.sum")
    assert sums.count() > 4
    expect(sums.first).to_be_visible()
    # A word that breaks has more than one box on its line of text.
    broken = page.evaluate(
        """() => [...document.querySelectorAll(".fall th a")].filter((a) => {
            const range = document.createRange(), text = a.firstChild;
            return [...text.data.matchAll(/\\S+/g)].some((word) => {
                range.setStart(text, word.index);
                range.setEnd(text, word.index + word[0].length);
                return range.getClientRects().length > 1;
            });
        }).map((a) => a.textContent)"""
    )
    assert broken == []
    assert page.evaluate("document.documentElement.scrollWidth") == 320


def test_a_phone_can_do_it_all(visit: Visit) -> None:
    page = visit(width=390, height=844, has_touch=True, color_scheme="dark")
    pick(page)
    press_a_reason(page)
    expect(page.locator("#notice")).to_be_in_viewport()
    page.locator(".tabs").get_by_role("link", name="You", exact=True).tap()
    expect(page.locator(".learned")).to_be_in_viewport()
    page.locator(".tabs").get_by_role("link", name="Tags").tap()
    expect(page.get_by_role("heading", name="Your tags")).to_be_visible()


def test_keys_are_enough(visit: Visit) -> None:
    page = visit()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("/")
    expect(page.get_by_role("combobox", name="Search items and tags")).to_be_focused()
    page.keyboard.type("concert")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Found for")).to_be_visible()
    button = page.get_by_role("button", name="More of Concert", exact=True)
    button.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#notice")).to_contain_text("+ on Concert")
    expect(button).to_be_focused()


def test_axe_finds_nothing_and_nothing_is_too_wide(visit: Visit) -> None:
    page = visit(may_fail=True)
    check_looks(page, "start")
    pick(page)
    press_a_reason(page)
    open_options(page)
    page.locator(".menu summary").click()
    check_looks(page, "steered")
    item = listed(page)[0]
    paths = [f"/item/{item}", "/search?q=jazz", "/tags?feature=theme", "/tag?tag=theme=Jazz"]
    paths += ["/profile", "/options", f"/why/{item}"]
    for path in [*paths, "/delete", "/tour", "/nowhere"]:
        page.goto(path)
        check_looks(page, path)
    page.goto(f"/lift/{item}")
    check_looks(page, "lift")
    page.goto("/share")
    page.get_by_role("button", name="Make a link").click()
    check_looks(page, "link")
    page.goto(page.get_by_label("The link").input_value())
    check_looks(page, "shared")


CONTROLS = """() => [...document.querySelectorAll("a,button,input,select,summary")].filter((e) => {
    const box = e.getBoundingClientRect();
    return e.checkVisibility({ visibilityProperty: true }) && box.width > 1 && box.height > 1
        && box.bottom > 0 && box.top < innerHeight;
}).length"""


@pytest.mark.parametrize("locale", ["en-GB", "nl-BE", "fr-BE"])
def test_the_page_is_quiet_on_a_desk(visit: Visit, locale: str) -> None:
    page = visit(width=1280, height=800, locale=locale)
    assert page.evaluate(CONTROLS) <= 40
    pick(page)
    page.evaluate("scrollTo(0, 0)")
    assert page.evaluate(CONTROLS) <= 40
    assert page.locator("main :is(a, button, input, select, summary)").count() <= 70
    check_axe(page, "desk")


@pytest.mark.parametrize("locale", ["en-GB", "nl-BE", "fr-BE"])
def test_a_phone_shows_the_first_recommendation_and_its_reason(visit: Visit, locale: str) -> None:
    page = visit(width=390, height=844, locale=locale, has_touch=True)
    pick(page)
    page.evaluate("scrollTo(0, 0)")
    card = page.locator(".cards > .card").first
    tabs = page.locator(".tabs").bounding_box()
    assert tabs
    for part in (".picture", "h3", ".because"):
        box = card.locator(part).bounding_box()
        assert box
        assert 0 <= box["y"] < box["y"] + box["height"] <= tabs["y"], part
    check_axe(page, "phone")


def test_the_focus_stays_in_a_fold_that_is_loaded_again(visit: Visit) -> None:
    page = visit()
    pick(page)
    fold = unfold(page)
    button = fold.get_by_role("button", name=re.compile("^More of")).first
    name = str(button.get_attribute("aria-label"))
    with page.expect_response(re.compile("/why/")):
        button.press("Enter")
    expect(fold.locator(".is-pressed .count").first).to_contain_text("+1")
    expect(fold.get_by_role("button", name=name, exact=True)).to_be_focused()
