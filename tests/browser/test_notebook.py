"""Outputs of a notebook in a real browser, in hosts that are light and dark."""

from collections.abc import Iterator

import polars as pl
import pytest
from browser.steps import check_axe
from playwright.sync_api import Browser, Page

import teaser
from teaser import Dataset, Teaser
from teaser.evaluate import Recipe, Trial
from teaser.extensions import DiscoveredTags, Remainder
from teaser.testing import RULES, example_tables

BAD = "<script>document.title='broken'</script><img src=x onerror=\"document.title='broken'\">"

# What JupyterLab says of tables and lists in outputs, in short.
JUPYTER = """
.host td, .host th, .host tr { text-align: right; vertical-align: middle; padding: 0.5em;
  border: none; max-width: none; }
.host tbody tr:nth-child(odd) { background: #f5f5f5; }
.host table { font-size: 12px; margin: 0 auto; table-layout: fixed; }
"""


@pytest.fixture(scope="module")
def outputs() -> list[str]:
    """Every kind of output, of a data set whose texts try to run scripts."""
    interactions, items = example_tables()
    items = items.with_columns(
        pl.when(pl.col("type") == "film").then(pl.lit(BAD)).otherwise(pl.col("type")).alias("type"),
        (pl.col("title") + BAD).alias("title"),
    )
    data = Dataset.from_tables(interactions, items, rules=RULES)
    model = Teaser(
        l2_weights=5.0, l2_encoder=5.0, remainder=Remainder(neighbours=5),
        discovered=DiscoveredTags(grains=(8,)),
    ).fit(data)  # fmt: skip
    trial = Trial("paper", ndcg=0.3, share=0.9, parts={"general": 0.5, "declared": 0.5})
    model.recipe_ = Recipe((trial, Trial("weighted", reason=BAD)), "paper", f"Why {BAD}", 10)
    history, presses = ["i1", "i4"], {"town=Ghent": 2}
    shown = (
        data, data.rules, model, model.recipe_, model.groups_, model.profile(history, presses),
        model.recommend(history, presses, k=5), model.explain("i2", history, presses),
        teaser.evaluate.check_model(model, data, stability=False), model.recommend([], k=2),
    )  # fmt: skip
    return [one._repr_html_() for one in shown if one is not None]


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    opened = browser.new_page(viewport={"width": 900, "height": 700})
    yield opened
    opened.close()


def show(
    page: Page, outputs: list[str], mark: str = "", ground: str = "background: Canvas"
) -> None:
    page.set_content(
        f'<!doctype html><html lang="en"><head><title>Notebook</title><style>{JUPYTER}</style>'
        f'</head><body {mark} style="{ground}"><main class="host"><h1>Notebook</h1>'
        f"{''.join(outputs)}</main></body></html>"
    )
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")


HOSTS = {
    "lab light": ('data-jp-theme-light="true"', "background: #fff", "light"),
    "lab dark": ('data-jp-theme-light="false"', "background: #111; color: #ddd", "dark"),
    "code dark": ('class="vscode-dark"', "background: #1e1e1e; color: #ddd", "dark"),
    "docs dark": ('data-md-color-scheme="slate"', "background: #1e1e2e; color: #ddd", "dark"),
}


@pytest.mark.parametrize("host", HOSTS)
def test_axe_finds_nothing_and_the_host_decides(page: Page, outputs: list[str], host: str) -> None:
    mark, ground, scheme = HOSTS[host]
    # The reader's system prefers the other.
    page.emulate_media(color_scheme="light" if scheme == "dark" else "dark")
    show(page, outputs, mark, ground)
    check_axe(page, host)
    card = page.locator(".teaser-out").first
    colour = card.evaluate("e => getComputedStyle(e).backgroundColor")
    assert colour == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(25, 31, 39)")
    cell = page.locator(".teaser-out tbody tr").first
    assert cell.evaluate("e => getComputedStyle(e).backgroundColor") == "rgba(0, 0, 0, 0)"
    first = page.locator(".teaser-out tbody th").first
    assert first.evaluate("e => getComputedStyle(e).textAlign") == "left"


def test_without_a_mark_the_system_decides(page: Page, outputs: list[str]) -> None:
    for scheme, wanted in (("light", "rgb(255, 255, 255)"), ("dark", "rgb(25, 31, 39)")):
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        show(page, outputs)
        card = page.locator(".teaser-out").first
        assert card.evaluate("e => getComputedStyle(e).backgroundColor") == wanted
        check_axe(page, scheme)


def test_no_text_of_a_table_runs_and_nothing_is_fetched(page: Page, outputs: list[str]) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    show(page, outputs)
    assert page.title() == "Notebook"
    assert page.locator(".teaser-out img, .teaser-out script").count() == 0
    assert asked == []
    assert page.get_by_text("document.title='broken'").count() > 5  # it is shown as it is


def test_outputs_can_be_read_without_style_and_on_a_phone(page: Page, outputs: list[str]) -> None:
    show(page, outputs)
    page.evaluate("document.querySelectorAll('.teaser-out style').forEach(s => s.remove())")
    text = page.locator("main").inner_text()
    for words in ("recommended items", "% match", "Steps that add up to the score", "of scores"):
        assert words in text
    page.set_viewport_size({"width": 390, "height": 800})
    show(page, outputs)
    for shown in page.locator(".teaser-out").all():
        assert shown.evaluate("e => e.scrollWidth <= e.clientWidth"), shown.inner_text()[:80]
    # Names are not broken letter by letter.
    named = page.locator("th[scope=row]", has_text="general appeal").first.bounding_box()
    assert named is not None
    assert named["height"] < 60
    check_axe(page, "phone")
