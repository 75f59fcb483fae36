"""What the script puts together from answers is the page that a reload gives."""

import time
from collections.abc import Callable

from browser.steps import pick
from playwright.sync_api import Page, Response

Visit = Callable[..., Page]

# The order of rows and open details are the visitor's until the page is loaded again.
PLAIN = """
const plain = (main) => {
  const copy = main.cloneNode(true);
  for (const list of copy.querySelectorAll("[data-stable]")) {
    list.append(...[...list.children].sort((a, b) => a.dataset.key < b.dataset.key ? -1 : 1));
  }
  for (const e of copy.querySelectorAll("[data-v]")) e.removeAttribute("data-v");
  for (const e of copy.querySelectorAll("details")) e.open = false;
  for (const e of copy.querySelectorAll("[style]")) e.removeAttribute("style");
  copy.normalize();
  return copy.outerHTML;
};
"""
SHOWN = f"() => {{ {PLAIN} return plain(document.getElementById('main')); }}"
LOADED = f"""async (path) => {{ {PLAIN}
  const answer = await fetch(path, {{ headers: {{ "X-Teaser-Fragment": "1" }} }});
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  return plain(page.getElementById("main"));
}}"""


class Visited:
    """A page, the number of actions so far, and the answers to them."""

    def __init__(self, page: Page, n_actions: int) -> None:
        self.page = page
        self.n_actions = n_actions
        self.answers: list[str] = []

    def do(self, button: str, path: str = "/?") -> None:
        """Press a button, and compare the page with one that is loaded."""

        def is_act(answer: Response) -> bool:
            return answer.url.endswith("/act")

        with self.page.expect_response(is_act) as sent:
            self.page.locator(button).first.evaluate("button => button.click()")
        self.answers.append(sent.value.text())
        self.n_actions += 1
        wanted = self.page.evaluate(LOADED, f"{path}did={self.n_actions}")
        until = time.monotonic() + 10
        while (shown := self.page.evaluate(SHOWN)) != wanted and time.monotonic() < until:
            time.sleep(0.05)
        assert shown == wanted, button


def test_presses_undo_feeds_filters_and_languages(visit: Visit) -> None:
    page = visit()
    pick(page)
    visited = Visited(page, 3)
    first = page.locator("#profile .tag [name=press]").nth(0).get_attribute("data-key")
    for button in (
        f'[data-key="{first}"]',
        f'[data-key="{first}"]',
        '.cards [name=press][value^="-1"]',
        '.cards .card:nth-child(3) [name=press][value^="+1"]',
        '.top [name="undo"]',
        '.top [name="redo"]',
        '.cards [name="hide"]',
        '#general [name="press"]',
        '.seen [name="remove"]',
    ):
        visited.do(button)
    assert max(len(answer) for answer in visited.answers[:6]) < 40_000  # presses, undo, redo
    assert all("data-same" in answer for answer in visited.answers)
    page.locator(".feed-new summary").click()
    page.fill("#new-feed", "Mine")
    visited.do(".feed-new button")
    visited.do('.cards [name=press][value^="+1"]')
    visited.do('.feeds [name="main_feed"]')
    page.goto("/?only=type%3DConcert")
    visited.do('.cards [name=press][value^="+1"]', "/?only=type%3DConcert&")
    page.locator(".menu summary").click()
    with page.expect_navigation():
        page.get_by_role("button", name="Nederlands").click()
    visited.do('.cards [name=press][value^="-1"]', "/?only=type%3DConcert&")


def test_what_was_loaded_without_versions_is_sent_whole(visit: Visit) -> None:
    page = visit()
    pick(page)
    visited = Visited(page, 3)
    page.evaluate(
        "document.querySelectorAll('[data-v]').forEach((e) => e.removeAttribute('data-v'))"
    )
    visited.do(".cards [name=press]")
    visited.do(".cards [name=press]")
    assert "data-same" not in visited.answers[0]
    assert "data-same" in visited.answers[1]


def test_the_pressed_button_keeps_the_focus_and_the_open_parts_stay(visit: Visit) -> None:
    page = visit()
    pick(page)
    last = page.locator("#profile > .feature").last
    last.locator("> summary").click()
    button = page.locator(".cards .card:nth-child(2) [name=press]").first
    key = button.get_attribute("data-key")
    assert key is not None
    button.focus()
    page.keyboard.press("Enter")
    page.wait_for_function("document.querySelector('#live').textContent")
    focused = page.evaluate("document.activeElement.dataset.key")
    shown = page.locator(f'.cards [data-key="{key}"]').count()
    assert focused == key if shown else focused is None
    assert last.get_attribute("open") is not None
