"""A newcomer takes control: words, never, feeds, shares, comparisons, the profile switch, transfer.

The state and the list are held against the library at each step, with and without JavaScript.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser.conftest import served
from browser.steps import check_axe, listed, pick
from playwright.sync_api import Page, expect

from teaser import Tag, Teaser
from teaser.data import events

Visit = Callable[..., Page]
MINUS = "\N{MINUS SIGN}"
SENTENCE = "more jazz, no workshops, less theatre"
JAZZ, WORKSHOP, THEATRE = "theme=Jazz", "type=Workshop", "type=Theatre"
EXHIBITION = "type=Exhibition"


@pytest.fixture(scope="module")
def model() -> Teaser:
    """A model of the built-in events."""
    return Teaser().fit(events.dataset(n_events=400, n_users=1200, start=date(2026, 1, 1)))


@pytest.fixture(scope="module")
def site(model: Teaser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(model, tmp_path_factory.mktemp("site")) as address:
        yield address


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


@pytest.mark.parametrize("scripted", [True, False])
def test_a_newcomer_takes_control(
    visit: Visit, model: Teaser, tmp_path: Path, scripted: bool
) -> None:
    page = visit(java_script_enabled=scripted)
    assert listed(page) == Expected(model).list()
    pick(page, 2)
    history = tuple(state_of(page)["history"])
    assert len(history) == 2
    assert listed(page) == Expected(model, history).list()

    # A sentence, without one of its chips.
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
    assert listed(page) == Expected(model, history, {JAZZ: 4}, (WORKSHOP,)).list()

    # A tag is muted for a week.
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
    own = Expected(model, history, {JAZZ: 4}, (WORKSHOP, EXHIBITION)).list()
    assert listed(page) == own

    # The list is kept as a feed, and shared.
    page.locator(".feed-new summary").click()
    page.get_by_label("Keep this list under a name").fill("Friday night")
    page.get_by_role("button", name="Keep", exact=True).click()
    do(page, "Friday night")
    state = state_of(page)
    assert (state["feed"], [feed["feed"] for feed in state["feeds"]]) == (
        "Friday night",
        ["", "Friday night"],
    )
    assert (state["pressed"], state["filters"]["without"]) == ({JAZZ: 4}, [WORKSHOP])
    assert listed(page) == own
    page.goto("/feeds")
    page.get_by_role("button", name="Share Friday night").click()
    link = page.get_by_label("The link").input_value()

    # Another visitor copies it, and gets nothing of the owner.
    other = visit(java_script_enabled=scripted)
    other.goto(link)
    expect(other.get_by_role("heading", name="Friday night")).to_be_visible()
    expect(other.locator(".asks li")).to_have_text(["+4 Jazz", "no Workshop"])
    theirs = Expected(model, (), {JAZZ: 4}, (WORKSHOP,)).list()
    assert listed(other) == theirs
    other.get_by_role("button", name="Start from this feed").click()
    do(other, "Friday night")
    copied = state_of(other)
    assert (copied["feed"], copied["pressed"]) == ("Friday night", {JAZZ: 4})
    assert (copied["history"], copied["hidden_tags"]) == ([], [])
    assert listed(other) == theirs

    # Two items side by side.
    page.goto("/")
    ticks = page.locator(".cards .vs input")
    ticks.nth(1).check()
    ticks.nth(4).check()
    page.get_by_role("button", name="Compare the two").click()
    expect(page.get_by_role("heading", name="Why this above that")).to_be_visible()
    exact = model.compare(own[1], own[4], list(history), {JAZZ: 4})
    differences = numbers(page, ".fall tbody:not(.folded) td.number")
    (total,) = numbers(page, ".fall tfoot td.sum")
    assert sum(differences) == pytest.approx(total, abs=1e-9)
    assert total == pytest.approx(exact.difference, abs=0.0101)
    assert numbers(page, ".fall tfoot td.pair") == [
        round(exact.score, 2),
        round(exact.other_score, 2),
    ]

    # The profile off: filters and hidden tags stay. And on.
    page.goto("/")
    page.get_by_role("button", name="Without my profile").click()
    do(page, "Without your profile")
    assert state_of(page)["profiling"] is False
    assert listed(page) == Expected(model, without=(WORKSHOP, EXHIBITION)).list()
    page.reload()
    assert listed(page) == Expected(model, without=(WORKSHOP, EXHIBITION)).list()
    page.get_by_role("button", name="Use my profile").click()
    do(page, "With your profile")
    assert state_of(page)["profiling"] is True
    assert listed(page) == own

    # Taken along to another browser: shown first, then the same state and list.
    before = kept(state_of(page))
    page.locator(".menu summary").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Export my data").click()
    download.value.save_as(tmp_path / "own.json")
    new = visit(java_script_enabled=scripted)
    new.goto("/import")
    new.get_by_label("Your export").set_input_files(tmp_path / "own.json")
    new.get_by_role("button", name="Preview").click()
    expect(new.get_by_text("Everything in it is known here.")).to_be_visible()
    assert state_of(new)["history"] == []
    new.get_by_role("button", name="Replace mine").click()
    do(new, "Imported a profile")
    assert kept(state_of(new)) == before
    assert listed(new) == own
    new.locator("#notice").get_by_role("button", name="Undo").click()
    do(new, "Taken back")
    assert state_of(new)["history"] == []
    assert listed(new) == Expected(model).list()


def test_a_damaged_file_and_an_ended_link_get_a_sentence(visit: Visit, tmp_path: Path) -> None:
    page = visit(may_fail=True)
    pick(page, 1)
    export = page.context.request.get("/export").text()
    (tmp_path / "cut.json").write_text(export[: len(export) // 3])
    page.goto("/import")
    page.get_by_label("Your export").set_input_files(tmp_path / "cut.json")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("main [role=alert]")).to_contain_text("This export is damaged")
    page.goto("/feeds")
    page.get_by_role("button", name="Share For you").click()
    link = page.get_by_label("The link").input_value()
    page.get_by_role("button", name="End this link").click()
    page.goto(link)
    expect(page.get_by_text("Perhaps its owner ended it")).to_be_visible()
    assert json.loads(page.context.request.get("/export").text())["state"]["feeds"][1:] == []


def test_ticks_stay_when_the_list_changes(visit: Visit) -> None:
    page = visit(may_fail=True)
    pick(page)
    first = listed(page)[0]
    page.locator(f'.vs input[value="{first}"]').check()
    expect(page.locator(".compare-bar")).to_be_in_viewport()
    page.locator('.reasons button[aria-label^="More of"]:not([aria-disabled])').first.click()
    expect(page.locator("#notice")).to_be_visible()
    if first in listed(page):
        expect(page.locator(f'.vs input[value="{first}"]')).to_be_checked()
    page.get_by_role("button", name="Compare the two").click()
    expect(page.get_by_text(re.compile("One item is chosen"))).to_be_visible()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1320), ("dark", 390), ("light", 320)])
def test_axe_and_narrow_screens(visit: Visit, tmp_path: Path, scheme: str, width: int) -> None:
    page = visit(may_fail=True, color_scheme=scheme, width=width, has_touch=width < 500)
    pick(page)
    one, two = listed(page)[:2]
    page.goto("/feeds")
    page.get_by_role("button", name="Share For you").click()
    link = page.get_by_label("The link").input_value()
    paths = [
        f"/compare?item={one}&item={two}",
        f"/compare?item={one}",
        f"/like/{one}",
        "/tag?tag=theme=Jazz",
        "/about-recommendations",
        "/import",
        link,
    ]
    for path in paths:
        page.goto(path)
        check_axe(page, path)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
    export = page.context.request.get("/export").body()
    (tmp_path / "own.json").write_bytes(export)
    page.goto("/import")
    page.get_by_label("Your export").set_input_files(tmp_path / "own.json")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("heading", name="What it would bring")).to_be_visible()
    check_axe(page, "preview")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_keys_are_enough_to_compare(visit: Visit) -> None:
    page = visit()
    pick(page)
    for place in (0, 1):
        page.locator(".vs input").nth(place).focus()
        page.keyboard.press("Space")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Why this above that")).to_be_visible()
