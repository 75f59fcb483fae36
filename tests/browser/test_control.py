"""A newcomer takes control: words, never, feeds, shares, comparisons, the profile switch, transfer.

The state and the list are held against the library at each step, with and without JavaScript.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser.steps import check_looks, listed, open_options, pick, unfold
from playwright.sync_api import Page, expect

from teaser import Tag, Teaser

Visit = Callable[..., Page]
MINUS = "\N{MINUS SIGN}"
SENTENCE = "more jazz, no workshops, less theatre"
JAZZ, WORKSHOP, THEATRE = "theme=Jazz", "type=Workshop", "type=Theatre"
EXHIBITION = "type=Exhibition"


@dataclass(frozen=True)
class Expected:
    """What the library knows of a visitor, and the list that follows from it."""

    model: Teaser
    history: tuple[str, ...] = ()
    presses: Mapping[str, int] | None = None
    without: tuple[str, ...] = ()

    def list(self, k: int = 12) -> list[Any]:
        """Return the ids of the list."""
        found = self.model.recommend(
            list(self.history), self.presses, k=k, allowed=~self._has(self.without)
        )
        return [entry.item_id for entry in found]

    def _has(self, tags: Sequence[str]) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Return which items have one of the tags."""
        columns = [self.model.tag_table_.index[Tag.parse(tag)] for tag in tags]
        return np.asarray(np.diff(self.model.decoder_[:, columns].indptr) > 0)


def state_of(page: Page) -> Any:
    """Return the visitor's state, as an export tells it."""
    state = page.context.request.get("/export").json()["state"]
    state["pressed"] = {press["tag"]: press["steps"] for press in state["presses"]}
    return state


def kept(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return a state without what tells how it came about."""
    return {k: v for k, v in state.items() if k not in ("n_events", "can_undo", "can_redo")}


def do(page: Page, said: str) -> None:
    """Wait until the page says what the last action did."""
    expect(page.locator("#notice")).to_contain_text(said)
    page.wait_for_load_state()


def numbers(page: Page, css: str) -> list[float]:
    cells = page.locator(css).all_inner_texts()
    return [float(cell.replace(MINUS, "-")) for cell in cells]


def choose_in_words(page: Page, expected: Expected) -> Expected:
    """Say a sentence, and confirm it without one of its chips."""
    page.get_by_label("What are you in the mood for?").fill(SENTENCE)
    page.get_by_role("button", name="Say it").click()
    chips = page.locator(".wishes input")
    expect(chips).to_have_count(3)
    assert state_of(page)["pressed"] == {}, "nothing applies before it is confirmed"
    texts = [str(chip.get_attribute("value")) for chip in chips.all()]
    assert sorted(texts) == sorted(
        [f"press +4 {JAZZ}", f"without {WORKSHOP}", f"press -4 {THEATRE}"]
    )
    page.locator(f'.wishes input[value="press -4 {THEATRE}"]').uncheck()
    page.get_by_role("button", name="Apply to my list").click()
    do(page, "Jazz")
    state = state_of(page)
    assert state["pressed"] == {JAZZ: 4}
    assert state["filters"]["without"] == [WORKSHOP]
    after = replace(expected, presses={JAZZ: 4}, without=(WORKSHOP,))
    assert listed(page) == after.list()
    return after


def mute_for_a_week(page: Page, expected: Expected) -> Expected:
    """Hide a tag until a day in a week."""
    page.goto(f"/tag?tag={EXHIBITION}")
    page.locator(".never-menu summary").click()
    page.get_by_role("button", name="a week").click()
    do(page, "Exhibition")
    state = state_of(page)
    assert state["hidden_tags"] == [EXHIBITION]
    (end,) = state["ends"]
    left = datetime.fromisoformat(end["until"]) - datetime.now(UTC)
    assert timedelta(days=7) < left <= timedelta(days=8)
    page.goto("/")
    after = replace(expected, without=(*expected.without, EXHIBITION))
    assert listed(page) == after.list()
    return after


def share_as_a_feed(page: Page, expected: Expected) -> str:
    """Keep the list under a name, share it, and return the link."""
    open_options(page)
    page.get_by_label("Keep this list under a name").fill("Friday night")
    page.get_by_role("button", name="Keep", exact=True).click()
    do(page, "Friday night")
    state = state_of(page)
    names = [feed["feed"] for feed in state["feeds"]]
    assert (state["feed"], names) == ("Friday night", ["", "Friday night"])
    assert (state["pressed"], state["filters"]["without"]) == ({JAZZ: 4}, [WORKSHOP])
    assert listed(page) == expected.list()
    page.goto("/feeds")
    page.get_by_role("button", name="Share Friday night").click()
    return page.get_by_label("The link").input_value()


def copy_a_feed(page: Page, link: str, model: Teaser) -> None:
    """Start from a shared feed as somebody else, who gets nothing of its owner."""
    page.goto(link)
    expect(page.get_by_role("heading", name="Friday night")).to_be_visible()
    expect(page.locator(".asks li")).to_have_text(["+4 Jazz", "no Workshop"])
    expected = Expected(model, (), {JAZZ: 4}, (WORKSHOP,)).list()
    assert listed(page) == expected
    page.get_by_role("button", name="Start from this feed").click()
    do(page, "Friday night")
    copied = state_of(page)
    assert (copied["feed"], copied["pressed"]) == ("Friday night", {JAZZ: 4})
    assert (copied["history"], copied["hidden_tags"]) == ([], [])
    assert listed(page) == expected


def compare_two(page: Page, expected: Expected) -> None:
    """Lay two items of the list side by side: the differences are the library's, and add up."""
    page.goto("/compare")
    own = expected.list()
    for place in (1, 4):
        page.locator(f'.choice input[value="{own[place]}"]').check()
    page.get_by_role("button", name="Compare", exact=True).click()
    expect(page.get_by_role("heading", name="What makes the difference")).to_be_visible()
    exact = expected.model.compare(own[1], own[4], list(expected.history), expected.presses)
    differences = numbers(page, ".fall tbody:not(.folded) td.number")
    (total,) = numbers(page, ".fall tfoot td.sum")
    assert sum(differences) == pytest.approx(total, abs=1e-9)
    assert total == pytest.approx(exact.difference, abs=0.0101)
    scores = [round(exact.score, 2), round(exact.other_score, 2)]
    assert numbers(page, ".fall tfoot td.pair") == scores


def switch_the_profile(page: Page, expected: Expected) -> None:
    """Turn the profile off and on: filters and hidden tags stay."""
    page.goto("/")
    open_options(page)
    page.get_by_role("button", name="Without my profile").click()
    do(page, "Without your profile")
    assert state_of(page)["profiling"] is False
    without = Expected(expected.model, without=expected.without).list()
    assert listed(page) == without
    page.reload()
    assert listed(page) == without
    page.get_by_role("button", name="Use my profile").click()
    do(page, "With your profile")
    assert state_of(page)["profiling"] is True
    assert listed(page) == expected.list()


def take_along(page: Page, new: Page, expected: Expected, file: Path) -> None:
    """Bring an export to another browser: state and list are the same."""
    before = kept(state_of(page))
    page.locator(".menu summary").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Export my data").click()
    download.value.save_as(file)
    new.goto("/import")
    new.get_by_label("Your export").set_input_files(file)
    new.get_by_role("button", name="Import").click()
    do(new, "Imported a profile")
    assert kept(state_of(new)) == before
    assert listed(new) == expected.list()
    new.locator("#notice").get_by_role("button", name="Undo").click()
    do(new, "Undone")
    assert state_of(new)["history"] == []
    assert listed(new) == Expected(expected.model).list()


@pytest.mark.parametrize("scripted", [True, False])
def test_a_newcomer_takes_control(
    visit: Visit, events_model: Teaser, tmp_path: Path, scripted: bool
) -> None:
    page, other, new = (visit(java_script_enabled=scripted) for _ in range(3))
    assert listed(page) == Expected(events_model).list()
    pick(page, 2)
    history = tuple(state_of(page)["history"])
    assert len(history) == 2
    expected = Expected(events_model, history)
    assert listed(page) == expected.list()
    expected = choose_in_words(page, expected)
    expected = mute_for_a_week(page, expected)
    link = share_as_a_feed(page, expected)
    copy_a_feed(other, link, events_model)
    compare_two(page, expected)
    switch_the_profile(page, expected)
    take_along(page, new, expected, tmp_path / "own.json")


def test_axe_and_narrow_screens(visit: Visit) -> None:
    page = visit(may_fail=True)
    pick(page)
    one, two = listed(page)[:2]
    page.goto("/feeds")
    page.get_by_role("button", name="Share For you").click()
    link = page.get_by_label("The link").input_value()
    paths = [
        f"/compare?item={one}&item={two}",
        f"/compare?item={one}",
        f"/like/{one}",
        "/about-recommendations",
        "/import",
        link,
    ]
    for path in paths:
        page.goto(path)
        check_looks(page, path)


def test_an_item_of_the_list_can_be_compared(visit: Visit) -> None:
    page = visit()
    pick(page)
    unfold(page, 1).get_by_role("link", name="Compare").click()
    expect(page.get_by_text(re.compile("One item is chosen"))).to_be_visible()
    page.locator(".choice input[type=radio]").first.focus()
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="What makes the difference")).to_be_visible()
